import { SYMBOLS } from "../data.js";
import { tableOf } from "../matrix.js";
import { projectionOf } from "../panel/facts.js";
import { traceName, lastStep, updateStep, isAttention, isFeedForward, isEmbedding, stackOf } from "../walk.js";
import { activationOf, agrees, dotProduct, layerNorm, multiply } from "../arithmetic.js";
import { positionWave, probabilityOf, softmaxOf, sumOf } from "../arithmetic.js";

// The number in a cell of a step, the numbers it is computed from, and where each of them comes from.

const PROJECTED = { queries: "W_q", keys: "W_k", values: "W_v" };

// The matrix that a step makes. name: in the place's pack; file: the end of its key in the drawing; sign: the letter
// its numbers go by; rows, cols: what they count; own: it is one head's.
export function matrixOfStep(state, config) {
  const { place, step } = state;
  const made = (name, sign, rows, cols, more) => ({ name, file: name, sign, rows, cols, own: false, ...more });
  const cross = place === "decoder.cross";
  if (place === "output") {
    if (step === "hidden") return made("hidden", "h", "query", "d_model");
    return made(step === "logits" ? "logits" : "probabilities", step === "logits" ? "l" : "p", "word", "one");
  }
  if (isEmbedding(place)) {
    const [name, sign] = { row: ["rows", "E"], times: ["embedding", "e"], plus: ["x", "x"] }[step];
    return made(name, sign, "query", "d_model");
  }
  if (step === "x" && cross && state.zoom === "number" && state.matrix === "memory")
    return made("memory", "m", "key", "d_model");
  if (step === "norm")
    return config.norm === "pre" ? made("normed", "z", "query", "d_model") : made("leaves", "y", "query", "d_model");
  if (step === "project" || step === "split") {
    const name = projectionOf(state);
    const width = name === "values" ? "d_head" : "d_k";
    const splits = step === "split";
    const cols = splits ? width : `heads_${width}`;
    return made(name, name[0], name === "queries" ? "query" : "key", cols, { own: splits });
  }
  const ofHead = { own: true, file: "scores" };
  const [name, sign, cols, more] = {
    x: ["x", "x", "d_model"],
    add: ["sum", "s", "d_model"],
    dot: ["dot", "s", "key", ofHead],
    scale: ["scaled", "s", "key", ofHead],
    mask: ["scores", "s", "key", ofHead],
    softmax: ["weights", "w", "key", { own: true }],
    values: ["head_outputs", "o", "d_head", { own: true }],
    concat: ["concat", "o", "d_model"],
    output: ["update", "u", "d_model"],
    inner: ["pre", "p", "d_ff"],
    activation: ["activation", "a", "d_ff"],
    outer: ["update", "u", "d_model"],
  }[step];
  return made(name, sign, "query", cols, more);
}

// The side whose tokens an axis counts.
export function sideOfAxis(state, axis) {
  if (axis === "key" && state.place === "decoder.cross") return "source";
  return state.place !== "output" && stackOf(state.place) === "encoder" ? "source" : "target_in";
}

export function sizeOfAxis(state, data, axis) {
  const { config } = data;
  if (axis === "query" || axis === "key") return data.labels(sideOfAxis(state, axis)).length;
  if (axis === "word") return data.outputs.ids[state.t].length;
  if (axis === "one") return 1;
  return axis.startsWith("heads_") ? config.heads * config[axis.slice(6)] : config[axis];
}

// The key of the matrix in the drawing.
function matrixKey(state, description) {
  return `m:${traceName(state)}.${description.file}${description.own ? `.h${state.head}` : ""}`;
}

// The matrix itself, or null until it is loaded.
export function drawnMatrix(state, data, description) {
  if (description.rows !== "word")
    return data.matrix(`place.${description.name}`, description.own ? { head: state.head } : {});
  const { ids, logit, probability } = data.outputs;
  const wide = ids[state.t].length;
  const numbers = (description.name === "logits" ? logit : probability).subarray(state.t * wide, (state.t + 1) * wide);
  const { name } = description;
  const scale = name === "logits" ? {} : { top: 1 };
  return tableOf(`${data.id}|output.${name}|${state.t}`, name, numbers, wide, 1, { ...scale, axes: ["word", "1"] });
}

export const rowOf = (matrix, row) => Float64Array.from({ length: matrix.cols }, (_, col) => matrix.at(row, col));
const columnOf = (matrix, col) => Float64Array.from({ length: matrix.rows }, (_, row) => matrix.at(row, col));

// The number in a cell and how it is computed: the matrix (of: its description, key), the arithmetic of its
// step (kind; what it uses; value), the number in the trace (stored) and whether the two agree; {waiting:
// true} while numbers are on their way. from(m): the state that shows where the m-th number used comes from; null:
// nowhere else.
export function operandsOf(state, data, { row, col }) {
  const description = matrixOfStep(state, data.config);
  const matrix = drawnMatrix(state, data, description);
  const about = { of: description, matrix, key: matrixKey(state, description), row, col };
  if (!matrix) return { ...about, waiting: true };
  const stored = matrix.at(row, col);
  const read = (name, options) => data.matrix(name.startsWith("W_") ? name : `place.${name}`, options);
  const tell = { state, data, description, row, col, stored, read, about: data.about || {} };
  const sort = [isAttention, isFeedForward, isEmbedding].findIndex((holds) => holds(state.place));
  const result = [attentionNumber, feedForwardNumber, embeddingNumber, outputNumber].at(sort)(tell);
  if (!result) return { ...about, stored, waiting: true };
  const value = result.value ?? stored;
  const checked = result.value !== undefined; // else it was only read
  return { ...about, stored, ...result, value, checked, agrees: checked && agrees(result, result.stored ?? stored) };
}

const allOf = (...matrices) => matrices.every(Boolean);
const headOf = (state, width, col) => ({ head: Math.floor(col / width), col: col % width });

// The input of a sub-layer comes from the step before it; nothing is computed.
function givenNumber({ state, data, row, col, description }) {
  const { norm, encoder_layers, decoder_layers } = data.config;
  const left = (source, layer) => ({ place: source, step: lastStep(source, data.config), ...layer });
  const { place, encoder, decoder } = state;
  let before = { place: "source", step: "plus" };
  if (description.name === "memory") before = left("encoder.ff", { encoder: encoder_layers - 1 });
  else if (place === "output") before = left("decoder.ff", { decoder: decoder_layers - 1 });
  else if (place === "encoder.ff") before = left("encoder.self", { encoder });
  else if (place === "encoder.self" && encoder > 0) before = left("encoder.ff", { encoder: encoder - 1 });
  else if (place === "decoder.cross") before = left("decoder.self", { decoder });
  else if (place === "decoder.ff") before = left("decoder.cross", { decoder });
  else if (place === "decoder.self" && decoder > 0) before = left("decoder.ff", { decoder: decoder - 1 });
  else if (place === "decoder.self") before = { place: "target", step: "plus" };
  // With pre-norm each stack ends in one more LayerNorm.
  const normed = norm === "pre" && (description.name === "memory" || place === "output");
  return { kind: "given", before, normed, from: () => ({ ...before, row, col }) };
}

function addedNumber({ read, row, col, state }) {
  const [x, update] = [read("x"), read("update")];
  if (!allOf(x, update)) return null;
  const from = (m) => ({ step: m ? updateStep(state.place) : "x", row, col, ...(m ? {} : { matrix: "queries" }) });
  return { ...sumOf(x.at(row, col), update.at(row, col)), from };
}

function normedNumber({ read, row, col, state, data }) {
  const pre = data.config.norm === "pre";
  const inputName = pre ? "x" : data.config.residual === false ? "update" : "sum";
  const [input, gamma, beta] = [read(inputName), read("gamma"), read("beta")];
  if (!allOf(input, gamma, beta)) return null;
  const result = layerNorm(rowOf(input, row), col, gamma.at(0, col), beta.at(0, col), data.config.layer_norm_eps);
  const step = { x: "x", sum: "add", update: updateStep(state.place) }[inputName];
  return { ...result, input: inputName, from: (m) => ({ step, row, col: m, matrix: "queries" }) };
}

// A number of x W + b. input: the name of x; step: the one that makes x; matrix: as which its rows are looked at.
function linearNumber(
  { read, row, col, about },
  input,
  weights,
  step,
  { matrix = undefined, ...more } = /** @type {any} */ ({}),
) {
  const [a, b, bias] = [read(input), read(weights), read("b" + weights.slice(1))];
  if (!allOf(a, b, bias)) return null;
  const from = (m) => ({ step, row, col: m, ...(matrix && { matrix }) });
  const product = { input, symbol: SYMBOLS[weights], skipped: about.skipped };
  return productOf(a, row, b, col, bias.at(0, col), from, { ...product, ...more });
}

// Row of a matrix times column of another. skipped: a switch replaces the sum by `instead`, or 0.
function productOf(a, row, b, col, bias, from, more) {
  const result = { ...dotProduct(rowOf(a, row), columnOf(b, col), bias), from, ...more };
  return result.skipped ? { ...result, unswitched: result.value, value: result.instead ?? 0, tolerance: 0 } : result;
}

function attentionNumber(tell) {
  const { state, data, read, row, col, description, stored, about } = tell;
  const { config } = data;
  const { head, step } = state;
  const headChoice = { head };
  const scores = () => read("scores", headChoice);
  const steps = {
    x: () => givenNumber(tell),
    norm: () => normedNumber(tell),
    add: () => addedNumber(tell),
    project: () => {
      const remembered = state.place === "decoder.cross" && description.name !== "queries";
      const input = remembered ? "memory" : config.norm === "pre" ? "normed" : "x";
      const more = { matrix: remembered ? "memory" : "queries", skipped: undefined };
      return linearNumber(tell, input, PROJECTED[description.name], input === "normed" ? "norm" : "x", more);
    },
    split: () => {
      const width = description.cols === "d_head" ? config.d_head : config.d_k;
      const matrix = read(description.name);
      const at = head * width + col;
      if (!matrix) return null;
      const from = () => ({ step: "project", row, col: at, matrix: description.name });
      return { kind: "split", value: matrix.at(row, at), tolerance: 0, at, width, head, from };
    },
    dot: () => {
      const [q, k] = [read("queries", headChoice), read("keys", { head, transposed: true })];
      if (!allOf(q, k)) return null;
      const operands = [
        { matrix: "queries", row },
        { matrix: "keys", row: col },
      ];
      const from = (m, second) => ({ step: "split", ...operands[second ? 1 : 0], col: m });
      return productOf(q, row, k, col, null, from);
    },
    scale: () => {
      const [dot, q] = [read("dot", headChoice), read("queries", headChoice)];
      const k = read("keys", { head, transposed: true });
      if (!allOf(dot, q, k)) return null;
      const factor = tell.about.scale[head];
      const paper = Math.abs(factor * Math.sqrt(config.d_k) - 1) < 1e-6;
      // The pass and what is shown as `dot` added up the products in different orders.
      const slack = dotProduct(rowOf(q, row), columnOf(k, col)).tolerance;
      const result = multiply(dot.at(row, col), factor, paper ? "divide" : "times", slack);
      const about = { root: Math.sqrt(config.d_k), depth: config.d_k, plain: factor === 1 };
      return { ...result, ...about, from: () => ({ step: "dot", row, col }) };
    },
    mask: () => {
      const scaled = read("scaled", headChoice);
      if (!scaled) return null;
      const hidden = stored === -Infinity;
      const scale = { ...multiply(scaled.at(row, col), 1, "mask"), hidden, why: hiddenNumber(tell, hidden) };
      return { ...scale, ...(hidden ? { value: -Infinity } : {}), from: () => ({ step: "scale", row, col }) };
    },
    softmax: () => {
      if (!scores()) return null;
      const result = softmaxOf(rowOf(scores(), row), col, about.rule[head]);
      return { ...result, from: (m) => ({ step: "mask", row, col: m }) };
    },
    values: () => {
      const [weights, values] = [read("weights", headChoice), read("values", headChoice)];
      if (!allOf(weights, values)) return null;
      const from = (m, second) =>
        second ? { step: "split", matrix: "values", row: m, col } : { step: "softmax", row, col: m };
      const switched = about.replaced?.[head] ? { skipped: true, instead: stored } : { skipped: about.zero[head] };
      return productOf(weights, row, values, col, null, from, { ...switched, keys: true });
    },
    concat: () => {
      const at = headOf(state, config.d_head, col);
      const heads = read("head_outputs", { head: at.head });
      if (!heads) return null;
      const from = () => ({ step: "values", row, ...at });
      return { kind: "concat", value: heads.at(row, at.col), tolerance: 0, at, from };
    },
    output: () => linearNumber(tell, "concat", "W_o", "concat"),
  };
  return steps[step]();
}

// Why a cell is masked, or why a switch shows a cell that would be masked.
function hiddenNumber({ state, data, row, col }, hidden) {
  const future = state.place === "decoder.self" && col > row;
  const masked = future && data.config.causal !== false;
  // A switch adds <pad> after the source.
  const { pad = 0 } = data.header.holding || {};
  const side = sideOfAxis(state, "key");
  const padding = side === "source" && col >= data.labels(side).length - Number(pad);
  if (hidden) return masked ? "future" : padding ? "padding" : "switch";
  if (future) return masked ? "open_future" : "bare_future";
  return padding ? "open_padding" : "visible";
}

function feedForwardNumber(tell) {
  const { state, data, read, row, col, about } = tell;
  const pre = data.config.norm === "pre";
  const input = pre ? "normed" : "x";
  const steps = {
    x: () => givenNumber(tell),
    norm: () => normedNumber(tell),
    add: () => addedNumber(tell),
    inner: () => linearNumber(tell, input, "W_1", pre ? "norm" : "x", { skipped: undefined }),
    activation: () => {
      const before = read("pre");
      if (!before) return null;
      const silenced = (about.silenced || []).includes(col);
      const result = activationOf(before.at(row, col), data.config.activation, silenced);
      return { ...result, from: () => ({ step: "inner", row, col }) };
    },
    outer: () => linearNumber(tell, "activation", "W_2", "activation"),
  };
  return steps[state.step]();
}

function embeddingNumber({ state, data, read, row, col, about }) {
  const { config } = data;
  const rows = read("rows");
  if (!rows) return null;
  const side = sideOfAxis(state, "query");
  if (state.step === "row") return { kind: "lookup", id: data.ids(side)[row], tolerance: 0, from: () => null };
  if (state.step === "times") {
    const scaled = multiply(rows.at(row, col), about.factor);
    const root = { depth: config.d_model, scaled: config.embedding_scale };
    return { ...scaled, ...root, from: () => ({ step: "row", row, col }) };
  }
  const [embedding, positions] = [read("embedding").at(row, col), read("positions").at(row, col)];
  const position = about.position_ids[row];
  const wave = positionWave(position, col, config.d_model, config.layout);
  // Learned positions and switched ones are no wave.
  const switched = repositionedNumber(state, data);
  const waving = !switched && config.positions === "sinusoidal" && Math.abs(wave.value - positions) < 1e-6;
  const from = (m) => (m ? null : { step: "times", row, col });
  const result = sumOf(embedding, positions, "plus");
  return { ...result, position, switched, wave: waving ? wave : null, from };
}

// Whether a switch changes the numbers of the side's positions; shifted and reordered ones keep theirs.
function repositionedNumber({ place }, { header }) {
  const { positions = "" } = header.holding || {};
  return positions.split(",").some((entry) => {
    const [sort, side = place] = entry.split("@");
    return /^(remove|scale)\b/.test(sort) && (side === place || side === "all");
  });
}

function outputNumber(tell) {
  const { state, data, read, row, col, description } = tell;
  const { t, step } = state;
  if (step === "hidden") return givenNumber(tell);
  const { ids, labels, chosen, chosen_rank, chosen_probability } = data.outputs;
  const words = { labels: labels[t], ids: ids[t], chosen: chosen[t], rank: chosen_rank[t] };
  const hidden = read("hidden");
  if (step === "logits") {
    const rows = read("rows", { transposed: true });
    const biases = read("biases");
    if (!allOf(hidden, rows) || (data.config.output_bias && !biases)) return null;
    const from = (m, second) => (second ? null : { step: "hidden", row: t, col: m });
    const bias = biases ? biases.at(0, row) : null;
    return { ...productOf(hidden, t, rows, row, bias, from), words };
  }
  const logits = read("logits");
  if (!logits) return null;
  const id = step === "probabilities" ? ids[t][row] : chosen[t];
  const result = probabilityOf(logits.data, id);
  const probabilities = columnOf(drawnMatrix(state, data, description), col);
  const decided = step === "probabilities" ? {} : { kind: step, stored: chosen_probability[t] };
  const beyond = step !== "probabilities" && words.rank >= words.ids.length; // its logit is none of those drawn
  const from = () => (beyond ? null : { step: "logits", row, col: 0 });
  return { ...result, ...decided, words, probabilities, from };
}
