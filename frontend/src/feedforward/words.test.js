import assert from "node:assert/strict";
import { test } from "node:test";
import { percent, sharesOf } from "./words.js";

test("only 0 is 0% and only all is 100%", () => {
  assert.deepEqual([0, 1e-5, 0.0004, 0.03, 0.9999, 1].map(percent), [
    "0%",
    "<\u00a00.01%",
    "0.04%",
    "3.0%",
    ">\u00a099.9%",
    "100%",
  ]);
});

test("the share of a layer is the mean over its tokens", () => {
  // one layer, two tokens, two thresholds
  const found = sharesOf({ neurons: 4, active: [[[3, 1], [1, 0]], [[4, 0], [4, 0]]] }, 0); // prettier-ignore
  assert.deepEqual(found, { shares: [[0.75, 0.25], [1, 1]], means: [0.5, 1], whole: 0.75 }); // prettier-ignore
});
