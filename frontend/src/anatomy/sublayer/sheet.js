import { NAME_SIZE, Sheet, insideOf, rowPart, rowRects } from "../stage/sheet.js";
import { isFeedForward, traceName } from "../walk.js";
import { clamp, lettersWidth } from "../stage/measure.js";

// The sheet on which the boards of a sub-layer are drawn. Lengths are in pixels; one unit is the text size.

// Tensors that are cut into heads or joined from heads: the matrix of all heads, and each head's columns.
const JOINED = {
  queries: ["queries", "dk"],
  keys: ["keys", "dk"],
  values: ["values", "dh"],
  head_outputs: ["concat", "dh"],
};
// What feed-forward shows of the model's picture until the exact numbers have arrived.
const ROUNDED = { "place.x": "enters", "place.activation": "activation", "place.update": "update" };

// Knows the sub-layer, sizes and sides of the state, and collects items.
export class SubLayerSheet extends Sheet {
  /** @type {any} */ names; // of {update, sum, leaves}
  /** @type {string[]} */ origin = []; // the keys of what the update is computed from

  constructor(ctx) {
    const { state, data, unit, t, narrow } = ctx;
    const decoder = state.place.startsWith("decoder");
    const cross = state.place === "decoder.cross";
    const querySide = decoder ? "target" : "source";
    super(ctx, cross ? "cross" : querySide);
    const { config } = data;
    const area = insideOf(ctx);
    this.state = state;
    this.data = data;
    this.config = config;
    this.t = t;
    this.u = unit;
    this.cross = cross;
    this.area = area;
    this.forward = isFeedForward(state.place);
    if (!this.forward) this.titles = { size: 1.1, weight: 400, shapeSize: 0.92, least: 0.6 };
    this.slim = Boolean(narrow) || area.w < (this.forward ? 44 : 33) * unit;
    this.stacked = this.slim && !this.forward; // x, update and sum stand below each other
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
    this.q = sideOf(
      this.forward ? "token" : "query",
      querySide,
      decoder ? { dimAfter: state.t, current: state.t } : {},
    );
    this.k = sideOf("key", cross ? "source" : querySide, decoder && !cross ? { dimAfter: state.t } : {});
    // Heights of a row and of all rows of a matrix. On a page that scrolls, the height is limited: a step that needs
    // less (natural) than another step still gets the larger height.
    this.natural = Boolean(ctx.natural);
    this.cap = (this.slim ? (this.natural ? 1.35 : 1.9) : 2.2) * unit;
    this.most = (this.slim ? (this.natural ? 24 : 34) : 1e6) * unit;
    if (this.forward && this.slim) this.most = 2 * rowRects(this.q.n, unit);
    this.line = (this.forward ? NAME_SIZE : 1.65) * unit; // of a name above a matrix
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

  // The numbers of the place's pack ("place.x") or of the weights ("W_q").
  read(name, options = {}) {
    const rounded = this.forward && !Object.keys(options).length && ROUNDED[name];
    return this.data.matrix(name, options) || (rounded ? this.data.matrix(`${this.name}.${rounded}`) : null);
  }

  // A matrix, or its outline until its numbers have arrived. Its key is made from `role` (or the name) and the head.
  // side: of its rows; from: [first, count] columns.
  draw(name, rect, options = /** @type {any} */ ({})) {
    const { head = null, role = name.replace("place.", ""), side, transposed, from, parent = [], ...more } = options;
    const key = this.key(role, head);
    const wants = { ...(head === null || from ? {} : { head }), ...(transposed ? { transposed } : {}) };
    const cut = head === null ? [] : [this.key(role)];
    const parents = [...[parent].flat(), ...cut, this.key(role) + ":band", ...this.home];
    const whole = this.read(name, wants);
    if (!whole) return this.outline(key, rect, { alpha: more.alpha, parent: parents });
    const matrix = from ? rowPart(whole, ...from) : whole;
    const rows = side ? { rowAxis: side.axis, rowLabels: side.labels, ...side.late } : {};
    const slice = head !== null && JOINED[role] ? { parentSlice: this.slice(...JOINED[role], head) } : {};
    return this.matrix(key, matrix, rect, { ...rows, ...more, ...slice, parent: parents });
  }

  // A matrix with its name and shape above it. room: width of these; scale: whether the end of the colour scale is said.
  named(name, names, shape, rect, { room = rect.w, scale = false, before = 0, ...options } = /** @type {any} */ ({})) {
    const { head = null, role = name.replace("place.", ""), alpha } = options;
    const end = scale ? this.read(name, head === null ? {} : { head })?.top : 0;
    const at = { x: rect.x, y: rect.y - this.line, w: room };
    this.title(this.key(role, head), names, shape, at, { end, before, ...(alpha === undefined ? {} : { alpha }) });
    return this.draw(name, rect, options);
  }

  // A head's columns of a matrix of all heads side by side.
  slice(role, size, head) {
    return { key: this.key(role), from: head * this[size], to: (head + 1) * this[size] };
  }

  // The outline of the result of a later step.
  coming(key, rect, name, shape) {
    this.outline(key, rect);
    this.title(key, name, shape, { ...rect, y: rect.y - this.line }, { alpha: 0.5 });
  }

  text(key, text, rect, look = {}) {
    return super.text(key, text, { h: 1.4 * this.u, ...rect }, { size: 1, ...look });
  }

  // Labels of rows; the first labels of a side are the ones that all zooms have.
  rowTokens(side, y, h, { x = this.area.x } = {}) {
    const look = { colour: side.side, axis: side.axis, ...side.late };
    this.tokens(this.once(`tokens:${side.side}`), side.labels, { x, y, w: this.tw, h }, look);
  }

  once(key) {
    const count = (this.used[key] = (this.used[key] || 0) + 1);
    return count > 1 ? `${key}:${count}` : key;
  }

  // A sign of arithmetic around a point.
  signAt(name, text, x, y, look = {}) {
    const { u } = this;
    this.sign(`sign:${this.name}.${name}`, text, { x: x - 0.9 * u, y: y - 0.9 * u, w: 1.8 * u, h: 1.8 * u }, look);
  }

  // A small formula or text beside something.
  beside(name, text, rect, look = {}) {
    this.text(`note:${this.name}.${name}`, text, rect, { kind: "math", colour: "dim", ...look });
  }

  arrow(name, points, look = {}) {
    this.path(`arrow:${this.name}.${name}`, points, {
      colour: "dim",
      weight: 1.8,
      tip: true,
      round: undefined,
      ...look,
    });
  }

  // The first y of a block of that height: in the middle of the area; on a narrow screen right below the block above.
  top(height) {
    return this.area.y + (this.slim ? 0 : Math.max(0, (this.area.h - height) / 2));
  }
}
