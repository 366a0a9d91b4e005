import assert from "node:assert/strict";
import { test } from "node:test";
import { busiest, percent, sharesOf } from "./words.js";

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
  assert.deepEqual(found, { shares: [[0.75, 0.25], [1, 1]], means: [0.5, 1] }); // prettier-ignore
});

test("the busiest token is that of the darkest cell, a comma too", () => {
  const numbers = { encoder: { tokens: ["Hi", ",", "</s>"] }, decoder: { tokens: ["<s>", "…"] } };
  const maps = { encoder: { shares: [[0.1, 0.9, 0.8], [0.2, 0, 0]] }, decoder: { shares: [[0.7, 0.85]] } }; // prettier-ignore
  assert.deepEqual(busiest(numbers, maps), { stack: "encoder", layer: 0, at: 1, share: 0.9, token: "," });
});
