import assert from "node:assert/strict";
import { test } from "node:test";
import { differing, translationsOf, wordsOf } from "./translation.js";

const marks = (before, after) =>
  differing(before.split(" "), after.split(" ")).map((side) => side.map(Number).join(""));

test("words differ that are not in the longest common blocks", () => {
  assert.deepEqual(marks("the cat is asleep", "the dog is asleep"), ["0100", "0100"]);
  assert.deepEqual(marks("a b c", "a b c"), ["000", "000"]);
  assert.deepEqual(marks("a b", "c"), ["11", "1"]);
  assert.deepEqual(marks("x a b y", "a b"), ["1001", "00"]);
});

test("a word that moved differs on both sides, and of equal blocks the first counts", () => {
  assert.deepEqual(marks("a b c d", "c d a b"), ["0011", "1100"]);
  assert.deepEqual(marks("a x a", "a"), ["011", "0"]);
});

test("subword tokens are joined to words; a model of letters has none", () => {
  assert.deepEqual(
    wordsOf(["▁Die", "▁Katz", "e", ".", "</s>"]).map(({ text }) => text),
    ["Die", "Katze", ".", "</s>"],
  );
  assert.deepEqual(
    wordsOf(["c", "b", "</s>"]).map(({ text }) => text),
    ["c", "b", "</s>"],
  );
});

test("both translations have their blanks and no special tokens", () => {
  const before = ["deu_Latn", "▁Die", "▁Katze", "</s>"];
  const found = translationsOf({ target_out: before }, { target_out: ["de_DE", "▁Der", "▁Katze"] });
  assert.deepEqual(found.before, [
    [" Die", true],
    [" Katze", false],
  ]);
  assert.deepEqual(found.after, [
    [" Der", true],
    [" Katze", false],
  ]);
});
