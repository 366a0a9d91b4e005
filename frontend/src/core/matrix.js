// Pure functions over attention matrices, stored row after row: cell (q, k) is at q * keys + k.
// Order of operations: summary, drop special tokens, renormalise, merge words. A threshold affects only the drawing.
import { meanOf } from "./statistics.js";

export function summarise(matrices, mode) {
  const size = matrices[0].length;
  const result = new Float32Array(size);
  if (mode === "max") {
    for (const matrix of matrices) {
      for (let i = 0; i < size; i++) if (matrix[i] > result[i]) result[i] = matrix[i];
    }
    return result;
  }
  // Sums in double precision: a mean of many heads stays exact to float32.
  const sums = new Float64Array(size);
  for (const matrix of matrices) for (let i = 0; i < size; i++) sums[i] += matrix[i];
  for (let i = 0; i < size; i++) result[i] = sums[i] / matrices.length;
  return result;
}

// Tokens -> the groups drawn as one row or column: [[0], [1, 2], ...]. Dropped tokens are in no group.
export function tokenGroups(words, special, drop, merge) {
  const groups = [];
  let last = null;
  for (let i = 0; i < words.length; i++) {
    if (drop && special[i]) continue;
    if (merge && groups.length && words[i] === last) groups[groups.length - 1].push(i);
    else groups.push([i]);
    last = words[i];
  }
  return groups;
}

export function isIdentity(groups, count) {
  return groups.length === count && groups.every((group) => group.length === 1);
}

// Drops, renormalises and merges. `unit` is the number for weight 1: 1, or 255 for pictures.
export function transformMatrix(weights, keys, rows, columns, renormalise, unit) {
  const result = new Float32Array(rows.length * columns.length);
  for (let r = 0; r < rows.length; r++) {
    for (const q of rows[r]) {
      const base = q * keys;
      let total = 1;
      if (renormalise) {
        let sum = 0;
        for (const group of columns) for (const k of group) sum += weights[base + k];
        total = sum > 0 ? sum / unit : 1;
      }
      const share = 1 / (total * rows[r].length);
      for (let c = 0; c < columns.length; c++) {
        let sum = 0;
        for (const k of columns[c]) sum += weights[base + k];
        result[r * columns.length + c] += sum * share;
      }
    }
  }
  return result;
}

// 1 if the mask hides every pair of subword tokens of the cell; null if it hides nothing. `hidden` is 1 for hidden
// pairs.
export function groupMask(hidden, keys, rows, columns) {
  if (!hidden) return null;
  const mask = new Uint8Array(rows.length * columns.length);
  rows.forEach((row, r) => {
    columns.forEach((column, c) => {
      if (row.every((q) => column.every((k) => hidden[q * keys + k]))) mask[r * columns.length + c] = 1;
    });
  });
  return mask;
}

export function largestOf(values) {
  let largest = 0;
  for (let i = 0; i < values.length; i++) if (values[i] > largest) largest = values[i];
  return largest;
}

// Mean over the rows of -sum w ln w, in nats. Rows are divided by their sum, so that a rounded picture and a maximum
// over heads also give the entropy of a distribution.
export function meanEntropy(weights, queries, keys) {
  let total = 0;
  for (let q = 0; q < queries; q++) {
    let sum = 0;
    for (let k = 0; k < keys; k++) sum += weights[q * keys + k];
    if (!(sum > 0)) continue;
    for (let k = 0; k < keys; k++) {
      const w = weights[q * keys + k] / sum;
      if (w > 0) total -= w * Math.log(w);
    }
  }
  return queries ? Math.abs(total / queries) : 0;
}

const SATURATED = 0.99; // as transformer/analysis/saturation.py

// Means over the rows that see at least two keys: the largest weight, the gradient that passes (1 - sum p^2), and the
// share of rows whose largest weight is above 0.99. hidden: 1 for cells that the mask hides, or null; rows: how many
// rows count, from the first (the rows of <pad> stand last). NaN without such rows. The same as saturation() in Python.
export function rowMeasures(weights, hidden, queries, keys, rows = queries) {
  const counted = [];
  for (let from = 0; from < Math.min(rows, queries) * keys; from += keys) {
    const seen = hidden ? hidden.slice(from, from + keys).reduce((sum, one) => sum + Number(!one), 0) : keys;
    if (seen > 1) counted.push(spreadOfRow(weights.slice(from, from + keys)));
  }
  const mean = (name) => meanOf(counted.map((row) => row[name]));
  return {
    ...{ rows: counted.length, largest: mean("largest") },
    ...{ gradient: mean("gradient"), saturated: mean("saturated") },
  };
}

// Of one row of weights: its entropy, the largest, 1 - sum p^2, and whether it is saturated.
export function spreadOfRow(weights) {
  let [entropy, largest, squares] = [0, 0, 0];
  for (const weight of weights) {
    if (weight > 0) entropy -= weight * Math.log(weight);
    largest = Math.max(largest, weight);
    squares += weight * weight;
  }
  return { entropy, largest, gradient: 1 - squares, saturated: Number(largest > SATURATED) };
}

// Mean over the first `rows` rows of the weight on the keys that `counts(q, k)` names.
export function meanShare(weights, keys, rows, counts) {
  let total = 0;
  for (let q = 0; q < rows; q++) for (let k = 0; k < keys; k++) if (counts(q, k)) total += weights[q * keys + k];
  return rows ? total / rows : 0;
}

// softmax(q . k * scale) of one row, in double precision, without masked keys; or a switch's replacement: 1, equal
// weights on all visible keys; 2, all weight on the best key. largest: of the scores, also those of masked keys.
export function recomputeRow(exact, q, hidden) {
  const { queries, keys, depth, scale, count, bias } = exact;
  const products = new Float64Array(count);
  const scores = new Float64Array(count);
  let [top, largest] = [-Infinity, 0];
  for (let k = 0; k < count; k++) {
    let dot = 0;
    for (let d = 0; d < depth; d++) dot += queries[q * depth + d] * keys[k * depth + d];
    products[k] = dot;
    const score = dot * scale + (bias ? bias[q * count + k] : 0);
    scores[k] = hidden && hidden[q * count + k] ? -Infinity : score;
    if (scores[k] > top) top = scores[k];
    largest = Math.max(largest, Math.abs(score));
  }
  const weights = new Float64Array(count);
  const best = scores.indexOf(top);
  let sum = 0;
  for (let k = 0; k < count; k++) {
    if (exact.rule === 1) weights[k] = scores[k] > -Infinity ? 1 : 0;
    else weights[k] = exact.rule === 2 ? Number(k === best) : Math.exp(scores[k] - top);
    sum += weights[k];
  }
  for (let k = 0; k < count; k++) weights[k] /= sum;
  return { products, scores, weights, largest };
}

export const CHECK_TOLERANCE = 1e-5; // of the sum of a row from 1, and of weights recomputed from Q and K

// Largest deviations of one head from what must hold, and the largest score. `recomputed` is null if queries and keys are
// not known.
export function checkMatrix(exact, hidden) {
  const rows = exact.count ? exact.weights.length / exact.count : 0;
  const deviations = { row_sum: 0, masked: 0, recomputed: exact.queries ? 0 : null, largest: 0 };
  for (let q = 0; q < rows; q++) {
    let sum = 0;
    const again = exact.queries ? recomputeRow(exact, q, hidden) : null;
    deviations.largest = worse(deviations.largest, again?.largest ?? 0);
    for (let k = 0; k < exact.count; k++) {
      const w = exact.weights[q * exact.count + k];
      sum += w;
      if (hidden && hidden[q * exact.count + k]) deviations.masked = worse(deviations.masked, Math.abs(w));
      if (again) deviations.recomputed = worse(deviations.recomputed, Math.abs(w - again.weights[k]));
    }
    deviations.row_sum = worse(deviations.row_sum, Math.abs(sum - 1));
  }
  return deviations;
}

// Not Math.max: a weight that is not a number must fail the check, and NaN > x is false.
export function worse(known, deviation) {
  return Number.isNaN(known) || deviation <= known ? known : deviation;
}

/** @returns {[row: number, column: number]} */
export function strongestPair(weights, keys, rowPieces, columnPieces) {
  /** @type {[number, number]} */
  let best = [rowPieces[0], columnPieces[0]];
  for (const q of rowPieces) {
    for (const k of columnPieces) if (weights[q * keys + k] > weights[best[0] * keys + best[1]]) best = [q, k];
  }
  return best;
}

export function strongestInRow(weights, keys, row) {
  let best = 0;
  for (let k = 1; k < keys; k++) if (weights[row * keys + k] > weights[row * keys + best]) best = k;
  return best;
}
