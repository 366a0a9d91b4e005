import assert from "node:assert/strict";
import { test } from "node:test";
import { feedForwardBoard, feedForwardBoardHeight } from "../feedforward/board.js";
import { byKey, faultsOf } from "../testing/faults.js";
import { MadeUpData, areaOf, contextOf } from "../testing/made_up.js";
import { stepsOf } from "../walk.js";
import { embeddingBoard, embeddingBoardHeight } from "./embedding.js";
import { outputBoard } from "./output.js";
import { outputBoardHeight } from "./room.js";
import { ENDS_TEXTS } from "./texts.js";

// The boards of embedding, feed-forward and output: what stands where, over sizes and shapes.

const PLACES = ["encoder.ff", "decoder.ff", "source", "target", "output"];
const stepsAt = (place, norm = "post") => stepsOf(place, { norm, residual: true });
const WIDE = ["1500 800 15", "960 620 15", "980 640 20", "700 500 15", "476 500 15", "476 625 20"];
const NARROW = ["256 0 15", "256 0 20", "280 0 20", "340 0 15", "340 0 20", "366 0 15", "600 0 20", "340 460 15"];
const AREAS = [...WIDE, ...NARROW.map((area) => `${area} narrow`)].map(areaOf);
/** @type {any[]} */
const MODELS = [
  { n: 1, d: 64, ff: 128, vocab: 31, own: false, skipped: true, shared: ["output"] },
  { n: 2, d: 64, ff: 128, vocab: 7, norm: "pre", activation: "gelu" },
  { n: 13, d: 256, ff: 1024, vocab: 4000, longest: 16 },
  { n: 24, d: 256, ff: 1024, vocab: 4000, norm: "pre", activation: "gelu", rank: 3, own: false },
  { n: 25, d: 128, ff: 512, vocab: 4000, positions: "none", rank: 99, plain: true },
  { n: 40, d: 256, ff: 1024, vocab: 4000, waits: true, positions: "learned" },
  { n: 64, d: 512, ff: 2048, vocab: 37000, plain: true },
  { n: 9, d: 512, ff: 2048, vocab: 58101, activation: "swish", own_table: true, unscaled: true },
];

const count = (length, make) => Array.from({ length }, (_, i) => make(i));

// What the model predicts at every step: ten words, of which the one at `rank` is chosen.
function outputsOf(n, vocab, rank, plain, target, word) {
  const named = Math.min(10, vocab);
  const lists = count(n, (t) => count(named, (i) => (t * 11 + i * 13) % vocab));
  const each = (make) => Float32Array.from({ length: n * named }, (_, i) => make(i % named));
  return {
    ids: lists,
    labels: lists.map((list, t) => list.map((_, i) => (i === rank ? target[t] : word(i + t)))),
    logit: each((i) => 9 - 1.3 * i),
    probability: each((i) => 0.5 ** (i + 1)),
    plain_probability: plain ? each((i) => 0.4 ** (i + 1)) : null,
    chosen: lists.map((list) => (rank < named ? list[rank] : vocab + 5)),
    chosen_rank: lists.map(() => rank),
    chosen_probability: new Float32Array(n).fill(0.0001),
    chosen_logit: new Float32Array(n).fill(-1),
  };
}

// own_table, unscaled: as a Marian model may have it.
function dataOf(
  /** @type {any} */ { n = 9, d = 64, ff = 256, vocab = 300, own = true, rank = 0, waits = false, ...more },
) {
  const { skipped = false, shared = ["one", "other"], plain = false, longest = 6 } = more;
  const { norm = "post", activation = "relu", positions = "sinusoidal", own_table = false, unscaled = false } = more;
  const sizes = { d_model: d, d_ff: ff, vocab_size: vocab, output_size: vocab, target_vocab_size: null };
  const table = { embedding_scale: !unscaled, tied_output: !own_table, output_bias: own_table };
  const word = (i) => "Donaudampfschiff".slice(0, 1 + ((i * 7) % longest));
  const target = count(n, (i) => (i ? word(i + 3) : "<s>"));
  const box = { shared_with: shared };
  return new MadeUpData({
    ...{
      config: { ...sizes, ...table, norm, activation, positions, residual: true },
      source: count(n, word),
      target,
      waits,
    },
    outputs: outputsOf(n, vocab, rank, plain, [...target.slice(1), "</s>"], word),
    header: { own, boxes: { "source.embedding": box, "target.embedding": box, output: box } },
    about: waits ? null : { position_ids: count(n, (i) => i), factor: Math.sqrt(d), skipped },
    top: () => 2,
    // Of token i the first 3 i + 1 neurons stay.
    number: (name, row, col) => (name === "activation" ? Number(col < 3 * row + 1) : undefined),
  });
}

const boardOf = (place) =>
  place === "output"
    ? [outputBoard, outputBoardHeight]
    : place.endsWith(".ff")
      ? [feedForwardBoard, feedForwardBoardHeight]
      : [embeddingBoard, embeddingBoardHeight];

const used = new Set();

function sceneOf(data, state, area) {
  const [board, heightOf] = boardOf(state.place);
  const ctx = contextOf(data, { zoom: "sub", ...state }, area, { texts: ENDS_TEXTS, heightOf, used });
  return { items: board(ctx), ...ctx };
}

/** Items of a board by key. */
const scene = (model, place, step, t = 0, size = {}) =>
  byKey(sceneOf(dataOf(model), { place, step, t }, { w: 960, h: 620, ...size }).items);

function statesOf({ n, norm = "post" }) {
  const times = (place) => (place === "output" ? [...new Set([0, n - 1])] : [(n - 1) >> 1]);
  return PLACES.flatMap((place) =>
    times(place).flatMap((t) => stepsAt(place, norm).map((step) => ({ place, step, t }))),
  );
}

const rect = ({ x, y, w, h }) => [x, y, w, h];
const numbers = (length) => count(length, (i) => i);
const near = (a, b, by = 1e-3) => assert.ok(Math.abs(a - b) <= by, `${a} and ${b}`);

for (const model of MODELS)
  test(`everything is inside its area and nothing overlaps: ${JSON.stringify(model)}`, () => {
    const data = dataOf(model);
    const apart = (a, b) => [a, b].includes("tokens:target") && /^word:/m.test(`${a}\n${b}`); // in a place left for it
    const faults = AREAS.flatMap((area) =>
      statesOf(model).flatMap((state) => {
        const { items, ...ctx } = sceneOf(data, state, area);
        const least = area.unit > 15 ? 0.6 : 0.85; // large text gets smaller before a number goes
        return faultsOf(items, ctx, { apart, least }).map((fault) =>
          [fault, ...Object.values(state), area.w, area.unit].join(" "),
        );
      }),
    );
    assert.deepEqual(faults, []);
  });

test("these tests use every text of the boards", () => {
  const unused = Object.keys(ENDS_TEXTS).filter((key) => !used.has(key));
  assert.deepEqual(unused, []);
});

test("all steps of a board need the same height", () => {
  for (const place of PLACES)
    for (const narrow of [false, true]) {
      const height = (step) => sceneOf(dataOf({ n: 13 }), { place, step }, { w: 366, h: 0, narrow }).area.h;
      const [high, ...otherHeights] = new Set(stepsAt(place).map(height));
      assert.ok(!otherHeights.length && high > 200 && high < 1200);
    }
});

test("rows are aligned with their tokens, and the columns of a product with those of its factor", () => {
  for (const place of ["encoder.ff", "decoder.ff"]) {
    const name = `m:${place.replace(".", ".0.")}`;
    const inner = scene({}, place, "inner");
    const [x, first, pre] = ["x", "W_1", "pre"].map((matrix) => inner[`${name}.${matrix}`]);
    assert.deepEqual([x.y, x.h, first.x, first.w], [pre.y, pre.h, pre.x, pre.w]);
    assert.ok(x.x + x.w < pre.x && first.y + first.h < pre.y);
    assert.deepEqual([x.rowAxis, first.rowAxis, first.colAxis], ["token", "d_model", "d_ff"]);
    assert.deepEqual([pre.rowAxis, pre.colAxis, pre.pick], ["token", "d_ff", true]);
    const outer = scene({}, place, "outer");
    const [activation, second, update] = ["activation", "W_2", "update"].map((matrix) => outer[`${name}.${matrix}`]);
    assert.deepEqual(rect(activation), rect(pre)); // in the place of what it was made of
    assert.deepEqual([second.x, second.w, activation.y], [update.x, update.w, update.y]);
    const tokens = Object.values(outer).filter((item) => item.kind === "tokens");
    assert.deepEqual([tokens.length, tokens[0].y, tokens[0].h], [1, activation.y, activation.h]);
    if (place === "decoder.ff") assert.deepEqual([tokens[0].current, update.current, update.dimAfter], [0, 0, 0]);
  }
});

test("weight matrices have the colour of their side and show a scale", () => {
  for (const [place, side] of Object.entries({ "encoder.ff": "source", "decoder.ff": "target" }))
    for (const step of stepsAt(place)) {
      const items = Object.values(scene({}, place, step));
      assert.ok(items.every((item) => item.kind !== "matrix" || item.ramp === side));
      const scales = items.filter(({ key }) => key.startsWith("scale:")).map(({ key, text }) => [key, text]);
      const weight = { inner: "W_1", outer: "W_2" }[step];
      assert.deepEqual(scales, weight ? [[`scale:m:${place.replace(".", ".0.")}.${weight}`, "±2.0"]] : []);
    }
  const big = scene({ d: 256, ff: 1024 }, "decoder.ff", "outer", 0, { w: 820, h: 560, unit: 17 });
  const [name, shape, scale] = ["name", "shape", "scale"].map((part) => big[`${part}:m:decoder.0.ff.W_2`]);
  assert.ok(name.x + name.w <= shape.x && shape.x + shape.w <= scale.x + 1);
  assert.deepEqual([shape.size, scale.size], [0.9, 0.9]);
});

test("active neurons are counted and drawn to scale", () => {
  for (const n of [9, 64]) {
    const items = scene({ n }, "encoder.ff", "activation");
    const unit = items["ff:kept:0"].w;
    let labels = 0;
    for (const i of numbers(n)) {
      const [bar, label] = [items[`ff:kept:${i}`], items[`ff:kept:${i}:n`]];
      assert.ok(bar.tip[0].includes(`${3 * i + 1} of 256`));
      near(bar.w, unit * (3 * i + 1), 1e-6);
      if (label) assert.equal(label.text.split(" ")[0], String(3 * i + 1));
      labels += label ? 1 : 0;
    }
    assert.ok(n === 9 ? labels === n : labels > 0 && labels < n);
    assert.ok(items["m:encoder.0.ff.pre"].y < items["m:encoder.0.ff.activation"].y);
  }
});

test("the line from a token ends at its row of the embedding table", () => {
  for (const vocab of [31, 4000]) {
    const items = scene({ vocab }, "source", "row");
    const [table, rows] = [items["box:source.table"], items["m:source.rows"]];
    for (const i of numbers(9)) {
      const number = (i * 37 + 3) % vocab;
      const [line, on, strip] = [`to:source:${i}`, `from:source:${i}`, `row:source:${number}`].map((key) => items[key]);
      near(line.points[3], table.y + ((number + 0.5) / vocab) * table.h, 1.01); // a row of one pixel is drawn with two
      near(line.points[3], on.points[1]);
      near(line.points[3], strip.y + strip.h / 2);
      near(line.points[1], on.points[3]);
      near(line.points[1], rows.y + ((i + 0.5) / 9) * rows.h);
      assert.equal(items[`id:source:${i}`].text, number.toLocaleString("en"));
    }
  }
});

test("the first step of a narrow embedding has no empty outline below its rows", () => {
  const outlines = (area) => Object.values(scene({}, "source", "row", 0, area)).filter((item) => item.dash);
  assert.deepEqual([outlines({ w: 640, h: 800, narrow: true }).length, outlines({ w: 1400, h: 800 }).length], [0, 3]);
});

test("embeddings are drawn on one scale before and after they are multiplied by √d_model", () => {
  const [first, second, third] = stepsAt("target").map((step) => scene({ d: 64 }, "target", step));
  assert.deepEqual([second["emb:times"].text, second["emb:root"].text], ["× 8", "= √64"]);
  assert.deepEqual([first["m:target.rows"].top, second["m:target.rows"].top], [undefined, 2]); // 2: of the embedding
  for (const matrix of ["rows", "embedding", "positions", "x"]) assert.equal(third[`m:target.${matrix}`].top ?? 2, 2);
  for (const i of numbers(9)) assert.equal(third[`pos:${i}`].text, String(i));
  const [learned, none] = ["learned", "none"].map((positions) => scene({ positions }, "source", "plus"));
  assert.deepEqual([learned["name:m:source.positions"].text, third["name:m:target.positions"].text], ["P", "PE"]);
  assert.ok(!("m:source.positions" in none) && none["note:source"].text.includes("no positions"));
});

test("position vectors have one pixel per column if there is enough space", () => {
  const model = { d: 256, n: 13, vocab: 4000 };
  const wide = (items, name) => (items[`m:source.${name}`] ?? items[`m:source.${name}:wait`]).w;
  const widths = (items) => ["rows", "embedding", "positions", "x"].map((name) => wide(items, name));
  for (const step of stepsAt("source")) {
    const [rows, embedding, positions, x] = widths(scene(model, "source", step));
    assert.ok(positions === 256 && rows > 60 && rows === embedding && embedding < x);
  }
  const [, , positions, x] = widths(scene(model, "source", "plus", 0, { w: 1440, h: 800 }));
  assert.deepEqual([positions, x], [256, 256]);
  assert.equal(new Set(widths(scene({ d: 64 }, "source", "plus"))).size, 1);
});

test("bars are as long as their numbers, and the histogram counts every logit", () => {
  const logits = scene({}, "output", "logits");
  const shown = numbers(10).map((i) => 9 - 1.3 * i);
  const unit = logits["bar:0"].w / shown[0];
  const zero = logits["out:zero"].x;
  shown.forEach((value, i) => {
    const bar = logits[`bar:${i}`];
    near(bar.w, unit * Math.abs(value));
    near(value > 0 ? bar.x : bar.x + bar.w, zero);
    near(logits[`out:mark:${(i * 13) % 300}`].x, zero + unit * value); // one axis for bars and histogram
  });
  const bins = Object.values(logits).filter((item) => item.key.startsWith("out:bin:"));
  const counts = bins.map((item) => parseInt(item.tip[0]));
  const total = counts.reduce((a, b) => a + b);
  assert.equal(total, 300);
  const scale = Math.max(...bins.map((item) => item.h)) / Math.max(...counts);
  bins.forEach((item, i) => near(item.h, Math.max(1, counts[i] * scale), 1e-6));

  const likely = scene({ plain: true }, "output", "probabilities");
  assert.ok(!("out:all" in likely) && !("out:axis" in likely));
  const fullWidth = likely["bar:0"].w / 0.5;
  for (const i of numbers(10)) {
    near(likely[`bar:${i}`].w, fullWidth * 0.5 ** (i + 1));
    near(likely[`bar:${i}:plain`].w, Math.max(1, fullWidth * 0.4 ** (i + 1)));
    assert.equal(likely[`p:${i}`].text, (0.5 ** (i + 1)).toFixed(4));
  }
  assert.equal(likely["out:others:number"].text, (0.5 ** 10).toFixed(4));
  near(likely["out:others:bar"].w, fullWidth * 0.5 ** 10);
  assert.ok(!("out:others" in scene({ vocab: 7 }, "output", "probabilities")));
  const { go, label } = scene({}, "output", "probabilities", 4)["bar:2"];
  assert.deepEqual(go, { zoom: "number", row: 2, col: 0 });
  assert.ok(label);
});

test("the chosen word is marked and fed back into the decoder", () => {
  const givenWord = { rank: 3, own: false };
  const [chosen, back] = ["choose", "back"].map((step) => scene(givenWord, "output", step, 2));
  const [frame, bar] = [chosen["out:chosen"], chosen["bar:3"]];
  assert.ok(frame.y <= bar.y && bar.y + bar.h <= frame.y + frame.h);
  assert.deepEqual([chosen["out:chosen:text"].text, chosen["word:3"].weight], ["given: rank 4 of 300", 600]);
  const [tokens, word] = [back["tokens:target"], back["word:3"]];
  assert.deepEqual([tokens.labels.indexOf(""), tokens.current, tokens.dimAfter], [3, 3, 3]);
  const row = (word.y + word.h / 2 - tokens.y) / (tokens.h / 9);
  assert.ok(row >= 3 && row <= 4);
  assert.deepEqual([word.text, back["word:3:stays"].text], [chosen["word:3"].text, chosen["word:3"].text]);
  for (const key of ["m:output.rows", "bar:3", "p:3", "out:chosen"])
    assert.deepEqual({ ...back[key], matrix: 0 }, { ...chosen[key], matrix: 0 });
  const end = scene({}, "output", "back", 8);
  assert.deepEqual([end["word:0"].text, end["out:back:text"].text], ["</s>", "End of the sentence."]);
  assert.ok(end["word:0"].y >= end["tokens:target"].y + end["tokens:target"].h);
  const far = scene({ rank: 99 }, "output", "choose", 1);
  assert.deepEqual([far["word:chosen"].text, far["p:chosen"].text], [tokens.labels[2], "0.0001"]);
  assert.ok(far["p:chosen"].y < far["out:others:number"].y);
});

test("a matrix that is not loaded is an outline at its later position", () => {
  for (const { place, step, t } of statesOf({ n: 9 })) {
    const [wait, loaded] = [true, false].map((waits) => scene({ waits }, place, step, t));
    assert.ok(!Object.values(wait).some((item) => item.kind === "matrix"));
    for (const [key, item] of Object.entries(loaded)) {
      if (item.kind !== "matrix" || !/\.(x|pre|activation|update|rows|embedding|W_\d|hidden)$/.test(key)) continue;
      assert.deepEqual(rect(wait[`${key}:wait`]), rect(item));
      assert.ok(wait[`${key}:wait`].dash && `name:${key}` in wait);
    }
  }
});
