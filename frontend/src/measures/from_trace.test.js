import assert from "node:assert/strict";
import { test } from "node:test";
import { tinyTrace } from "../anatomy/testing/tiny.js";
import { measuresOf, saturation } from "./from_trace.js";

const tensor = (Type, data, shape) => ({ data: Type.from(data), shape });

// One head of two rows: the first sees two of three keys, the second all three.
const attention = (weights, scores, mask) => ({
  weights: tensor(Float32Array, weights, [1, 1, 2, 3]),
  scores: tensor(Float32Array, scores, [1, 1, 2, 3]),
  mask: tensor(Uint8Array, mask, [1, 1, 2, 3]),
});
const MASK = [1, 1, 0, 1, 1, 1];
const SCORES = [1, 3, -Infinity, 0, 3, 6]; // variances 1 and 6

test("the five measures of a head, solved by hand", () => {
  const found = saturation(attention([0.5, 0.5, 0, 1, 0, 0], SCORES, MASK));
  assert.deepEqual(found, {
    entropy: [[0.5]], // ln 2 / ln 2, and 0
    largest: [[0.75]],
    gradient: [[0.25]], // 1 - 1/2, and 0
    saturated: [[0.5]],
    spread: [[1.870829]], // the root of 3.5
    rows: [[2]],
  });
});

test("rows of <pad> and rows that see one key do not count; without rows there is no measure", () => {
  const half = saturation(attention([0.5, 0.5, 0, 1, 0, 0], SCORES, MASK), 1);
  assert.deepEqual([half.largest, half.rows], [[[0.5]], [[1]]]);
  const none = saturation(attention([1, 0, 0, 1, 0, 0], SCORES, [1, 0, 0, 1, 0, 0]));
  assert.deepEqual([none.entropy, none.spread, none.rows], [[[null]], [[null]], [[0]]]);
});

test("without switches both sides are measured once", () => {
  const trace = tinyTrace({ causal: true });
  const config = { encoder_layers: 1, decoder_layers: 1, heads: 2 };
  const same = measuresOf({ before: trace, after: trace, switches: {} }, config, {});
  assert.equal(same.before, same.after);
  assert.deepEqual([same.switched, same.in_words, same.wording], [false, "no switches", {}]);
  assert.deepEqual(same.zero.cross, [[false, true]]);
  const after = tinyTrace({ causal: true, switches: { scaling: "off" } });
  const changed = measuresOf({ before: trace, after, switches: { scaling: "off" } }, config, {});
  assert.deepEqual(
    [changed.switched, changed.in_words, changed.saved.switches],
    [true, "scaling off", ["scaling-off"]],
  );
  assert.equal(changed.before.cross.rows[0][1], 1); // of two rows, one sees two keys
});
