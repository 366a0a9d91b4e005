import assert from "node:assert/strict";
import { test } from "node:test";
import { byKey, faultsOf } from "../testing/faults.js";
import { MadeUpData, areaOf, contextOf, numberStates } from "../testing/made_up.js";
import { cellOf, moveCell, numberBoard, numberBoardHeight, numberOf, pickCell } from "./number.js";
import { NUMBER_TEXTS } from "./texts.js";

// The board of a single number on made-up numbers: tests/view/test_anatomy_number.py has those of traces.

const PHONES = ["340 460 15 narrow", "340 460 20 narrow", "390 700 15 narrow", "700 500 20 narrow"];
const DESKS = ["500 480 15", "500 480 20", "660 500 15", "900 560 20", "990 780 15", "1500 800 15", "1500 800 20"];
const AREAS = [...PHONES, ...DESKS, "970 617 16"];
const PAPER = {
  ...{ d_model: 64, d_ff: 128, d_k: 16, d_head: 16, heads: 4, encoder_layers: 1, decoder_layers: 1, norm: "post" },
  ...{ activation: "relu", positions: "sinusoidal", layout: "interleaved", layer_norm_eps: 1e-5, pad_id: 0 },
  ...{ residual: true, causal: true, scaling: true, embedding_scale: true, tied_output: true, output_bias: false },
};
const marian = { activation: "swish", layout: "halves", output_bias: true };
const VARIANTS = {
  paper: {},
  pre: { norm: "pre", activation: "gelu", positions: "learned" },
  wide: { d_k: 13, scaling: false, positions: "none" },
  alone: { residual: false },
  "alone pre": { residual: false, norm: "pre", causal: false },
  "no norm": { norm: "none", positions: "none" },
  bare: { residual: false, norm: "none", causal: false, scaling: false, heads: 1 },
  marian,
  apart: { ...marian, embedding_scale: false, tied_output: false, target_vocab_size: 67 },
};
const START = { zoom: "number", encoder: 0, decoder: 0, matrix: "queries", head: 0, t: 0, row: 0, col: -1 };
// Sequences and sizes of any length.
function madeUp(n, m, config) {
  const words = Array.from({ length: 10 }, (_, i) => "Gesellschaft" + i);
  const tokens = (length) =>
    Array.from({ length }, (_, i) => (i % 3 ? "Wort" + i : "Donaudampfschifffahrtsgesellschaft"));
  const all = (value) => Array(n).fill(value);
  const outputs = {
    ...{ ids: all(words.map((_, i) => i)), labels: all(words), chosen: all(3), chosen_rank: all(12345) },
    probability: new Float32Array(n * 10).fill(0.07),
    logit: new Float32Array(n * 10).fill(-12.3456),
    chosen_probability: new Float32Array(n).fill(0.0001),
  };
  const [scale, rule, zero] = [config.d_k ** -0.5, 0, false].map((value) => Array(config.heads).fill(value));
  const position_ids = all(0).map((_, i) => i);
  const about = { scale, rule, zero, position_ids, factor: config.d_model ** 0.5 };
  const made = { config: { output_size: 37000, ...config }, source: tokens(m), target: tokens(n), outputs, about };
  return new MadeUpData({ ...made, top: () => 40 });
}

const contextAt = (data, state, text) => {
  const area = areaOf(text);
  const ctx = contextOf(data, state, area, { texts: NUMBER_TEXTS, heightOf: numberBoardHeight });
  if (area.narrow) ctx.area.h = Math.max(area.h, numberBoardHeight(ctx));
  return ctx;
};
const cellAt = (data, state) => cellOf((data.state = state), data);

function faultsOfAll(n, m, config, areas, places = /^/) {
  const data = madeUp(n, m, config);
  return numberStates(config, (i) => ({ row: Math.min(n - 1, i % 3), t: Math.min(n - 1, 2) }))
    .filter(({ place }) => places.test(place))
    .flatMap((stop) => {
      const state = { ...stop, ...cellAt(data, stop) };
      return areas.flatMap((area) => {
        const ctx = contextAt(data, state, area);
        const faults = faultsOf(numberBoard(ctx), ctx, { least: 0.75 });
        return faults.map((fault) => [state.place, state.step, state.matrix, area, fault].join(" "));
      });
    });
}

for (const [name, changes] of Object.entries(VARIANTS))
  test(`everything fits without overlap at every size: ${name}`, () => {
    assert.deepEqual(faultsOfAll(5, 4, { ...PAPER, ...changes }, AREAS), []);
  });

for (const lengths of ["1 1", "2 33", "64 64", "2048 1500"]) {
  const [n, m] = lengths.split(" ").map(Number);
  test(`everything fits without overlap for sequences of ${n} and ${m} tokens`, () => {
    const sizes = { d_model: 1024, d_ff: 4096, d_k: 64, d_head: 64, heads: 16, activation: "gelu" };
    const areas = ["340 460 20 narrow", "990 620 15", "700 520 20", "970 617 16"];
    assert.deepEqual(faultsOfAll(n, m, { ...PAPER, ...sizes }, areas, /cross|decoder.ff|target|output/), []);
  });
}

test("a cell stays inside its matrix and moves with the arrow keys", () => {
  const data = madeUp(6, 4, PAPER);
  const cell = (state) => Object.values(cellAt(data, { ...START, ...state }));
  const moved = (down, on, state) => Object.values(moveCell((data.state = { ...START, ...state }), data, down, on));
  const far = { row: 99, col: 999 };
  const [values, logits] = [
    { place: "decoder.cross", step: "values" },
    { place: "output", step: "logits" },
  ];
  const [inner, likely] = [
    { place: "decoder.ff", step: "inner", row: 0, col: 0 },
    { place: "output", row: 9, col: 0 },
  ];
  const keys = { place: "decoder.cross", step: "project", matrix: "keys" };
  assert.deepEqual(cell({ ...keys, ...far, col: 0 }), [3, 0]);
  assert.deepEqual(cell({ ...values, ...far }), [5, 15]);
  assert.deepEqual(cell({ ...inner, row: -4, col: 999 }), [0, 127]);
  assert.deepEqual(cell({ place: "encoder.ff", step: "x", row: 1.5, col: 0 }), [0, 0]);
  assert.deepEqual(cell({ ...logits, row: 7, col: 0 }), [7, 0]);
  assert.deepEqual(
    [moved(1, 1, inner), moved(-1, -1, inner)],
    [
      [1, 1],
      [0, 0],
    ],
  );
  assert.deepEqual(moved(1, 0, { ...likely, step: "probabilities" }), [9, 0]);
});

test("a click on a cell opens its number", () => {
  assert.deepEqual(pickCell({ pick: true }, 1, 3), { zoom: "number", row: 1, col: 3 });
  const part = { pick: { matrix: "keys" }, colFrom: 44 };
  assert.deepEqual(pickCell(part, 1, 3), { zoom: "number", matrix: "keys", row: 1, col: 47 });
  // What a product used leads to where it comes from: here a number of k of token 3.
  const state = { ...START, place: "encoder.self", step: "dot", head: 2, row: 1, col: 3 };
  const ctx = contextAt(madeUp(6, 4, PAPER), state, "990 780 15");
  const cells = numberBoard(ctx).find((item) => item.key === "number:cells.1.0");
  assert.deepEqual(pickCell(cells, 0, 4), { zoom: "number", step: "split", matrix: "keys", row: 3, col: 4 });
});

const boardOf = (data, state) => byKey(numberBoard(contextAt(data, state, "990 780 15")));

test("the cell grows out of its matrix, and a number that differs from the trace is reported", () => {
  const state = { ...START, place: "encoder.self", step: "softmax", head: 1, col: 2 };
  const items = boardOf(madeUp(6, 4, PAPER), state);
  const key = "m:encoder.0.self.weights.h1";
  assert.deepEqual(items[key].chosen, [0, 2]);
  assert.deepEqual([items[`${key}:cell`].parent, items[`${key}:cell`].parentCell], [key, { key, row: 0, col: 2 }]);
  assert.match(items["number:check.0"].text, /they differ/); // made-up numbers do not follow from each other
  assert.notEqual(items["number:check.0"].colour, "good");
});

test("numbers that have not arrived show a loading text", () => {
  for (const missing of ["W_q", "place.queries", "place.b_q"]) {
    const state = { ...START, place: "encoder.self", step: "project", col: 2 };
    const data = madeUp(6, 4, PAPER);
    const all = data.matrix.bind(data);
    data.matrix = (name, options) => (name === missing ? null : all(name, options));
    const texts = Object.values(boardOf(data, state)).map((item) => item.text);
    assert.ok(texts.includes("Loading the exact numbers …"), missing);
  }
});

test("a word outside the likeliest has no link to its logit", () => {
  for (const rank of [0, 4, 9, 10, 50])
    for (const step of ["choose", "back"]) {
      const state = { ...START, place: "output", step, t: 1, col: 0 };
      const data = /** @type {any} */ (madeUp(6, 4, PAPER));
      data.state = state;
      data.outputs.chosen_rank[1] = rank;
      const origin = numberOf({ state, data }).from(0);
      assert.deepEqual(origin, rank < 10 ? { step: "logits", row: rank, col: 0 } : null);
    }
});
