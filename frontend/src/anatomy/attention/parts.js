import { Pen } from "../stage/pen.js";
import { traceName } from "../walk.js";
import { formatCount } from "../format.js";
import { clamp, lettersWidth, mathWidth, sheetScale } from "../stage/measure.js";

// The parts of the attention boards: named matrices with their shapes, labels, signs. Lengths are in pixels; one unit
// is the text size.

const SHRUNK = 0.6; // of its size, the smallest title in large text
export const PALE = 0.3; // opacity of what a step does not use

// Tensors that are cut into heads or joined from heads: the matrix of all heads, and each head's columns.
const JOINED = {
  queries: ["queries", "dk"],
  keys: ["keys", "dk"],
  values: ["values", "dh"],
  head_outputs: ["concat", "dh"],
};

// The sheet on which a board is drawn: it knows the sub-layer, sizes and sides of the state, and collects items.
export class AttentionSheet extends Pen {
  constructor(ctx) {
    super(ctx);
    const { state, data, unit, t, narrow } = ctx;
    const { config } = data;
    const rim = 0.4 * unit; // for outlines
    this.area = { x: ctx.area.x + rim, y: ctx.area.y + rim, w: ctx.area.w - 2 * rim, h: ctx.area.h - 2 * rim };
    const { area } = this;
    this.state = state;
    this.data = data;
    this.config = config;
    this.t = t;
    this.u = unit;
    const decoder = state.place.startsWith("decoder");
    const cross = state.place === "decoder.cross";
    this.cross = cross;
    this.slim = Boolean(narrow) || area.w < 33 * unit;
    this.name = traceName(state);
    this.pre = config.norm === "pre";
    this.post = config.norm === "post";
    this.residual = config.residual !== false;
    this.d = config.d_model;
    this.heads = config.heads;
    this.dk = config.d_k || config.d_model / config.heads;
    this.dh = config.d_head || config.d_model / config.heads;
    this.near = state.zoom === "head";
    this.head = clamp(state.head, 0, this.heads - 1);
    // The two sides of attention: queries as rows, and keys. Rows after t are not decoded yet.
    const sideOf = (axis, side, late) => {
      const labels = data.labels(side === "target" ? "target_in" : "source");
      return { axis, side, labels, n: labels.length, late };
    };
    const querySide = decoder ? "target" : "source";
    this.q = sideOf("query", querySide, decoder ? { dimAfter: state.t, current: state.t } : {});
    this.k = sideOf("key", cross ? "source" : querySide, decoder && !cross ? { dimAfter: state.t } : {});
    this.own = cross ? "cross" : querySide;
    // Heights of a row and of all rows of a matrix. On a page that scrolls, the height is limited: a step that needs
    // less (natural) than another step still gets the larger height.
    this.natural = Boolean(ctx.natural);
    this.cap = (this.slim ? (this.natural ? 1.35 : 1.9) : 2.2) * unit;
    this.most = (this.slim ? (this.natural ? 24 : 34) : 1e6) * unit;
    this.line = 1.65 * unit; // of a name above a matrix
    // Space for the tokens at the left, and the left edge of what is beside them.
    this.longest = Math.max(...this.q.labels.concat(this.k.labels).map(lettersWidth)) * unit;
    const low = 2.9 * unit;
    this.tw = clamp(this.longest, low, Math.max(low, Math.min(6 * unit, 0.2 * area.w)));
    this.pad = 0.45 * unit;
    this.x0 = area.x + this.tw + this.pad;
    this.w0 = area.w - this.tw - this.pad;
    this.used = {};
  }

  key(role, head = null) {
    return `m:${this.name}.${role}${head === null ? "" : ".h" + head}`;
  }

  // The origin of new items of this sub-layer if nothing nearer exists.
  get home() {
    return [this.key("x"), `box:${this.state.place}`];
  }

  // A matrix of the place's pack ("place.x") or of the weights ("W_q"); its outline until its numbers have arrived. Its
  // key is made from `role` (or the name) and the head. side: of its rows; from: [first, count] columns.
  matrix(name, rect, options = /** @type {any} */ ({})) {
    const { head = null, role = name.replace("place.", ""), side, transposed, from, ...rest } = options;
    const { parent = [], ...more } = rest;
    const key = this.key(role, head);
    const wants = { ...(head === null || from ? {} : { head }), ...(transposed ? { transposed } : {}) };
    const wholeKey = this.key(role);
    const cut = head === null ? [] : [wholeKey];
    const parents = [...[parent].flat(), ...cut, wholeKey + ":band", ...this.home];
    let matrix = this.data.matrix(name, wants);
    if (!matrix) return this.outline(key, rect, { alpha: more.alpha, parent: parents });
    if (from) matrix = pieceKey(matrix, ...from);
    const rows = side ? { rowAxis: side.axis, rowLabels: side.labels, ...side.late } : {};
    const look = { ramp: this.own, ...rect, ...rows, ...more };
    if (head !== null && JOINED[role]) look.parentSlice = this.slice(...JOINED[role], head);
    return this.add({ kind: "matrix", matrix, ...look, key, parent: [key + ":wait", ...parents] });
  }

  // A head's columns of a matrix of all heads side by side.
  slice(role, size, head) {
    return { key: this.key(role), from: head * this[size], to: (head + 1) * this[size] };
  }

  // The outline of the result of a later step.
  coming(key, rect, name, shape) {
    this.outline(key, rect);
    this.title(key, name, shape, { ...rect, y: rect.y - this.line, alpha: 0.5 });
  }

  // Name (the longest of several that fits) and shape (or another text) in one line above a matrix; the shape only if
  // both fit. top: the end of the matrix's colour scale, after them.
  title(key, name, shape, { x, y, w, align = "left", alpha = 1, size = 1.1, top = 0 }) {
    const { u } = this;
    const textWidth = (text) => mathWidth(text) * size * u;
    const names = [name].flat();
    const text = names.find((name) => textWidth(name) <= w) || names[names.length - 1];
    const says = Array.isArray(shape) ? `[${shape.map(formatCount).join(", ")}]` : shape || "";
    const needed = textWidth(text) + 0.4 * u + (lettersWidth(says) * 0.92 + 0.1) * u;
    // Large text gets smaller before a shape goes.
    const least = this.ctx.big ? SHRUNK : 1;
    const share = says && w < needed && w >= least * needed ? w / needed : 1;
    const wide = Math.min(textWidth(text) * share, w);
    const more = (lettersWidth(says) * 0.92 + 0.1) * u * share;
    const both = says && wide + 0.4 * u * share + more <= w + 0.01;
    const used = both ? wide + 0.4 * u * share + more : wide;
    const left = align === "right" ? x + w - used : align === "center" ? x + (w - used) / 2 : x;
    const line = { alpha, parent: [key] };
    const shrunk = clamp((size * w) / textWidth(text), 0.6, size * share);
    this.text("name:" + key, text, { x: left, y, w: wide }, { kind: "math", size: shrunk, ...line });
    if (!both) return;
    const at = { x: left + wide + 0.4 * u * share, y, w: more };
    this.text("shape:" + key, says, at, { size: 0.92 * share, colour: "dim", ...line });
    const scale = top ? sheetScale(top) : "";
    const end = { x: at.x + more + 0.3 * u, y, w: (lettersWidth(scale) * 0.9 + 0.2) * u };
    if (scale && end.x + end.w <= x + w) this.text("scale:" + key, scale, end, { size: 0.9, colour: "dim", ...line });
  }

  text(key, text, rect, look = {}) {
    return this.add({ key, kind: "text", text, h: 1.4 * this.u, size: 1, ...rect, ...look });
  }

  // Labels of rows; the first labels of a side are the ones that all zooms have.
  rowTokens(side, y, h, { x = this.area.x, w = this.tw } = {}) {
    const look = { colour: side.side, axis: side.axis, ...side.late };
    this.tokens(this.once(`tokens:${side.side}`), side.labels, { x, y, w, h }, look);
  }

  columnTokens(side, rect) {
    const look = { orient: "columns", align: undefined, colour: side.side, axis: side.axis, ...side.late };
    this.tokens(this.once(`tokens:${side.side}:columns`), side.labels, rect, look);
  }

  once(key) {
    const count = (this.used[key] = (this.used[key] || 0) + 1);
    return count > 1 ? `${key}:${count}` : key;
  }

  // Height that the labels of the keys above `width` need, or as much as there is, and how far the last leans out at the
  // right (60 degrees).
  columnRoom(width, most = Infinity) {
    const { u } = this;
    const space = width / this.k.n;
    if (space >= 4 * u) return { h: 1.5 * u, over: 0 };
    const high = Math.min(most, clamp(this.longest * 0.87 + 0.75 * u, 1.7 * u, 4.2 * u));
    return { h: high, over: Math.max(0, high * 0.62 - space / 2) + 0.3 * u };
  }

  // A sign of arithmetic around a point.
  sign(name, text, x, y, look = {}) {
    const { u } = this;
    const rect = { x: x - 0.9 * u, y: y - 0.9 * u, w: 1.8 * u, h: 1.8 * u };
    this.text(`sign:${this.name}.${name}`, text, rect, { kind: "math", size: 1.35, align: "center", ...look });
  }

  note(name, text, rect, look = {}) {
    this.text(`note:${this.name}.${name}`, text, rect, { kind: "math", colour: "dim", ...look });
  }

  arrow(name, points, look = {}) {
    this.path(`arrow:${this.name}.${name}`, points, { colour: "dim", weight: 1.8, ...look });
  }

  // The frame around a head's part of a matrix.
  frame(name, rect, look = {}) {
    const parent = [this.key(name, this.head), this.key("head_outputs", this.head), this.key(name)];
    this.box(`frame:${this.name}.${name}`, rect, { stroke: "ink", radius: 2, weight: 2, z: 1, parent, ...look });
  }

  // A rectangle that stands for a head: a click opens the head. The head chosen last is framed.
  opens(head, rect, more = {}) {
    const label = this.t("attention_open_head", { n: head + 1, heads: this.heads });
    const [chosen, off] = [head === this.head, this.off(head)];
    const look = { stroke: chosen ? "ink" : off ? "dim" : null, dash: Boolean(off), weight: 1.5, radius: 6, z: -1 };
    const way = { go: { zoom: "head", head }, label, tip: off ? [label, off] : [label] };
    this.box(this.headKey(head), rect, { ...look, ...way, ...more });
  }

  // The end of the scale of all heads together, so that a part has the colours of the whole.
  whole(role) {
    return this.data.matrix("place." + role)?.top;
  }

  // The label of a head that a switch knocks out, or whose output it replaces.
  off(head) {
    const { zero, replaced } = this.data.about || {};
    return zero?.[head] ? this.t("attention_off") : replaced?.[head] ? this.t("attention_replaced") : "";
  }

  // The heads' parts of a matrix of all heads, under the matrix: here the matrix is split or joined.
  slices(role, { x, y, w, h }, more) {
    if (!this.data.matrix("place." + role)) return;
    const wide = w / this.heads;
    const look = { ...more, group: "under", outline: null, z: -1, first: "x" };
    for (let head = 0; head < this.heads; head++) {
      const at = { x: x + head * wide, y, w: wide, h };
      this.matrix("place." + role, at, { ...look, head });
    }
  }

  headKey(head) {
    return `head:${this.name}.${head}`;
  }

  // The first y of a block of that height: in the middle of the area; on a narrow screen right below the block above.
  top(height) {
    return this.area.y + (this.slim ? 0 : Math.max(0, (this.area.h - height) / 2));
  }
}

// Some columns of a matrix of one row.
function pieceKey(matrix, first, count) {
  const data = matrix.data.subarray(first, first + count);
  const { name, exact, top, shape, axes, range } = matrix;
  const at = (row, col) => data[col];
  const about = { name, exact, top, shape, axes, range, masked: false };
  return { id: `${matrix.id}/${first}+${count}`, data, rows: 1, cols: count, at, ...about };
}
