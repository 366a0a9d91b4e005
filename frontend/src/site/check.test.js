import assert from "node:assert/strict";
import { test } from "node:test";
import { findProblems, readersOf } from "./check.js";

const ABOUT = { languages: ["English", "German"], trained_up_to: 50 };
const LIMIT = 128;
const problems = (source, tokens, { target = "", targetTokens = 1, unknown = [], about = ABOUT } = {}) =>
  findProblems(
    { source, target },
    { source: { tokens, unknown }, target: { tokens: targetTokens, unknown: [] } },
    about,
    LIMIT,
  );
const keys = (...asked) => problems(...asked).map(([, key]) => key);

test("an ordinary sentence has no problem", () => {
  assert.deepEqual(problems("The man is here.", 6), []);
  assert.deepEqual(problems("The man is here.", 6, { target: "Der Mann ist hier.", targetTokens: 6 }), []);
});

test("a text that cannot be computed has one problem", () => {
  assert.deepEqual(problems(" ", 1), [["note", "source_none", { limit: LIMIT }]]);
  assert.deepEqual(keys("\u200b\u200b", 1), ["source_unreadable"]);
  assert.deepEqual(keys("x", 2, { target: "\u200b", targetTokens: 1 }), ["target_unreadable"]);
  assert.deepEqual(problems("x", 129), [["error", "source_long", { tokens: 129, limit: LIMIT }]]);
  assert.deepEqual(keys("x", 2, { target: "y", targetTokens: 129 }), ["target_long"]);
  assert.deepEqual(keys("x", 128), ["untrained"]);
});

test("a text in other letters means nothing to a model of English", () => {
  assert.deepEqual(keys("안녕 세상", 5), ["reads"]);
  assert.deepEqual(keys("Seoul 서울", 5), []); // most letters are Latin
  assert.deepEqual(keys("2 + 2 = 4", 7, { unknown: ["+", "="] }), ["unknown"]);
});

test("to any other model a text means nothing if it does not know most of its tokens", () => {
  const about = { languages: ["digits", "Korean numerals"] };
  assert.deepEqual(keys("이만", 3, { about }), []);
  assert.deepEqual(keys("abc", 4, { about, unknown: ["a", "b"] }), ["reads", "unknown"]);
  assert.deepEqual(keys("ab12", 5, { about, unknown: ["a"] }), ["unknown"]);
});

test("a toy says what it reads to a text that is something else, in full-width characters and capitals, too", () => {
  const about = {
    ...ABOUT,
    languages: ["digits", "sorted"],
    reads: { pattern: "[0-9]+|ten a", what: "the digits 0 to 9" },
  };
  for (const text of ["31", " ３１ ", "Ten  A"]) assert.deepEqual(keys(text, 3, { about }), []);
  const said = [["warning", "outside", { language: "the digits 0 to 9" }]];
  for (const text of ["3.1", "-3", "ten"]) assert.deepEqual(problems(text, 4, { about }), said);
});

test("a model with a closed vocabulary names words outside it, and reads nothing in other letters", () => {
  const about = { languages: ["Korean", "English"], words: "words.json" };
  const outside = { named: [["학꾜를", ["학교"]]], more: false };
  const said = (source, told) =>
    findProblems(
      { source, target: "" },
      { source: { tokens: 4, unknown: [], outside: told }, target: { tokens: 1, unknown: [] } },
      about,
      LIMIT,
    );
  assert.deepEqual(said("학꾜를 봐요.", outside), [["note", "outside_words", { outside }]]);
  assert.deepEqual(said("학교를 봐요.", { named: [], more: false }), []);
  assert.deepEqual(said("a school", outside), [["warning", "reads", { language: "Korean" }]]);
  assert.deepEqual(said("12.", { named: [], more: false }), []);
});

test("a text in Hangul is offered a model that reads it: numbers one of numerals, all else one of sentences", () => {
  const numbers = { about: { name: "ko-numbers", reads: { pattern: "[일이삼]+", what: "numbers" } } };
  const sentences = { about: { name: "ko-en", words: "words.json" } };
  const english = { about: { name: "en-de" } };
  const offered = (text, models, open = "en-de") => readersOf(text, models, open).map(({ name, kept }) => [name, kept]);
  const all = [english, numbers, sentences];
  assert.deepEqual(offered("이삼", all), [["ko-numbers", true]]);
  assert.deepEqual(offered("안녕하세요", all), [["ko-en", true]]);
  assert.deepEqual(offered("안녕하세요", all, "ko-numbers"), [["ko-en", true]]);
  assert.deepEqual(offered("안녕하세요", [english, numbers]), [["ko-numbers", false]]); // its example opens instead
  assert.deepEqual(offered("안녕하세요", [english]), []);
  for (const text of ["Hallo", "12", " "]) assert.deepEqual(offered(text, all), []);
});

test("long unknown tokens are cut", () => {
  const [[, , { tokens }]] = problems("x", 4, { unknown: ["a", "b".repeat(21)] });
  assert.equal(tokens, `a ${"b".repeat(20)}…`);
});
