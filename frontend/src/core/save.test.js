import assert from "node:assert/strict";
import { test } from "node:test";
import { changesOf, mergesTokens } from "../explorer/saving.js";
import { toldOf } from "../saving/told.js";
import { csvField, csvText, fileStem, viewCsv, wrapText } from "./save.js";
import { gradientStops, splitList } from "./snapshot.js";

test("a CSV field keeps commas and quotes and is never a formula", () => {
  assert.equal(csvField('a "b", c'), '"a ""b"", c"');
  for (const sign of ["=", "+", "-", "@"]) assert.doesNotMatch(csvField(`${sign}SUM(A1)`), /^"?[=+\-@]/);
});

test("a table has texts and numbers of nine digits, and nothing where there is no number", () => {
  const rows = [
    ["token", "weight"],
    ["=1", 1 / 3],
    ["a, b", -Infinity],
    [null, NaN],
  ];
  assert.equal(csvText(rows), `\ufefftoken,weight\r\n'=1,0.333333333\r\n"a, b",-inf\r\n,\r\n`);
  const view = { rowLabels: ["x"], columnLabels: ["a", "b"], queries: 1, keys: 2, data: Float32Array.of(0.25, 2 / 3) };
  assert.equal(viewCsv({ ...view, exact: true }, "q"), "\ufeffq,a,b\r\nx,0.25,0.666666687\r\n");
  assert.equal(viewCsv({ ...view, exact: false }, "q"), "\ufeffq,a,b\r\nx,0.25,0.667\r\n");
});

test("a file name has only signs that every system takes, and an end", () => {
  assert.equal(fileStem(["headscope", 'a/b:c*"d"?', "Bär"]), "headscope-a_b_c_d_-B_r");
  assert.equal(fileStem(["headscope", "..", "x".repeat(300)]).length, 140);
  assert.equal(fileStem(["headscope", "cut here. "]), "headscope-cut_here");
});

test("a file name says what was done to the numbers", () => {
  const shown = { rows: "predicted", pieces: "subwords", special: "shown", threshold: 0 };
  assert.deepEqual(changesOf(shown, "cross", true), []);
  const changed = { rows: "fed", pieces: "words", special: "renormalised", threshold: 0.1 };
  assert.deepEqual(changesOf(changed, "cross", true), ["fed", "words", "renormalised", "threshold0.1"]);
  assert.deepEqual(changesOf(changed, "encoder_self", false), ["renormalised", "threshold0.1"]);
  assert.ok(mergesTokens({ rows: [[0]], columns: [[0], [1, 2]] }));
  assert.ok(!mergesTokens({ rows: [[0]], columns: [[0], [1]] }));
});

test("a caption says the sentences and the switches, a name the model", () => {
  const saved = { model: "en-de", sentences: "One. → Eins.", switches: [], in_words: "" };
  assert.deepEqual(toldOf(saved), { stem: ["en-de"], lines: ["One. → Eins."], switches: [] });
  const switched = {
    ...saved,
    sentences: "a\u202eb → c",
    switches: ["scaling-off"],
    in_words: "Switched: scaling off",
  };
  assert.deepEqual(toldOf(switched).lines, ["a·b → c", "Switched: scaling off"]);
});

test("a caption wraps between words, and a long word has a line", () => {
  const context = { measureText: (text) => ({ width: text.length }) };
  assert.deepEqual(wrapText(context, "one two, three", 8), ["one two,", "three"]);
  assert.deepEqual(wrapText(context, "one extraordinary two", 8), ["one", "extraordinary", "two"]);
});

test("the stops of a gradient are read with commas inside their colours", () => {
  assert.deepEqual(splitList("rgb(1, 2, 3) 0%, red"), ["rgb(1, 2, 3) 0%", "red"]);
  const image = "linear-gradient(to right, rgb(1, 2, 3) 25%, rgba(0, 0, 0, 0) 25%)";
  assert.deepEqual(gradientStops(image), [
    ["rgb(1, 2, 3)", 0.25],
    ["rgba(0, 0, 0, 0)", 0.25],
  ]);
  assert.deepEqual(gradientStops("linear-gradient(to right, red, green, blue)"), [
    ["red", 0],
    ["green", 0.5],
    ["blue", 1],
  ]);
  assert.equal(gradientStops("none"), null);
});
