// What switches do to the translation, from the passes of lab/comparison.js: as pages/components/translation.py has it on
// the server.
import { differing, wordsOf } from "../lab/translation.js";
import { readSwitches } from "../lab/params.js";
import { SWITCH_FORMS } from "../state/generated.js";

const END = "</s>";
const REPEATED = 4; // tokens of a sequence that counts as repeated

// Both translations and their numbers. passes: over the same tokens; written: over what the model writes itself.
/** @param {{before: any, after: any}} passes @param {{before: any, after: any}} written */
export function effectOf(passes, written) {
  const [before, after] = [sideOf(written.before), sideOf(written.after)];
  const marks = differing(before.words.map(textOf), after.words.map(textOf));
  return {
    before: { ...before, marks: marks[0], perplexity: perplexity(passes.before) },
    after: { ...after, marks: marks[1], perplexity: perplexity(passes.after) },
    given: !passes.before.own,
  };
}

const textOf = ({ text }) => text;

function sideOf({ target_out: tokens, probabilities: ofPass, written_probabilities: probabilities = ofPass }) {
  return {
    words: wordsOf(tokens, probabilities),
    tokens: tokens.length,
    cut: tokens.at(-1) !== END,
    mean: meanProbability(probabilities),
    repeated: repetition(tokens.filter((token) => token !== END)),
  };
}

/** exp of the mean of -ln p over the tokens of the target, in 64 bits from the logits. */
export function perplexity({ logits: { data, shape }, target_out_ids: ids }) {
  const vocabulary = shape.at(-1);
  let sum = 0;
  ids.forEach((id, row) => {
    const from = row * vocabulary;
    let top = -Infinity;
    for (let at = from; at < from + vocabulary; at++) top = Math.max(top, data[at]);
    let total = 0;
    for (let at = from; at < from + vocabulary; at++) total += Math.exp(data[at] - top);
    sum += top + Math.log(total) - data[from + id];
  });
  return Math.exp(sum / ids.length);
}

/** The geometric mean. */
export function meanProbability(probabilities) {
  return Math.exp(probabilities.reduce((sum, p) => sum + Math.log(p), 0) / probabilities.length);
}

/** seq-rep-4: 1 - different sequences of 4 tokens / all such sequences. */
export function repetition(tokens) {
  const count = tokens.length - REPEATED + 1;
  if (count < 1) return 0;
  const found = Array.from({ length: count }, (_, at) => JSON.stringify(tokens.slice(at, at + REPEATED)));
  return 1 - new Set(found).size / count;
}

/** Of the words after the switches, without punctuation: how many there are, and how many differ. */
export function changedWords({ words, marks }) {
  const counted = marks.filter((_, at) => !words[at].special && /[\p{L}\p{N}]/u.test(words[at].text));
  return { changed: counted.filter(Boolean).length, count: counted.length };
}

/** Name of the text about a scaling other than the trained factor; null if there is none. */
export function rescaled(switches, { scaling }, trained) {
  const factors = readSwitches(switches, SWITCH_FORMS).scaling.map(({ value }) =>
    value === "off" ? 1 : Number(value),
  );
  const all = (holds) => factors.every((factor) => holds(Math.fround(factor)));
  if (!scaling || all((factor) => factor === trained)) return null;
  if (all((factor) => factor === 1)) return "rescaled_off";
  if (all((factor) => factor > trained)) return "rescaled_larger";
  return all((factor) => factor < trained) ? "rescaled_smaller" : "rescaled_mixed";
}

/** What hides every key from the first step of decoding, as switches of a link. */
export function hidesAll({ hide = "" }) {
  const parts = hide.split(",");
  const target = parts.filter((part) => part.trim().startsWith("target."));
  return { hide: (target.length ? target : parts).join() };
}

// -- numbers as text, as Python writes them ----------------------------------------------------------------------------

const powerText = (text) => text.replace(/e([+-])(\d)$/, "e$10$2");

/** A perplexity; only exact 0 is "0". */
export function numberText(value) {
  if (!Number.isFinite(value)) return "∞";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (0.005 <= size && size < 1000) return value.toFixed(2);
  return 1000 <= size && size < 1e6 ? Math.round(value).toLocaleString("en-US") : powerText(value.toExponential(1));
}

/** The change of a positive number, e.g. "+12%", or "× 25" from ten times on. */
export function changeText(before, after) {
  const ratio = before ? after / before : Infinity;
  if (!Number.isFinite(ratio)) return "× ∞";
  if (ratio >= 10) return `× ${ratio >= 1000 ? numberText(ratio) : ratio.toFixed(0)}`;
  const moved = 100 * (ratio - 1);
  const text = Math.abs(moved) >= 9.95 ? moved.toFixed(0) : moved.toFixed(1).replace(/^-0\.0$/, "0.0");
  return `${text.startsWith("-") ? "" : "+"}${text}%`;
}

/** A probability with two decimals, shown under a word. */
export const shortText = (p) => (p > 0 && p < 0.005 ? "<.01" : p.toFixed(2));

/** A probability with four digits. */
export function digitsText(p) {
  if (p === 0 || p >= 1e-4) return String(Number(p.toPrecision(4)));
  const [digits, power] = powerText(p.toExponential(3)).split("e");
  return `${Number(digits)}e${power}`;
}
