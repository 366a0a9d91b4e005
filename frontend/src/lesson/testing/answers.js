// Answers computed by the engine in Node, for tests/web/test_lessons.py:
//
//   node answers.js FOLDER < SENTENCES
//
// FOLDER: a model with its graphs; SENTENCES: [{source, target, asked: [{function, arguments}]}] as JSON. Prints, for each
// sentence and question, {answer, words}: a set as a sorted list; words: as people read it; or {error: key of texts.js}.
import { readFileSync } from "node:fs";
import { makeTexts } from "../../core/texts.js";
import { openFolder } from "../../engine/node.js";
import { computeAnswer } from "../answers.js";
import { inWords } from "../questions.js";
import { LESSON_TEXTS } from "../texts.js";

const model = await openFolder(process.argv[2]);
const t = makeTexts(null, LESSON_TEXTS);

async function answer(trace, computed) {
  try {
    const found = await computeAnswer(/** @type {any} */ (model), trace, computed);
    return { answer: found instanceof Set ? [...found].sort() : found, words: inWords(t, found) };
  } catch (error) {
    if (error.name !== "AnswerError") throw error;
    return { error: error.text };
  }
}

const answers = [];
for (const { source, target, asked } of JSON.parse(readFileSync(0, "utf8"))) {
  const trace = await model.trace({ source, target });
  const found = [];
  for (const computed of asked) found.push(await answer(trace, computed));
  answers.push(found);
}
process.stdout.write(JSON.stringify(answers));
