import assert from "node:assert/strict";
import { test } from "node:test";
import { sheetScale } from "../stage/measure.js";
import { byKey, faultsOf, textsOf } from "../testing/faults.js";
import { stepsOf } from "../walk.js";
import { attentionBoard, attentionBoardHeight } from "./board.js";
import { ATTENTION_TEXTS } from "./texts.js";

const PLACES = ["encoder.self", "decoder.self", "decoder.cross"];
const ZOOMS = ["sub", "head"];
// width, height (0: what the board asks for), unit, narrow
const AREAS = [
  ...[
    [340, 460, 15, true],
    [340, 460, 20, true],
    [366, 0, 15, true],
    [340, 0, 20, true],
    [640, 0, 15, true],
  ],
  ...[
    [500, 500, 15, false],
    [700, 560, 20, false],
    [964, 577, 15, false],
    [1500, 800, 15, false],
  ],
  [1500, 800, 20, false],
];
// queries, keys, heads, d_model
const SIZES = [
  ...[
    [1, 1, 8, 256],
    [2, 3, 4, 64],
    [11, 14, 8, 256],
    [13, 11, 16, 512],
    [64, 64, 1, 64],
    [64, 40, 8, 512],
  ],
  [12, 12, 32, 512],
];
const [WIDE, PHONE, USUAL] = [AREAS[7], AREAS[2], SIZES[2]];
// What every step must show, for all heads and for one; a name with * once a head.
const SHOWN = {
  x: ["x"],
  project: ["W_q", "W_k", "W_v", "b_q", "b_k", "b_v", "queries", "keys", "values"],
  split: ["queries.*", "keys.*", "values.*"],
  dot: ["queries.*", "keys.*", "scores.*"],
  scale: ["scores.*"],
  mask: ["scores.*"],
  softmax: ["weights.*"],
  values: ["weights.*", "values.*", "head_outputs.*"],
  concat: ["head_outputs.*", "concat"],
  output: ["concat", "W_o", "b_o", "update"],
  add: ["x", "update", "sum"],
  norm: ["sum", "mean", "deviation", "gamma", "beta", "leaves"],
};

const WORDS = ["The", "yesterday", "is", "brother", "angerufen", "a", ".", "</s>", "우리말", "unverständlich", "<b>"];
const words = (count, step) => Array.from({ length: count }, (_, i) => WORDS[(i * step + 1) % WORDS.length]);
// "post alone": post-norm without residual connections
const around = (norm) => ({ norm: norm.split(" ")[0], residual: !norm.endsWith("alone") });

// Data as AnatomyData has it, of made-up numbers.
function made(n, m, heads, d, norm, { cross, source, wait, numbers, about }) {
  const columns = cross ? m : n;
  const dk = d / heads;
  const [scores, outputs, row, square] = [
    [heads, n, columns],
    [heads, n, dk],
    [n, d],
    [d, d],
  ];
  const shapes = {
    ...{
      x: row,
      memory: [m, d],
      normed: row,
      concat: row,
      update: row,
      sum: row,
      leaves: row,
      mean: [n],
      deviation: [n],
    },
    ...{ queries: outputs, keys: [heads, columns, dk], values: [heads, columns, dk], head_outputs: outputs },
    ...{ dot: scores, scaled: scores, scores, weights: scores, gamma: [d], beta: [d] },
    ...{ b_q: [d], b_k: [d], b_v: [d], b_o: [d], W_q: square, W_k: square, W_v: square, W_o: square },
  };
  const matrix = (name, { head, transposed } = /** @type {any} */ ({})) => {
    if (wait) return null;
    const short = name.replace("place.", "");
    let [rows, cols] = shapes[short].length === 1 ? [1, shapes[short][0]] : shapes[short].slice(-2);
    if (shapes[short].length === 3 && head === undefined) cols *= heads;
    if (name.startsWith("W_") && head !== undefined) cols = dk;
    if (transposed) [rows, cols] = [cols, rows];
    const data = numbers ? Float32Array.from({ length: rows * cols }, (_, i) => i) : new Float32Array(1);
    const top = { dot: 8 + (head || 0), scaled: 2, weights: 1 }[short] || 3;
    const id = [name, head, transposed, rows, cols].join("|");
    const more = { exact: true, range: [0, 1], masked: false, shape: shapes[short], axes: [] };
    return { id, name: short, rows, cols, at: (r, c) => data[r * cols + c], top, data, ...more };
  };
  const layers = { encoder_layers: 2, decoder_layers: 2 };
  const config = { d_model: d, d_ff: 4 * d, heads, d_k: dk, d_head: dk, scaling: true, ...layers, ...around(norm) };
  const labels = (side) => (side === "source" ? words(source, 1) : words(n, 3));
  return { config, labels, matrix, plain: () => null, about: about || null };
}

function contextOf(
  place,
  zoom,
  step,
  /** @type {any[]} */ [w, h, unit, narrow],
  size,
  norm = "post",
  more = /** @type {any} */ ({}),
) {
  const [n, m, heads, d] = size;
  const source = place === "encoder.self" ? n : m;
  const data = made(n, m, heads, d, norm, { source, cross: place === "decoder.cross", ...more });
  const head = Math.min(heads - 1, more.head ?? 2);
  const state = { place, zoom, step, encoder: 1, decoder: 1, head, t: Math.min(2, n - 1) };
  const ctx = {
    state,
    data,
    area: { x: 0, y: 0, w, h },
    unit,
    big: unit > 15,
    t: textsOf(ATTENTION_TEXTS),
    theme: null,
    narrow,
  };
  if (!h) ctx.area.h = attentionBoardHeight(ctx);
  return ctx;
}

/** Items of a board by key. */
const board = (...asked) => byKey(attentionBoard(Reflect.apply(contextOf, null, asked)));
// Large text gets smaller before a shape goes.
const faults = (ctx) => faultsOf(attentionBoard(ctx), ctx, { cut: false, least: ctx.big ? 0.55 : 0.85 });
const rect = ({ x, y, w, h }) => [x, y, w, h];
const near = (a, b) => assert.ok(Math.abs(a - b) < 1e-6, `${a} and ${b}`);
const matricesOf = (items) => Object.entries(items).filter(([, item]) => item.kind === "matrix");

for (const area of AREAS)
  test(`everything fits without overlap in ${area}`, () => {
    const norms = (size) =>
      size === USUAL ? ["post", "pre", "none", "post alone", "pre alone", "none alone"] : ["post"];
    const problems = [];
    for (const place of PLACES)
      for (const size of SIZES)
        for (const norm of norms(size))
          for (const zoom of ZOOMS)
            for (const step of stepsOf(place, around(norm))) {
              const ctx = contextOf(place, zoom, step, area, size, norm, { head: size[2] - 1 });
              problems.push(...faults(ctx).map((fault) => [place, size, norm, zoom, step, fault].join(" ")));
            }
    assert.deepEqual(problems, []);
  });

test("every matrix of a step is drawn, and its outline is drawn before its numbers are loaded", () => {
  for (const area of [WIDE, PHONE])
    for (const place of PLACES)
      for (const zoom of ZOOMS)
        for (const [step, names] of Object.entries(SHOWN)) {
          const items = board(place, zoom, step, area, USUAL);
          const start = `m:${place.replace(".", ".1.")}.`;
          const heads = zoom === "sub" ? [0, 1, 2, 3, 4, 5, 6, 7] : [2];
          const headSuffix = zoom === "head" && step === "project" ? ".h2" : "";
          const expected = names.flatMap((name) =>
            name.includes("*") ? heads.map((h) => name.replace("*", `h${h}`)) : name + headSuffix,
          );
          if (place === "decoder.cross" && ["x", "project"].includes(step)) expected.push("memory");
          for (const name of expected) assert.equal(items[start + name]?.kind, "matrix", `${step} ${name}`);
          const ctx = contextOf(place, zoom, step, area, USUAL, "post", { wait: true });
          const later = byKey(attentionBoard(ctx));
          assert.deepEqual(faults(ctx), []);
          assert.deepEqual(matricesOf(later), []);
          for (const [key, item] of matricesOf(items)) {
            if (item.group === "under") continue;
            assert.equal(later[`${key}:wait`].kind, "box");
            assert.deepEqual(rect(later[`${key}:wait`]), rect(item));
            assert.ok(item.parent.includes(`${key}:wait`));
          }
        }
});

test("a model without residual connections shows no addition of x", () => {
  for (const place of PLACES) {
    const start = `m:${place.replace(".", ".1.")}.`;
    const items = board(place, "sub", "norm", WIDE, USUAL, "post alone");
    const names = matricesOf(items).map(([key]) => key.replace(start, ""));
    for (const name of ["update", "mean", "deviation", "gamma", "beta", "leaves"])
      assert.ok(names.includes(name), name);
    assert.ok(!names.includes("x") && !names.includes("sum"));
    const texts = Object.values(items)
      .map((item) => item.text)
      .join();
    assert.ok(texts.includes("LayerNorm") && !texts.includes("x + "));
    for (const norm of ["none", "pre"]) {
      const keys = Object.keys(board(place, "sub", "add", WIDE, USUAL, norm));
      assert.ok(keys.includes(`${start}sum`) && !keys.some((key) => key.startsWith(`${start}leaves`)));
    }
  }
});

test("memory is drawn in pre-norm models too, and shares its axes with the key and value matrices, not with x", () => {
  for (const zoom of ZOOMS) {
    const rects = ["x", "norm"].map((step) => {
      const { "m:decoder.1.cross.x": x, "m:decoder.1.cross.memory": memory } = board(
        "decoder.cross",
        zoom,
        step,
        WIDE,
        USUAL,
        "pre",
      );
      near(memory.h / 14, x.h / 11);
      assert.deepEqual([memory.w, memory.rowAxis], [x.w, "key"]);
      assert.deepEqual(memory.pick, step === "x" ? { matrix: "memory" } : undefined);
      assert.equal((memory.alpha ?? 1) < 1, step === "norm");
      return [rect(x), rect(memory)];
    });
    assert.deepEqual(rects[0], rects[1]);
    assert.ok(!("m:decoder.1.self.memory" in board("decoder.self", zoom, "x", WIDE, USUAL, "pre")));
    const end = zoom === "sub" ? "" : ".h2";
    const items = board("decoder.cross", zoom, "project", WIDE, USUAL);
    const axis = (name, which) => items[`m:decoder.1.cross.${name}`][which];
    assert.equal(axis("x", "colAxis"), axis(`W_q${end}`, "rowAxis"));
    assert.notEqual(axis("x", "colAxis"), axis("memory", "colAxis"));
    for (const name of ["W_k", "W_v"]) assert.equal(axis("memory", "colAxis"), axis(name + end, "rowAxis"));
  }
});

test("the factors of a product are drawn to its left and above it", () => {
  const products = [
    ...[
      ["sub", "project", "x", "W_k", "keys"],
      ["head", "project", "x", "W_q.h2", "queries.h2"],
    ],
    ...[
      ["sub", "dot", "queries.h5", "keys.h5", "scores.h5"],
      ["head", "dot", "queries.h2", "keys.h2", "scores.h2"],
    ],
    ...[
      ["sub", "values", "weights.h0", "values.h0", "head_outputs.h0"],
      ["sub", "output", "concat", "W_o", "update"],
    ],
    ["head", "values", "weights.h2", "values.h2", "head_outputs.h2"],
  ];
  for (const area of [WIDE, PHONE])
    for (const [zoom, step, ...names] of products) {
      const items = board("encoder.self", zoom, step, area, USUAL);
      const [a, b, c] = names.map((name) => items[`m:encoder.1.self.${name}`]);
      assert.deepEqual([a.y, a.h, b.x, b.w], [c.y, c.h, c.x, c.w]);
      assert.ok(a.x + a.w < c.x && b.y + b.h < c.y);
      assert.deepEqual([a.rowAxis, b.colAxis, a.colAxis], ["query", c.colAxis, b.rowAxis]);
      assert.equal(c.rowAxis, "query");
    }
});

test("scores keep their position while they become weights, and each step shows its own scores", () => {
  const made = { dot: ["dot", 15], scale: ["scaled", 15], mask: ["scores", 2], softmax: ["weights", 1] };
  for (const area of AREAS)
    for (const zoom of ZOOMS) {
      const rects = Object.entries(made).map(([step, [name, top]]) => {
        const items = board("decoder.cross", zoom, step, area, [13, 11, 8, 256]);
        const matrix = items[`m:decoder.1.cross.${step === "softmax" ? "weights" : "scores"}.h2`];
        // Dot products and scores have one scale: the division pales every head.
        assert.equal(matrix.top, name === "scores" ? 2 : top);
        assert.ok(matrix.matrix.id.startsWith(`place.${name}|2|`));
        return rect(matrix);
      });
      for (const order of rects) assert.deepEqual(order, rects[0]);
    }
  const items = board("encoder.self", "head", "project", WIDE, USUAL, "post", { numbers: true });
  assert.deepEqual(
    [...items["m:encoder.1.self.b_k.h2"].matrix.data],
    Array.from({ length: 32 }, (_, i) => 64 + i),
  );
  assert.equal(items["m:encoder.1.self.queries.h2"].colFrom, 64);
});

test("tokens that are not decoded yet are pale", () => {
  const late = board("decoder.self", "sub", "split", WIDE, USUAL);
  const [queries, keys] = ["queries", "keys"].map((name) => late[`m:decoder.1.self.${name}.h0`]);
  assert.deepEqual([queries.current, queries.dimAfter, keys.dimAfter, keys.current], [2, 2, 2, undefined]);
  const cross = board("decoder.cross", "sub", "project", WIDE, USUAL);
  const dim = ["queries", "keys", "memory"].map((name) => cross[`m:decoder.1.cross.${name}`].dimAfter);
  assert.deepEqual(dim, [2, undefined, undefined]);
  const encoder = Object.values(board("encoder.self", "head", "dot", WIDE, USUAL));
  assert.ok(!encoder.some((item) => "dimAfter" in item || "current" in item));
});

test("every head can be opened from the overview", () => {
  for (const step of ["split", "dot", "softmax", "values", "concat"]) {
    const items = Object.values(board("encoder.self", "sub", step, WIDE, USUAL)).filter((item) => item.go);
    const labelled = items.filter((item) => item.label).map(({ go, label }) => [go, label]);
    const expected = [0, 1, 2, 3, 4, 5, 6, 7].map((head) => [
      { zoom: "head", head },
      `Head ${head + 1} of 8: look inside`,
    ]);
    assert.deepEqual(labelled, expected);
    assert.ok(items.every((item) => /^(m|head):/.test(item.key)));
  }
});

test("on a phone the board has the height it needs, the same for every step", () => {
  for (const place of PLACES)
    for (const zoom of ZOOMS) {
      const contexts = Object.keys(SHOWN).map((step) => contextOf(place, zoom, step, PHONE, USUAL));
      const [high, ...otherHeights] = new Set(contexts.map((ctx) => ctx.area.h));
      assert.ok(!otherHeights.length && high > 400 && high < 1300);
      const used = Math.max(...contexts.flatMap((ctx) => attentionBoard(ctx).map((item) => item.y + item.h)));
      assert.ok(used > 0.85 * high && used <= high);
    }
});

test("the names of matrices show what a switch changed", () => {
  const text = (step, about, key, zoom = "head") =>
    board("encoder.self", zoom, step, WIDE, USUAL, "post", { about })[key].text;
  const [scale, zero] = [Array(8).fill(1), Array(8).fill(false)];
  const key = "name:m:encoder.1.self.scores.h2";
  const named = [32 ** -0.5, 1, 0.7].map((factor) => text("scale", { scale: Array(8).fill(factor), zero }, key));
  assert.deepEqual(named, ["Q_{3} K_{3}^T ÷ √d_k", "Q_{3} K_{3}^T", "Q_{3} K_{3}^T × 0.7"]);
  const off = { scale, zero: zero.with(2, true), skipped: true };
  assert.equal(text("values", off, "shape:m:encoder.1.self.head_outputs.h2"), "switched off");
  assert.equal(text("values", off, "shape:m:encoder.1.self.weights.h2"), "[11, 11]");
  assert.equal(text("output", off, "shape:m:encoder.1.self.update", "sub"), "switched off");
  for (const area of [WIDE, AREAS[9], PHONE])
    for (const step of ["softmax", "values"]) {
      const ctx = contextOf("encoder.self", "sub", step, area, USUAL, "post", {
        about: { scale, zero: zero.with(5, true) },
      });
      assert.deepEqual(faults(ctx), []);
      const items = attentionBoard(ctx);
      const frames = items.filter((item) => item.key.startsWith("head:") && item.dash);
      assert.deepEqual(
        frames.map(({ key, stroke, tip }) => [key, stroke, tip[1]]),
        [["head:encoder.1.self.5", "dim", "switched off"]],
      );
      const signs = items.filter((item) => item.key.startsWith("off:")).map((item) => item.key);
      assert.deepEqual(signs, ["off:head:encoder.1.self.5"]);
    }
});

test("the shapes shown are those of the model", () => {
  const size = [13, 11, 8, 256];
  const shapes = (zoom, step) =>
    Object.fromEntries(
      Object.entries(board("decoder.cross", zoom, step, WIDE, size))
        .filter(([key]) => key.startsWith("shape:"))
        .map(([key, item]) => [key.replace("shape:m:decoder.1.cross.", ""), item.text]),
    );
  const [whole, queries, keys] = ["[256, 256]", "[13, 256]", "[11, 256]"];
  const weights = { W_q: whole, W_k: whole, W_v: whole };
  assert.deepEqual(shapes("sub", "project"), { x: queries, queries, memory: keys, keys, values: keys, ...weights });
  assert.equal(shapes("sub", "split").keys, "[1, 8, 11, 32]");
  const dot = shapes("head", "dot");
  assert.deepEqual([dot["queries.h2"], dot["keys.h2"], dot["scores.h2"]], ["[13, 32]", "[32, 11]", "[13, 11]"]);
});

test("queries, keys and values of all heads are in sight together, also where the page scrolls", () => {
  const [wide, unit] = [700, 20];
  const items = board("encoder.self", "sub", "split", [wide, 0, unit, true], [9, 9, 8, 256]);
  const last = items["m:encoder.1.self.values.h7"];
  assert.ok(last.y + last.h <= 21 * unit, `${last.y + last.h} pixels`);
  assert.deepEqual([items["name:heads"].text, items["name:head:encoder.1.self.0"].text], ["head", "1"]);
  assert.ok(!board("encoder.self", "sub", "split", WIDE, USUAL)["name:heads"]); // "head 1" fits
});

test("tiles always show the names of their keys", () => {
  for (const area of [...AREAS.slice(5), [640, 420, 20, false], [900, 400, 20, false], [340, 460, 20, true]])
    for (const size of [USUAL, [64, 64, 8, 512], [13, 56, 8, 256]]) {
      const items = Object.values(board("encoder.self", "sub", "softmax", area, size));
      const columns = items.filter((item) => item.orient === "columns");
      assert.ok(columns.length && columns.every((item) => item.h >= 1.5 * Number(area[2])), `${area} ${size}`);
    }
});

test("heads are split from their own columns of Q, K and V and joined in their own columns of concat", () => {
  const [project, split, concat] = ["project", "split", "concat"].map((s) =>
    board("encoder.self", "sub", s, WIDE, USUAL),
  );
  const start = "m:encoder.1.self.";
  for (const role of ["queries", "keys", "values"])
    for (let head = 0; head < 8; head++) {
      const whole = project[start + role];
      const [under, block] = [project, split].map((items) => items[`${start}${role}.h${head}`]);
      near(under.x, whole.x + (head * whole.w) / 8);
      near(under.w, whole.w / 8);
      assert.deepEqual([under.y, under.h, under.z, under.first, block.first], [whole.y, whole.h, -1, "x", "y"]);
      assert.deepEqual([under.matrix.id, under.top], [block.matrix.id, block.top]); // the same picture moves
      assert.deepEqual(block.parentSlice, { key: start + role, from: 32 * head, to: 32 * head + 32 });
    }
  assert.deepEqual(concat[`${start}head_outputs.h3`].parentSlice, { key: `${start}concat`, from: 96, to: 128 });
});

test("weight matrices have the colour of their side and show a scale", () => {
  const items = board("decoder.cross", "sub", "project", WIDE, USUAL);
  assert.deepEqual(
    ["q", "k", "v"].map((letter) => items[`m:decoder.1.cross.W_${letter}`].ramp),
    ["target", "source", "source"],
  );
  const alone = board("decoder.self", "sub", "project", [1100, 700, 15, false], USUAL);
  for (const letter of "qkv") assert.equal(alone[`scale:m:decoder.1.self.W_${letter}`].text, "±3.0");
  assert.deepEqual([0.3149, 0.05, 1.26, 12.3, 140].map(sheetScale), ["±0.31", "±0.050", "±1.3", "±12", "±140"]);
});
