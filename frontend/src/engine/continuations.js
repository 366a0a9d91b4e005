// The distribution over the next token at every step, while greedy search writes, also after a forced beginning; as
// transformer/inference/steps.py.
import { EXTRA, InputError, endAtLimit, isComplete } from "./model.js";
import { Switches } from "./switches.js";
import { MARK, readable, unwritten } from "./words.js";

const TOP = 20; // tokens of a step that are named
const SPECIALS = ["<pad>", "<unk>", "<s>", "</s>"];
const NAMES = ["decoder_output", "decoder_self.keys", "decoder_self.values"];

/**
 * A translation, and what each of its tokens was chosen from.
 *   ids, labels, log_probs   of its tokens: numbers, as a person reads them, natural log-probabilities
 *   text, complete           whether it ends in </s>
 *   forced, possible         how many tokens were given; how many tokens can be written at all
 *   steps                    of the most probable tokens, best first: ids, labels, probabilities; rest: probability of all
 *                            others; entropy of the whole distribution, in nats; before: the text so far
 * @typedef {{ids: number[], labels: string[], log_probs: number[], text: string, complete: boolean, forced: number,
 *   possible: number, steps: Step[]}} Continuation
 * @typedef {{ids: number[], labels: string[], probabilities: number[], rest: number, entropy: number, before: string}} Step
 */

/**
 * Decodes a source several times, each time after a forced beginning.
 * @param {any} model of model.js
 * @param {{source: string, forced?: (number[] | string)[], limit?: number, top?: number}} asked forced: each as ids, or as
 *   a text. Throws InputError: "unwritable" or "beginning" where such a text has a character that the model cannot write,
 *   or leaves no space for another token; "numbers" where the model computes NaN.
 * @returns {Promise<{found: Continuation[]}>}
 */
export async function continuations(model, { source: text, forced = [[]], limit = undefined, top = TOP }) {
  const switches = new Switches({}, model.about);
  const source = model.encode(text, "source", model.limit(limit));
  const sizes = { source: source.length };
  const tensors = await model.run("encoder", sizes, { ...switches.inputs("encoder", sizes), source });
  const most = Math.min(source.length + EXTRA, model.limit(limit));
  const found = [];
  for (const given of forced) {
    const beginning = typeof given === "string" ? idsOf(model, given, most) : given;
    found.push(await continued(model, { source, tensors, switches }, beginning, most, top));
  }
  return { found };
}

function idsOf(model, prefix, limit) {
  const ids = model.tokenizers.target.encode(prefix);
  const about = { side: "target", tokens: ids.length + 1, limit, prefix };
  if (ids.includes(model.config.unk_id)) throw new InputError("unwritable", about);
  if (ids.length >= limit) throw new InputError("beginning", about);
  return ids;
}

async function continued(model, { source, tensors, switches }, forced, most, top) {
  const { start_id: start, end_id: end, causal } = model.config;
  const tokenizer = model.tokenizers.target;
  const barred = unwritten(model.config);
  const [ids, log_probs, steps] = [[], [], []];
  let possible = 0;
  let past = null; // keys and values of the tokens fed so far
  let known = 0; // how many those are
  while (ids.length < most && ids.at(-1) !== end) {
    // The forced tokens are fed at once, if no step sees those after it.
    const ahead = causal ? forced.slice(ids.length, most - 1) : [];
    const fed = [start, ...ids, ...ahead].slice(known);
    const cache = await model.decode(source, tensors, switches, fed, past, known, NAMES);
    const { logits } = await model.project(cache, ["logits"]);
    if (causal) {
      past = { keys: cache["decoder_self.keys"], values: cache["decoder_self.values"] };
      known += fed.length;
    }
    const [rows, size] = logits.dims;
    possible = size - barred.length;
    for (let row = rows - 1 - ahead.length; row < rows && ids.at(-1) !== end; row++) {
      const { logProb, ...step } = distribution(logits.data.subarray(row * size, (row + 1) * size), barred, top);
      if (Number.isNaN(step.rest)) throw new InputError("numbers", { side: "target" });
      steps.push({ ...step, labels: shown(tokenizer, step.ids), before: tokenizer.decode(ids) });
      ids.push(forced[ids.length] ?? step.ids[0]);
      if (ids.length > forced.length) endAtLimit(model, ids, most);
      log_probs.push(logProb(ids.at(-1)));
    }
  }
  const complete = isComplete(model, ids, most);
  const labels = shown(tokenizer, ids);
  return { ids, labels, log_probs, text: tokenizer.decode(ids), complete, forced: forced.length, possible, steps };
}

// softmax(logits) without the barred tokens, which are never written; these keep their share all the same.
export function distribution(logits, barred, top) {
  const largest = logits.reduce((a, b) => Math.max(a, b), -Infinity);
  const scale = largest + Math.log(logits.reduce((sum, logit) => sum + Math.exp(logit - largest), 0));
  const logProb = (id) => (barred.includes(id) ? -Infinity : logits[id] - scale);
  const ids = mostProbable(logits, barred, top);
  const probabilities = ids.map((id) => Math.exp(logProb(id)));
  let [all, entropy] = [0, 0];
  for (let id = 0; id < logits.length; id++) {
    if (barred.includes(id)) continue;
    const p = Math.exp(logits[id] - scale);
    all += p;
    if (p) entropy -= p * (logits[id] - scale);
  }
  const rest = Math.max(0, all - probabilities.reduce((sum, p) => sum + p, 0));
  return { ids, probabilities, rest, entropy, logProb };
}

function mostProbable(logits, barred, count) {
  const best = [];
  for (let id = 0; id < logits.length; id++) {
    if (best.length === count && !(logits[id] > logits[best.at(-1)])) continue;
    if (barred.includes(id)) continue;
    let at = best.length;
    while (at && logits[best[at - 1]] < logits[id]) at--;
    best.splice(at, 0, id);
    best.length = Math.min(best.length, count);
  }
  return best;
}

// Tokens as a person reads them; "…" stands before one that continues a word: "man" could begin one, or end "Mailman".
export function shown(tokenizer, ids) {
  const pieces = tokenizer.pieces(ids);
  const labels = readable(pieces);
  if (!tokenizer.surfaces("a")[0]?.startsWith(MARK)) return labels; // the vocabulary is letters
  const continues = (piece, label) =>
    !SPECIALS.includes(piece) && !piece.startsWith(MARK) && /^[\p{L}\p{N}]/u.test(label);
  return labels.map((label, at) => (continues(pieces[at], label) ? `…${label}` : label));
}
