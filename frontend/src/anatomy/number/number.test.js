import assert from "node:assert/strict";
import { test } from "node:test";
import { byKey, faultsOf, textsOf } from "../testing/faults.js";
import { stopsOf } from "../walk.js";
import { cellOf, moveCell, numberBoard, numberBoardHeight, numberOf, pickCell } from "./number.js";
import { NUMBER_TEXTS } from "./texts.js";

// The board of a single number on made-up numbers: tests/view/test_anatomy_number.py has those of traces.

const AREAS = [
  ...[
    [340, 460, 15, true],
    [340, 460, 20, true],
    [390, 700, 15, true],
    [700, 500, 20, true],
    [500, 480, 15, false],
  ],
  ...[
    [500, 480, 20, false],
    [660, 500, 15, false],
    [900, 560, 20, false],
    [990, 780, 15, false],
  ],
  ...[
    [1500, 800, 15, false],
    [1500, 800, 20, false],
    [970, 617, 16, false],
  ],
];
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
// Steps with several matrices to look into.
const SEVERAL = {
  project: ["queries", "keys", "values", "dot"],
  split: ["queries", "keys", "values", "memory"],
  x: ["queries", "memory"],
};

// Sequences and sizes of any length, with numbers that are made when they are asked for.
const madeUp = (n, m, config) => {
  const { d_model, d_ff, d_k, d_head, heads } = config;
  const words = Array.from({ length: 10 }, (_, i) => "Gesellschaft" + i);
  const labels = (side) =>
    Array.from({ length: side === "source" ? m : n }, (_, i) =>
      i % 3 ? "Wort" + i : "Donaudampfschifffahrtsgesellschaft",
    );
  const shape = (name, state) => {
    const last = {
      queries: d_k,
      keys: d_k,
      values: d_head,
      head_outputs: d_head,
      pre: d_ff,
      activation: d_ff,
      logits: 37000,
    }[name];
    const queries = state.place === "source" || state.place.startsWith("encoder") ? m : n;
    const keys = state.place === "decoder.self" ? n : m;
    const likeliest = name === "rows" && state.place === "output";
    const rows = likeliest ? 10 : ["keys", "values", "memory"].includes(name) ? keys : queries;
    if (["dot", "scaled", "scores", "weights"].includes(name)) return [queries, keys, heads];
    if (name.startsWith("W_")) return [name === "W_2" ? d_ff : d_model, name === "W_1" ? d_ff : d_model, 1];
    if (/^b_|gamma|beta|logits/.test(name)) return [1, name === "b_1" ? d_ff : last || d_model, 1];
    return [rows, last || d_model, last === d_k ? heads : 1];
  };
  const outputs = {
    ids: Array(n).fill(words.map((_, i) => i)),
    labels: Array(n).fill(words),
    chosen: Array(n).fill(3),
    chosen_rank: Array(n).fill(12345),
    probability: new Float32Array(n * 10).fill(0.07),
    logit: new Float32Array(n * 10).fill(-12.3456),
    chosen_probability: new Float32Array(n).fill(0.0001),
  };
  const about = {
    scale: Array(heads).fill(d_k ** -0.5),
    rule: Array(heads).fill(0),
    zero: Array(heads).fill(false),
    position_ids: Array.from({ length: n }, (_, i) => i),
    factor: d_model ** 0.5,
  };
  return (state) => ({
    id: "made up",
    ...{ config, state, steps: n, header: {}, about, labels, outputs },
    ids: (side) => labels(side).map((_, i) => 36000 + (i % 900)),
    matrix: (name, { head, transposed } = /** @type {any} */ ({})) => {
      const short = name.replace("place.", "");
      const [all, each, parts] = shape(short, state);
      let [rows, cols] = [all, each];
      if (head === undefined) cols *= parts;
      if (transposed) [rows, cols] = [cols, rows];
      const hidden = (i, j) => state.place === "decoder.self" && config.causal && j > i;
      const at = (i, j) =>
        short === "scores" && hidden(i, j)
          ? -Infinity
          : short === "weights"
            ? 1 / cols
            : 40 * Math.sin(i * 12.9898 + j * 78.233 + short.length);
      const data = short === "logits" ? Float32Array.from({ length: cols }, (_, j) => at(0, j)) : [];
      return { id: name, name: short, rows, cols, at, data, top: 40, masked: false, exact: true };
    },
  });
};

const texts = textsOf(NUMBER_TEXTS);
function contextOf(data, state, [w, h, unit, narrow]) {
  const ctx = { state, data, area: { x: 7, y: 11, w, h }, unit, big: unit > 15, t: texts, theme: {}, narrow };
  if (narrow) ctx.area.h = Math.max(h, numberBoardHeight(ctx));
  return ctx;
}

function faultsOfAll(n, m, config, areas, places = /^/) {
  const made = madeUp(n, m, config);
  const stops = stopsOf(config, "number").flatMap((stop, i) =>
    (SEVERAL[stop.step] || ["queries"]).map((matrix) => ({
      ...{ ...START, matrix, head: i % config.heads, row: Math.min(n - 1, i % 3), t: Math.min(n - 1, 2) },
      ...stop,
    })),
  );
  return stops
    .filter(({ place }) => places.test(place))
    .flatMap((stop) => {
      const data = made(stop);
      const state = { ...stop, ...cellOf(stop, data) };
      return areas.flatMap((area) => {
        const ctx = contextOf(data, state, area);
        const faults = faultsOf(numberBoard(ctx), ctx, { least: 0.75 });
        return faults.map((fault) => [state.place, state.step, state.matrix, area, fault].join(" "));
      });
    });
}

for (const [name, changes] of Object.entries(VARIANTS))
  test(`everything fits without overlap at every size: ${name}`, () => {
    assert.deepEqual(faultsOfAll(5, 4, { ...PAPER, ...changes }, AREAS), []);
  });

for (const [n, m] of [
  [1, 1],
  [2, 33],
  [64, 64],
  [2048, 1500],
])
  test(`everything fits without overlap for sequences of ${n} and ${m} tokens`, () => {
    const sizes = { d_model: 1024, d_ff: 4096, d_k: 64, d_head: 64, heads: 16, activation: "gelu" };
    const areas = [
      [340, 460, 20, true],
      [990, 620, 15, false],
      [700, 520, 20, false],
      [970, 617, 16, false],
    ];
    assert.deepEqual(faultsOfAll(n, m, { ...PAPER, ...sizes }, areas, /cross|decoder.ff|target|output/), []);
  });

test("a cell stays inside its matrix and moves with the arrow keys", () => {
  const made = madeUp(6, 4, PAPER);
  const cell = (state) => cellOf({ ...START, ...state }, made({ ...START, ...state }));
  const moved = (down, on, state) => moveCell({ ...START, ...state }, made({ ...START, ...state }), down, on);
  const far = { row: 99, col: 999 };
  assert.deepEqual(cell({ place: "decoder.cross", step: "project", matrix: "keys", ...far, col: 0 }), {
    row: 3,
    col: 0,
  });
  assert.deepEqual(cell({ place: "decoder.cross", step: "values", ...far }), { row: 5, col: 15 });
  assert.deepEqual(cell({ place: "decoder.ff", step: "inner", row: -4, col: 999 }), { row: 0, col: 127 });
  assert.deepEqual(cell({ place: "encoder.ff", step: "x", row: 1.5, col: 0 }), { row: 0, col: 0 });
  assert.deepEqual(cell({ place: "output", step: "logits", row: 7, col: 0 }), { row: 7, col: 0 });
  const inner = { place: "decoder.ff", step: "inner", row: 0, col: 0 };
  assert.deepEqual(moved(1, 1, inner), { row: 1, col: 1 });
  assert.deepEqual(moved(-1, -1, inner), { row: 0, col: 0 });
  assert.deepEqual(moved(1, 0, { place: "output", step: "probabilities", row: 9, col: 0 }), { row: 9, col: 0 });
});

test("a click on a cell opens its number", () => {
  assert.deepEqual(pickCell({ pick: true }, 1, 3), { zoom: "number", row: 1, col: 3 });
  const part = { pick: { matrix: "keys" }, colFrom: 44 };
  assert.deepEqual(pickCell(part, 1, 3), { zoom: "number", matrix: "keys", row: 1, col: 47 });
  // What a product used leads to where it comes from: here a number of k of token 3.
  const state = { ...START, place: "encoder.self", step: "dot", head: 2, row: 1, col: 3 };
  const ctx = contextOf(madeUp(6, 4, PAPER)(state), state, [990, 780, 15, false]);
  const cells = numberBoard(ctx).find((item) => item.key === "number:cells.1.0");
  assert.deepEqual(pickCell(cells, 0, 4), { zoom: "number", step: "split", matrix: "keys", row: 3, col: 4 });
});

const boardOf = (data, state) => byKey(numberBoard(contextOf(data, state, [990, 780, 15, false])));

test("the cell grows out of its matrix, and a number that differs from the trace is reported", () => {
  const state = { ...START, place: "encoder.self", step: "softmax", head: 1, col: 2 };
  const items = boardOf(madeUp(6, 4, PAPER)(state), state);
  const key = "m:encoder.0.self.weights.h1";
  assert.deepEqual(items[key].chosen, [0, 2]);
  assert.deepEqual([items[`${key}:cell`].parent, items[`${key}:cell`].parentCell], [key, { key, row: 0, col: 2 }]);
  assert.match(items["number:check.0"].text, /they differ/); // made-up numbers do not follow from each other
  assert.notEqual(items["number:check.0"].colour, "good");
});

test("numbers that have not arrived show a loading text", () => {
  for (const missing of ["W_q", "place.queries", "place.b_q"]) {
    const state = { ...START, place: "encoder.self", step: "project", col: 2 };
    const data = madeUp(6, 4, PAPER)(state);
    const all = data.matrix;
    data.matrix = (name, options) => (name === missing ? null : all(name, options));
    const texts = Object.values(boardOf(data, state)).map((item) => item.text);
    assert.ok(texts.includes("Loading the exact numbers …"), missing);
  }
});

test("a word outside the likeliest has no link to its logit", () => {
  for (const rank of [0, 4, 9, 10, 50])
    for (const step of ["choose", "back"]) {
      const state = { ...START, place: "output", step, t: 1, col: 0 };
      const data = madeUp(6, 4, PAPER)(state);
      data.outputs.chosen_rank[1] = rank;
      const origin = numberOf({ state, data }).from(0);
      assert.deepEqual(origin, rank < 10 ? { step: "logits", row: rank, col: 0 } : null);
    }
});
