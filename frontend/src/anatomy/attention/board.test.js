import assert from "node:assert/strict";
import { test } from "node:test";
import { sheetScale } from "../stage/measure.js";
import { byKey, faultsOf } from "../testing/faults.js";
import { MadeUpData, contextOf } from "../testing/made_up.js";
import { stepsOf } from "../walk.js";
import { attentionBoard, attentionBoardHeight } from "./board.js";
import { ATTENTION_TEXTS } from "./texts.js";

const PLACES = ["encoder.self", "decoder.self", "decoder.cross"];
const ZOOMS = ["sub", "head"];
const PHONES = ["340 460 15 narrow", "340 460 20 narrow", "366 0 15 narrow", "340 0 20 narrow", "640 0 15 narrow"];
const DESKS = ["500 500 15", "700 560 20", "964 577 15", "1500 800 15", "1500 800 20"];
const AREAS = [...PHONES, ...DESKS];
const [PHONE, WIDE, BIG] = [PHONES[2], DESKS[2], DESKS[4]];
// queries, keys, heads, d_model
const USUAL = "11 14 8 256";
const SIZES = ["1 1 8 256", "2 3 4 64", USUAL, "13 11 16 512", "64 64 1 64", "64 40 8 512", "12 12 32 512"];
// What every step must show, for all heads and for one; a name with * once a head.
const SHOWN = {
  x: "x",
  project: "W_q W_k W_v b_q b_k b_v queries keys values",
  split: "queries.* keys.* values.*",
  dot: "queries.* keys.* scores.*",
  scale: "scores.*",
  mask: "scores.*",
  softmax: "weights.*",
  values: "weights.* values.* head_outputs.*",
  concat: "head_outputs.* concat",
  output: "concat W_o b_o update",
  add: "x update sum",
  norm: "sum mean deviation gamma beta leaves",
};

const WORDS = ["The", "yesterday", "is", "brother", "angerufen", "a", ".", "</s>", "우리말", "unverständlich", "<b>"];
const words = (count, step) => Array.from({ length: count }, (_, i) => WORDS[(i * step + 1) % WORDS.length]);
// "post alone": post-norm without residual connections
const around = (norm) => ({ norm: norm.split(" ")[0], residual: !norm.endsWith("alone") });
const top = (name, head = 0) => ({ dot: 8 + head, scaled: 2, weights: 1 })[name] || 3;

function context(place, zoom, step, area, size, norm = "post", { head = 2, ...more } = /** @type {any} */ ({})) {
  const [n, m, heads, d] = size.split(" ").map(Number);
  const layers = { encoder_layers: 2, decoder_layers: 2, scaling: true, causal: true };
  const sizes = { d_model: d, d_ff: 4 * d, heads, d_k: d / heads, d_head: d / heads };
  const source = words(place === "encoder.self" ? n : m, 1);
  const config = { ...sizes, ...layers, ...around(norm) };
  const data = new MadeUpData({ config, source, target: words(n, 3), top, ...more });
  const state = { place, zoom, step, encoder: 1, decoder: 1, head: Math.min(heads - 1, head), t: Math.min(2, n - 1) };
  return contextOf(data, state, area, { texts: ATTENTION_TEXTS, heightOf: attentionBoardHeight });
}

/** Items of a board by key. */
const board = (...asked) => byKey(attentionBoard(Reflect.apply(context, null, asked)));
// Large text gets smaller before a shape goes.
const faults = (ctx) => faultsOf(attentionBoard(ctx), ctx, { cut: false, least: ctx.big ? 0.55 : 0.85 });
const rect = ({ x, y, w, h }) => [x, y, w, h];
const near = (a, b) => assert.ok(Math.abs(a - b) < 1e-6, `${a} and ${b}`);
const matricesOf = (items) => Object.entries(items).filter(([, item]) => item.kind === "matrix");
const prefixOf = (place) => `m:${place.replace(".", ".1.")}.`;

for (const area of AREAS)
  test(`everything fits without overlap in ${area}`, () => {
    const all = ["post", "pre", "none", "post alone", "pre alone", "none alone"];
    const problems = [];
    for (const place of PLACES)
      for (const size of SIZES)
        for (const norm of size === USUAL ? all : ["post"])
          for (const zoom of ZOOMS)
            for (const step of stepsOf(place, around(norm))) {
              const found = faults(context(place, zoom, step, area, size, norm, { head: Infinity }));
              problems.push(...found.map((fault) => [place, size, norm, zoom, step, fault].join(" ")));
            }
    assert.deepEqual(problems, []);
  });

test("every matrix of a step is drawn, and its outline is drawn before its numbers are loaded", () => {
  for (const area of [WIDE, PHONE])
    for (const place of PLACES)
      for (const zoom of ZOOMS)
        for (const [step, names] of Object.entries(SHOWN)) {
          const items = board(place, zoom, step, area, USUAL);
          const heads = zoom === "sub" ? [0, 1, 2, 3, 4, 5, 6, 7] : [2];
          const suffix = zoom === "head" && step === "project" ? ".h2" : "";
          const expected = names
            .split(" ")
            .flatMap((name) => (name.includes("*") ? heads.map((h) => name.replace("*", `h${h}`)) : name + suffix));
          if (place === "decoder.cross" && ["x", "project"].includes(step)) expected.push("memory");
          for (const name of expected) assert.equal(items[prefixOf(place) + name]?.kind, "matrix", `${step} ${name}`);
          const ctx = context(place, zoom, step, area, USUAL, "post", { waits: true });
          const later = byKey(attentionBoard(ctx));
          assert.deepEqual([faults(ctx), matricesOf(later)], [[], []]);
          for (const [key, item] of matricesOf(items)) {
            if (item.group === "under") continue;
            assert.deepEqual(["box", ...rect(item)], [later[`${key}:wait`].kind, ...rect(later[`${key}:wait`])]);
            assert.ok(item.parent.includes(`${key}:wait`));
          }
        }
});

test("a model without residual connections shows no addition of x", () => {
  for (const place of PLACES) {
    const start = prefixOf(place);
    const items = board(place, "sub", "norm", WIDE, USUAL, "post alone");
    const names = matricesOf(items).map(([key]) => key.replace(start, ""));
    for (const name of ["update", "mean", "deviation", "gamma", "beta", "leaves"])
      assert.ok(names.includes(name), name);
    assert.ok(!names.includes("x") && !names.includes("sum"));
    const texts = Object.values(items).map((item) => item.text);
    assert.ok(texts.join().includes("LayerNorm") && !texts.join().includes("x + "));
    for (const norm of ["none", "pre"]) {
      const keys = Object.keys(board(place, "sub", "add", WIDE, USUAL, norm));
      assert.ok(keys.includes(`${start}sum`) && !keys.some((key) => key.startsWith(`${start}leaves`)));
    }
  }
});

test("memory is drawn in pre-norm models too, and shares its axes with the key and value matrices, not with x", () => {
  for (const zoom of ZOOMS) {
    const rects = ["x", "norm"].map((step) => {
      const items = board("decoder.cross", zoom, step, WIDE, USUAL, "pre");
      const { "m:decoder.1.cross.x": x, "m:decoder.1.cross.memory": memory } = items;
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
    "sub project x W_k keys",
    "head project x W_q.h2 queries.h2",
    "sub dot queries.h5 keys.h5 scores.h5",
    "head dot queries.h2 keys.h2 scores.h2",
    "sub values weights.h0 values.h0 head_outputs.h0",
    "sub output concat W_o update",
    "head values weights.h2 values.h2 head_outputs.h2",
  ];
  for (const area of [WIDE, PHONE])
    for (const [zoom, step, ...names] of products.map((product) => product.split(" "))) {
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
      const rects = Object.entries(made).map(([step, [name, end]]) => {
        const items = board("decoder.cross", zoom, step, area, "13 11 8 256");
        const matrix = items[`m:decoder.1.cross.${step === "softmax" ? "weights" : "scores"}.h2`];
        // Dot products and scores have one scale: the division pales every head.
        assert.equal(matrix.top, end);
        assert.ok(matrix.matrix.id.startsWith(`place.${name}|2|`));
        return rect(matrix);
      });
      for (const order of rects) assert.deepEqual(order, rects[0]);
    }
  const items = board("encoder.self", "head", "project", WIDE, USUAL, "post", { number: (name, row, col) => col });
  const expected = Array.from({ length: 32 }, (_, i) => 64 + i);
  assert.deepEqual([...items["m:encoder.1.self.b_k.h2"].matrix.data], expected);
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
    const opens = (head) => [{ zoom: "head", head }, `Head ${head + 1} of 8: look inside`];
    assert.deepEqual(labelled, [0, 1, 2, 3, 4, 5, 6, 7].map(opens));
    assert.ok(items.every((item) => /^(m|head):/.test(item.key)));
  }
});

test("on a phone the board has the height it needs, the same for every step", () => {
  for (const place of PLACES)
    for (const zoom of ZOOMS) {
      const contexts = Object.keys(SHOWN).map((step) => context(place, zoom, step, PHONE, USUAL));
      const [high, ...otherHeights] = new Set(contexts.map((ctx) => ctx.area.h));
      assert.ok(!otherHeights.length && high > 400 && high < 1300);
      const used = Math.max(...contexts.flatMap((ctx) => attentionBoard(ctx).map((item) => item.y + item.h)));
      assert.ok(used > 0.85 * high && used <= high);
    }
});

test("the names of matrices show what a switch changed", () => {
  const text = (step, about, key, zoom = "head") =>
    board("encoder.self", zoom, step, WIDE, USUAL, "post", { about })[`${key.replace(":", ":m:encoder.1.self.")}`].text;
  const [scale, zero] = [Array(8).fill(1), Array(8).fill(false)];
  const factors = [32 ** -0.5, 1, 0.7];
  const named = factors.map((factor) => text("scale", { scale: Array(8).fill(factor), zero }, "name:scores.h2"));
  assert.deepEqual(named, ["Q_{3} K_{3}^T ÷ √d_k", "Q_{3} K_{3}^T", "Q_{3} K_{3}^T × 0.7"]);
  const off = { scale, zero: zero.with(2, true), skipped: true };
  assert.equal(text("values", off, "shape:head_outputs.h2"), "switched off");
  assert.equal(text("values", off, "shape:weights.h2"), "[11, 11]");
  assert.equal(text("output", off, "shape:update", "sub"), "switched off");
  for (const area of [WIDE, BIG, PHONE])
    for (const step of ["softmax", "values"]) {
      const about = { scale, zero: zero.with(5, true) };
      const ctx = context("encoder.self", "sub", step, area, USUAL, "post", { about });
      assert.deepEqual(faults(ctx), []);
      const items = attentionBoard(ctx);
      const frames = items.filter((item) => item.key.startsWith("head:") && item.dash);
      const found = frames.map(({ key, stroke, tip }) => [key, stroke, tip[1]].join(" "));
      assert.deepEqual(found, ["head:encoder.1.self.5 dim switched off"]);
      const signs = items.filter((item) => item.key.startsWith("off:")).map((item) => item.key);
      assert.deepEqual(signs, ["off:head:encoder.1.self.5"]);
    }
});

test("the shapes shown are those of the model", () => {
  const shapes = (zoom, step) => {
    const items = Object.entries(board("decoder.cross", zoom, step, WIDE, "13 11 8 256"));
    const shown = items.filter(([key]) => key.startsWith("shape:"));
    return Object.fromEntries(shown.map(([key, item]) => [key.replace("shape:m:decoder.1.cross.", ""), item.text]));
  };
  const [whole, queries, keys] = ["[256, 256]", "[13, 256]", "[11, 256]"];
  const weights = { W_q: whole, W_k: whole, W_v: whole };
  assert.deepEqual(shapes("sub", "project"), { x: queries, queries, memory: keys, keys, values: keys, ...weights });
  assert.equal(shapes("sub", "split").keys, "[1, 8, 11, 32]");
  const dot = shapes("head", "dot");
  assert.deepEqual([dot["queries.h2"], dot["keys.h2"], dot["scores.h2"]], ["[13, 32]", "[32, 11]", "[13, 11]"]);
});

test("queries, keys and values of all heads are in sight together, also where the page scrolls", () => {
  const items = board("encoder.self", "sub", "split", "700 0 20 narrow", "9 9 8 256");
  const last = items["m:encoder.1.self.values.h7"];
  assert.ok(last.y + last.h <= 21 * 20, `${last.y + last.h} pixels`);
  assert.deepEqual([items["name:heads"].text, items["name:head:encoder.1.self.0"].text], ["head", "1"]);
  assert.ok(!board("encoder.self", "sub", "split", WIDE, USUAL)["name:heads"]); // "head 1" fits
});

test("tiles always show the names of their keys", () => {
  for (const area of [...DESKS, "640 420 20", "900 400 20", "340 460 20 narrow"])
    for (const size of [USUAL, "64 64 8 512", "13 56 8 256"]) {
      const items = Object.values(board("encoder.self", "sub", "softmax", area, size));
      const columns = items.filter((item) => item.orient === "columns");
      const unit = Number(area.split(" ")[2]);
      assert.ok(columns.length && columns.every((item) => item.h >= 1.5 * unit), `${area} ${size}`);
    }
});

test("heads are split from their own columns of Q, K and V and joined in their own columns of concat", () => {
  const [project, split, concat] = ["project", "split", "concat"].map((step) =>
    board("encoder.self", "sub", step, WIDE, USUAL),
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
  const ramps = ["q", "k", "v"].map((letter) => items[`m:decoder.1.cross.W_${letter}`].ramp);
  assert.deepEqual(ramps, ["target", "source", "source"]);
  const alone = board("decoder.self", "sub", "project", "1100 700 15", USUAL);
  for (const letter of "qkv") assert.equal(alone[`scale:m:decoder.1.self.W_${letter}`].text, "±3.0");
  assert.deepEqual([0.3149, 0.05, 1.26, 12.3, 140].map(sheetScale), ["±0.31", "±0.050", "±1.3", "±12", "±140"]);
});
