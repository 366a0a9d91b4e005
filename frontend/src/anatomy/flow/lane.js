import { formatCount } from "../format.js";
import { isAttention } from "../walk.js";
import { clamp, lettersWidth, tokenSize } from "../stage/measure.js";
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

const LANES = {
  encoder: ["tokens", "first", "in", ["self", "x fan parts meet heads mix"], ["ff", "x fan wide back"], "out", "last"],
  decoder: [
    "tokens",
    "first",
    "in",
    ["self", "x fan parts meet heads mix"],
    ["cross", "x fan parts meet heads mix"],
    ["ff", "x fan wide back"],
    "out",
    "last",
    "say",
    "words",
  ],
};
// On a phone the decoder's lane goes from x to its heads only.
const NARROW_LANE = [
  "tokens",
  ["self", "x fan heads mix"],
  ["cross", "x fan heads mix"],
  ["ff", "x fan wide back"],
  "out",
  "last",
];
const LAYER_SKIPS = ["first", "in", "say", "words"]; // columns that a single layer and a phone do not have

// x and width of every column: {"self.heads": {x, w}, ...}
export function laneColumns(ctx, stack, x, width, single) {
  const { unit, narrow } = ctx;
  const lane = narrow && stack === "decoder" ? NARROW_LANE : LANES[stack];
  const flat = lane.flatMap((group) =>
    Array.isArray(group) ? group[1].split(" ").map((name) => [`${group[0]}.${name}`, name]) : [[group, group]],
  );
  const used = flat.filter(([, name]) => !((single || narrow) && LAYER_SKIPS.includes(name)));
  const fixed = narrow ? unit * 4.9 : 0; // the tokens of a phone keep their width
  const base = ([, name]) => {
    const { px, unit: units } = COLUMNS[name];
    return px !== undefined ? px : narrow ? fixed : units * unit;
  };
  const natural = used.reduce((sum, column) => sum + base(column), 0);
  const shares = used.reduce((sum, [, name]) => sum + (COLUMNS[name].share || 0), 0);
  const spare = Math.max(0, width - natural);
  const shrink = Math.min(1, (width - fixed) / (natural - fixed));
  const columns = {};
  let at = x;
  for (const [key, name] of used) {
    const w =
      base([key, name]) * (fixed && name === "tokens" ? 1 : shrink) + (spare * (COLUMNS[name].share || 0)) / shares;
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
export class Lane {
  /** @type {any} */ ctx;
  /** @type {any} */ single;
  /** @type {any} */ stack;
  constructor(ctx, stack, rect, single) {
    Object.assign(this, { ctx, stack, rect, single });
    const { state, unit, data } = ctx;
    this.layer = state[stack];
    this.layers = data.config[stack + "_layers"];
    this.side = stack === "encoder" ? "source" : "target";
    this.labels = data.labels(stack === "encoder" ? "source" : "target_in");
    this.rows = this.labels.length;
    this.items = [];
    this.columns = laneColumns(ctx, stack, rect.x, rect.w, single);
    this.top = rect.y + unit * 3.6;
    this.high = rect.h - unit * (ctx.narrow ? 5.4 : 6.05);
    this.late = stack === "decoder" ? { dimAfter: state.t, current: state.t } : {};
  }

  add(item) {
    this.items.push(item);
    return item;
  }

  key(part, name) {
    return `m:${this.stack}.${this.layer}.${part}.${name}`;
  }

  // A strip of vectors in a column: one row per token.
  strip(key, source, column, part, options = {}) {
    const { data } = this.ctx;
    const matrix = data.matrix(source);
    const rect = { x: column.x, y: this.top, w: column.w, h: this.high, ...options.room };
    if (!matrix) return this.add({ key: key + ":wait", kind: "box", ...rect, stroke: "line", dash: true, radius: 2 });
    return this.add({
      key,
      kind: "matrix",
      matrix,
      ramp: options.ramp || this.side,
      sampling: "some",
      rowAxis: options.rowAxis || this.side,
      colAxis: "",
      title: options.title,
      ...rect,
      ...(options.late === false ? {} : this.late),
      go: options.go,
      label: options.label,
      parent: options.parent,
    });
  }

  flow(key, from, to, options = {}) {
    const edge = (item, right) => ({ x: item.x + (right ? item.w : 0), y: item.y, h: item.h });
    return this.add({
      key,
      kind: "bands",
      x: 0,
      y: 0,
      w: 0,
      h: 0,
      from: edge(from, true),
      to: edge(to, false),
      rows: options.rows || this.rows,
      colour: options.colour || this.side,
      strength: options.strength ?? 0.16,
      strengths: options.strengths,
      axis: options.axis || this.side,
    });
  }

  text(key, text, x, y, w, options = {}) {
    return this.add({ key, kind: "text", text, x, y, w, h: 0, size: 0.9, ...options });
  }

  // Tokens, the first vectors, and the way into the open layer.
  drawStart() {
    const { ctx, columns, side } = this;
    const { t, data, unit } = ctx;
    const { tokens, first } = columns;
    const go = { zoom: "sub", place: side, step: "row" };
    const { t: step, place } = ctx.state;
    const fed = this.stack === "decoder" && place === "target" && step > 0;
    const column = this.add({
      key: `tokens:${side}`,
      kind: "tokens",
      orient: "rows",
      align: "right",
      // The word that is fed in is drawn separately.
      labels: fed ? this.labels.map((label, i) => (i === step ? "" : label)) : this.labels,
      colour: side,
      axis: side,
      x: tokens.x,
      y: this.top,
      w: tokens.w - unit * (ctx.narrow ? 0.75 : this.single ? 1.15 : 0.5),
      size: ctx.narrow ? 0.8 : 1,
      h: this.high,
      ...(this.stack === "decoder" ? { current: step, dimAfter: step } : {}),
    });
    if (fed) this.drawFed(column, step);
    if (!first) return null;
    const table = data.header.boxes[`${side}.embedding`] || {};
    const box = this.partFrame(side, tokens.x, first.x + first.w, {
      title: t(side === "source" ? "flow_source" : "flow_target"),
      count: table.count,
      shared: Boolean(table.shared_with),
      go,
    });
    return this.strip(`m:${side}.x`, `${this.stack}.0.self.enters`, first, side, {
      go: { zoom: "sub", place: side, step: "plus" },
      title: t("flow_x_first"),
      label: t("flow_go_embedding"),
      parent: box.key,
    });
  }

  // The word chosen last flies from the next words of its step to its row of the input.
  drawFed({ x, y, w, h, size, colour }, step) {
    const { outputs } = this.ctx.data;
    const space = h / this.rows;
    this.text(`fed:${step}`, this.labels[step], x, y + (step + 0.5) * space, w, {
      align: "right",
      weight: 600,
      colour,
      size: tokenSize(this.ctx.unit, size, space) / this.ctx.unit,
      flies: true,
      parent: `word:${outputs.ids[step - 1].indexOf(outputs.chosen[step - 1])}`,
    });
  }

  // The frame of a part, with its name above and its parameters below. foot: the width for these, if not all of it is
  // free.
  partFrame(place, from, to, { title, count, go, shared = false, foot = 0 }) {
    const { ctx, top, high } = this;
    const { state, unit, t, narrow } = ctx;
    const isCurrent = state.place === place;
    const colour = place === "decoder.cross" ? "cross" : this.side;
    const pad = unit * 0.35;
    const box = this.add({
      key: `box:${place}`,
      kind: "box",
      x: from - pad,
      y: top - unit * 1.95,
      w: to - from + 2 * pad,
      h: high + unit * (narrow ? 2.3 : 3.9),
      fill: isCurrent ? colour : null,
      strength: isCurrent ? 0.09 : undefined,
      stroke: isCurrent ? colour : null,
      weight: isCurrent ? 2 : 1,
      radius: 8,
      go,
      label: t("flow_go", { name: title }),
    });
    const beside = narrow ? unit * 0.7 : 0; // a name may be a little wider than its part
    this.text(`name:${place}`, title, from - beside, top - unit * 1.15, to - from + 2 * beside, {
      weight: 600,
      colour,
      align: "center",
      size: 0.95,
    });
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
    const { ctx, stack, layer, layers, top, high, side, single } = this;
    const { unit, t, data } = ctx;
    const pad = unit * 0.7;
    const rect = {
      x: from - pad,
      y: top - unit * 2.15,
      w: to - from + 2 * pad,
      h: high + unit * (ctx.narrow ? 2.9 : 4.5),
    };
    const behind = single ? 0 : Math.min(BEHIND, layers - 1);
    const apart = Math.min(4, DEEP / Math.max(1, behind));
    for (let i = behind; i > 0; i--)
      this.add({
        key: `behind:${stack}.${i}`,
        kind: "box",
        x: rect.x + i * apart,
        y: rect.y - i * apart,
        w: rect.w,
        h: rect.h,
        fill: "ground",
        stroke: "line",
        radius: 10,
        z: -3,
        go: { [stack]: (layer + i) % layers, place: `${stack}.self` },
        label: t("flow_open", { stack: t(`an_${stack}`), layer: ((layer + i) % layers) + 1 }),
      });
    const total = parametersOf(data.header.boxes, `${stack}.${layer}`);
    const title = t(ctx.narrow ? "flow_layer" : "flow_layer_count", {
      stack: t(stack === "encoder" ? "an_encoder" : "an_decoder"),
      layer: layer + 1,
      layers,
      n: formatCount(total),
    });
    this.add({
      key: `layer:${stack}`,
      kind: "box",
      ...rect,
      fill: "panel",
      stroke: "line",
      radius: 10,
      z: -2,
      go: single
        ? undefined
        : { zoom: "layer", place: this.ctx.state.place.startsWith(stack) ? this.ctx.state.place : `${stack}.self` },
      label: title,
    });
    if (single) return;
    this.text(`layername:${stack}`, title, rect.x + behind * apart, rect.y - behind * apart - unit * 0.75, rect.w, {
      weight: 600,
      colour: side,
    });
  }

  // One attention sub-layer: x, its queries, keys and values, the heads, and their output. Returns its x. memory: keys
  // and values from outside, of which the keys come in from below at x = `into`.
  attention(part, memory = null, into = 0) {
    const { ctx, columns, stack, layer } = this;
    const { data, t, unit } = ctx;
    const at = `${stack}.${layer}.${part}`;
    const place = `${stack}.${part}`;
    const ramp = part === "cross" ? "cross" : this.side;
    const column = (name) => columns[`${part}.${name}`];
    const bare = stack === "encoder" || data.config.causal === false; // without a mask against later tokens
    const kind = part === "cross" ? "flow_cross" : bare ? "flow_self" : this.opened() ? "flow_opened" : "flow_masked";
    const title = t(kind + (ctx.narrow && stack === "decoder" ? "_short" : ""));
    const box = this.partFrame(place, column("x").x, column("mix").x + column("mix").w * 0.35, {
      title,
      count: parametersOf(data.header.boxes, at),
      go: { zoom: "sub", place, step: "x" },
      foot: memory ? into - column("x").x - unit * 0.4 : 0,
    });
    const go = (step, zoom = "sub") => ({ zoom, place, step });
    const x = this.strip(this.key(part, "x"), `${at}.enters`, column("x"), place, {
      go: go("x"),
      parent: box.key,
      title: t("flow_x", { name: title }),
    });
    const gap = unit * 0.4;
    const names = !column("parts") ? [] : part === "cross" ? ["queries"] : ["queries", "keys", "values"];
    const high = (this.high - gap * (names.length - 1)) / names.length;
    const strips = {};
    names.forEach((name, i) => {
      const rows = { y: this.top + i * (high + gap), h: high };
      strips[name] = this.strip(this.key(part, name), `${at}.${name}`, column("parts"), place, {
        go: { ...go("project"), matrix: name },
        ramp: name === "queries" && part === "cross" ? "target" : ramp,
        title: t("flow_" + name),
        label: t("flow_go_parts", { name: title }),
        parent: x.key,
        room: rows,
      });
      this.flow(`fan:${at}.${name}`, x, strips[name], { strength: 0.13 });
      this.letter(`letter:${at}.${name}`, name[0].toUpperCase(), strips[name]);
    });
    if (memory) Object.assign(strips, memory);
    headTiles(this, part, column("heads"), strips, x);
    return { x, made: strips, box };
  }

  // Whether a switch removed the causal mask from this layer.
  opened() {
    const places = ((this.ctx.data.header.holding || {}).causal || "")
      .split(",")
      .map((entry) => entry.split("@")[1] || "all");
    return (
      this.ctx.data.header.holding?.causal &&
      places.some((target) => ["all", "decoder_self", `decoder_self.${this.layer + 1}`].includes(target))
    );
  }

  letter(key, text, beside) {
    const { unit, narrow } = this.ctx;
    if (narrow) return;
    this.add({
      key,
      kind: "math",
      text,
      x: beside.x + beside.w + unit * 0.15,
      y: beside.y + unit * 0.6,
      w: 0,
      h: 0,
      size: 0.92,
      colour: "dim",
    });
  }

  feedForward(last) {
    const { ctx, columns, stack, layer } = this;
    const { data, t } = ctx;
    const at = `${stack}.${layer}.ff`;
    const place = `${stack}.ff`;
    const column = (name) => columns[`ff.${name}`];
    const box = this.partFrame(place, column("x").x, column("back").x + column("back").w * 0.5, {
      title: t("flow_ff"),
      count: parametersOf(data.header.boxes, at),
      go: { zoom: "sub", place, step: "x" },
    });
    const x = this.strip(this.key("ff", "x"), `${at}.enters`, column("x"), place, {
      go: { zoom: "sub", place, step: "x" },
      parent: box.key,
      title: t("flow_x", { name: t("flow_ff") }),
    });
    const wide = this.strip(this.key("ff", "activation"), `${at}.activation`, column("wide"), place, {
      go: { zoom: "sub", place, step: "activation" },
      title: t("flow_neurons"),
      label: t("flow_go_neurons"),
      parent: x.key,
    });
    this.flow(`in:${at}`, x, wide);
    if (last) this.flow(`out:${at}`, wide, last);
    return { x, wide, box };
  }

  // The residual connection around a sub-layer, from one x to the next: added there, and normalised. Parts that the
  // model does not have are not drawn.
  around(key, from, to) {
    const { unit, narrow, t, data } = this.ctx;
    const { norm, residual } = data.config;
    if (narrow || (residual === false && norm !== "post")) return;
    const y = this.top - unit * 0.28;
    const none = { x: 0, y: 0, w: 0, h: 0 };
    const [left, right] = [from.x + from.w / 2, to.x + to.w / 2];
    const points = [left, this.top, left, y, right, y, right, this.top];
    if (residual !== false)
      this.add({
        key: `around:${key}`,
        kind: "arrow",
        points,
        ...none,
        colour: "dim",
        weight: 1.25,
        round: 4,
        tip: false,
      });
    const both = norm === "post" ? "flow_add_norm" : "flow_add";
    const text = t(residual === false ? "flow_norm" : both);
    const w = unit * (lettersWidth(text) * 0.78 + 0.15);
    const x = right - to.w / 2 - unit * 0.2 - w;
    this.add({
      key: `pill:${key}`,
      kind: "box",
      x,
      y: y - unit * 0.4,
      w,
      h: unit * 0.8,
      fill: "ground",
      stroke: "line",
      radius: 6,
      z: 0.2,
    });
    this.add({
      key: `plus:${key}`,
      kind: "text",
      text,
      x,
      y: y + unit * 0.03,
      w,
      h: 0,
      size: 0.78,
      colour: "dim",
      align: "center",
      weight: 600,
    });
  }
}
