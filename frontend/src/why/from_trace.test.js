import assert from "node:assert/strict";
import { test } from "node:test";
import { variancesOf } from "./from_trace.js";

// tests/web/test_lab_packs.py compares the variances of whole passes with those of Python.

const tensor = (data, shape) => ({ data: Float32Array.from(data), shape });

// One head of width 4: queries of 1 and -1, keys of 1 and 3; q.k is 4, 12, -4 or -12, and half of that when scaled.
const attention = (mask) => ({
  queries: tensor([1, 1, 1, 1, -1, -1, -1, -1], [1, 1, 2, 4]),
  keys: tensor([1, 1, 1, 1, 3, 3, 3, 3], [1, 1, 2, 4]),
  mask: { data: Uint8Array.from(mask), shape: [1, 1, 2, 2] },
});

test("only visible pairs count; a head without one has no products", () => {
  const { product, mean } = variancesOf(attention([1, 0, 1, 0]));
  assert.deepEqual([product, mean], [[[4]], [[0]]]);
  const blind = variancesOf(attention([0, 0, 0, 0]));
  assert.deepEqual([blind.product, blind.histogram[0][0][0]], [[[null]], null]);
});
