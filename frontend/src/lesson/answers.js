// The functions that a lesson names to have an answer computed from the open model and sentence, as
// transformer/lessons/answers.py describes them. Layers, heads, rows and steps count from 1; a row or a column is a number
// or the label of a token. Those that need neither model nor sentence were computed when the lesson was written
// (transformer/web/lessons.py).
import { needsServer } from "../engine/switches.js";

// An answer that this model and sentence do not have. text: of texts.js, with its values.
export class AnswerError extends Error {
  name = "AnswerError";
  constructor(text, values = {}) {
    super(text);
    Object.assign(this, { text, values });
  }
}

/**
 * An answer: a token or a text; a number; texts to choose from, or the numbers of a shape; a Set of which any is right.
 * @typedef {string | number | (string | number)[] | Set<string>} Answer
 * The open model. about: its web.json; trace: a pass, as Engine.trace.
 * @typedef {{about: any, trace: (asked: any) => Promise<any>}} Model
 */

/** @param {Model} model @param {any} trace @param {{function: string, arguments: any}} computed @returns {Promise<Answer>} */
export async function computeAnswer(model, trace, { function: name, arguments: given }) {
  if (!Object.hasOwn(FUNCTIONS, name)) throw new AnswerError("needs_server");
  return FUNCTIONS[name](trace, given, model);
}

// -- parts of a trace --------------------------------------------------------------------------------------------------

// Labels of the rows and of the columns of an attention.
function labelsOf(trace, kind, reading = "predicted") {
  const rows = reading === "fed" ? trace.target_in_labels : trace.target_out_labels;
  const columns = kind === "decoder_self" ? trace.target_in_labels : trace.source_labels;
  return { rows: kind === "encoder_self" ? trace.source_labels : rows, columns };
}

// The index of a row or column.
function indexOf(place, labels) {
  const index = typeof place === "string" ? labels.indexOf(place) : place - 1;
  if (!(index in labels))
    throw new AnswerError(typeof place === "string" ? "no_label" : "no_row", { place, count: labels.length });
  return index;
}

// A row of a head's weights or of its mask.
function rowOf({ data, shape: [layers, heads, rows, columns] }, layer, head, row) {
  if (!(layer >= 1 && layer <= layers && head >= 1 && head <= heads))
    throw new AnswerError("no_head", { layer, head, layers, heads });
  const from = (((layer - 1) * heads + head - 1) * rows + row) * columns;
  return data.subarray(from, from + columns);
}

// The row that a lesson asks for: its index, weights, mask and labels.
function askedRow(trace, { kind, layer, head, row, reading = undefined }) {
  const labels = labelsOf(trace, kind, reading);
  const index = indexOf(row, labels.rows);
  const { weights, mask } = trace[kind];
  const shown = () => rowOf(mask, layer, head, index);
  return { index, weights: rowOf(weights, layer, head, index), shown, columns: labels.columns };
}

const largestOf = (numbers) => numbers.reduce((a, b) => Math.max(a, b), -Infinity);
const sumOf = (numbers) => numbers.reduce((a, b) => a + b, 0);
const countOf = (mask) => sumOf(mask);
const countTokens = (trace, side) => (side === "source" ? trace.source_ids : trace.target_out_ids).length;
const distinct = (labels) => [...new Set(labels)];

// -- the functions -----------------------------------------------------------------------------------------------------

const OFFSETS = { previous: -1, same: 0, next: 1 };
const TENSORS = ["queries", "keys", "values", "scores", "weights", "head_outputs"];

// In how many of the rows that see the token there the largest weight is on it; equal largest weights share a row.
function shareAt(offset, rows, weightsAt, maskAt) {
  let [hits, possible] = [0, 0];
  for (let row = 0; row < rows; row++) {
    const key = row + offset;
    if (!maskAt(row)[key]) continue;
    const weights = weightsAt(row);
    const top = largestOf(weights);
    possible++;
    if (weights[key] === top) hits += 1 / weights.filter((weight) => weight === top).length;
  }
  return possible ? hits / possible : NaN;
}

function sizeOf(name, { about: { config } }) {
  const sizes = {
    ...config,
    d_k: config.d_k || config.d_model / config.heads,
    all_heads: config.heads * (config.encoder_layers + 2 * config.decoder_layers),
  };
  if (!Object.hasOwn(sizes, name)) throw new AnswerError("needs_server"); // the number of parameters
  return sizes[name];
}

// The pass over a sentence with switches, given as "scaling=off pad=3".
function traceWith(switches, asked, model) {
  const params = Object.fromEntries(switches.split(" ").map((one) => one.split(/=(.*)/)));
  if (needsServer(params, model.about).length) throw new AnswerError("needs_server");
  return model.trace({ ...asked, switches: params });
}

/** @type {Record<string, (trace: any, given: any, model: Model) => Answer | Promise<Answer>>} */
const FUNCTIONS = {
  largest_key(trace, given) {
    const { weights, columns } = askedRow(trace, given);
    return columns[weights.indexOf(largestOf(weights))];
  },

  largest_cell(trace, given) {
    const { index, weights } = askedRow(trace, given);
    return `${index + 1},${weights.indexOf(largestOf(weights)) + 1}`;
  },

  weight(trace, given) {
    const { weights, columns } = askedRow(trace, given);
    return weights[indexOf(given.column, columns)];
  },

  row_sum: (trace, given) => sumOf(askedRow(trace, given).weights),

  even_weight: (trace, { side }) => 1 / countTokens(trace, side),

  zeros_by_mask: (trace, { row }) =>
    askedRow(trace, { kind: "decoder_self", layer: 1, head: 1, row }).weights.filter((weight) => weight === 0).length,

  row_entropy(trace, given) {
    const { weights, shown } = askedRow(trace, given);
    const visible = countOf(shown());
    if (visible < 2) throw new AnswerError("one_token", { row: given.row });
    return -sumOf(Array.from(weights, (weight) => (weight ? weight * Math.log(weight) : 0))) / Math.log(visible);
  },

  heads_on(trace, { kind, offset, least }) {
    const { weights, mask } = trace[kind];
    const [layers, heads, rows] = weights.shape;
    const found = new Set();
    if (kind === "cross") return found; // source and target count their own positions
    for (let layer = 1; layer <= layers; layer++)
      for (let head = 1; head <= heads; head++) {
        const at = (tensor) => (row) => rowOf(tensor, layer, head, row);
        if (shareAt(OFFSETS[offset], rows, at(weights), at(mask)) >= least) found.add(`${layer}.${head}`);
      }
    return found;
  },

  token_count: (trace, { side }) => countTokens(trace, side),

  output_token: ({ target_out_labels: labels }, { step }) => labels[indexOf(step, labels)],

  fed_token: ({ target_in_labels: labels }, { step }) => labels[indexOf(step, labels)],

  probability: (trace, { step }) => trace.probabilities[indexOf(step, trace.target_out_labels)],

  // The end token of a complete text does not count.
  least_certain({ target_out_labels: labels, probabilities, complete }) {
    const steps = labels.length - Number(complete && labels.length > 1);
    return labels[probabilities.indexOf(Math.min(...probabilities.slice(0, steps)))];
  },

  source_tokens: (trace) => distinct(trace.source_labels),

  target_tokens: (trace) => distinct(trace.target_out_labels),

  // With the batch of one sentence instead of the layers.
  shape(trace, { tensor }) {
    const [field, name] = tensor.split(".");
    const { shape } = name ? trace[field][name] : trace[field];
    return [1, ...(TENSORS.includes(name) ? shape.slice(1) : shape)];
  },

  size: (trace, { name }, model) => sizeOf(name, model),

  scale: (trace, given, model) => Math.sqrt(sizeOf("d_k", model)),

  // Rows with one visible key say nothing about a head.
  async mean_largest_weight(trace, { kind, switches }, model) {
    const asked = { source: trace.source_text, output: trace.target_out_ids };
    const switched = switches ? await traceWith(switches, asked, model) : trace;
    const { weights, mask } = switched[kind];
    const [layers, heads, rows] = weights.shape;
    const means = [];
    for (let layer = 1; layer <= layers; layer++)
      for (let head = 1; head <= heads; head++) {
        const counted = [...Array(rows).keys()].filter((row) => countOf(rowOf(mask, layer, head, row)) > 1);
        const largest = counted.map((row) => largestOf(rowOf(weights, layer, head, row)));
        if (counted.length) means.push(sumOf(largest) / counted.length);
      }
    return sumOf(means) / means.length;
  },

  async translation(trace, { switches }, model) {
    const asked = { source: trace.source_text };
    return (await (switches ? traceWith(switches, asked, model) : model.trace(asked))).target_text;
  },
};
