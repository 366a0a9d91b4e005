import { printable } from "../core/dom.js";
import { isSpecial, MARK } from "../engine/words.js";
import { phrases, sharedTexts } from "../lab/words.js";
import { matrixOf, partOf, sideBySide, transposed } from "./matrix.js";
import { traceName, isAttention, isFeedForward } from "./walk.js";

// The data of the anatomy, by name, from the packs that the server sends: matrices of numbers with their shape.

const KEPT = { place: 8, weights: 12 }; // packs; going back and forth needs no server

const [ROW, SCORES, TO_HEADS] = [
  ["query", "d_model"],
  ["head", "query", "key"],
  ["d_model", "head·d_k"],
];
const ATTENTION_AXES = {
  ...{ x: ROW, memory: ["key", "d_model"], normed: ROW, mean: ["query"], deviation: ["query"] },
  ...{ queries: ["head", "query", "d_k"], keys: ["head", "key", "d_k"], values: ["head", "key", "d_head"] },
  ...{ dot: SCORES, scaled: SCORES, scores: SCORES, weights: SCORES, head_outputs: ["head", "query", "d_head"] },
};
const WEIGHT_AXES = {
  ...{ W_q: TO_HEADS, W_k: TO_HEADS, W_v: ["d_model", "head·d_head"], W_o: ["head·d_head", "d_model"] },
  ...{ W_1: ["d_model", "d_ff"], W_2: ["d_ff", "d_model"] },
};

// How the paper writes them: the symbols of the boxes' tensors.
export const SYMBOLS = {
  ...{ W_q: "W^Q", W_k: "W^K", W_v: "W^V", W_o: "W^O", b_q: "b^Q", b_k: "b^K", b_v: "b^V", b_o: "b^O" },
  ...{ W_1: "W_1", W_2: "W_2", b_1: "b_1", b_2: "b_2", gamma: "γ", beta: "β" },
};

// The step that reads a weight matrix. At other steps the matrix is an outline, even if it has arrived: the same step
// always looks the same.
const WEIGHT_STEPS = {
  ...{ W_q: "project", W_k: "project", W_v: "project", W_o: "output", W_1: "inner", W_2: "outer" },
};

// The weight matrices that a step reads.
export const weightsOf = (step) => Object.keys(WEIGHT_STEPS).filter((name) => WEIGHT_STEPS[name] === step);

export class AnatomyData {
  constructor() {
    this.kept = { place: new Map(), weights: new Map() };
    this.matrices = new Map();
    this.derived = /** @type {any} */ ({}); // from the newest pack of a whole model
    this.state = null;
  }

  // Stores a pack. Returns whether it belongs to what is shown now or may be shown soon.
  take(pack) {
    const { header } = pack;
    if (header.sort === "trace") {
      this.trace = pack;
      this.derived = {};
    } else if (header.sort === "open") this.open = pack;
    else if (header.sort === "place") this.keep("place", `${header.id}/${header.place}/${placeStep(header)}`, pack);
    else if (header.sort === "weights") {
      for (const name of Object.keys(header.matrices))
        this.keep("weights", `${header.checkpoint}/${header.place}/${name}`, { pack, ref: header.matrices[name] });
    } else return false;
    this.matrices.clear();
    return true;
  }

  keep(sort, key, value) {
    const packs = this.kept[sort];
    packs.delete(key);
    packs.set(key, value);
    while (packs.size > KEPT[sort]) packs.delete(packs.keys().next().value);
  }

  get header() {
    return this.trace.header;
  }

  get id() {
    return this.trace ? this.trace.header.id : null;
  }

  get config() {
    return this.trace.header.config;
  }

  get steps() {
    return this.header.tokens.target_in.length;
  }

  labels(side) {
    return (this.derived[side] ??= this.header.labels[side].map(printable));
  }

  // The words of the translation's first tokens.
  translation(count) {
    const pieces = this.header.tokens.target_out.slice(0, count);
    const special = isSpecial(pieces);
    const written = pieces.filter((_, i) => !special[i]).join("");
    return written.split(MARK).filter(Boolean).map(printable);
  }

  ids(side) {
    return this.header.ids[side];
  }

  // The switches that hold, in words.
  get phrases() {
    const { texts, holding, config } = this.header;
    return (this.derived.phrases ??= phrases(sharedTexts(texts), holding, config));
  }

  // The ten most likely words of every decoding step and the chosen word; arrays are flat, [step, 10].
  get outputs() {
    const { outputs } = this.header;
    const array = (name) => (outputs[name] ? this.trace.array(outputs[name]) : null);
    return (this.derived.outputs ??= {
      ...outputs,
      labels: outputs.labels.map((step) => step.map(printable)),
      ...{ probability: array("probability"), plain_probability: array("plain_probability"), logit: array("logit") },
      ...{ chosen_probability: array("chosen_probability"), chosen_logit: array("chosen_logit") },
    });
  }

  get placePack() {
    const { state } = this;
    const at = traceName(state);
    return this.kept.place.get(`${this.id}/${at}/${placeStep({ place: at, t: state.t })}`) || null;
  }

  get about() {
    return this.placePack ? this.placePack.header.about : null;
  }

  // Whether the state needs a pack that is not here.
  get waiting() {
    const near = ["sub", "head", "number"].includes(this.state.zoom);
    if (!near || !this.placePack) return near;
    const sub = isAttention(this.state.place) || isFeedForward(this.state.place);
    return sub && weightsOf(this.state.step).some((name) => this.hasWeights(name) && !this.matrix(name));
  }

  // Whether the place has such a weight matrix: only attention has W^O, only feed-forward W_1.
  hasWeights(name) {
    return isFeedForward(this.state.place) === (name === "W_1" || name === "W_2");
  }

  matrix(name, options = {}) {
    const key = `${name}|${options.head ?? ""}|${options.transposed ? "T" : ""}|${options.before ? "B" : ""}|${this.keyOf(name)}`;
    if (!this.matrices.has(key)) {
      const made = this.make(name, options, key);
      if (made) made.origin = { name, options };
      this.matrices.set(key, made);
    }
    return this.matrices.get(key);
  }

  // The same without the switches; null if no switch is set or nothing changed.
  plain(name, options = {}) {
    return this.matrix(name, { ...options, before: true });
  }

  keyOf(name) {
    const { state } = this;
    if (name.startsWith("place.") || name in WEIGHT_AXES)
      return `${traceName(state)}/${state.place === "output" ? state.t : ""}/${name in WEIGHT_AXES ? state.step : ""}`;
    return "";
  }

  make(name, options, key) {
    if (name in WEIGHT_AXES) {
      if (WEIGHT_STEPS[name] !== this.state.step) return null;
      const pack = this.kept.weights.get(`${this.header.checkpoint}/${traceName(this.state)}/${name}`);
      return pack ? this.weightMatrix(name, pack, options, key) : null;
    }
    if (name.startsWith("place.")) {
      const pack = this.placePack;
      const refs = pack && (options.before ? pack.header.plain : pack.header.matrices);
      const ref = refs && refs[name.slice(6)];
      return ref ? this.tensor(name, pack.array(ref), ref.shape, options, key, this.axesOf(name.slice(6), ref)) : null;
    }
    if (options.before) return null;
    return this.stripMatrix(name, options, key);
  }

  axesOf(name, ref) {
    const { place } = this.state;
    const bias = { b_q: "head·d_k", b_k: "head·d_k", b_v: "head·d_head", b_1: "d_ff" }[name];
    if (bias) return [bias];
    if (isAttention(place)) return ATTENTION_AXES[name] || ["query", "d_model"].slice(2 - ref.shape.length);
    const wide = name === "pre" || name === "activation" ? "d_ff" : "d_model";
    if (name === "logits") return ["vocabulary"];
    if (name === "biases") return ["word"];
    const long = place === "output" ? (name === "rows" ? "word" : "step") : "token";
    if (ref.shape.length === 1)
      return [isFeedForward(place) && (name === "mean" || name === "deviation") ? long : wide];
    return [long, wide];
  }

  // A tensor as a table: one of its heads, all heads side by side, or unchanged; a vector is one row.
  tensor(name, array, shape, options, key, axes, more = {}) {
    let table = { data: array, shape: shape.length === 1 ? [1, ...shape] : shape };
    if (shape.length === 3) table = options.head === undefined ? sideBySide(table) : partOf(table, options.head);
    if (options.transposed) table = transposed(table);
    const [rows, cols] = table.shape;
    const last = name.split(".").pop();
    const about = { id: `${this.id}|${key}`, name: last, data: table.data, rows, cols };
    const top = last === "weights" ? 1 : undefined;
    return matrixOf({ ...about, shape: [1, ...shape], axes: ["batch", ...axes], top, ...more });
  }

  weightMatrix(name, { pack, ref }, { head = undefined, ...options }, key) {
    const [high, wide] = ref.shape;
    const { heads } = this.config;
    let table = { data: pack.array(ref), shape: ref.shape };
    if (head !== undefined && name === "W_o") table = partOf({ ...table, shape: [heads, high / heads, wide] }, head);
    else if (head !== undefined && name !== "W_1" && name !== "W_2") {
      const part = wide / heads;
      const data = new Float32Array(high * part);
      for (let i = 0, from = head * part; i < high; i++, from += wide)
        data.set(table.data.subarray(from, from + part), i * part);
      table = { data, shape: [high, part] };
    }
    const about = { id: `${this.header.checkpoint}|${key}`, shape: ref.shape, axes: WEIGHT_AXES[name] };
    return this.tensor(name, table.data, table.shape, options, key, [], about);
  }

  // The data of the model and its layers: 8 bits of every stream, and the exact attention of the open layers.
  stripMatrix(name, options, key) {
    const open = this.open && this.open.header.id === this.id ? this.open : null;
    const attention = /^(.*)\.weights$/.exec(name);
    if (attention) {
      const exact = open && open.header.weights[attention[1]];
      const axes = ATTENTION_AXES.weights;
      if (exact) return this.tensor(name, open.array(exact), exact.shape, options, key + "|exact", axes);
      const pack = this.header.attention[attention[1]];
      if (!pack) return null;
      const bytes = this.trace.array(pack.picture);
      const weights = Float32Array.from(bytes, (byte) => byte / 255);
      return this.tensor(name, weights, pack.picture.shape, options, key, axes, { exact: false });
    }
    const pack = [this.trace, open].find((pack) => pack?.header.strips[name]);
    if (!pack) return null;
    const strip = pack.header.strips[name];
    const scale = strip.top / 127;
    const data = Float32Array.from(pack.array(strip.picture), (v) => (v - 128) * scale);
    const wide = name.endsWith(".activation") ? "d_ff" : "d_model";
    const range = [strip.low, strip.high]; // of the numbers themselves, before they became 8 bits
    const norms = strip.norms && pack.array(strip.norms);
    const more = { exact: false, top: strip.top, range, norms };
    return this.tensor(name, data, strip.picture.shape, options, key, ["token", wide], more);
  }
}

const placeStep = ({ place, t }) => (place === "output" ? t : "");
