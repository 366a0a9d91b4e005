import assert from "node:assert/strict";
import { test } from "node:test";
import { saturation } from "./from_trace.js";

// tests/web/test_lab_packs.py compares the measures of whole passes with those of Python.

const tensor = (Type, data, shape) => ({ data: Type.from(data), shape });

// One head of two rows: the first sees two of three keys, the second all three.
const attention = (weights, scores, mask) => ({
  weights: tensor(Float32Array, weights, [1, 1, 2, 3]),
  scores: tensor(Float32Array, scores, [1, 1, 2, 3]),
  mask: tensor(Uint8Array, mask, [1, 1, 2, 3]),
});
test("rows of <pad> and rows that see one key do not count; without rows there is no measure", () => {
  const seen = [1, 3, -Infinity, 0, 3, 6];
  const half = saturation(attention([0.5, 0.5, 0, 1, 0, 0], seen, [1, 1, 0, 1, 1, 1]), 1);
  assert.deepEqual([half.largest, half.rows], [[[0.5]], [[1]]]);
  const none = saturation(attention([1, 0, 0, 1, 0, 0], seen, [1, 0, 0, 1, 0, 0]));
  assert.deepEqual([none.entropy, none.spread, none.rows], [[[null]], [[null]], [[0]]]);
});
