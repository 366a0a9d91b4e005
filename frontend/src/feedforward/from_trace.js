// What the picture shows, counted in a trace of the engine; pages/feedforward/activity.py makes the same on the server.
import { ACTIVITY } from "../state/generated.js";

const ABOVE = ACTIVITY.thresholds.map(Math.fround); // activations have 32 bits
const STEP = ACTIVITY.thresholds[1];

/**
 * Of a stack: what stands at its rows; neurons of a layer; how many of them are active above each threshold, [layer][token]
 * [threshold]; on how many tokens they are, [layer][threshold][tokens]; the histogram of each layer.
 * @typedef {{tokens: string[], neurons: number, active: number[][][], spread: number[][][],
 *   histogram: (Histogram | null)[]}} Stack
 * Counts before and after the non-linearity in the same bins: bin i goes from (first + i) width to the next one. zero: of
 * activations that are exactly 0; negative: of pre-activations below 0. Null where not every number is finite.
 * @typedef {{width: number, first: number, before: number[], after: number[], zero: number, negative: number}} Histogram
 */

// The form of a non-linearity: GELU's approximation by tanh looks the same (SHAPES of transformer/analysis/activations.py).
export const shapeOf = ({ activation }) => activation.replace("_new", "");

// config: of the model.
export function activityOf(trace, config) {
  return {
    source: trace.source_text,
    target: trace.target_text,
    activation: shapeOf(config),
    gated: config.gated,
    bare: !config.biases,
    encoder: stackOf(trace.encoder_ff, trace.source_labels),
    decoder: stackOf(trace.decoder_ff, trace.target_in_labels),
  };
}

/** @returns {Stack} */
function stackOf({ activation, pre_activation: before }, tokens) {
  const [layers, rows, neurons] = activation.shape;
  const layer = ({ data }, at) => data.subarray(at * rows * neurons, (at + 1) * rows * neurons);
  const each = Array.from({ length: layers }, (_, at) => countsOf(layer(activation, at), rows, neurons));
  return {
    tokens,
    neurons,
    active: each.map(({ active }) => active),
    spread: each.map(({ spread }) => spread),
    histogram: Array.from({ length: layers }, (_, at) => histogramOf(layer(before, at), layer(activation, at))),
  };
}

// values: [token, neuron]
export function countsOf(values, rows, neurons) {
  const below = Uint8Array.from(values, thresholdsBelow);
  const active = Array.from({ length: rows }, (_, row) => above(below.subarray(row * neurons, (row + 1) * neurons)));
  const spread = ABOVE.map(() => new Array(rows + 1).fill(0));
  for (let neuron = 0; neuron < neurons; neuron++) {
    const tokens = above(Array.from({ length: rows }, (_, row) => below[row * neurons + neuron]));
    tokens.forEach((count, threshold) => spread[threshold][count]++);
  }
  return { active, spread };
}

// How many thresholds a number is above; not a number counts as above all.
function thresholdsBelow(value) {
  if (value <= 0) return 0;
  let count = Math.min(ABOVE.length, Math.ceil(value / STEP) || ABOVE.length);
  while (count < ABOVE.length && ABOVE[count] < value) count++;
  while (count && ABOVE[count - 1] >= value) count--;
  return count;
}

// How many of such counts reach beyond each threshold.
function above(below) {
  const found = new Array(ABOVE.length + 1).fill(0);
  for (const count of below) found[count]++;
  for (let at = found.length - 2; at >= 0; at--) found[at] += found[at + 1];
  return found.slice(1);
}

/** @returns {Histogram | null} */
export function histogramOf(before, after, bins = ACTIVITY.bins) {
  let [low, high] = [0, 0];
  for (const values of [before, after])
    for (const value of values) {
      if (!Number.isFinite(value)) return null;
      if (value < low) low = value;
      if (value > high) high = value;
    }
  const width = (high - low) / bins || 1;
  const first = Math.floor(low / width);
  const count = Math.floor(high / width) + 1 - first;
  const binned = (values) => {
    const found = new Array(count).fill(0);
    for (const value of values) found[Math.max(0, Math.min(count - 1, Math.floor(value / width) - first))]++;
    return found;
  };
  const number = (values, test) => values.reduce((sum, value) => sum + Number(test(value)), 0);
  return {
    width,
    first,
    before: binned(before),
    after: binned(after),
    zero: number(after, (value) => value === 0),
    negative: number(before, (value) => value < 0),
  };
}
