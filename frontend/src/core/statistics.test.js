import assert from "node:assert/strict";
import { test } from "node:test";
import { meanOf, rounded, varianceOf } from "./statistics.js";

test("mean and variance around it, also of 32-bit numbers", () => {
  for (const numbers of [[1, 2, 6], Float32Array.of(1, 2, 6)]) {
    assert.equal(meanOf(numbers), 3);
    assert.equal(varianceOf(numbers), (4 + 1 + 9) / 3);
  }
  assert.ok(Number.isNaN(varianceOf([])));
});

test("numbers are rounded, and what is none becomes null", () => {
  assert.deepEqual(rounded([[1.23456, NaN], [Infinity]], 3), [[1.235, null], [null]]);
});
