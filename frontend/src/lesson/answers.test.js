import assert from "node:assert/strict";
import { test } from "node:test";
import { makeTexts } from "../core/texts.js";
import { computeAnswer } from "./answers.js";
import { askQuestion, inWords, isRight } from "./questions.js";
import { LESSON_TEXTS } from "./texts.js";

const t = makeTexts(null, LESSON_TEXTS);

// tests/web/test_lessons.py compares the answers of every function with those of Python, and what is refused.

// One layer of two heads over three tokens: head 1 looks at the token before, in the last row at two alike; head 2 at the
// token itself.
const HEADS = [1, 0, 0, 0.75, 0.25, 0, 0.5, 0.5, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1];
const shape = [1, 2, 3, 3];
const TRACE = {
  ...{ checkpoint: "tiny", languages: ["English", "German"], source_text: "a b", target_text: "x" },
  ...{ source_tokens: ["▁a", "▁b", "</s>"], source_labels: ["a", "b", "</s>"] },
  ...{ target_out: ["▁x", "</s>"], target_out_labels: ["x", "</s>"] },
  encoder_self: {
    weights: { data: Float32Array.from(HEADS), shape },
    mask: { data: new Uint8Array(18).fill(1), shape },
  },
};
const MODEL = { about: { config: {}, mean: false }, trace: async () => ({ target_text: "x" }) };
const answer = (name, given = {}) => computeAnswer(MODEL, TRACE, { function: name, arguments: given });

test("heads are found by where their largest weights are, equal ones shared", async () => {
  const heads = async (offset, least) => [.../** @type {any} */ (await answer("heads_on", { kind: "encoder_self", offset, least }))]; // prettier-ignore
  // Of the two rows with a previous token, head 1 has one there and half of another one.
  assert.deepEqual(await heads("previous", 0.75), ["1.1"]);
  assert.deepEqual(await heads("previous", 0.76), []);
  assert.deepEqual(await heads("same", 1), ["1.2"]);
  assert.deepEqual(await heads("same", 1 / 3), ["1.1", "1.2"]);
});

test("what only the server has, and what nobody has, is refused", async () => {
  const refused = (name, given) =>
    assert.rejects(answer(name, given), { name: "AnswerError", message: "needs_server" });
  await refused("translation", { switches: "mean=cross.1" }); // the graphs have no means
  await refused("toString", {});
});

test("what counts as right", () => {
  const question = (kind, tolerance = 0) => /** @type {any} */ ({ kind, tolerance });
  assert.equal(isRight(question("choose"), "a", "a"), true);
  assert.equal(isRight(question("choose"), "a", "b"), false);
  assert.equal(isRight(question("number", 0.05), "0,52", 0.5), true);
  assert.equal(isRight(question("number", 0.05), "0.56", 0.5), false);
  assert.equal(isRight(question("number", 1), "half", 0.5), false);
  for (const typed of ["０．５", ".5", ",5"]) assert.equal(isRight(question("number"), typed, 0.5), true);
  for (const typed of ["\u22120.5", "－０，５"]) assert.equal(isRight(question("number"), typed, -0.5), true);
  assert.equal(isRight(question("number", 1), ".", 0.5), false);
  assert.equal(isRight(question("shape"), "［１，８］", [1, 8]), true);
  assert.equal(isRight(question("shape"), "[1, 8, 5,7]", [1, 8, 5, 7]), true);
  assert.equal(isRight(question("shape"), "8, 5", [1, 8]), false);
  assert.equal(isRight(question("head"), "2.5", new Set(["2.5", "3.1"])), true);
  assert.equal(isRight(question("order"), ["a", "b"], ["a", "b"]), true);
  assert.equal(isRight(question("order"), ["b", "a"], ["a", "b"]), false);
  assert.equal(isRight(question("text"), "x", "y"), null);
  assert.equal(isRight(question("choose"), "x", null), null);
});

test("answers in words", () => {
  assert.equal(inWords(t, "2.5", "head"), "layer 2, head 5");
  assert.equal(inWords(t, "2.5", "choose"), "2.5");
  assert.equal(inWords(t, new Set(["10.1", "2.5"]), "head"), "layer 2, head 5; layer 10, head 1");
  assert.equal(inWords(t, new Set(), "head"), "none");
  assert.equal(inWords(t, [1, 8, 5]), "[1, 8, 5]");
  assert.deepEqual(
    [96, 0.12345678, 1234.5678, 123456, 0.00001234].map((number) => inWords(t, number)),
    ["96", "0.1235", "1,235", "1.235e+05", "1.234e-05"],
  );
});

test("a question has the tokens that it counts beside it, with what they mean", async () => {
  const question = {
    ...{ kind: "choose", ask: "", why: "", cover: true, tolerance: 0, said: {}, translation: true },
    options: { function: "source_tokens", arguments: {} },
    answer: { function: "largest_key", arguments: { kind: "encoder_self", layer: 1, head: 2, row: 3 } },
    tokens: /** @type {const} */ ("target_out"),
  };
  const lists = { German: { x: { "": "ex" } }, English: { a: { "": "an" } } };
  assert.deepEqual(await askQuestion(question, TRACE, MODEL, lists), {
    options: ["a", "b", "</s>"],
    right: "</s>",
    tokens: [
      ["x", "ex"],
      ["</s>", ""],
    ],
    pair: ["a b", "x"],
    meanings: { a: "an" },
  });
});
