// The variances of the model's own q and k from a trace of the engine, as own_variances of transformer/analysis/scaling.py
// finds them on the server.
import { meanOf, rounded, varianceOf } from "../core/statistics.js";
import { KINDS } from "../engine/switches.js";
import { sharedTexts, told, wordingOf } from "../lab/words.js";

const LIMIT = 4; // the histogram runs to it, or to the largest value
const BINS = 25;
const DIGITS = 4;
const UNIT = [0.8, 1.25]; // variances that count as 1

// What the picture shows of the sentence, as pages/lab/scaling.py sends it, from a trace without switches.
export function ownOf(trace, texts) {
  return {
    d_k: trace.cross.queries.shape[3],
    own: KINDS.map((kind) => ({ kind, ...variancesOf(trace[kind]) })),
    saved: told(sharedTexts(texts), trace, {}),
    wording: wordingOf(trace),
  };
}

/** By name, [layer][head]: variance of q and of k over tokens and components, variance of q.k / sqrt(d_k) over visible
 * pairs, its mean and its histogram. unit: in how many heads q and k both have a variance of about 1. */
export function variancesOf(attention) {
  const [layers, heads] = attention.queries.shape;
  const found = Array.from({ length: layers }, (_, layer) =>
    Array.from({ length: heads }, (_, head) => ofHead(attention, layer * heads + head)),
  );
  const names = ["query", "key", "product", "mean", "limit", "histogram"];
  const numbers = (name) => found.map((row) => row.map((head) => head[name]));
  const lists = names.map((name) => [name, rounded(numbers(name), DIGITS)]);
  const isUnit = (variance) => variance >= UNIT[0] && variance <= UNIT[1];
  const unit = found.flat().filter(({ query, key }) => isUnit(query) && isUnit(key)).length;
  return { unit, ...Object.fromEntries(lists) };
}

function ofHead({ queries, keys, mask }, head) {
  const part = ({ data, shape: [, , tokens, width] }) =>
    data.subarray(head * tokens * width, (head + 1) * tokens * width);
  const [q, k] = [part(queries), part(keys)];
  const width = queries.shape[3];
  const products = [];
  for (let at = 0, [rows, columns] = mask.shape.slice(2); at < rows * columns; at++) {
    if (!mask.data[head * rows * columns + at]) continue;
    const [query, key] = [Math.floor(at / columns) * width, (at % columns) * width];
    let sum = 0;
    for (let i = 0; i < width; i++) sum += q[query + i] * k[key + i];
    products.push(sum / Math.sqrt(width));
  }
  const limit = products.reduce((most, product) => Math.max(most, Math.abs(product)), LIMIT);
  const numbers = { query: varianceOf(q), key: varianceOf(k), product: varianceOf(products), mean: meanOf(products) };
  return { ...numbers, limit, histogram: histogramOf(products, limit) };
}

// Density in equal bins from -limit to limit; the last one includes its upper end.
function histogramOf(values, limit) {
  const counts = new Array(BINS).fill(0);
  for (const value of values) counts[Math.min(BINS - 1, Math.floor((value / limit + 1) * (BINS / 2)))]++;
  return counts.map((count) => count / ((values.length * 2 * limit) / BINS));
}
