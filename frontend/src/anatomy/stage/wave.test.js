import assert from "node:assert/strict";
import { test } from "node:test";
import { bandPoints, placeOfKey, waveOf } from "./wave.js";

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
