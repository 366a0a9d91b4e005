import assert from "node:assert/strict";
import { test } from "node:test";
import { AnatomyData } from "./data.js";

test("the translation grows by words, without tokens that nobody reads", () => {
  const data = new AnatomyData();
  data.trace = { header: { tokens: { target_out: ["▁Die", "▁Kat", "ze", "\u202e", "</s>"] } } };
  const grown = [0, 1, 2, 3, 5].map((count) => data.translation(count).join(" "));
  assert.deepEqual(grown, ["", "Die", "Die Kat", "Die Katze", "Die Katze·"]);
});
