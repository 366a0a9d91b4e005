// The packs of the anatomy, made from traces of the engine; transformer/view/anatomy_pack.py makes the same on the server
// and says what is in them. before: a trace of the same tokens without switches, or null.
//
// facts: what the first pack says of the model and of every sentence: {config, boxes, forms}.
// parameters: {name: {data, shape}} of the tensors that `vectorNames`, `rowNames` and `weightNames` name.
import { PackWriter } from "../core/pack.js";
import { KINDS } from "../engine/switches.js";
import { readable } from "../engine/words.js";
import { traceId, weightBytes } from "../explorer/from_trace.js";
import { readSwitches } from "../lab/params.js";
import { PLACES } from "../state/generated.js";
import { logSumOf, momentsOf } from "./arithmetic.js";
import { SYMBOLS, weightsOf } from "./data.js";
import { partOf, sideBySide, transposed } from "./matrix.js";
import { kindOf } from "./walk.js";

const QUANTILE = 0.999;
const LIKELIEST = 10; // tokens to list at every step of decoding
const partsOf = (stack) => PLACES.filter((place) => place.startsWith(`${stack}.`)).map((place) => place.split(".")[1]);
const SUB_LAYERS = { encoder: partsOf("encoder"), decoder: partsOf("decoder") };
const BIASES = { attention: ["b_q", "b_k", "b_v", "b_o"], ff: ["b_1", "b_2"] };

// -- tensors -------------------------------------------------------------------------------------------------------------

const withShape = (data, shape) => ({ data, shape });

function largestChange(now, then) {
  let largest = 0;
  for (let i = 0; i < now.data.length; i++) {
    const change = Math.abs(now.data[i] - then.data[i]);
    if (change > largest) largest = change;
  }
  return largest;
}

// The smallest of the `count` largest magnitudes.
function lowestOfLargest(numbers, count) {
  const largest = new Float32Array(count); // in rising order
  for (let i = 0; i < numbers.length; i++) {
    const size = Math.abs(numbers[i]);
    if (size <= largest[0]) continue;
    let at = 0;
    for (; at + 1 < count && largest[at + 1] < size; at++) largest[at] = largest[at + 1];
    largest[at] = size;
  }
  return largest[0];
}

// -- streams and sub-layers ----------------------------------------------------------------------------------------------

const subLayer = (trace, stack, part) => (part === "cross" ? trace.cross : trace[`${stack}_${part}`]);

// Name -> [token, d_model] of everything that the view of the whole model shows.
function streamsOf(trace) {
  const streams = {
    "source.embedding": trace.source_embedding,
    "source.positions": trace.source_positions,
    "target.embedding": trace.target_embedding,
    "target.positions": trace.target_positions,
    "encoder.output": trace.encoder_output,
    "decoder.output": trace.decoder_output,
  };
  for (const [stack, parts] of Object.entries(SUB_LAYERS))
    for (const part of parts) {
      const { enters } = subLayer(trace, stack, part);
      for (let layer = 0; layer < enters.shape[0]; layer++)
        streams[`${stack}.${layer}.${part}.enters`] = partOf(enters, layer);
    }
  return streams;
}

// [name, attention of its kind, layer] of every sub-layer of attention: "encoder.0.self", ...
function attentionsOf(trace) {
  return KINDS.flatMap((kind) => {
    const [stack, part] = kind === "cross" ? ["decoder", "cross"] : kind.split("_");
    return Array.from(trace[kind].zero, (_, layer) => [`${stack}.${layer}.${part}`, trace[kind], layer]);
  });
}

// A matrix in 8 bits, and the norms of its rows if they are asked for.
function stripOf(writer, { data, shape }, norms = true) {
  const rest = data.length - Math.ceil(QUANTILE * data.length); // numbers above the quantile
  const top = lowestOfLargest(data, rest + 1) || lowestOfLargest(data, 1);
  const factor = Math.fround(top ? 127 / top : 0);
  const bytes = new Uint8ClampedArray(data.length); // which rounds halves to even, as torch does
  let [low, high] = [Infinity, -Infinity];
  for (let i = 0; i < data.length; i++) {
    const value = data[i];
    bytes[i] = 128 + Math.max(-127, Math.min(127, Math.fround(value * factor)));
    if (value < low) low = value;
    if (value > high) high = value;
  }
  const strip = { picture: writer.add(new Uint8Array(bytes.buffer), shape), top, low, high };
  return norms ? { ...strip, norms: writer.add(normsOf(data, shape), [shape[0]]) } : strip;
}

function normsOf(data, [rows, width]) {
  const norms = new Float32Array(rows);
  for (let row = 0; row < rows; row++) {
    let sum = 0;
    for (let i = row * width; i < (row + 1) * width; i++) sum += data[i] * data[i];
    norms[row] = Math.sqrt(sum);
  }
  return norms;
}

// -- predictions ---------------------------------------------------------------------------------------------------------

// Ids of the largest logits of a row, in falling order.
function likeliestOf(logits) {
  const ids = [];
  for (let id = 0; id < logits.length; id++) {
    if (ids.length === LIKELIEST && logits[id] <= logits[ids[LIKELIEST - 1]]) continue;
    let at = ids.length;
    while (at && logits[ids[at - 1]] < logits[id]) at--;
    ids.splice(at, 0, id);
    ids.length = Math.min(ids.length, LIKELIEST);
  }
  return ids;
}

// The ids of `outputs.ids`: the most likely tokens at every step of decoding.
export function likeliestIds(trace) {
  const { logits } = trace;
  return (trace.likeliest ??= Array.from({ length: logits.shape[0] }, (_, t) => likeliestOf(partOf(logits, t).data)));
}

// pieces: id -> piece of the target's vocabulary, of all ids that are listed.
function outputsOf(writer, trace, before, pieces) {
  const ids = likeliestIds(trace);
  const steps = ids.map((_, t) => partOf(trace.logits, t).data);
  const chosen = trace.target_out_ids;
  const sums = steps.map(logSumOf);
  const shape = [steps.length, ids[0].length];
  const each = (read) => writer.add(Float32Array.from(ids.flatMap((row, t) => row.map((id) => read(id, t)))), shape);
  const every = (read) => writer.add(Float32Array.from(chosen, read), [steps.length]);
  const probability = (id, t) => Math.exp(steps[t][id] - sums[t]);
  const plain = before?.logits;
  const plainSums = plain && ids.map((_, t) => logSumOf(partOf(plain, t).data));
  return {
    labels: ids.map((row) => readable(row.map((id) => pieces[id]))),
    ids,
    chosen,
    chosen_rank: chosen.map((id, t) => {
      const at = ids[t].indexOf(id);
      return at < 0 ? steps[t].reduce((count, logit) => count + Number(logit > steps[t][id]), 0) : at;
    }),
    probability: each(probability),
    logit: each((id, t) => steps[t][id]),
    chosen_probability: every(probability),
    chosen_logit: every((id, t) => steps[t][id]),
    plain_probability: plain ? each((id, t) => Math.exp(partOf(plain, t).data[id] - plainSums[t])) : null,
  };
}

// -- what the switches change --------------------------------------------------------------------------------------------

const positive = (entries) => Object.fromEntries(entries.filter(([, value]) => [value].flat().some((one) => one > 0)));

function changedBy(trace, before) {
  const then = streamsOf(before);
  const streams = Object.entries(streamsOf(trace)).map(([name, now]) => [name, largestChange(now, then[name])]);
  const old = attentionsOf(before);
  const weights = attentionsOf(trace).map(([name, { weights: now }, layer], i) => {
    const then = old[i][1].weights;
    return [name, largestChange(partOf(now, layer), partOf(then, layer))];
  });
  return positive([...streams, ...weights]);
}

// The largest change in each part of a tensor along its first axis.
const changesIn = (now, then) =>
  Array.from({ length: now.shape[0] }, (_, at) => largestChange(partOf(now, at), partOf(then, at)));

// Of tensors inside the sub-layers: the largest change in each head, or in all neurons.
function changedInside(trace, before) {
  const old = attentionsOf(before);
  const heads = attentionsOf(trace).flatMap(([name, attention, layer], i) =>
    ["queries", "keys", "values", "weights"].map((tensor) => {
      const [now, then] = [attention, old[i][1]].map((one) => partOf(one[tensor], layer));
      return [`${name}.${tensor}`, changesIn(now, then)];
    }),
  );
  const neurons = Object.keys(SUB_LAYERS).flatMap((stack) => {
    const [now, then] = [trace, before].map((one) => one[`${stack}_ff`].activation);
    return changesIn(now, then).map((change, layer) => [`${stack}.${layer}.ff.activation`, [change]]);
  });
  return positive([...heads, ...neurons]);
}

// -- packs ---------------------------------------------------------------------------------------------------------------

// The whole model with one sentence. header: what else the pack says: state, texts.
export function tracePack(trace, before, facts, pieces, header = {}) {
  const writer = new PackWriter();
  const sides = (read) => ({ source: read("source"), target_in: read("target_in"), target_out: read("target_out") });
  return writer.finish({
    sort: "trace",
    id: traceId(trace),
    checkpoint: trace.checkpoint,
    tokens: sides((side) => trace[side === "source" ? "source_tokens" : side]),
    sentences: { source: trace.source_text, target: trace.target_text },
    labels: sides((side) => trace[`${side}_labels`]),
    ids: sides((side) => trace[`${side}_ids`]),
    ...facts,
    own: trace.own,
    complete: trace.complete,
    strips: mapped(streamsOf(trace), (tensor) => stripOf(writer, tensor)),
    attention: Object.fromEntries(
      attentionsOf(trace).map(([name, { weights, zero }, layer]) => {
        const { data, shape } = partOf(weights, layer);
        return [name, { picture: writer.add(weightBytes(data), shape), zero: zero[layer] }];
      }),
    ),
    outputs: outputsOf(writer, trace, before, pieces),
    changed: before ? changedBy(trace, before) : {},
    inside: before ? changedInside(trace, before) : {},
    switches: trace.switches,
    holding: trace.switches,
    ...header,
  });
}

const mapped = (table, make) => Object.fromEntries(Object.entries(table).map(([name, value]) => [name, make(value)]));

// The inside of one layer of each stack.
export function openPack(trace, encoder, decoder, id = traceId(trace)) {
  const writer = new PackWriter();
  const [strips, weights] = [{}, {}];
  for (const [stack, layer] of Object.entries({ encoder, decoder }))
    for (const part of SUB_LAYERS[stack]) {
      const name = `${stack}.${layer}.${part}`;
      const of = (tensor) => partOf(subLayer(trace, stack, part)[tensor], layer);
      const add = (tensor, matrix) => (strips[`${name}.${tensor}`] = stripOf(writer, matrix, false));
      if (part === "ff") add("activation", of("activation"));
      else {
        weights[name] = writer.add(of("weights").data, of("weights").shape);
        for (const tensor of ["queries", "keys", "values", "head_outputs"]) add(tensor, sideBySide(of(tensor)));
      }
      add("update", of("update"));
    }
  return writer.finish({ sort: "open", id, encoder, decoder, strips, weights });
}

// Exact tensors of every step of a place: "encoder.0.self", "source", "output"; t: the step of decoding.
export function placePack(trace, before, facts, parameters, place, t = 0, id = traceId(trace)) {
  const writer = new PackWriter();
  const { arrays, about } = stepsOf(trace, facts, parameters, place, t);
  const plain = {};
  const then = before ? stepsOf(before, facts, parameters, place, t).arrays : {};
  for (const [name, tensor] of Object.entries(then))
    if (name !== "rows" && name !== "biases" && tensor.data.some((value, i) => value !== arrays[name].data[i]))
      plain[name] = tensor; // rows and biases do not change: at the output they belong to other tokens
  const added = (tensors) => mapped(tensors, ({ data, shape }) => writer.add(data, shape));
  const [matrices, unswitched] = [added(arrays), added(plain)];
  const step = place === "output" ? t : null;
  return writer.finish({ sort: "place", id, place, t: step, matrices, plain: unswitched, about });
}

// The matrices that a step of a sub-layer multiplies with, [in, out].
export function weightsPack(checkpoint, facts, parameters, place, step) {
  const writer = new PackWriter();
  const matrices = Object.fromEntries(
    weightsOf(step).map((symbol) => {
      const { data, shape } = transposed(parameters[nameOf(facts, place, symbol)]);
      return [symbol, writer.add(data, shape)];
    }),
  );
  return writer.finish({ sort: "weights", checkpoint, place, step, matrices });
}

// -- parameters of the model ---------------------------------------------------------------------------------------------

function nameOf({ boxes }, place, symbol) {
  const box = boxes[symbol === "gamma" || symbol === "beta" ? `${place}.norm` : place];
  return box.tensors.find((tensor) => tensor.symbol === SYMBOLS[symbol])?.name;
}

// Names of the matrices of a step, none if it reads none.
export const weightNames = (facts, place, step) =>
  place.includes(".") ? weightsOf(step).map((symbol) => nameOf(facts, place, symbol)) : [];

// Names of all biases and of the parameters of LayerNorm.
export function vectorNames({ boxes }) {
  const vectors = Object.values(boxes).flatMap(({ tensors }) => tensors.filter(({ shape }) => shape.length === 1));
  return [...new Set(vectors.map(({ name }) => name))];
}

const TABLES = { source: "source.embedding", target: "target.embedding", output: "output" };

// [name of the table, rows that an end of the model reads]; null for sub-layers.
export function rowsOf(trace, { boxes }, place, t = 0) {
  if (!(place in TABLES)) return null;
  const table = boxes[TABLES[place]].tensors.find(({ shape }) => shape.length === 2);
  const ids = { source: trace.source_ids, target: trace.target_in_ids }[place] ?? likeliestIds(trace)[t];
  return [table.name, ids];
}

// -- the steps of a place, as in transformer/analysis/anatomy.py -----------------------------------------------------------

function stepsOf(trace, facts, parameters, place, t) {
  if (place === "output") return outputSteps(trace, facts, parameters, t);
  if (!place.includes(".")) return embeddingSteps(trace, facts, parameters, place);
  return place.endsWith(".ff")
    ? feedForwardSteps(trace, facts, parameters, place)
    : attentionSteps(trace, facts, parameters, place);
}

function embeddingSteps(trace, facts, parameters, side) {
  const { config } = facts;
  const first = side === "source" ? trace.encoder_self : trace.decoder_self;
  const [embedding, positions] = [trace[`${side}_embedding`], trace[`${side}_positions`]];
  const added = (one, m) => one + positions.data[m];
  const sum = () => withShape(Float32Array.from(embedding.data, added), embedding.shape);
  const rows = parameters[rowsOf(trace, facts, side)[0]];
  const arrays = { rows, embedding, positions, x: config.embedding_norm ? sum() : partOf(first.enters, 0) };
  const factor = config.embedding_scale ? Math.sqrt(config.d_model) : 1;
  return { arrays, about: { position_ids: trace[`${side}_position_ids`], factor } };
}

function outputSteps(trace, facts, parameters, t) {
  const [table, ids] = rowsOf(trace, facts, "output", t);
  const arrays = { hidden: trace.decoder_output, logits: partOf(trace.logits, t), rows: parameters[table] };
  const bias = facts.boxes.output.tensors.find(({ shape }) => shape.length === 1);
  const biasOf = (id) => parameters[bias.name].data[id];
  if (bias) arrays.biases = withShape(Float32Array.from(ids, biasOf), [ids.length]);
  return { arrays, about: {} };
}

function attentionSteps(trace, facts, parameters, place) {
  const layer = Number(place.split(".")[1]);
  const attention = trace[kindOf(place)];
  const of = (tensor) => partOf(attention[tensor], layer);
  const scale = attention.scale[layer];
  const { dot, scaled } = productsOf(of("queries"), of("keys"), of("mask"), of("scores"), scale);
  const recorded = ["queries", "keys", "values", "scores", "weights", "head_outputs"];
  const arrays = {
    x: of("enters"),
    ...(place.endsWith(".cross") ? { memory: trace.encoder_output } : {}),
    ...Object.fromEntries(recorded.map((name) => [name, of(name)])),
    ...{ dot, scaled, concat: sideBySide(of("head_outputs")) },
    ...connection(of, facts, parameters, place),
    ...vectorsOf(facts, parameters, place, BIASES.attention),
  };
  const { rule, zero, replaced } = attention;
  const about = { scale, rule: rule[layer], zero: zero[layer], replaced: replaced[layer] };
  return { arrays, about: { ...about, skipped: isSkipped(trace, place) } };
}

function feedForwardSteps(trace, facts, parameters, place) {
  const [stack, layer] = place.split(".");
  const of = (tensor) => partOf(trace[`${stack}_ff`][tensor], Number(layer));
  const arrays = {
    x: of("enters"),
    pre: of("pre_activation"),
    activation: of("activation"),
    ...connection(of, facts, parameters, place),
    ...vectorsOf(facts, parameters, place, BIASES.ff),
  };
  const prefix = `${stack}.${Number(layer) + 1}.`;
  const silenced = switchedIn(trace, "neurons").filter((name) => name.startsWith(prefix));
  const neurons = silenced.map((name) => Number(name.slice(prefix.length)) - 1);
  return { arrays, about: { silenced: neurons, skipped: isSkipped(trace, place) } };
}

const switchedIn = ({ switches }, name) => readSwitches(switches, { [name]: {} })[name].map(({ value }) => value);

function isSkipped(trace, place) {
  const [stack, layer, part] = place.split(".");
  return switchedIn(trace, "skip").includes(`${stack}.${Number(layer) + 1}.${part}`);
}

const vectorsOf = (facts, parameters, place, symbols) =>
  Object.fromEntries(symbols.map((symbol) => [symbol, parameters[nameOf(facts, place, symbol)]]));

// Q K^T, and the same times the scale of each head.
function productsOf(queries, keys, mask, scores, scale) {
  const [heads, rows, depth] = queries.shape;
  const columns = keys.shape[1];
  const dot = new Float32Array(scores.data.length);
  const scaled = new Float32Array(scores.data.length);
  for (let at = 0; at < dot.length; at++) {
    const query = Math.floor(at / columns); // of all heads
    const head = Math.floor(query / rows);
    const key = head * columns + (at % columns);
    let sum = 0;
    for (let i = 0; i < depth; i++) sum += queries.data[query * depth + i] * keys.data[key * depth + i];
    dot[at] = sum;
    scaled[at] = mask.data[at] ? scores.data[at] : sum * scale[head];
  }
  return { dot: withShape(dot, [heads, rows, columns]), scaled: withShape(scaled, [heads, rows, columns]) };
}

// The update, the residual connection and LayerNorm, as far as the model has them.
function connection(of, facts, parameters, place) {
  const { norm, residual, layer_norm_eps: eps } = facts.config;
  const arrays = { update: of("update"), ...(residual ? { sum: of("sum") } : {}), leaves: of("leaves") };
  if (norm === "none") return arrays;
  const { gamma, beta } = vectorsOf(facts, parameters, place, ["gamma", "beta"]);
  const read = norm === "pre" ? of("enters") : of("sum");
  const [rows, width] = read.shape;
  const moments = Array.from({ length: rows }, (_, row) => momentsOf(partOf(read, row).data, eps));
  const normed = (value, i) => {
    const { mean, deviation } = moments[Math.floor(i / width)];
    return (gamma.data[i % width] * (value - mean)) / deviation + beta.data[i % width];
  };
  const each = (name) =>
    withShape(
      Float32Array.from(moments, (of) => of[name]),
      [rows],
    );
  return {
    ...arrays,
    ...(norm === "pre" ? { normed: withShape(read.data.map(normed), read.shape) } : {}),
    ...{ mean: each("mean"), deviation: each("deviation"), gamma, beta },
  };
}
