import assert from "node:assert/strict";
import { test } from "node:test";
import { changedWords, changeText, digitsText, hidesAll, numberText, repetition, shortText } from "./numbers.js";

// tests/web/test_lab_packs.py compares the effect on translations with that of Python; these cases are those of
// tests/pages/lab/test_sections.py.

test("numbers are written as on the server", () => {
  const texts = [0, 1e-7, 0.25, 123.456, 12345.6, 3e9, Infinity, NaN].map(numberText);
  assert.deepEqual(texts, ["0", "1.0e-07", "0.25", "123.46", "12,346", "3.0e+09", "∞", "∞"]);
  assert.deepEqual([0, 1e-6, 0.006, 0.999].map(shortText), ["0.00", "<.01", "0.01", "1.00"]);
  assert.deepEqual([0, 1, 0.123456, 0.0001, 0.000012344].map(digitsText), ["0", "1", "0.1235", "0.0001", "1.234e-05"]);
});

test("how far a number moved is written as on the server", () => {
  const pairs = [[1.55, 1.74], [2, 2], [2, 1.999999], [2, 1], [1, 25], [1, 1e9], [2, Infinity]]; // prettier-ignore
  const texts = pairs.map(([before, after]) => changeText(before, after));
  assert.deepEqual(texts, ["+12%", "+0.0%", "+0.0%", "-50%", "× 25", "× 1.0e+09", "× ∞"]);
});

test("sequences of four tokens that come again are counted", () => {
  assert.equal(repetition(["a", "b", "c"]), 0);
  assert.equal(repetition([..."abcdabcd"]), 1 - 4 / 5);
});

test("punctuation and special tokens are no words", () => {
  const words = ["Die", "Katze", ".", "</s>"].map((text) => ({ text, special: text === "</s>" }));
  assert.deepEqual(changedWords(/** @type {any} */ ({ words, marks: [true, false, true, true] })), {
    changed: 1,
    count: 2,
  });
});

test("what hides all from the first step is of the target, if anything is", () => {
  assert.deepEqual(hidesAll({ hide: "source.2,target.1@decoder_self" }), { hide: "target.1@decoder_self" });
  assert.deepEqual(hidesAll({ hide: "source.1,source.2" }), { hide: "source.1,source.2" });
});
