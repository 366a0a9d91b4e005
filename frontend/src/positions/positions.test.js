import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { FIGURES } from "./fill.js";
import * as numbers from "./numbers.js";

// Made by Python (tests/pages/positions/test_reference.py).
const {
  numbers: sizes,
  templates,
  figures,
  typed,
  lengths,
} = JSON.parse(readFileSync(new URL("reference.json", import.meta.url), "utf8"));
const STEP = 2 ** -24; // of float32 between 0.5 and 1

// Equal, numbers within `by` (and a part in a million); arrays of any sort are lists.
function same(actual, expected, by, path) {
  if (typeof expected === "number")
    assert.ok(Math.abs(actual - expected) <= by + 1e-6 * Math.abs(expected), `${path}: ${actual}, not ${expected}`);
  else if (Array.isArray(expected)) {
    assert.equal(actual.length, expected.length, path);
    expected.forEach((item, i) => same(actual[i], item, by, `${path}[${i}]`));
  } else if (expected && typeof expected === "object") {
    assert.deepEqual(Object.keys(actual).sort(), Object.keys(expected).sort(), path);
    for (const [name, item] of Object.entries(expected)) same(actual[name], item, by, `${path}.${name}`);
  } else assert.equal(actual, expected, path);
}

test("tables, products and maps equal those computed by Python", () => {
  for (const wanted of sizes) {
    const { length, dModel, k } = wanted;
    const table = numbers.encodingTable(length, dModel);
    same(table, wanted.table, STEP, "table");
    same(numbers.frequencies(dModel), wanted.frequencies, 0, "frequencies");
    same(numbers.wavelengths(dModel), wanted.wavelengths, 0, "wavelengths");
    const products = numbers.dotProducts(table, length, dModel);
    same(products, wanted.products, dModel * STEP, "products");
    same(numbers.sameProducts(table, length, dModel), wanted.products, 2 * dModel * STEP, "same products");
    const { offsets, mean, largestSpread } = numbers.byOffset(products, length);
    same(
      { offsets, mean, spread: largestSpread },
      { offsets: wanted.offsets, mean: wanted.mean, spread: wanted.spread },
      dModel * STEP,
      "offsets",
    );
    same(numbers.shiftMap(k, dModel, wanted.map.length), wanted.map, STEP, "map");
    const mapped = numbers.mapByShift(table, length, dModel, k);
    same(mapped, wanted.shifted, 4 * STEP, "shifted");
    const error = numbers.shiftError(table, mapped, dModel, k);
    assert.ok(error < 1e-5);
    same(error, wanted.error, 2 * STEP, "error");
    assert.deepEqual(numbers.defaultDims(dModel), wanted.dims);
  }
});

test("the products of any table are averaged by offset", () => {
  // Of [[1, 2, 4], [8, 16, 32], [64, 128, 256]] by p - q; products that do not depend on p - q alone have a spread.
  const table = Float64Array.from({ length: 9 }, (_, i) => 2 ** i);
  const { offsets, mean, largestSpread } = numbers.byOffset(table, 3);
  const expected = { "-2": 4, "-1": 17, 0: 91, 1: 68, 2: 64 };
  Array.from(offsets).forEach((offset, i) => assert.ok(Math.abs(mean[i] - expected[offset]) < 1e-9, String(offset)));
  assert.ok(largestSpread > 0);
});

test("wavelengths and typed dimensions are read and written as in Python", () => {
  for (const { value, text } of lengths) assert.equal(numbers.wavelengthText(value), text);
  for (const { text, dims, wrong } of typed) {
    const { found, wrong: odd, many } = numbers.readDims(text, 20, 6);
    assert.deepEqual([...found], dims, text);
    assert.deepEqual([...odd, ...many.map(String)].sort(), [...wrong].sort(), text);
  }
});

function valuesOf(now) {
  const table = numbers.encodingTable(now.length, now.dModel);
  const products = numbers.dotProducts(table, now.length, now.dModel);
  return {
    ...{ ...now, table, rows: numbers.rowsOf(table, now.dModel), wavelengths: numbers.wavelengths(now.dModel) },
    ...{ matrix: numbers.rowsOf(products, now.length), offsets: numbers.byOffset(products, now.length) },
  };
}

test("a template filled in the browser equals the figure that Python makes", () => {
  for (const { now, wanted } of figures) {
    const all = valuesOf(now);
    for (const [name, { fill }] of Object.entries(FIGURES)) {
      const filled = fill(structuredClone(templates[name]), all);
      same({ data: filled.data, layout: filled.layout }, wanted[name], 1e-5, `${name} of ${JSON.stringify(now)}`);
    }
  }
});

test("a figure reads only the values it declares", () => {
  // A value that is not among them would leave the figure standing.
  const made = new Set(["table", "rows", "wavelengths", "matrix", "offsets"]);
  for (const [name, { fill, needs }] of Object.entries(FIGURES)) {
    const { now } = figures[1];
    const all = valuesOf(now);
    const read = new Set();
    const watched = new Proxy(all, {
      get(target, key) {
        read.add(key);
        return target[key];
      },
    });
    fill(structuredClone(templates[name]), watched);
    const used = [...read].filter((key) => !made.has(key));
    assert.deepEqual(
      used.filter((key) => !needs.includes(key)),
      [],
      name,
    );
  }
});
