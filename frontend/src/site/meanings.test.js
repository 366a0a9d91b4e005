import assert from "node:assert/strict";
import { test } from "node:test";
import { wordMeanings } from "./meanings.js";

const LISTS = { German: { sein: { "": "to be", "Das ist sein Hund.": "his" }, hund: { "": "dog" } } };
const HEADER = {
  languages: ["English", "German"],
  sentences: { source: "That is his dog.", target: "Das ist sein Hund." },
  word_labels: { source: ["That"], target_in: ["<s>", "Sein"], target_out: ["Hund", "constructor", "</s>"] },
};

test("a word means what it means in its sentence, and is found in capitals", () => {
  assert.deepEqual(wordMeanings(HEADER, LISTS), {
    source: null,
    target_in: [null, "his"],
    target_out: ["dog", null, null],
  });
  const elsewhere = { ...HEADER, sentences: { ...HEADER.sentences, target: "Er will hier sein." } };
  assert.deepEqual(wordMeanings(elsewhere, LISTS).target_in, [null, "to be"]);
});

test("to readers of both languages there is nothing to tell", () => {
  assert.equal(wordMeanings(HEADER, {}), null);
});
