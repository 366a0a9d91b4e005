import assert from "node:assert/strict";
import { test } from "node:test";
import { tinyTrace } from "../anatomy/testing/tiny.js";
import { ownOf, variancesOf } from "./from_trace.js";

const tensor = (data, shape) => ({ data: Float32Array.from(data), shape });

// One head of width 4: queries of 1 and -1, keys of 1 and 3; q.k is 4, 12, -4 or -12, and half of that when scaled.
const attention = (mask) => ({
  queries: tensor([1, 1, 1, 1, -1, -1, -1, -1], [1, 1, 2, 4]),
  keys: tensor([1, 1, 1, 1, 3, 3, 3, 3], [1, 1, 2, 4]),
  mask: { data: Uint8Array.from(mask), shape: [1, 1, 2, 2] },
});

test("the variances of q, k and their products, solved by hand", () => {
  const { query, key, product, mean, limit, histogram, unit } = variancesOf(attention([1, 1, 1, 1]));
  assert.deepEqual([query, key, unit], [[[1]], [[1]], 1]);
  assert.deepEqual([product, mean, limit], [[[20]], [[0]], [[6]]]); // 2, 6, -2 and -6
  const counts = histogram[0][0].map((density) => Math.round(density * 4 * (12 / 25)));
  assert.deepEqual(
    counts.flatMap((count, bin) => Array(count).fill(bin)),
    [0, 8, 16, 24], // the largest value is in the last bin
  );
});

test("only visible pairs count; a head without one has no products", () => {
  const { product, mean } = variancesOf(attention([1, 0, 1, 0]));
  assert.deepEqual([product, mean], [[[4]], [[0]]]);
  const blind = variancesOf(attention([0, 0, 0, 0]));
  assert.deepEqual([blind.product, blind.histogram[0][0][0]], [[[null]], null]);
});

test("variances are about 1 from 0.8 to 1.25, of q and of k", () => {
  const scaled = attention([1, 1, 1, 1]);
  scaled.keys.data.forEach((value, at) => (scaled.keys.data[at] = value * 1.2)); // variance 1.44
  assert.equal(variancesOf(scaled).unit, 0);
});

test("a picture gets all kinds, and what it says of the sentence", () => {
  const { d_k, own, saved } = ownOf(tinyTrace(), {});
  assert.equal(d_k, 1);
  assert.deepEqual(
    own.map(({ kind }) => kind),
    ["encoder_self", "decoder_self", "cross"],
  );
  assert.deepEqual(saved, { model: "tiny", sentences: "a b → x", switches: [], in_words: "" });
});
