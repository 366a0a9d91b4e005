import assert from "node:assert/strict";
import { test } from "node:test";
import { ACTIVITY } from "../state/generated.js";
import { activityOf, countsOf, histogramOf } from "./from_trace.js";

// 3 tokens, 4 neurons
const BY_HAND = Float32Array.of(0, 0.5, -0.5, 2, 0, 0, 0.1, 1, 0, 0, 0, 3);
const at = (threshold) => ACTIVITY.thresholds.indexOf(threshold);

test("active neurons solved by hand: one at a threshold is not above it, and one below 0 never is", () => {
  const { active } = countsOf(BY_HAND, 3, 4);
  const thresholds = [0, 0.1, 0.5, 2];
  assert.deepEqual(active.map((counts) => thresholds.map((one) => counts[at(one)])), [[2, 2, 1, 0], [2, 1, 1, 0], [1, 1, 1, 1]]); // prettier-ignore
});

test("active neurons are those of a loop, also a bit above and below each threshold", () => {
  const near = ACTIVITY.thresholds.map(Math.fround).flatMap((one) => [one - 1e-7, one, one + 1e-7, one + 0.025]);
  const values = Float32Array.from([...near, -3, 1e9, Infinity, NaN]);
  const { active } = countsOf(values, 1, values.length);
  ACTIVITY.thresholds.forEach((threshold, index) => {
    const wanted = values.reduce((sum, value) => sum + Number(!(value <= Math.fround(threshold))), 0);
    assert.equal(active[0][index], wanted, String(threshold));
  });
});

test("the spread solved by hand", () => {
  const { spread } = countsOf(BY_HAND, 3, 4);
  // neurons 0 and 2 on no token (-0.5 is not above 0.2), 1 on one, 3 on all three
  assert.deepEqual(spread[at(0.2)], [2, 1, 0, 1]);
  assert.deepEqual(spread[at(0)], [1, 2, 0, 1]);
  assert.deepEqual(spread.at(-1), [3, 1, 0, 0]);
});

test("the histogram counts every number once, and 0 parts the bins", () => {
  const found = histogramOf(Float32Array.of(-2, -1, 0, 1, 2), Float32Array.of(0, 0, 0, 1, 2), 4);
  assert.deepEqual(found, {
    width: 1,
    first: -2,
    before: [1, 1, 1, 1, 1],
    after: [0, 0, 3, 1, 1],
    zero: 3,
    negative: 2,
  });
  const flat = histogramOf(Float32Array.of(0, 0), Float32Array.of(0, 0));
  assert.deepEqual(flat, { width: 1, first: 0, before: [2], after: [2], zero: 2, negative: 0 });
  assert.equal(histogramOf(Float32Array.of(NaN), Float32Array.of(0)), null);
});

test("the rows of the decoder are the tokens that it is fed", () => {
  const part = (...data) => ({ data: Float32Array.from(data), shape: [2, 1, 2] });
  const [encoder_ff, decoder_ff] = [0, 1].map((more) => ({
    activation: part(0, 1, 1, 1 + more),
    pre_activation: part(-1, 1, 1, 1 + more),
  }));
  const texts = { source_text: "a", target_text: "b", source_labels: ["a"], target_in_labels: ["<s>"] };
  const found = activityOf(
    { ...texts, encoder_ff, decoder_ff },
    { activation: "gelu_new", gated: true, biases: false },
  );
  assert.deepEqual([found.source, found.target, found.activation], ["a", "b", "gelu"]);
  assert.ok(found.gated && found.bare);
  assert.deepEqual([found.encoder.tokens, found.decoder.tokens, found.encoder.neurons], [["a"], ["<s>"], 2]);
  assert.deepEqual(found.encoder.active.map(([token]) => token[0]), [1, 2]); // prettier-ignore
  assert.equal(found.decoder.active[1][0][at(1.5)], 1);
  assert.equal(found.encoder.active[1][0][at(1.5)], 0);
});
