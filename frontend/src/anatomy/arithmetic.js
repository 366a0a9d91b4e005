import { meanOf, varianceOf } from "../core/statistics.js";

// How single numbers of a Transformer are computed: in double precision, from the trace's float32 numbers. Pure
// functions. tolerance: how far float32 arithmetic in another order may be from the result.

const FLOAT32_STEP = 2 ** -23; // between 1 and the next float32
const WAVE_BASE = 10000; // section 3.5

// The inner product of a and b, and a bias (null: there is none). Rounding grows with the root of the number of terms
// and with the size of what is summed, not of the sum.
export function dotProduct(a, b, bias = null) {
  const products = Float64Array.from(a, (value, m) => value * b[m]);
  let sum = 0;
  let size = Math.abs(bias || 0);
  for (const product of products) {
    sum += product;
    size += Math.abs(product);
  }
  const tolerance = FLOAT32_STEP * (2 + Math.sqrt(products.length)) * size;
  return { kind: "dot", a, b, products, sum, bias, value: sum + (bias || 0), tolerance };
}

export function sumOf(a, b, kind = "add") {
  return { kind, a, b, value: a + b, tolerance: FLOAT32_STEP * (Math.abs(a) + Math.abs(b)) };
}

// slack: how far `a` may be from the number that the trace used.
export function multiply(a, factor, kind = "times", slack = 0) {
  const value = a * factor;
  return { kind, a, factor, value, tolerance: 8 * FLOAT32_STEP * Math.abs(value) + slack * Math.abs(factor) };
}

// The softmax of a row, -Infinity where it is masked, or a switch's replacement: rule 1, equal weights on all visible
// keys; rule 2, all weight on the best key. at: the column in question.
export function softmaxOf(scores, at, rule = 0) {
  let top = -Infinity;
  let visible = 0;
  for (const score of scores) {
    if (score > top) top = score;
    if (score > -Infinity) visible += 1;
  }
  const less = Float64Array.from(scores, (score) => score - top);
  const exps = Float64Array.from(less, (score) => Math.exp(score));
  const total = exps.reduce((sum, exp) => sum + exp, 0);
  const best = scores.indexOf(top);
  const rules = [(k) => exps[k] / total, (k) => (scores[k] > -Infinity ? 1 / visible : 0), (k) => Number(k === best)];
  const weights = Float64Array.from(scores, (_, k) => rules[rule](k));
  const value = weights[at];
  const far = Number.isFinite(less[at]) ? Math.abs(less[at]) : 0;
  const tolerance = FLOAT32_STEP * (8 + Math.sqrt(scores.length) + far) * value;
  return { kind: "softmax", scores, top, less, exps, total, weights, visible, best, rule, at, value, tolerance };
}

// Mean and sqrt(variance + eps) of a row.
export const momentsOf = (row, eps) => ({ mean: meanOf(row), deviation: Math.sqrt(varianceOf(row) + eps) });

// LayerNorm of a row at one column: (x - mean) / sqrt(variance + eps) * gamma + beta.
export function layerNorm(numbers, at, gamma, beta, eps) {
  const { mean, deviation } = momentsOf(numbers, eps);
  const normal = (numbers[at] - mean) / deviation;
  const value = normal * gamma + beta;
  const largest = numbers.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  const tolerance = 8 * FLOAT32_STEP * (Math.abs(gamma) * (largest / deviation + Math.abs(normal)) + Math.abs(beta));
  return { kind: "norm", numbers, x: numbers[at], at, mean, deviation, normal, gamma, beta, value, tolerance };
}

// The error function to double precision: a series of positive terms; beyond 6 it is 1 within a step of a double.
export function erf(x) {
  const size = Math.abs(x);
  if (size >= 6) return Math.sign(x);
  let term = size;
  let sum = size;
  for (let n = 1; term > 1e-17 * sum; n++) {
    term *= (2 * size * size) / (2 * n + 1);
    sum += term;
  }
  return Math.sign(x) * Math.min(1, (2 / Math.sqrt(Math.PI)) * Math.exp(-size * size) * sum);
}

export function activate(x, activation) {
  if (activation === "gelu") return 0.5 * x * (1 + erf(x / Math.SQRT2));
  return activation === "swish" ? x / (1 + Math.exp(-x)) : Math.max(0, x);
}

export function activationOf(x, activation, silenced) {
  const unswitched = activate(x, activation);
  const value = silenced ? 0 : unswitched;
  // For GELU, 1 + erf loses the digits that erf loses near -1; swish divides, and loses none.
  const size = { relu: 0, gelu: Math.abs(x), swish: Math.abs(unswitched) }[activation];
  const tolerance = 8 * FLOAT32_STEP * size;
  return { kind: "activation", x, activation, silenced, unswitched, value, tolerance };
}

// ln of the sum of e^logit.
export function logSumOf(logits) {
  let top = -Infinity;
  for (let id = 0; id < logits.length; id++) if (logits[id] > top) top = logits[id];
  let sum = 0;
  for (let id = 0; id < logits.length; id++) sum += Math.exp(logits[id] - top);
  return top + Math.log(sum);
}

// A word's probability: exp(logit - log(sum of exp over the vocabulary)).
export function probabilityOf(logits, id) {
  const [logit, logSum] = [logits[id], logSumOf(logits)];
  const value = Math.exp(logit - logSum);
  const far = 8 + Math.sqrt(logits.length) + Math.abs(logit) + Math.abs(logSum);
  return { kind: "probability", logit, logSum, count: logits.length, value, tolerance: FLOAT32_STEP * far * value };
}

// Section 3.5: PE(pos, 2i) = sin(pos / 10000^(2i / d_model)), PE(pos, 2i + 1) the cosine of the same angle. layout
// "halves": PE(pos, i) and PE(pos, d_model / 2 + i) instead.
export function positionWave(position, column, width, layout = "interleaved") {
  const half = width / 2;
  const halves = layout === "halves";
  const even = halves ? 2 * (column % half) : column - (column % 2);
  const cosine = halves ? column >= half : column % 2 === 1;
  const angle = position / WAVE_BASE ** (even / width);
  return { name: cosine ? "cos" : "sin", even, angle, value: cosine ? Math.cos(angle) : Math.sin(angle) };
}

// The indices of the largest terms by absolute value, the largest first; of equal terms the first.
export function largestTerms(values, count) {
  const order = Array.from(values, (_, m) => m);
  order.sort((a, b) => Math.abs(values[b]) - Math.abs(values[a]) || a - b);
  return order.slice(0, count);
}

// Sums so far: [0, first, first + second, ...].
export function runningSums(values) {
  const sums = new Float64Array(values.length + 1);
  values.forEach((value, m) => (sums[m + 1] = sums[m] + value));
  return sums;
}

// Whether a computed number equals the trace's, apart from float32 rounding; two masked cells are equal.
export function agrees(computed, stored) {
  if (!Number.isFinite(computed.value) || !Number.isFinite(stored)) return computed.value === stored;
  // Half a step is the rounding of the stored number itself, and 1e-37 the end of the normal float32.
  return Math.abs(computed.value - stored) <= computed.tolerance + FLOAT32_STEP * Math.abs(stored) + 1e-37;
}
