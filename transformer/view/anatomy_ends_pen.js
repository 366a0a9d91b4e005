import { formatCount } from "./anatomy_format.js";

// What the boards of feed-forward, embedding and output draw with: items of a scene, collected in order.

export const ENDS_LINE = 1.3; // height of a line of text, in its size
export const ENDS_NAME = 1.75; // height of the line that names a matrix, in units
export const ENDS_PALE = 0.3; // strength of what a step does not use
const ENDS_BOLD = 1.1; // how much wider a bold text is
const ENDS_INSET = 0.45; // units around the whole, for outlines

export const endsClamp = (value, low, high) => Math.max(low, Math.min(high, value));

// Width of a text in units, rather too wide than too narrow: a layout has no canvas to measure with, and its font may be
// as wide as DejaVu Sans.
export function endsWide(text, size = 1) {
  let wide = 0;
  for (const letter of String(text).replace(/[_^{}]/g, "")) {
    if (letter.codePointAt(0) > 0x2e80) wide += 1.02;
    else if (" .,:;|!'()[]ijlftr".includes(letter)) wide += 0.4;
    else wide += /[mwMW@%…<>+=]/u.test(letter) ? 0.96 : /[A-ZÀ-Þ√]/u.test(letter) ? 0.74 : 0.63;
  }
  return wide * size;
}

let endsRuler = null;

// Width in pixels of a text with indices and powers, as it is painted.
function endsMeasure(text, font, size, weight) {
  endsRuler ??= document.createElement("canvas").getContext("2d");
  let wide = 0;
  for (const [, small, plain] of String(text).matchAll(/[_^](\{[^}]*\}|.)|([^_^]+)/gu)) {
    endsRuler.font = `${weight} ${plain ? size : size * 0.72}px ${font}`;
    wide += endsRuler.measureText(plain || small.replace(/[{}]/g, "")).width + (plain ? 0 : size * 0.06);
  }
  return wide;
}

// The first of several wordings that fits into a width, else the last; size: of the text, in pixels.
export function endsFitting(texts, width, size) {
  const some = [texts].flat();
  return some.find((text) => endsWide(text) * size <= width) ?? some[some.length - 1];
}

// The area without the rim that outlines need.
export function endsInside({ area, unit }) {
  const rim = ENDS_INSET * unit;
  return { x: area.x + rim, y: area.y + rim, w: area.w - 2 * rim, h: area.h - 2 * rim };
}

export const endsRim = (unit) => 2 * ENDS_INSET * unit;

// Room for the labels of rows, in pixels.
export function endsLabelRoom(labels, unit, most) {
  return endsClamp((Math.max(...labels.map((label) => endsWide(label))) * 1.05 + 0.2) * unit, 1.6 * unit, most);
}

// Height of n rows on a narrow screen: every label is written up to 24 of them, then they get thinner.
export const endsRows = (n, unit) => (n <= 24 ? n * 1.35 : Math.max(24 * 1.35, n * 0.62)) * unit;

// Which rows of a column of texts are written: all, or every second, third, ...; near the current one only that.
export function endsWritten(count, space, size, current) {
  const every = Math.max(1, Math.ceil(size / space));
  const near = (i) => every > 1 && current !== undefined && i !== current && Math.abs(i - current) < every;
  return Array.from({ length: count }, (_, i) => i).filter((i) => i === current || (i % every === 0 && !near(i)));
}

const endsRowsOf = new WeakMap();

// One row of a matrix as a matrix of its own; the same object every time.
export function endsRow(matrix, row) {
  if (!endsRowsOf.has(matrix)) endsRowsOf.set(matrix, new Map());
  const made = endsRowsOf.get(matrix);
  if (!made.has(row)) {
    const { cols, data, name, exact, top, axes } = matrix;
    const at = (_, col) => matrix.at(row, col);
    const own = data.subarray(row * cols, (row + 1) * cols);
    const range = [Math.min(...own), Math.max(...own)];
    const id = `${matrix.id}#${row}`;
    const shape = [1, 1, cols];
    made.set(row, { id, name, data: own, rows: 1, cols, at, exact, top, shape, axes, range, masked: false });
  }
  return made.get(row);
}

export class EndsPen {
  constructor(ctx, colour) {
    this.ctx = ctx;
    this.colour = colour;
    this.unit = ctx.unit;
    this.items = [];
    this.rows = {}; // what all matrices with a row a token share
  }

  // Width of a text in pixels: as the stage's font has it, or where that is not known estimated.
  wide(text, size = 1, weight = 400) {
    const { font } = this.ctx.theme;
    if (!font) return endsWide(text) * size * this.unit * (weight > 400 ? ENDS_BOLD : 1);
    return endsMeasure(text, font, size * this.unit, weight);
  }

  add(item) {
    this.items.push(item);
    return item;
  }

  // y: the top of the line.
  text(key, text, { x, y, w }, more = {}) {
    const size = more.size || 0.9;
    return this.add({
      key,
      kind: "text",
      text,
      x,
      y,
      w,
      h: ENDS_LINE * size * this.unit,
      align: "left",
      colour: "ink",
      ...more,
      size,
    });
  }

  math(key, text, { x, y, w }, more = {}) {
    const size = more.size || 1;
    return this.add({
      key,
      kind: "math",
      text,
      x,
      y,
      w,
      h: ENDS_LINE * size * this.unit,
      align: "left",
      colour: "ink",
      ...more,
      size,
    });
  }

  box(key, rect, more = {}) {
    return this.add({ key, kind: "box", ...rect, fill: null, stroke: null, radius: 3, ...more });
  }

  // A line or an arrow through points; its rectangle is the frame around them.
  line(key, points, more = {}) {
    const [xs, ys] = [0, 1].map((odd) => points.filter((_, i) => i % 2 === odd));
    const [x, y] = [Math.min(...xs), Math.min(...ys)];
    const frame = { x, y, w: Math.max(...xs) - x, h: Math.max(...ys) - y };
    return this.add({ key, kind: "arrow", points, ...frame, colour: "dim", weight: 1, tip: false, round: 0, ...more });
  }

  // A remark, in the first of several wordings that fits.
  note(key, texts, values, where, more = {}) {
    const size = more.size || 0.9;
    const some = texts.map((name) => this.ctx.t(name, values));
    const text = some.find((one) => this.wide(one, size) <= where.w) ?? some[some.length - 1];
    return this.text(key, text, where, { colour: "dim", ...more, size });
  }

  // A sign of arithmetic in the middle of a gap.
  sign(key, text, { x, y, w, h }, more = {}) {
    const size = more.size || 1.35;
    const high = ENDS_LINE * size * this.unit;
    return this.math(key, text, { x, y: y + (h - high) / 2, w }, { align: "center", ...more, size });
  }

  // The numbers, or while they are on their way (or not computed yet) the outline of where they will be.
  matrix(key, matrix, rect, more = {}) {
    const wait = `${key}:wait`;
    const parents = [wait, more.parent].flat().filter(Boolean);
    if (!matrix) return this.box(wait, rect, { stroke: "line", dash: true, parent: more.parent });
    const before = this.ctx.data.plain(`place.${key.split(".").pop()}`);
    const plain = before && before.rows === matrix.rows && before.cols === matrix.cols ? before : null;
    const shown = { ramp: this.colour, signed: true, outline: "thin", plain, ...more, parent: parents };
    return this.add({ key, kind: "matrix", matrix, ...rect, ...shown });
  }

  // Name (the first that fits, of several) and shape in the line above a matrix: "W_1 [256, 1,024]"; the shape only where
  // there is room for both.
  named(key, names, shape, { x, y, w }, more = {}) {
    const { unit } = this;
    const top = y - ENDS_NAME * unit;
    const room = (name) => this.wide(name, 1, 600) + 0.1 * unit;
    const some = [names].flat();
    const symbol = some.find((name) => room(name) <= w) ?? some[some.length - 1];
    const wide = Math.min(w, room(symbol));
    this.math(`name:${key}`, symbol, { x, y: top, w: wide }, { weight: 600, ...more });
    const text = typeof shape === "string" ? shape : `[${shape.map(formatCount).join(", ")}]`;
    const left = w - wide - 0.35 * unit;
    if (left < this.wide(text, 0.85)) return;
    const where = { x: x + wide + 0.35 * unit, y: top + 0.12 * unit, w: left };
    this.text(`shape:${key}`, text, where, { size: 0.85, colour: "dim", alpha: more.alpha, parent: more.parent });
  }

  // A matrix with its name. room: how wide the name may be.
  full(key, matrix, rect, symbol, shape, { room, nameAlpha, ...more } = {}) {
    const made = this.matrix(key, matrix, rect, more);
    const alpha = nameAlpha ?? more.alpha;
    this.named(key, symbol, shape, { x: rect.x, y: rect.y, w: room || rect.w }, { alpha, parent: more.parent });
    return made;
  }

  // The outline of what a later step makes.
  coming(key, rect, symbol, shape, room) {
    this.matrix(key, null, rect);
    this.named(key, symbol, shape, { x: rect.x, y: rect.y, w: room || rect.w }, { alpha: 0.45 });
  }

  tokens(key, labels, rect, more = {}) {
    return this.add({
      key,
      kind: "tokens",
      labels,
      ...rect,
      orient: "rows",
      align: "right",
      colour: this.colour,
      ...more,
    });
  }
}
