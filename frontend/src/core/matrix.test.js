import assert from "node:assert/strict";
import { test } from "node:test";
import {
  checkMatrix,
  groupMask,
  isIdentity,
  meanEntropy,
  meanShare,
  recomputeRow,
  rowMeasures,
  strongestInRow,
  strongestPair,
  summarise,
  tokenGroups,
  transformMatrix,
} from "./matrix.js";

// Exact in binary, so that results are equal and not only close. Three queries by four keys.
const WEIGHTS = Float32Array.from([0.5, 0.25, 0.25, 0, 0, 0.5, 0.25, 0.25, 0.25, 0.25, 0, 0.5]);
const alone = (count) => Array.from({ length: count }, (_, i) => [i]);

test("a summary is the mean or the largest, cell by cell", () => {
  const [first, second] = [Float32Array.from([0.5, 0.25]), Float32Array.from([0.25, 0.75])];
  assert.deepEqual([...summarise([first, second], "mean")], [0.375, 0.5]);
  assert.deepEqual([...summarise([first, second], "max")], [0.5, 0.75]);
});

test("tokens are grouped by word, and special tokens are in no group", () => {
  const [words, special] = [
    [0, 1, 1, 2],
    [true, false, false, true],
  ];
  assert.deepEqual(tokenGroups(words, special, false, false), [[0], [1], [2], [3]]);
  assert.deepEqual(tokenGroups(words, special, true, true), [[1, 2]]);
  assert.deepEqual(tokenGroups(words, special, false, true), [[0], [1, 2], [3]]);
  assert.equal(isIdentity([[0], [1]], 2), true);
  assert.equal(isIdentity([[1], [2]], 3), false);
});

test("weights stay as they are when no tokens are merged", () => {
  assert.deepEqual(transformMatrix(WEIGHTS, 4, alone(3), alone(4), false, 1), WEIGHTS);
});

test("merged columns are summed and merged rows are averaged", () => {
  // columns 1 and 2 are one word: [0.5, 0.5, 0], [0, 0.75, 0.25], [0.25, 0.25, 0.5]; rows 0 and 1 too
  const made = transformMatrix(WEIGHTS, 4, [[0, 1], [2]], [[0], [1, 2], [3]], false, 1);
  assert.deepEqual([...made], [0.25, 0.625, 0.125, 0.25, 0.25, 0.5]);
});

test("when a key is left out, rows are divided by the sum of their other weights", () => {
  // Without key 0 the first row keeps 0.5: [0.5, 0.5, 0]. The second loses nothing.
  const made = transformMatrix(WEIGHTS, 4, [[0], [1]], [[1], [2], [3]], true, 1);
  assert.deepEqual([...made], [0.5, 0.5, 0, 0.5, 0.25, 0.25]);
  const bytes = Uint8Array.from([0, 51, 204, 255, 0, 0]); // a row of which nothing is left stays 0
  assert.deepEqual([...transformMatrix(bytes, 3, alone(2), [[1], [2]], true, 255)], [51, 204, 0, 0]);
});

test("a merged cell is masked if all of its subword tokens are", () => {
  const hidden = Uint8Array.from([0, 1, 1, 0, 0, 1]);
  assert.deepEqual([...groupMask(hidden, 3, [[0], [1]], [[0], [1, 2]])], [0, 1, 0, 0]);
  assert.deepEqual([...groupMask(hidden, 3, [[0, 1]], [[1], [2]])], [0, 1]);
  assert.equal(groupMask(null, 3, [[0]], [[0]]), null);
});

test("entropy is 0 if one weight is 1, and ln n if n weights are equal", () => {
  assert.equal(meanEntropy(Float32Array.from([0, 1, 1, 0]), 2, 2), 0);
  const even = new Float32Array(6).fill(1 / 3);
  assert.ok(Math.abs(meanEntropy(even, 2, 3) - Math.log(3)) < 1e-7);
});

// q = (1, 2), keys (1, 0), (0, 1), (1, 1): products 1, 2, 3.
const EXACT = {
  ...{ queries: Float32Array.from([1, 2]), keys: Float32Array.from([1, 0, 0, 1, 1, 1]), depth: 2, count: 3 },
  ...{ scale: Math.LN2, rule: 0, weights: Float32Array.from([1 / 7, 2 / 7, 4 / 7]) },
};

test("a row of weights is the softmax of the scaled dot products", () => {
  const { products, weights } = recomputeRow(EXACT, 0, null);
  assert.deepEqual([...products], [1, 2, 3]);
  weights.forEach((value, i) => assert.ok(Math.abs(value - 2 ** i / 7) < 1e-15)); // 2, 4 and 8 of 14
  const masked = recomputeRow(EXACT, 0, Uint8Array.from([0, 0, 1])).weights;
  masked.forEach((value, i) => assert.ok(Math.abs(value - [1 / 3, 2 / 3, 0][i]) < 1e-15));
});

test("a switch can replace the softmax by equal weights or by the largest one", () => {
  const hidden = Uint8Array.from([0, 0, 1]);
  assert.deepEqual([...recomputeRow({ ...EXACT, rule: 1 }, 0, hidden).weights], [0.5, 0.5, 0]);
  assert.deepEqual([...recomputeRow({ ...EXACT, rule: 2 }, 0, null).weights], [0, 0, 1]);
});

test("the check finds wrong weights of a head, and a weight of NaN fails it", () => {
  const good = checkMatrix(EXACT, null);
  assert.ok(good.recomputed < 1e-7 && good.row_sum < 1e-7 && good.masked === 0);
  const bad = checkMatrix({ ...EXACT, weights: Float32Array.from([0.5, 0.25, 0.5]) }, Uint8Array.from([0, 0, 1]));
  assert.equal(bad.row_sum, 0.25);
  assert.equal(bad.masked, 0.5);
  assert.ok(Number.isNaN(checkMatrix({ ...EXACT, weights: Float32Array.from([NaN, 0.5, 0.5]) }, null).recomputed));
});

test("the strongest link is found in a row and between the subword tokens of two words", () => {
  assert.equal(strongestInRow(WEIGHTS, 4, 1), 1);
  assert.deepEqual(strongestPair(WEIGHTS, 4, [0, 2], [1, 3]), [2, 3]);
});

test("the measures of rows count rows with a choice, and no row of <pad>", () => {
  const weights = Float32Array.from([1, 0, 0, 0, 0.5, 0.5, 0, 0, 0.25, 0.25, 0.5, 0, 0, 0, 0, 1]);
  const hidden = [0, 1, 1, 1, 0, 0, 1, 1, 0, 0, 0, 1, 0, 0, 0, 0];
  // Rows 2 to 4 have a choice: largest 0.5, 0.5, 1; 1 - sum p^2: 0.5, 0.625, 0; only the last is above 0.99.
  assert.deepEqual(rowMeasures(weights, hidden, 4, 4), { rows: 3, largest: 2 / 3, gradient: 0.375, saturated: 1 / 3 });
  assert.deepEqual(rowMeasures(weights, hidden, 4, 4, 3), { rows: 2, largest: 0.5, gradient: 0.5625, saturated: 0 });
  assert.ok(Number.isNaN(rowMeasures(weights, hidden, 4, 4, 1).largest));
  assert.equal(
    meanShare(weights, 4, 2, (q, k) => k > q - 1),
    0.75,
  );
});
