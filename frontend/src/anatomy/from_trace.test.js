import assert from "node:assert/strict";
import { test } from "node:test";
import { openPack, placePack, rowsOf, tracePack, vectorNames, weightNames, weightsPack } from "./from_trace.js";
import { tinyFacts, tinyParameters, tinyTrace } from "./testing/tiny.js";

const PIECES = ["<pad>", "▁x", "<s>", "</s>", "▁a"];
const numbers = (pack, reference) => [...pack.array(reference)];
const close = (found, expected) =>
  found.forEach((value, i) => assert.ok(Math.abs(value - expected[i]) < 1e-6, `${found} is not ${expected}`));

// The pack of a place, with all its parameters.
function placeOf(trace, place, facts = tinyFacts(), before = null) {
  const rows = rowsOf(trace, facts, place);
  const parameters = tinyParameters([...vectorNames(facts), ...(rows ? [rows] : [])]);
  const pack = placePack(trace, before, facts, parameters, place);
  return { ...pack, of: (name) => numbers(pack, pack.header.matrices[name]) };
}

test("a strip has its numbers in 8 bits, between the quantile and its negative", () => {
  const pack = tracePack(tinyTrace(), null, tinyFacts(), PIECES);
  const { picture, norms, top, low, high } = pack.header.strips["source.embedding"]; // -2, 1, 0, 0.5
  assert.deepEqual([top, low, high], [2, -2, 1]);
  assert.deepEqual(numbers(pack, picture), [1, 192, 128, 160]); // 63.5 goes to the even 64, 31.75 to 32
  close(numbers(pack, norms), [Math.sqrt(5), 0.5]);
  const nothing = tracePack(
    tinyTrace({ source_positions: { data: new Float32Array(4), shape: [2, 2] } }), null, tinyFacts(), PIECES,
  ); // prettier-ignore
  assert.equal(nothing.header.strips["source.positions"].top, 0);
  assert.deepEqual(numbers(nothing, nothing.header.strips["source.positions"].picture), [128, 128, 128, 128]);
});

test("one outlier of many numbers does not make the others pale", () => {
  const data = new Float32Array(5000).fill(1);
  data[77] = -900;
  const pack = tracePack(tinyTrace({ source_embedding: { data, shape: [2, 2500] } }), null, tinyFacts(), PIECES);
  const { picture, top, low } = pack.header.strips["source.embedding"];
  assert.deepEqual([top, low], [1, -900]);
  assert.deepEqual([numbers(pack, picture)[77], numbers(pack, picture)[78]], [1, 255]);
});

test("the likeliest tokens of a step are in falling order, the first of equal ones first", () => {
  const pack = tracePack(tinyTrace(), null, tinyFacts(), PIECES);
  const { outputs } = pack.header;
  assert.deepEqual(outputs.ids, [
    [1, 3, 0, 2, 4],
    [4, 0, 1, 2, 3],
  ]);
  assert.deepEqual(outputs.labels[0], ["x", "</s>", "<pad>", "<s>", "a"]);
  close(numbers(pack, outputs.probability).slice(0, 3), [1 / 3, 1 / 3, 1 / 9]); // of 3 + 3 + 1 + 1 + 1
  close(numbers(pack, outputs.log_sum), [Math.log(9), Math.log(4 + Math.E)]);
  assert.deepEqual(outputs.chosen_rank, [0, 4]);
  close(numbers(pack, outputs.chosen_logit), [Math.log(3), 0]);
  assert.equal(outputs.plain_probability, null);
});

test("a pass is compared with the one before its switches, tensor by tensor", () => {
  const before = tinyTrace();
  const { cross, decoder_output: hidden } = before;
  const weights = { ...cross.weights, data: cross.weights.data.map((value, i) => value + (i >= 4 ? 0.25 : 0)) };
  const output = { ...hidden, data: hidden.data.map((value) => value - 3) };
  const trace = tinyTrace({ cross: { ...cross, weights }, decoder_output: output, switches: { zero: "cross.1.2" } });
  const { header } = tracePack(trace, before, tinyFacts(), PIECES);
  assert.deepEqual(header.changed, { "decoder.0.cross": 0.25, "decoder.output": 3 });
  assert.deepEqual(header.inside, { "decoder.0.cross.weights": [0, 0.25] });
  assert.deepEqual(header.attention["decoder.0.cross"].zero, [false, true]);
  assert.deepEqual(tracePack(before, null, tinyFacts(), PIECES).header.changed, {});
  const { plain, matrices } = placeOf(trace, "decoder.0.cross", tinyFacts(), before).header;
  assert.deepEqual(Object.keys(plain), ["weights"]);
  assert.ok("memory" in matrices && !("memory" in placeOf(trace, "decoder.0.self").header.matrices));
});

test("the inside of a layer has its heads side by side", () => {
  const pack = openPack(tinyTrace(), 0, 0);
  const { strips, weights } = pack.header;
  assert.deepEqual(numbers(pack, strips["encoder.0.self.head_outputs"].picture), [160, 223, 192, 255]); // 10 30 20 40
  assert.deepEqual(strips["encoder.0.self.head_outputs"].picture.shape, [2, 2]);
  assert.deepEqual(numbers(pack, weights["decoder.0.cross"]), [1, 0, 0.5, 0.5, 1, 0, 0.5, 0.5]);
  assert.deepEqual(strips["decoder.0.ff.activation"].picture.shape, [2, 3]);
});

test("products of queries and keys are scaled, and the scores are kept where a query may look", () => {
  const { of, header } = placeOf(tinyTrace(), "encoder.0.self");
  assert.deepEqual(of("dot"), [5, 6, 10, 12, 21, 24, 28, 32]);
  assert.deepEqual(of("scaled"), [5, 6, 10, 12, 21, 48, 28, 32]); // hidden ones times 1 and 2
  assert.deepEqual(of("concat"), [10, 30, 20, 40]);
  assert.deepEqual(of("b_q"), [1, 2]);
  assert.deepEqual(header.about, {
    ...{ scale: [1, 2], rule: [0, 0], zero: [false, false], replaced: [false, false], skipped: false },
  });
});

test("LayerNorm reads the sum, or the input before a sub-layer", () => {
  const post = placeOf(tinyTrace(), "encoder.0.ff"); // sum: 2 4 | 3 3
  assert.deepEqual(
    [post.of("mean"), post.of("deviation")],
    [
      [3, 3],
      [1, 0],
    ],
  );
  assert.ok(!("normed" in post.header.matrices));
  const pre = placeOf(tinyTrace(), "encoder.0.ff", tinyFacts({ norm: "pre", layer_norm_eps: 1 })); // x: 1 3 | 2 2
  close(pre.of("deviation"), [Math.SQRT2, 1]);
  close(pre.of("normed"), [1 - Math.SQRT2, 1.5 * Math.SQRT2, 1, 0]); // γ is [2, 3], β [1, 0]
  const bare = placeOf(tinyTrace(), "encoder.0.ff", tinyFacts({ norm: "none", residual: false })).header.matrices;
  for (const name of ["sum", "mean", "gamma", "normed"]) assert.ok(!(name in bare), name);
});

test("switched neurons and sub-layers are named", () => {
  const trace = tinyTrace({ switches: { neurons: "decoder.1.3,encoder.1.2", skip: "decoder.1.ff" } });
  assert.deepEqual(placeOf(trace, "decoder.0.ff").header.about, { silenced: [2], skipped: true });
  assert.deepEqual(placeOf(trace, "encoder.0.ff").header.about, { silenced: [1], skipped: false });
});

test("the ends of the model read rows of their tables", () => {
  const source = placeOf(tinyTrace(), "source"); // ids 4, 3 of the table 1 2 | 3 4 | 5 6 | 7 8 | 9 10
  assert.deepEqual(source.of("rows"), [9, 10, 7, 8]);
  assert.deepEqual(source.header.about, { position_ids: [0, 1], factor: Math.SQRT2 });
  assert.deepEqual(source.of("x"), [1, 3, 2, 2]);
  const output = placeOf(tinyTrace(), "output");
  assert.deepEqual(output.of("biases"), [2, 4, 1, 3, 5]); // of 1, 3, 0, 2, 4
  assert.deepEqual(output.of("rows").slice(0, 4), [3, 4, 7, 8]);
  assert.equal(output.header.t, 0);
  assert.equal(source.header.t, null);
});

test("matrices have the paper's orientation", () => {
  const names = weightNames(tinyFacts(), "decoder.0.ff", "inner");
  assert.deepEqual(names, ["decoder.0.ff.W_1"]);
  const pack = weightsPack("tiny", tinyFacts(), tinyParameters(names), "decoder.0.ff", "inner");
  assert.deepEqual(pack.header.matrices.W_1.shape, [2, 3]);
  assert.deepEqual(numbers(pack, pack.header.matrices.W_1), [1, 3, 5, 2, 4, 6]);
  assert.deepEqual(weightNames(tinyFacts(), "encoder.0.self", "softmax"), []);
  assert.deepEqual(weightNames(tinyFacts(), "output", "output"), []);
});
