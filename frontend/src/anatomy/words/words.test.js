import assert from "node:assert/strict";
import { test } from "node:test";
import { makeTexts } from "../../core/texts.js";
import { richText, spokenEquation } from "../panel/equations.js";
import * as facts from "../panel/facts.js";
import { PLACES, START_ANATOMY } from "../../state/generated.js";
import { lastStep, stepsOf, zoomsOf } from "../walk.js";
import { EXPLANATIONS } from "./explanations.js";
import { spokenState } from "./spoken.js";
import { ANATOMY_TEXTS } from "./texts.js";

const { parametersOf, changeOf, maskSuffix, probabilitiesOf, sideOf, switchEffects, textKeys, textValues } = facts;

// A model of every kind, far enough for the texts; every state of it; and what the panel says there.
const t = makeTexts({}, ANATOMY_TEXTS);
const sizes = {
  ...{
    d_model: 256,
    d_ff: 1024,
    d_k: 32,
    d_head: 32,
    heads: 8,
    encoder_layers: 2,
    decoder_layers: 3,
    parameters: 8396800,
  },
  ...{ vocab_size: 4000, output_size: 4000, target_vocab_size: null, max_positions: 512, layer_norm_eps: 1e-5 },
  ...{ norm: "post", activation: "relu", positions: "sinusoidal", layout: "interleaved", residual: true, causal: true },
  ...{ scaling: true, embedding_scale: true, tied_output: true, output_bias: false },
};
const tensor = (symbol, ...shape) => ({ symbol, shape, count: shape.reduce((a, b) => a * b, 1) });
const box = (count, tensors, shared_with = null) => ({ count, share: 0, tensors, shared_with });
const table = (...sharedBoxes) => box(1024000, [tensor("E", 4000, 256)], sharedBoxes);
const boxes = {
  "source.embedding": table("target.embedding", "output"),
  "target.embedding": table("source.embedding", "output"),
  output: table("source.embedding", "target.embedding"),
  "encoder.0.self": box(65792, [tensor("W^O", 256, 256), tensor("b^O", 256)]),
  "encoder.0.self.norm": box(512, [tensor("γ", 256), tensor("β", 256)]),
};
const TOKENS = { source: "The cat </s>", target_in: "<s> Die Kat ze", target_out: "Die Kat ze </s>" };
const made = (config = {}, more = {}) => ({
  ...{ id: "x", config: { ...sizes, ...config }, steps: 4, about: null, plain: () => null },
  header: { own: true, switches: {}, changed: {}, boxes },
  labels: (side) => TOKENS[side].split(" "),
  outputs: {
    labels: ["Die Der", "Kat Hund", "ze zen", "</s> ."].map((pair) => pair.split(" ")),
    chosen_rank: [0, 0, 1, 0],
    probability: Float32Array.from([0.9, 0.05, 0.8, 0.1, 0.6, 0.4, 0.7, 0.2]),
    logit: Float32Array.from([9, 5, 8, 6, 7, 6, 9, 8]),
    chosen_probability: Float32Array.from([0.9, 0.8, 0.4, 0.7]),
  },
  ...more,
});
const at = (more) => ({ ...START_ANATOMY, zoom: "sub", head: 2, ...more });
const scores = (hidden) => {
  const data = Float32Array.from([1, 2, hidden ? -Infinity : 3, 4]);
  const shape = [1, 1, 2, 2];
  const axes = ["batch", "head", "query", "key"];
  return { name: "scores", rows: 2, cols: 2, data, shape, axes, masked: hidden, at: (i, j) => data[2 * i + j] };
};
const both = [true, false];
// Every combination of the values of some fields.
const combined = (fields) =>
  Object.entries(fields).reduce(
    (made, [name, values]) => made.flatMap((one) => values.map((value) => ({ ...one, [name]: value }))),
    [{}],
  );
const every = [
  ...combined({ norm: ["post", "pre", "none"], residual: both, causal: both, positions: ["sinusoidal", "none"] }),
  ...combined({
    ...{ norm: ["post", "pre"], activation: ["relu", "gelu", "swish"], positions: ["sinusoidal", "learned", "none"] },
    ...{ scaling: both, d_k: [32, 16] },
  }),
  ...combined({ embedding_scale: both, tied_output: both, output_bias: both, target_vocab_size: [null, 5000] }),
  { positions: "learned", embedding_norm: true },
].map((config) => ({ ...config, output_size: config.target_vocab_size ?? 4000 }));
/** @type {any[]} */
const abouts = [null, { skipped: true }];
for (const [rule, factor] of [0.5, 1, 32 ** -0.5].entries()) {
  const eight = (value) => Array(8).fill(value);
  abouts.push({ scale: eight(factor), rule: eight(rule), zero: eight(rule > 0), replaced: eight(rule === 0) });
}

// Decoding step, layer, and whether the model chose the words.
const ROWS = [2, 3, 2].map((row, i) => [row, Math.min(i, 1), i < 2]);

test("every state of every model has its texts, and every text is used", () => {
  const [keys, left] = [new Set(), []];
  const collect = (key, values) => {
    keys.add(key);
    const text = t(key, values);
    if (/\{\w+\}/.test(text) || text === key) left.push([key, text]);
  };
  for (const config of every)
    for (const about of abouts)
      for (const place of PLACES)
        for (const zoom of zoomsOf(place).filter((closer) => closer !== "head" && closer !== "number"))
          for (const step of zoom === "sub" ? stepsOf(place, made(config).config) : ["x"])
            for (const [row, layer, isOwn] of /** @type {[number, number, boolean][]} */ (ROWS))
              for (const matrix of step === "mask" ? [null, scores(true), scores(false)] : [null]) {
                const data = made(config, { about });
                data.header = { ...data.header, own: isOwn, holding: layer ? { causal: "off@decoder_self.2" } : {} };
                const state = at({ place, step, zoom, encoder: layer, decoder: layer, t: row });
                const values = textValues(state, data, t);
                const keys = textKeys(state, data, matrix);
                for (const name of ["title", "text", "more"]) collect(keys[name], values);
              }
  assert.deepEqual(left, []);
  const places = Object.keys(ANATOMY_TEXTS).filter((key) => /^place_(?!chip_|at_)\w+$/.test(key));
  assert.deepEqual([...keys].sort(), [...Object.keys(EXPLANATIONS), ...places].sort());
});

test("explanations cite the paper and are short", () => {
  const sections = ["3.1", "3.2.1", "3.2.2", "3.2.3", "3.3", "3.4", "3.5", "5.4", "6.1", "6.2"];
  const numbers = ["0.9", "0.1", "0.6", "2.72"];
  for (const [key, text] of Object.entries(EXPLANATIONS)) {
    for (const [section] of text.matchAll(/\b\d\.\d(\.\d)?\b/g))
      assert.ok([...sections, ...numbers].includes(section), section);
    if (/^tell_(title|more)_/.test(key)) continue;
    assert.match(text, /\((?:equation \d, )?sections? \d|section 3|Figure 1|Table 3/, key);
    assert.ok(text.length < 420 && (text.match(/[.:?”)](?: |$)/g) || []).length <= 8, key);
  }
});

test("the names of the steps are short", () => {
  const chips = Object.entries(ANATOMY_TEXTS).filter(([key]) => /^(step_|place_chip_)/.test(key));
  assert.ok(chips.length > 30);
  for (const [key, text] of chips) assert.ok(text.length > 0 && text.length <= 12, key);
});

test("the numbers in the texts are those of the model", () => {
  const values = textValues(at({ place: "decoder.cross", t: 2 }), made(), t);
  const { root, root_model, ratio, n, m, layers, steps, products, rank, token, share, fed } = values;
  assert.deepEqual([root, root_model, ratio, n, m, layers, steps], [Math.sqrt(32).toFixed(3), "16", "4", 4, 3, 3, 4]);
  assert.deepEqual([products, rank, token, share, fed], [String(4 * 3 * 32), "2", "ze", "100.0%", "Kat"]);
  const two = { about: { scale: [1, 1, 0.5, 1, 1, 1, 1, 1] } };
  assert.equal(textValues(at({}), made({}, two), t).factor, "0.5");
  assert.equal(textKeys(at({ step: "scale", head: 1 }), made({}, two)).text, "tell_scale_removed");
  assert.equal(textKeys(at({ step: "scale", head: 1 }), made({ scaling: false }, two)).text, "tell_scale_off");
  const signs = [
    { d_k: 32, d_model: 256 },
    { d_k: 16, d_model: 250 },
  ].map((changes) => {
    const { root_is, root_model_is } = textValues(at({}), made(changes), t);
    return root_is + root_model_is;
  });
  assert.deepEqual(signs, ["≈=", "=≈"]);
});

test("the model chooses the words of its own translation; those of another translation are given", () => {
  const chosen = (own, row) =>
    textKeys(at({ place: "output", step: "choose", t: row }), made({}, { header: { own, switches: {} } })).text;
  const keys = [chosen(true, 0), chosen(true, 2), chosen(false, 0), chosen(false, 2)];
  assert.deepEqual(
    keys,
    ["own", "own_rank", "given", "given"].map((key) => `tell_choose_${key}`),
  );
  assert.match(ANATOMY_TEXTS["tell_choose_given"], /teacher forcing/);
  assert.doesNotMatch(ANATOMY_TEXTS["tell_choose_own_rank"] + ANATOMY_TEXTS["tell_choose_own"], /teacher forcing/);
});

test('the text says "predicts" only where the next word is the model\'s most likely one', () => {
  for (const [own, step] of /** @type {[boolean, number][]} */ (
    [true, false].flatMap((own) => [
      [own, 0],
      [own, 2],
    ])
  )) {
    const predicts = own && step === 0;
    const data = made({}, { header: { own, switches: {}, boxes: {} } });
    const sentence = spokenState(t, at({ zoom: "model", t: step }), data, null, "encoder_self", false);
    assert.equal(sentence.includes("predicts “"), predicts, sentence);
    assert.equal(sentence.includes("next comes “"), !predicts, sentence);
  }
});

test("attention is called masked only in the layers whose mask is on", () => {
  const inTheOpenLayer = ["off", "off@all", "off@decoder_self", "off@decoder_self.2"];
  inTheOpenLayer.push("off@decoder_self.1,off@decoder_self.2");
  for (const causal of [...inTheOpenLayer, "", "off@decoder_self.1", "off@all.1"]) {
    const [here, anywhere] = [inTheOpenLayer.includes(causal), causal !== ""];
    const data = made({}, { header: { own: true, holding: causal ? { causal } : {}, switches: {} } });
    const off = here ? "_off" : "";
    for (const zoom of ["model", "layer"]) {
      const { text, title } = textKeys(at({ zoom, place: "decoder.self", decoder: 1 }), data);
      assert.deepEqual([text, title], [`tell_${zoom}_decoder_self${off}`, `place_decoder_self${off}`], String(causal));
    }
    const mask = textKeys(at({ place: "decoder.self", decoder: 1, step: "mask" }), data).text;
    assert.equal(mask, here ? "tell_mask_off" : "tell_mask_decoder");
    const back = textKeys(at({ place: "output", step: "back" }), data).more;
    assert.equal(back, anywhere ? "tell_more_back_off" : "tell_more_back");
    assert.equal(maskSuffix(at({ place: "encoder.self", decoder: 1 }), data), "");
  }
});

test("changed numbers and changed masks are counted separately", () => {
  const change = changeOf({ data: [1, -Infinity, -Infinity, 4] }, { data: [1.5, -Infinity, 2, 4] });
  assert.deepEqual(change, { most: 0.5, cells: 1 });
  assert.equal(changeOf({ data: [1] }, { data: [1.0000005] }).most, 0); // rounding
  assert.deepEqual(changeOf({ data: [1] }, null), { most: 0, cells: 0 });
});

test("probabilities are the softmax of the logits", () => {
  const logits = { id: "a", name: "logits", shape: [1, 3], data: Float32Array.from([900, 900 + Math.LN2, -2]) };
  const probabilities = probabilitiesOf(logits);
  [1 / 3, 2 / 3, 0].forEach((expected, i) => assert.ok(Math.abs(probabilities.data[i] - expected) < 1e-5));
  const { range, top, name, shape } = probabilities;
  assert.deepEqual({ range, top, name, shape }, { range: [0, 1], top: 1, name: "probabilities", shape: [1, 3] });
});

test("the texts describe the arithmetic that a switch puts in place of the model's", () => {
  const about = { scale: [1, 1, 0.5], rule: [0, 1, 2], zero: [false, true, false], skipped: true };
  const of = (head) => switchEffects(at({ head }), made({}, { about }));
  assert.deepEqual(of(1), { factor: 1, rule: 1, zero: true, replaced: false, skipped: true, silenced: [] });
  assert.deepEqual([of(2).factor, of(2).rule, of(2).zero], [0.5, 2, false]);
  assert.deepEqual(switchEffects(at({ place: "encoder.ff" }), made({}, { about: { silenced: [4] } })).silenced, [4]);
  // times the root of d_model at the embeddings is no switch
  assert.ok(!("factor" in switchEffects(at({ place: "source" }), made({}, { about: { factor: 16 } }))));
  assert.ok(!("factor" in switchEffects(at({}), made())));
});

test("the equation that is read aloud is that of the model", () => {
  /** @type {any[][]} */
  const cases = [
    [{}, {}, {}, ["Q, K and V are x times", "divided by the square root of 32", "8 heads"]],
    [{ norm: "pre" }, {}, {}, ["z is LayerNorm of x. Q, K and V are z times"]],
    [{ norm: "pre" }, { place: "decoder.cross" }, {}, ["Q is z times W Q, K and V are memory times"]],
    [{}, {}, { factor: 1 }, ["not divided by the square root of 32"]],
    [{ scaling: false }, {}, {}, ["not divided by the square root of 32", "Q, K and V are x times"]],
    [{}, {}, { factor: 0.5 }, ["softmax of 0.5 times Q times K transposed, plus"]],
    [{}, {}, { rule: 1 }, ["equal weights on all visible keys"]],
    [{}, {}, { rule: 2 }, ["all weight on the best key"]],
    [{ norm: "pre" }, { place: "encoder.ff" }, {}, ["FFN of z is the larger of 0 and z times W 1"]],
    [{}, { place: "output" }, {}, ["softmax of h t times the embedding table transposed."]],
    [{ output_bias: true }, { place: "output" }, {}, ["times the embedding table transposed, plus a bias."]],
    [{ tied_output: false }, { place: "output" }, {}, ["softmax of h t times the output matrix transposed."]],
    [{ activation: "swish" }, { place: "encoder.ff" }, {}, ["FFN of x is swish of x times W 1 plus b 1, times"]],
    [{}, { place: "source" }, {}, ["row of the embedding table times the square root of 256, plus the"]],
    [{ embedding_scale: false }, { place: "source" }, {}, ["row of the embedding table, plus the position's"]],
    [{ positions: "none" }, { place: "source" }, {}, ["times the square root of 256; no position is added."]],
    [{ positions: "learned", embedding_scale: false }, { place: "source" }, {}, ["embedding table, plus the row of"]],
    [{ norm: "none", residual: false }, {}, {}, ["Q, K and V are x times", "8 heads"]],
    [{ norm: "pre", residual: false }, { place: "encoder.ff" }, {}, ["z is LayerNorm of x. FFN of z is"]],
  ];
  const sorts = { output: "output", "encoder.ff": "ff", source: "embedding" };
  for (const [config, state, about, phrases] of cases) {
    const sort = sorts[state.place] ?? "attention";
    const sentence = spokenEquation(sort, at(state), made(config).config, true, t, about);
    for (const phrase of phrases) assert.ok(sentence.includes(phrase) && !sentence.includes("{"), sentence);
    const divided = sort === "attention" && about.factor !== 0.5 && !about.rule;
    assert.equal(sentence.includes("divided by"), divided, sentence);
  }
});

test("the steps and texts around a sub-layer match the model's norm and residual connections", () => {
  /** @type {any[][]} */
  const cases = [
    [{}, ["x", "add", "norm"], "LayerNorm of x plus the sub-layer's result for x."],
    [{ norm: "pre" }, ["x", "norm", "add"], "x plus the sub-layer's result for LayerNorm of x."],
    [{ norm: "none" }, ["x", "add"], "x plus the sub-layer's result for x."],
    [{ residual: false }, ["x", "norm"], "LayerNorm of the sub-layer's result for x."],
    [{ norm: "pre", residual: false }, ["x", "norm"], "The sub-layer's result for LayerNorm of x."],
    [{ norm: "none", residual: false }, ["x"], "The sub-layer's result for x."],
  ];
  for (const [config, steps, afar] of cases) {
    const model = made(config);
    assert.equal(spokenEquation("attention", at({}), model.config, false, t, {}), afar);
    for (const place of ["encoder.self", "decoder.cross", "decoder.ff"]) {
      const all = stepsOf(place, model.config);
      const beside = all.filter((step) => ["x", "add", "norm"].includes(step));
      assert.deepEqual(beside, steps);
      assert.equal(lastStep(place, model.config), all.at(-1));
    }
    const alone = config.residual === false;
    for (const step of ["x", "output", "norm", "add"].filter((name) => name === "output" || steps.includes(name))) {
      const text = ANATOMY_TEXTS[textKeys(at({ step, encoder: 1 }), model).text];
      const says = /no residual connection|nothing goes around/.test(text);
      assert.equal(says || (step === "norm" && text.includes("LayerNorm(Sublayer(x))")), alone, text);
      if (alone && step !== "norm") assert.doesNotMatch(text, /added/);
    }
    const more = ANATOMY_TEXTS[textKeys(at({ zoom: "layer" }), model).more];
    const total = (alone ? "" : "x + ") + (config.norm === "pre" ? "Sublayer(LayerNorm(x))" : "Sublayer(x)");
    assert.ok(more.includes(config.norm ? total : `LayerNorm(${total})`), more);
  }
});

test("texts about a model without the causal mask mention no mask and no switch that removed it", () => {
  for (const holding of [{}, { causal: "off" }]) {
    const data = made({ causal: false }, { header: { own: true, holding, switches: {}, boxes: {} } });
    const keys = (state) => textKeys(at(state), data);
    for (const zoom of ["model", "layer"]) {
      const { text, title } = keys({ zoom, place: "decoder.self" });
      assert.deepEqual([text, title], [`tell_${zoom}_decoder_self_bare`, "place_decoder_self_bare"]);
    }
    const { text, more } = keys({ place: "decoder.self", step: "mask" });
    assert.deepEqual([text, more], ["tell_mask_bare", "tell_more_mask_bare"]);
    assert.equal(keys({ place: "output", step: "back" }).more, "tell_more_back_bare");
    assert.equal(keys({ place: "output", step: "hidden" }).text, "tell_hidden_bare");
    // whatever its rank in the pass that is shown, it was chosen in another
    for (const row of [0, 2])
      assert.equal(keys({ place: "output", step: "choose", t: row }).text, "tell_choose_own_bare");
    const state = at({ step: "mask", place: "decoder.self" });
    const sentence = spokenState(t, state, data, scores(false), "decoder_self", false);
    assert.ok(sentence.includes("self-attention of decoder layer 1, which has no mask"), sentence);
    assert.equal(maskSuffix(at({ place: "encoder.self" }), data), "");
  }
  for (const key of ["tell_mask_bare", "tell_model_decoder_self_bare", "tell_layer_decoder_self_bare"]) {
    assert.match(ANATOMY_TEXTS[key], /made without/);
    assert.doesNotMatch(ANATOMY_TEXTS[key], /switch/);
  }
});

test("a matrix has the same side on the board and in the panel", () => {
  const sides = {
    "encoder.self": { x: "source", keys: "source", weights: "source", sum: "source" },
    "decoder.self": { x: "target", keys: "target", weights: "target", update: "target" },
    "decoder.cross": {
      ...{ x: "target", memory: "source", queries: "target", keys: "source", values: "source" },
      ...{ weights: "cross", head_outputs: "cross", update: "cross", sum: "target" },
    },
    source: { x: "source" },
    target: { x: "target" },
    output: { hidden: "target", logits: "target" },
  };
  for (const [place, names] of Object.entries(sides))
    for (const [name, side] of Object.entries(names)) assert.equal(sideOf(place, name), side, `${place} ${name}`);
});

test("the parameters shown for a step are those it uses", () => {
  const parametersLine = (state) => {
    const { count, key, tensors } = parametersOf(at(state), made());
    return [count, key, tensors.map((tensor) => tensor.symbol).join(" ")];
  };
  assert.deepEqual(parametersLine({ step: "output" }), [256 * 256 + 256, "tell_parameters", "W^O b^O"]);
  assert.deepEqual(parametersLine({ step: "norm" }), [512, "tell_parameters", "γ β"]);
  assert.deepEqual(parametersLine({ step: "softmax" }), [256 * 256 + 768, "tell_parameters_not", "W^O b^O γ β"]);
  assert.deepEqual(parametersLine({ zoom: "layer" }), [256 * 256 + 768, "tell_parameters", "W^O b^O γ β"]);
  for (const state of Object.entries({ output: "logits", target: "row" }).map(([place, step]) => ({ place, step })))
    assert.deepEqual(parametersLine(state).slice(0, 2), [1_024_000, "tell_parameters_shared"]);
  assert.deepEqual(parametersLine({ place: "source", step: "times" }).slice(0, 2), [0, "tell_parameters_none"]);
  assert.equal(parametersLine({ place: "source", step: "plus" })[1], "tell_parameters_fixed");
});

test("each picture is described in one sentence", () => {
  const state = at({ step: "mask", place: "decoder.self", head: 2 });
  assert.equal(
    spokenState(t, state, made(), scores(true), "decoder_self", false),
    "Step 6 of 12, mask, masked self-attention of decoder layer 1: head 3 of 8, scores of 2 queries by 2 keys, hidden " +
      "cells: 1, the others from 1 to 4, largest in row “Die”, column “Die”.",
  );
  assert.equal(
    spokenState(t, at({ place: "output", step: "choose", t: 2 }), made(), null, "output", false),
    "Step 4 of 5, the chosen token, output. Decoding step 3, fed “Kat”: “ze”, probability 0.4000, rank 2 of 4000.",
  );
  assert.equal(
    spokenState(t, at({ step: "dot" }), made(), null, "encoder_self", true),
    "Step 4 of 12, dot products, self-attention of encoder layer 1: loading the numbers.",
  );
});

test("particles follow the values that a text is filled in with", () => {
  assert.deepEqual(richText("{m}은(는) {n}(으)로", { m: "2층", n: 7 }), ["2층", "은 ", "7", "로"]);
});
