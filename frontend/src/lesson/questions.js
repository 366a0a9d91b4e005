// Questions: a prediction is made first, then compared with what the open model does. As transformer/lessons/questions.py.
import { wordLabels, wordNumbers } from "../engine/words.js";
import { wordMeanings } from "../site/meanings.js";
import { computeAnswer } from "./answers.js";

/** @typedef {import("./answers.js").Answer} Answer @typedef {import("./answers.js").Model} Model
 * @typedef {{function: string, arguments: Record<string, string | number>}} Computed
 * A question of a lesson file (transformer/web/lessons.py).
 * @typedef {{kind: string, ask: string, why: string, cover: boolean, tolerance: number, options: string[] | Computed,
 *   answer: Answer | Computed | null, said: Record<string, string>, tokens: "" | "target_in" | "target_out",
 *   translation: boolean}} Question
 * A question for the open model and sentence. right: null where nothing is right or wrong; tokens: those that the
 * question counts, each with its meaning; pair: the sentence and the model's translation, where the question is about
 * another one; meanings: of options.
 * @typedef {{options: string[], right: Answer | null, tokens: [string, string][], pair: [string, string] | null,
 *   meanings: Record<string, string>}} Asked
 */

// Options that are tokens, and of which side.
const TOKENS = { source_tokens: "source", target_tokens: "target_out" };
const PIECES = { source: "source_tokens", target_in: "target_in", target_out: "target_out" };

// What is pressed in the picture, as links and files write it.
const PLACES = { head: /^(\d+)\.(\d+)$/, cell: /^(\d+),(\d+)$/, row: /^(\d+)$/, token: /^(\d+)$/ };

export const isPressed = (kind) => kind in PLACES;
const NUMBER = /^[+-]?(?:\d+(?:[.,]\d+)?|[.,]\d+)$/;

const isComputed = (value) => Boolean(value?.function);

export const needsTrace = ({ options, answer }) => isComputed(options) || isComputed(answer);

/**
 * @param {Question} question @param {any} trace null where nothing is computed
 * @param {Model} model
 * @param {any} lists of meanings, as wordMeanings takes them
 * @returns {Promise<Asked>} Rejects with AnswerError.
 */
export async function askQuestion(question, trace, model, lists) {
  const value = (given) => (isComputed(given) ? computeAnswer(model, trace, given) : given);
  const side = isComputed(question.options) && TOKENS[/** @type {Computed} */ (question.options).function];
  const own = { function: "translation", arguments: {} };
  return {
    options: await value(question.options),
    right: await value(question.answer),
    tokens: question.tokens ? tokenMeanings(trace, question.tokens, lists) : [],
    pair: question.translation ? [trace.source_text, await value(own)] : null,
    meanings: side ? Object.fromEntries(tokenMeanings(trace, side, lists).filter(([, meaning]) => meaning)) : {},
  };
}

// The label of every token of a side, and the meaning of the word that it begins, "" where there is none.
function tokenMeanings(trace, side, lists) {
  const labels = trace[`${side}_labels`];
  const numbers = wordNumbers(trace[PIECES[side]], labels);
  const header = {
    languages: trace.languages,
    sentences: { source: trace.source_text, target: trace.target_text },
    word_labels: { source: [], target_in: [], target_out: [], [side]: wordLabels(labels, numbers) },
  };
  const told = wordMeanings(header, lists)?.[side] ?? [];
  return labels.map((label, at) => [label, (numbers[at] !== numbers[at - 1] && told[numbers[at]]) || ""]);
}

// What is typed for numbers, in ASCII: full-width digits and signs, and the minus sign U+2212.
const plain = (text) =>
  text
    .normalize("NFKC")
    .replace(/\u2212/g, "-")
    .trim();

// A number as typed, with a point or a comma; null for another text.
export function numberIn(text) {
  const typed = plain(text);
  return NUMBER.test(typed) ? Number(typed.replace(",", ".")) : null;
}

// The numbers in a text: "[1, 8, 5, 5]" gives 1, 8, 5, 5.
export const numbersIn = (text) => (plain(text).match(/[+-]?\d+(?:\.\d+)?/g) ?? []).map(Number);

/** Indices, from 0, of a place that links name: "2.5" or "2,5" gives 1, 4. @param {string} place */
export const indicesOf = (place) => place.match(/\d+/g).map((number) => Number(number) - 1);

/** An answer as people read it. kind: of its question; what is pressed in a picture is named. */
export function inWords(t, answer, kind = "") {
  if (answer instanceof Set) {
    const heads = [...answer].sort((one, other) => {
      const [[layer, head], [otherLayer, otherHead]] = [indicesOf(one), indicesOf(other)];
      return layer - otherLayer || head - otherHead;
    });
    return heads.map((head) => inWords(t, head, kind)).join("; ") || t("none");
  }
  if (Array.isArray(answer)) return typeof answer[0] === "string" ? answer.join(" → ") : `[${answer.join(", ")}]`;
  if (typeof answer === "number") return formatNumber(answer);
  const place = PLACES[kind]?.exec(answer);
  return place ? t(`place_${kind}`, { first: place[1], second: place[2] }) : answer;
}

// As "{:,.4g}" of Python.
function formatNumber(value) {
  const [digits, power] = value.toExponential(3).split("e").map(Number);
  if (power < -4 || power > 3) return `${digits}e${power < 0 ? "-" : "+"}${String(Math.abs(power)).padStart(2, "0")}`;
  return Number(value.toPrecision(4)).toLocaleString("en-US", { maximumFractionDigits: 8 });
}

/**
 * Whether an answer is right; null where there is no right and wrong.
 * @param {Question} question
 * @param {string | string[]} given chosen, typed or pressed ("3,2" for a cell, "2.5" for a head); for "order" a list
 * @param {Answer | null} right
 */
export function isRight({ kind, tolerance }, given, right) {
  if (right === null || kind === "text") return null;
  const text = String(given).trim();
  if (kind === "order" || kind === "shape") {
    const list = kind === "order" ? given : numbersIn(text);
    return JSON.stringify(list) === JSON.stringify(right);
  }
  if (right instanceof Set) return right.has(text);
  if (kind !== "number") return text === String(right).trim();
  const number = numberIn(text);
  return number !== null && Math.abs(number - Number(right)) <= tolerance + 1e-9;
}
