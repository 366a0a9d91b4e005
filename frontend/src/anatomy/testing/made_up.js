import { START_ANATOMY } from "../../state/generated.js";
import { stopsOf } from "../walk.js";
import { textsOf } from "./faults.js";

// A drawing of any size with made-up numbers, for tests: what a board gets.

const PER_HEAD = ["queries", "keys", "values", "head_outputs", "dot", "scaled", "scores", "weights"];

// The shape of a tensor by its name, without its heads. n, m: of the queries and keys of the place.
function shapeOf(name, place, { d_model: d, d_ff: ff, d_k, d_head, heads, output_size }, n, m) {
  if (["dot", "scaled", "scores", "weights"].includes(name)) return [n, m];
  const shapes = {
    ...{ queries: [n, d_k], keys: [m, d_k], values: [m, d_head], head_outputs: [n, d_head], memory: [m, d] },
    ...{ W_q: [d, heads * d_k], W_k: [d, heads * d_k], W_v: [d, heads * d_head], W_o: [heads * d_head, d] },
    ...{
      b_q: [1, heads * d_k],
      b_k: [1, heads * d_k],
      b_v: [1, heads * d_head],
      b_1: [1, ff],
      concat: [n, heads * d_head],
    },
    ...{ W_1: [d, ff], W_2: [ff, d], pre: [n, ff], activation: [n, ff], logits: [1, output_size], biases: [1, 10] },
  };
  if (["b_o", "b_2", "gamma", "beta"].includes(name)) return [1, d];
  if (name === "mean" || name === "deviation") return [1, n];
  if (name === "rows" && place === "output") return [Math.min(10, output_size), d];
  return shapes[name] || [n, d];
}

// As AnatomyData. config: of the model; source, target: the tokens that go in; waits: no numbers have arrived;
// top(name, head): the end of a colour scale; number(name, row, col): other numbers than the usual ones.
export class MadeUpData {
  id = "made up";
  /** @type {any} */ state = null;

  /** @type {any} */ config;
  /** @type {any} */ waits;
  /** @type {any} */ top;

  constructor(/** @type {any} */ { source, target, ...more }) {
    const usual = { header: {}, about: null, outputs: null, waits: false, top: () => 3, number: () => undefined };
    Object.assign(this, usual, more);
    this.words = { source, target_in: target, target_out: [...target.slice(1), "</s>"] };
    this.made = new Map();
  }

  get steps() {
    return this.words.target_in.length;
  }

  labels(side) {
    return this.words[side];
  }

  ids(side) {
    return this.words[side].map((_, i) => (i * 37 + 3) % this.config.output_size);
  }

  plain() {
    return null;
  }

  matrix(name, options = /** @type {any} */ ({})) {
    const id = [name, options.head, options.transposed, this.state.place].join("|");
    if (!this.made.has(id)) this.made.set(id, this.make(id, name.replace("place.", ""), options));
    return this.waits ? null : this.made.get(id);
  }

  make(id, name, { head, transposed }) {
    const { config, words, number } = /** @type {any} */ (this);
    const { place } = this.state;
    if (name.includes(".") || (name === "normed" && config.norm !== "pre")) return null;
    const side = /^(source|encoder)/.test(place) ? words.source : words.target_in;
    const keys = place === "decoder.self" ? words.target_in : words.source;
    const shape = shapeOf(name, place, config, side.length, keys.length);
    let [rows, cols] = shape;
    if (PER_HEAD.includes(name) && head === undefined) cols *= config.heads;
    if (/^W_[qkv]/.test(name) && head !== undefined) cols /= config.heads;
    if (transposed) [rows, cols] = [cols, rows];
    const top = this.top(name, head);
    const hidden = (i, j) => name === "scores" && place === "decoder.self" && config.causal && j > i;
    const usual = (i, j) => (name === "weights" ? 1 / cols : top * Math.sin(i * 12.9898 + j * 78.233 + name.length));
    const at = (i, j) => (hidden(i, j) ? -Infinity : (number(name, i, j) ?? usual(i, j)));
    const matrix = { id, name, rows, cols, at, top, shape, axes: [], exact: true, masked: false };
    let data = null;
    const numbers = () =>
      (data ??= Float32Array.from({ length: rows * cols }, (_, i) => at(Math.floor(i / cols), i % cols)));
    const range = () =>
      numbers().reduce(([low, high], value) => [Math.min(low, value), Math.max(high, value)], [Infinity, -Infinity]);
    return Object.defineProperties(matrix, { data: { get: numbers }, range: { get: range } });
  }
}

// "340 460 15 narrow": width, height (0: what the board asks for) and size of text; the rest of the page is below.
export function areaOf(text) {
  const [w, h, unit] = text.split(" ").map(Number);
  return { w, h, unit, narrow: text.endsWith("narrow") };
}

// What a board gets. texts: by their keys; heightOf: of the board, for a height of 0; used: collects the keys of texts.
export function contextOf(data, state, area, { texts, heightOf, used = new Set() }) {
  const { w, h, unit = 15, narrow = false } = typeof area === "string" ? areaOf(area) : area;
  data.state = { ...START_ANATOMY, ...state };
  const look = { unit, narrow, big: unit > 15, theme: {}, t: textsOf(texts, used) };
  const ctx = { data, state: data.state, ...look, area: { x: 0, y: 0, w, h } };
  if (!h) ctx.area.h = heightOf(ctx);
  return ctx;
}

// Steps with several matrices to look into.
const SEVERAL = {
  project: ["queries", "keys", "values", "dot"],
  split: ["queries", "keys", "values", "memory"],
  x: ["queries", "memory"],
};

// A state for every number that can be looked into. cell(i): the row and decoding step of the stop at i.
export const numberStates = (config, cell) =>
  stopsOf(config, "number").flatMap((stop, i) =>
    (SEVERAL[stop.step] || ["queries"]).map((matrix) => ({
      ...{ ...START_ANATOMY, zoom: "number", matrix, head: i % config.heads, col: -1, ...cell(i), ...stop },
    })),
  );
