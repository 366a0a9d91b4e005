import { formatCount } from "../format.js";
import { isAttention } from "../walk.js";
import { clamp, lettersWidth, tokenSize } from "../stage/measure.js";
import { Pen } from "../stage/pen.js";
import { headTiles } from "./heads.js";

// A stack as a lane of the flow: tokens as rows, vectors as strips, bands between them, one layer open.

const BEHIND = 4; // outlines of layers behind the open one, at most
const DEEP = 12; // pixels that all of them rise above it; the title still fits above them

// Widths of the columns of a lane. Bands share what is left over.
const COLUMNS = {
  tokens: { unit: 6.2 },
  first: { px: 42 },
  in: { px: 30, share: 1 },
  x: { px: 34 },
  fan: { px: 38, share: 2 },
  parts: { px: 36 },
  meet: { px: 26, share: 1 },
  heads: { px: 108, share: 2.5 },
  mix: { px: 40, share: 2 },
  wide: { px: 64, share: 1.5 },
  back: { px: 30, share: 1 },
  out: { px: 30, share: 1 },
  last: { px: 42 },
  say: { px: 34, share: 1 },
  words: { unit: 16.5 },
};

const HEADS = "x fan parts meet heads mix";
const within = (part, names) => names.split(" ").map((name) => `${part}.${name}`);
const FEED_FORWARD = within("ff", "x fan wide back");
const LANES = {
  encoder: ["tokens", "first", "in", ...within("self", HEADS), ...FEED_FORWARD, "out", "last"],
  decoder: [
    ...["tokens", "first", "in", ...within("self", HEADS), ...within("cross", HEADS)],
    ...[...FEED_FORWARD, "out", "last", "say", "words"],
  ],
};
// On a phone the decoder's lane goes from x to its heads only.
const SLIM = "x fan heads mix";
const NARROW_LANE = ["tokens", ...within("self", SLIM), ...within("cross", SLIM), ...FEED_FORWARD, "out", "last"];
const LAYER_SKIPS = ["first", "in", "say", "words"]; // columns that a single layer and a phone do not have

// x and width of every column: {"self.heads": {x, w}, ...}
export function laneColumns(ctx, stack, x, width, single) {
  const { unit, narrow } = ctx;
  const lane = narrow && stack === "decoder" ? NARROW_LANE : LANES[stack];
  const used = single || narrow ? lane.filter((key) => !LAYER_SKIPS.includes(key)) : lane;
  const fixed = narrow ? unit * 4.9 : 0; // the tokens of a phone keep their width
  const sizes = used.map((key) => {
    const { px, unit: units, share = 0 } = COLUMNS[key.split(".").at(-1)];
    return { key, base: px ?? (narrow ? fixed : units * unit), share };
  });
  const natural = sizes.reduce((sum, { base }) => sum + base, 0);
  const shares = sizes.reduce((sum, { share }) => sum + share, 0);
  const spare = Math.max(0, width - natural);
  const shrink = Math.min(1, (width - fixed) / (natural - fixed));
  const columns = {};
  let at = x;
  for (const { key, base, share } of sizes) {
    const w = base * (fixed && key === "tokens" ? 1 : shrink) + (spare * share) / shares;
    columns[key] = { x: at, w };
    at += w;
  }
  return columns;
}

// Parameters of a sub-layer or of a whole layer, with its LayerNorm.
export function parametersOf(boxes, part) {
  let sum = 0;
  for (const [key, box] of Object.entries(boxes)) if (key === part || key.startsWith(part + ".")) sum += box.count;
  return sum;
}

// One stack: its tokens, the open layer with the others behind it, and its output. rect: area of the lane; single: only
// one layer, with all of its heads side by side.
export class Lane extends Pen {
  constructor(ctx, stack, rect, single) {
    super(ctx);
    const { state, unit, data, t } = ctx;
    this.stack = stack;
    this.single = single;
    this.t = t;
    this.layer = state[stack];
    this.layers = data.config[stack + "_layers"];
    this.side = stack === "encoder" ? "source" : "target";
    this.labels = data.labels(stack === "encoder" ? "source" : "target_in");
    this.rows = this.labels.length;
    this.columns = laneColumns(ctx, stack, rect.x, rect.w, single);
    this.top = rect.y + unit * 3.6;
    this.high = rect.h - unit * (ctx.narrow ? 5.4 : 6.05);
    this.late = stack === "decoder" ? { dimAfter: state.t, current: state.t } : {};
  }

  key(part, name) {
    return `m:${this.stack}.${this.layer}.${part}.${name}`;
  }

  // A strip of vectors in a column: one row per token. room: its top and height, if not those of the lane; late: whether
  // the rows of later tokens are pale.
  strip(
    key,
    source,
    { x, w },
    { room = { y: this.top, h: this.high }, late = true, ...look } = /** @type {any} */ ({}),
  ) {
    const matrix = this.ctx.data.matrix(source);
    const rect = { x, w, ...room };
    if (!matrix) return this.outline(key, rect);
    const axes = { rowAxis: this.side, colAxis: "", ramp: this.side, sampling: "some" };
    return this.add({ key, kind: "matrix", matrix, ...rect, ...axes, ...(late ? this.late : {}), ...look });
  }

  // Bands from the rows of one item to those of another.
  flow(key, from, to, look = {}) {
    const ends = { from: { x: from.x + from.w, y: from.y, h: from.h }, to: { x: to.x, y: to.y, h: to.h } };
    const side = { rows: this.rows, colour: this.side, axis: this.side, strength: 0.16 };
    return this.add({ key, kind: "bands", x: 0, y: 0, w: 0, h: 0, ...ends, ...side, ...look });
  }

  // y: the middle of the line.
  text(key, text, x, y, w, look = {}) {
    return this.add({ key, kind: "text", text, x, y, w, h: 0, size: 0.9, ...look });
  }

  // Tokens, the first vectors, and the way into the open layer.
  drawStart() {
    const { ctx, columns, side, t, labels } = this;
    const { data, unit, narrow } = ctx;
    const { tokens, first } = columns;
    const { t: step, place } = ctx.state;
    const decoder = this.stack === "decoder";
    const fed = decoder && place === "target" && step > 0;
    // The word that is fed in is drawn separately.
    const written = fed ? labels.map((label, i) => (i === step ? "" : label)) : labels;
    const right = unit * (narrow ? 0.75 : this.single ? 1.15 : 0.5);
    const rect = { x: tokens.x, y: this.top, w: tokens.w - right, h: this.high };
    const look = { colour: side, axis: side, size: narrow ? 0.8 : 1 };
    const column = this.tokens(`tokens:${side}`, written, rect, { ...look, ...this.late });
    if (fed) this.drawFed(column, step);
    if (!first) return null;
    const go = (name) => ({ zoom: "sub", place: side, step: name });
    const { count, shared_with } = data.header.boxes[`${side}.embedding`] || {};
    const title = t(side === "source" ? "flow_source" : "flow_target");
    const frame = { title, count, shared: Boolean(shared_with), go: go("row") };
    const { key: parent } = this.partFrame(side, tokens.x, first.x + first.w, frame);
    const said = { title: t("flow_x_first"), label: t("flow_go_embedding") };
    return this.strip(`m:${side}.x`, `${this.stack}.0.self.enters`, first, { go: go("plus"), ...said, parent });
  }

  // The word chosen last flies from the next words of its step to its row of the input.
  drawFed({ x, y, w, h, size, colour }, step) {
    const { unit, data } = this.ctx;
    const { ids, chosen } = data.outputs;
    const space = h / this.rows;
    const parent = `word:${ids[step - 1].indexOf(chosen[step - 1])}`;
    const look = { align: "right", weight: 600, colour, size: tokenSize(unit, size, space) / unit };
    this.text(`fed:${step}`, this.labels[step], x, y + (step + 0.5) * space, w, { ...look, flies: true, parent });
  }

  // The frame of a part, with its name above and its parameters below. foot: the width for these, if not all of it is
  // free.
  partFrame(place, from, to, { title, count, go, shared = false, foot = 0 }) {
    const { ctx, top, high, t } = this;
    const { state, unit, narrow } = ctx;
    const colour = place === "decoder.cross" ? "cross" : this.side;
    const pad = unit * 0.35;
    const rect = { x: from - pad, y: top - unit * 1.95, w: to - from + 2 * pad, h: high + unit * (narrow ? 2.3 : 3.9) };
    const current = state.place === place ? { fill: colour, strength: 0.09, stroke: colour, weight: 2 } : {};
    const box = this.box(`box:${place}`, rect, { radius: 8, ...current, go, label: t("flow_go", { name: title }) });
    const beside = narrow ? unit * 0.7 : 0; // a name may be a little wider than its part
    const look = { weight: 600, colour, align: "center", size: 0.95 };
    this.text(`name:${place}`, title, from - beside, top - unit * 1.15, to - from + 2 * beside, look);
    if (count && !narrow) {
      const n = formatCount(count);
      const isHead = !this.single && isAttention(place);
      const which = { head: state.head + 1, heads: ctx.data.config.heads, n };
      const note = isHead ? t("flow_head_count", which) : t(shared ? "flow_table" : "flow_count", { n });
      const room = foot || to - from + unit * 0.3;
      const size = clamp(room / (unit * lettersWidth(note)), 0.56, 0.88); // small rather than cut off
      const x = foot ? from : (from + to - room) / 2;
      const align = foot ? "left" : "center";
      this.text(`count:${place}`, note, x, top + high + unit * 1.25, room, { colour: "dim", align, size });
    }
    return box;
  }

  // Outlines of the layers behind the open one, and the open one's frame with a number for each layer.
  frame(from, to) {
    const { ctx, stack, layer, layers, top, high, side, single, t } = this;
    const { unit, data, narrow } = ctx;
    const pad = unit * 0.7;
    const rect = { x: from - pad, y: top - unit * 2.15, w: to - from + 2 * pad, h: high + unit * (narrow ? 2.9 : 4.5) };
    const behind = single ? 0 : Math.min(BEHIND, layers - 1);
    const apart = Math.min(4, DEEP / Math.max(1, behind));
    for (let i = behind; i > 0; i--) {
      const other = (layer + i) % layers;
      const go = { [stack]: other, place: `${stack}.self` };
      const label = t("flow_open", { stack: t(`an_${stack}`), layer: other + 1 });
      const at = { ...rect, x: rect.x + i * apart, y: rect.y - i * apart };
      this.box(`behind:${stack}.${i}`, at, { fill: "ground", stroke: "line", radius: 10, z: -3, go, label });
    }
    const n = formatCount(parametersOf(data.header.boxes, `${stack}.${layer}`));
    const values = { stack: t(`an_${stack}`), layer: layer + 1, layers, n };
    const title = t(narrow ? "flow_layer" : "flow_layer_count", values);
    const { place } = ctx.state;
    const go = single ? undefined : { zoom: "layer", place: place.startsWith(stack) ? place : `${stack}.self` };
    this.box(`layer:${stack}`, rect, { fill: "panel", stroke: "line", radius: 10, z: -2, go, label: title });
    if (single) return;
    const [x, y] = [rect.x + behind * apart, rect.y - behind * apart - unit * 0.75];
    this.text(`layername:${stack}`, title, x, y, rect.w, { weight: 600, colour: side });
  }

  // One attention sub-layer: x, its queries, keys and values, the heads, and their output. Returns its x. memory: keys
  // and values from outside, of which the keys come in from below at x = `into`.
  attention(part, memory = null, into = 0) {
    const { ctx, columns, stack, layer, t } = this;
    const { data, unit, narrow } = ctx;
    const at = `${stack}.${layer}.${part}`;
    const place = `${stack}.${part}`;
    const cross = part === "cross";
    const column = (name) => columns[`${part}.${name}`];
    const bare = stack === "encoder" || data.config.causal === false; // without a mask against later tokens
    const kind = cross ? "flow_cross" : bare ? "flow_self" : this.opened() ? "flow_opened" : "flow_masked";
    const title = t(kind + (narrow && stack === "decoder" ? "_short" : ""));
    const go = { zoom: "sub", place, step: "x" };
    const foot = memory ? into - column("x").x - unit * 0.4 : 0;
    const about = { title, count: parametersOf(data.header.boxes, at), go, foot };
    const box = this.partFrame(place, column("x").x, column("mix").x + column("mix").w * 0.35, about);
    const said = { parent: box.key, title: t("flow_x", { name: title }) };
    const x = this.strip(this.key(part, "x"), `${at}.enters`, column("x"), { go, ...said });
    const gap = unit * 0.4;
    const names = !column("parts") ? [] : cross ? ["queries"] : ["queries", "keys", "values"];
    const high = (this.high - gap * (names.length - 1)) / names.length;
    const strips = {};
    names.forEach((name, i) => {
      const room = { y: this.top + i * (high + gap), h: high };
      strips[name] = this.part(part, name, column("parts"), x, { room, title, strength: 0.13 });
    });
    if (memory) Object.assign(strips, memory);
    headTiles(this, part, column("heads"), strips, x);
    return { x, made: strips, box };
  }

  // Queries, keys or values as a strip, with bands to it from what they are computed from, and their letter. title: of
  // the sub-layer; bands: how they look.
  part(part, name, column, from, { room, title, look = {}, ...bands }) {
    const { stack, layer, t } = this;
    const at = `${stack}.${layer}.${part}.${name}`;
    const go = { zoom: "sub", place: `${stack}.${part}`, step: "project", matrix: name };
    const said = { title: t("flow_" + name), label: t("flow_go_parts", { name: title }) };
    const strip = this.strip(this.key(part, name), at, column, { go, ...said, parent: from.key, room, ...look });
    this.flow(`fan:${at}`, from, strip, bands);
    this.letter(`letter:${at}`, name[0].toUpperCase(), strip);
    return strip;
  }

  // Whether a switch removed the causal mask from this layer.
  opened() {
    const { causal } = this.ctx.data.header.holding || {};
    const here = ["all", "decoder_self", `decoder_self.${this.layer + 1}`];
    return causal && causal.split(",").some((entry) => here.includes(entry.split("@")[1] || "all"));
  }

  letter(key, text, beside) {
    const { unit, narrow } = this.ctx;
    if (narrow) return;
    const at = { x: beside.x + beside.w + unit * 0.15, y: beside.y + unit * 0.6, w: 0, h: 0 };
    this.add({ key, kind: "math", text, ...at, size: 0.92, colour: "dim" });
  }

  feedForward(last) {
    const { ctx, columns, stack, layer, t } = this;
    const at = `${stack}.${layer}.ff`;
    const place = `${stack}.ff`;
    const { "ff.x": start, "ff.wide": neurons, "ff.back": back } = columns;
    const go = (step) => ({ zoom: "sub", place, step });
    const about = { title: t("flow_ff"), count: parametersOf(ctx.data.header.boxes, at), go: go("x") };
    const box = this.partFrame(place, start.x, back.x + back.w * 0.5, about);
    const title = t("flow_x", { name: t("flow_ff") });
    const x = this.strip(this.key("ff", "x"), `${at}.enters`, start, { go: go("x"), parent: box.key, title });
    const said = { title: t("flow_neurons"), label: t("flow_go_neurons") };
    const look = { go: go("activation"), ...said, parent: x.key };
    const wide = this.strip(this.key("ff", "activation"), `${at}.activation`, neurons, look);
    this.flow(`in:${at}`, x, wide);
    if (last) this.flow(`out:${at}`, wide, last);
    return { x, wide, box };
  }

  // The residual connection around a sub-layer, from one x to the next: added there, and normalised. Parts that the
  // model does not have are not drawn.
  around(key, from, to) {
    const { unit, narrow, data } = this.ctx;
    const { norm, residual } = data.config;
    if (narrow || (residual === false && norm !== "post")) return;
    const y = this.top - unit * 0.28;
    const [left, right] = [from.x + from.w / 2, to.x + to.w / 2];
    const points = [left, this.top, left, y, right, y, right, this.top];
    if (residual !== false) this.path(`around:${key}`, points, { colour: "dim", weight: 1.25, round: 4, tip: false });
    const both = norm === "post" ? "flow_add_norm" : "flow_add";
    const text = this.t(residual === false ? "flow_norm" : both);
    const w = unit * (lettersWidth(text) * 0.78 + 0.15);
    const x = right - to.w / 2 - unit * 0.2 - w;
    const pill = { x, y: y - unit * 0.4, w, h: unit * 0.8 };
    this.box(`pill:${key}`, pill, { fill: "ground", stroke: "line", radius: 6, z: 0.2 });
    const look = { size: 0.78, colour: "dim", align: "center", weight: 600 };
    this.text(`plus:${key}`, text, x, y + unit * 0.03, w, look);
  }
}
