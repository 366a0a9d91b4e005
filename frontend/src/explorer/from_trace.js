// The pack of the explorer, made from a trace of the engine; `full_pack` of transformer/view/pack.py makes the same on
// the server.
import { PackWriter } from "../core/pack.js";
import { isSpecial, wordLabels, wordNumbers } from "../engine/words.js";

const ROWS = { encoder_self: "source", decoder_self: "target", cross: "target" };
const COLUMNS = { encoder_self: "source", decoder_self: "target_in", cross: "source" };
// Tensors of each kind that a pack needs.
export const SHOWN = ["weights", "mask", "queries", "keys", "values", "bias"];
const SIDES = ["source", "target_in", "target_out"];
const bySide = (make) => Object.fromEntries(SIDES.map((side) => [side, make(side)]));

// header: what else the pack says: state, texts, meanings, wording, recorded, alignment.
export function explorerPack(trace, header = {}) {
  const writer = new PackWriter();
  const kinds = Object.keys(ROWS).filter((kind) => trace[kind]?.weights);
  const tokens = { source: trace.source_tokens, target_in: trace.target_in || [], target_out: trace.target_out || [] };
  const labels = bySide((side) => trace[`${side}_labels`] || []);
  const words = bySide((side) => wordNumbers(tokens[side], labels[side]));
  const [, heads] = trace.encoder_self.weights.shape;
  return writer.finish({
    id: traceId(trace),
    checkpoint: trace.checkpoint,
    languages: trace.languages,
    sentences: { source: trace.source_text, target: trace.target_text || "" },
    tokens,
    labels,
    words,
    special: bySide((side) => isSpecial(tokens[side])),
    word_labels: bySide((side) => wordLabels(labels[side], words[side])),
    meanings: null,
    probabilities: (trace.probabilities || []).map((value) => Math.round(value * 1e6) / 1e6),
    own: trace.own,
    causal: trace.causal,
    biased: Boolean(trace.encoder_self.bias),
    heads,
    d_head: trace.encoder_self.values.shape[3],
    kinds: Object.fromEntries(kinds.map((kind) => [kind, kindOf(trace[kind], kind, writer)])),
    exact: kinds.flatMap((kind) => exactOf(trace[kind], kind, writer)),
    wording: {},
    ...header,
  });
}

// Equal for equal passes.
export function traceId(trace) {
  const { checkpoint, source_ids: source, source_labels, target_out_ids: out = [], target_out_labels = [] } = trace;
  return ["engine", checkpoint, source, source_labels, out, target_out_labels, JSON.stringify(trace.switches)].join(
    "|",
  );
}

function kindOf(attention, kind, writer) {
  const { weights, mask } = attention;
  const [layers, , queries, keys] = weights.shape;
  return {
    layers,
    rows: ROWS[kind],
    columns: COLUMNS[kind],
    ...masksOf(mask, queries * keys, writer),
    zero: attention.zero,
    replaced: attention.replaced,
    picture: writer.add(weightBytes(weights.data), weights.shape),
  };
}

// Weights in 8 bits; this kind of array rounds halves to even, as torch and NumPy do. A loop, because `from` with a
// function takes four times as long.
export function weightBytes(weights) {
  const bytes = new Uint8ClampedArray(weights.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = Math.fround(255 * weights[i]);
  return new Uint8Array(bytes.buffer);
}

// The distinct masks, 1 = hidden, and the mask of each head; null if no cell is hidden.
function masksOf({ data, shape: [layers, heads, queries, keys] }, size, writer) {
  if (!data.includes(0)) return { masks: null };
  const distinct = [];
  const numbers = Array.from({ length: layers }, (_, layer) =>
    Array.from({ length: heads }, (_, head) => {
      const from = (layer * heads + head) * size;
      const mask = data.subarray(from, from + size);
      const known = distinct.findIndex((other) => equal(mask, other));
      return known < 0 ? distinct.push(mask) - 1 : known;
    }),
  );
  const hidden = new Uint8Array(distinct.length * size);
  for (let i = 0; i < hidden.length; i++) hidden[i] = 1 - distinct[Math.floor(i / size)][i % size];
  return { masks: writer.add(hidden, [distinct.length, queries, keys]), mask_of: numbers };
}

// A loop, since `every` with a function takes ten times as long.
function equal(one, other) {
  for (let i = 0; i < one.length; i++) if (one[i] !== other[i]) return false;
  return true;
}

function exactOf(attention, kind, writer) {
  const [layers, heads] = attention.weights.shape;
  const part = ({ data, shape: [, , rows, width] }, layer, head) => {
    const from = (layer * heads + head) * rows * width;
    return writer.add(data.subarray(from, from + rows * width), [rows, width]);
  };
  const found = [];
  for (let layer = 0; layer < layers; layer++)
    for (let head = 0; head < heads; head++) {
      const names = ["weights", "queries", "keys", "values", ...(attention.bias ? ["bias"] : [])];
      const arrays = names.map((name) => [name, part(attention[name], layer, head)]);
      const about = { scale: attention.scale[layer][head], rule: attention.rule[layer][head] };
      found.push({ kind, layer, head, ...about, ...Object.fromEntries(arrays) });
    }
  return found;
}
