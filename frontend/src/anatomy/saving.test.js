import assert from "node:assert/strict";
import { test } from "node:test";
import { makeTexts } from "../core/texts.js";
import { captionOf, matrixCsv, stemOf } from "./saving.js";
import { SceneContext } from "./stage/scene_svg.js";
import { ALL_ANATOMY_TEXTS } from "./words/hover.js";
import { isOpen, withFold } from "./walk.js";

const t = makeTexts(null, ALL_ANATOMY_TEXTS);
const labels = { source: ["=1", "b", "</s>"], target_in: ["<s>", "x"], target_out: ["x", "</s>"] };
const header = { checkpoint: "en-de", switches: {}, sentences: { source: "one, two.", target: "eins, zwei." } };
const data = { header, phrases: [], labels: (side) => labels[side] };
const state = {
  zoom: "head",
  place: "encoder.self",
  encoder: 1,
  decoder: 0,
  head: 2,
  step: "softmax",
  t: 1,
  opened: "",
};

function matrix(rows, cols, numbers, axes, exact = true) {
  return { name: "weights", rows, cols, axes, exact, at: (row, col) => numbers[row * cols + col] };
}

test("a file is named after what it holds", () => {
  assert.equal(stemOf({ state, data }), "headscope-en-de-encoder.self-layer2-head3-softmax");
  const cross = { ...state, zoom: "sub", place: "decoder.cross", step: "dot" };
  const switched = { ...data, header: { ...header, switches: { scaling: "off" } } };
  assert.equal(stemOf({ state: cross, data: switched }), "headscope-en-de-decoder.cross-layer1-dot-token2-switched");
  assert.equal(stemOf({ state: { ...state, zoom: "model", place: "source" }, data }), "headscope-en-de-source-model");
});

test("the caption says what was done to the numbers", () => {
  assert.deepEqual(captionOf({ state, data, t }, "Spoken."), ["Spoken.", "one, two. → eins, zwei."]);
  const switched = { ...data, phrases: ["scaling off", "mask off"] };
  const lines = captionOf({ state: { ...state, zoom: "model" }, data: switched, t }, "Spoken.");
  assert.deepEqual(lines.slice(2), ["Switched: scaling off; mask off", "Strips are rounded to 8 bits."]);
});

test("the numbers of a matrix as CSV, with tokens as text and hidden cells as -inf", () => {
  const numbers = [0.1, -Infinity, 1 / 3, 1, 0, 0.25];
  const csv = matrixCsv({ state, data, t }, matrix(2, 3, numbers, ["batch", "head", "query", "key"]));
  const text = "weights,'=1,b,</s>\r\n'=1,0.1,-inf,0.333333333\r\nb,1,0,0.25\r\n";
  assert.equal(csv, "\ufeff" + text);
  const rounded = matrixCsv({ state, data, t }, matrix(1, 2, [1 / 3, 2], ["query", "d_k"], false));
  assert.equal(rounded, `\ufeff"weights, rounded to 8 bits",1,2\r\n'=1,0.333,2\r\n`);
  const words = matrixCsv(
    { state: { ...state, place: "output" }, data, t },
    matrix(1, 2, [3, 4], ["step", "vocabulary"]),
  );
  assert.match(words, /^\ufeffweights,0,1\r\n/);
});

test("paths of the drawing as SVG", () => {
  const measure = { measureText: () => ({ width: 10, fontBoundingBoxAscent: 8 }) };
  const theme = { masked: [200, 200, 200], hatch: [100, 100, 100] };
  const context = new SceneContext(measure, theme);
  context.beginPath();
  context.moveTo(0, 0);
  context.bezierCurveTo(1, 0, 1, 2, 2, 2);
  context.closePath();
  context.fill();
  assert.match(context.markup, /d="M0 0C1 0 1 2 2 2z"/);
  // A corner: straight to where the rounding begins, and a curve around the corner.
  Object.assign(context, { markup: "" });
  context.beginPath();
  context.moveTo(0, 0);
  context.arcTo(10, 0, 10, 10, 2);
  context.setLineDash([5, 4]);
  context.stroke();
  assert.match(context.markup, /d="M0 0L8 0Q10 0 10 2"/);
  assert.match(context.markup, /stroke-dasharray="5 4"/);
  Object.assign(context, { markup: "", font: "italic 400 14px serif" });
  context.fillText("Q", 1, 2);
  assert.match(context.markup, /^<text font-style="italic" .*font-size="14".*>Q<\/text>$/);
  context.fillStyle = context.createPattern();
  context.fillRect(0, 0, 4, 4);
  assert.match(context.markup, /fill="url\(#hatch\)"/);
  assert.match(context.defs, /<pattern id="hatch"/);
});

test("folded texts open and close by name", () => {
  const open = withFold(withFold(state, "more", true), "switches", true);
  assert.equal(open.opened, "more.switches");
  assert.ok(isOpen(open, "switches") && !isOpen(open, "parameters") && !isOpen(state, "more"));
  assert.equal(withFold(open, "more", false).opened, "switches");
});
