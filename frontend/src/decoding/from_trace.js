// What the picture shows, made from what the engine computed; pages/decoding/step.py and payload.py make the same on the
// server.
import { readPosition } from "./branches.js";

/** A translation. shared: tokens that it has in common with the one it branches from.
 * @typedef {import("../engine/continuations.js").Continuation & {shared?: number}} Line */

/** lines: the first is the model's own, or goes on from the beginning that was typed.
 * @param {Line[]} lines
 */
export const linesOf = (lines) =>
  lines.map(({ ids, labels, log_probs, text, complete, forced, shared = 0 }, number) => ({
    ids,
    tokens: labels,
    probs: log_probs.map(Math.exp),
    forced,
    shared,
    text,
    score: log_probs.reduce((sum, logProb) => sum + logProb, 0),
    complete,
    drops: number > 0,
  }));

// The distribution of a step.
export function barsOf({ steps, possible }, step) {
  const { ids, labels, probabilities, rest, entropy, before } = steps[step];
  const others = possible - ids.length;
  return { ids, tokens: labels, p: probabilities, rules: [], rest, others, entropy, most: Math.log(possible), before };
}

/** The attention of the step that predicts the token of this number: over the source, and over the tokens fed in. */
export const attentionOf = (trace, step) => ({
  cross: headsOf(trace.cross.weights, step, trace.source_labels),
  self: headsOf(trace.decoder_self.weights, step, trace.target_in_labels.slice(0, step + 1)),
});

function headsOf({ data, shape: [layers, heads, queries, width] }, step, keys) {
  const weights = Array.from({ length: layers * heads }, (_, head) => {
    const from = (head * queries + step) * width;
    return Array.from(data.subarray(from, from + keys.length), (weight) => Math.round(weight * 1e4) / 1e4);
  });
  return { layers, heads, keys, weights };
}

/** The chosen translation and step; the nearest that there is. At first the step with the largest entropy, where the model
 * is least certain.
 * @param {string} text of the link
 * @param {Line[]} lines
 */
export function positionIn(text, lines) {
  const { line, step } = readPosition(text) ?? { line: 0, step: leastCertain(lines[0].steps) };
  const at = within(line, lines.length);
  return { line: at, step: within(step, lines[at].ids.length) };
}

const within = (index, count) => Math.max(0, Math.min(index, count - 1));

function leastCertain(steps) {
  const entropies = steps.map(({ entropy }) => entropy);
  return entropies.indexOf(Math.max(...entropies));
}
