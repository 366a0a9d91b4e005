import assert from "node:assert/strict";
import { test } from "node:test";
import { bandPoints, fillOf, placeOfKey, shownPart, waveOf } from "./wave.js";

test("a band, a strip and an arrow belong to the place in their key", () => {
  const places = {
    "fan:encoder.0.self.queries": "encoder.self",
    "meet:decoder.3.cross": "decoder.cross",
    "m:decoder.11.ff.activation": "decoder.ff",
    "mix:encoder.self": "encoder.self",
    "in:encoder": "source",
    "in:decoder": "target",
    "say:output": "output",
    "m:source.x": "source.x",
  };
  for (const [key, place] of Object.entries(places)) assert.equal(placeOfKey(key), place);
});

const band = {
  key: "fan:encoder.0.self.keys",
  kind: "bands",
  rows: 2,
  from: { x: 10, y: 0, h: 8 },
  to: { x: 30, y: 4, h: 4 },
};

test("dots begin at the rows of one edge and end at those of the other", () => {
  const at = (share) => bandPoints(band, share).map(({ x, y }) => [x, y]);
  assert.deepEqual(at(0), [
    [10, 2],
    [10, 6],
  ]);
  assert.deepEqual(at(1), [
    [30, 5],
    [30, 7],
  ]);
  assert.deepEqual(at(0.5), [
    [20, 3.5],
    [20, 6.5],
  ]); // the curve is symmetric
});

test("only what belongs to a place runs, from its first edge to its last", () => {
  const strip = { key: "m:encoder.0.self.x", kind: "matrix", x: 4, y: 0, w: 6, h: 8, matrix: { rows: 2 } };
  const other = { ...band, key: "fan:encoder.0.ff", to: { x: 90, y: 0, h: 4 } };
  const wave = waveOf([band, strip, other], "encoder.self");
  assert.deepEqual([wave.bands, wave.strips, wave.from, wave.to], [[band], [strip], 4, 30]);
  assert.equal(waveOf([strip], "encoder.self"), null);
});

const matrix = { rows: 4, name: "weights" };
const strip = (key, x) => ({ key, kind: "matrix", x, y: 0, w: 6, h: 8, matrix });

test("while playing, what a place computes appears behind the front", () => {
  const [input, keys] = [strip("m:encoder.0.self.x", 4), strip("m:encoder.0.self.keys", 30)];
  const output = { ...strip("m:encoder.0.ff.x", 50), y: 2 };
  const other = strip("m:encoder.0.ff.activation", 50);
  const mix = { ...band, key: "mix:encoder.self", from: { x: 36, y: 0, h: 8 }, to: { x: 50, y: 2, h: 4 } };
  const wave = waveOf([band, mix, input, keys, output, other], "encoder.self", true, 1000);
  assert.deepEqual([wave.made, wave.to], [[keys, output], 56]);
  assert.deepEqual(shownPart(wave, keys, 0), { rows: 0, front: 4 });
  assert.ok(shownPart(wave, keys, 1000).front >= wave.to);
  assert.equal(shownPart(wave, { ...keys, current: 3 }, 500).rows, 3); // those of earlier steps
});

test("a new matrix appears row by row; what stays or leaves does not", () => {
  const item = strip("m:encoder.0.self.weights.h0", 0);
  const changed = { item: strip("m:encoder.0.self.weights.h1", 0), old: item };
  const moves = [{ item, fresh: true }, changed, { item }, { item, leaves: true, fresh: true }];
  const fill = fillOf(moves, "weights", 800);
  assert.deepEqual(fill.made, [item, changed.item]);
  const rows = [0, 199, 200, 799, 800].map((elapsed) => shownPart(fill, item, elapsed).rows);
  assert.deepEqual(rows, [0, 0, 1, 3, 4]);
  assert.equal(fillOf(moves, "scores", 800), null);
});
