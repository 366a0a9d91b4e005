import { formatCount } from "../format.js";
import { clamp, lettersWidth, mathWidth, paintedWidth, sheetScale } from "../stage/measure.js";
import { Pen } from "../stage/pen.js";

// Drawing functions for the boards of feed-forward, embedding and output: items of a scene, collected in order.

const LINE_HEIGHT = 1.3; // height of a line of text, in its size
export const NAME_SIZE = 1.75; // height of the line that names a matrix, in units
export const PALE = 0.3; // opacity of what a step does not use
const SMALL_TEXT = 0.9; // size of small texts, in units
const LEAST = 0.85; // the smallest size, if that does not fit
const INSET = 0.45; // units around the whole, for outlines

// The area without the border that outlines need.
export function insideOf({ area, unit }) {
  const rim = INSET * unit;
  return { x: area.x + rim, y: area.y + rim, w: area.w - 2 * rim, h: area.h - 2 * rim };
}

export const rimOf = (unit) => 2 * INSET * unit;

// Width of the row labels, in pixels.
export function labelRoom(labels, unit, most) {
  return clamp((Math.max(...labels.map(lettersWidth)) * 1.05 + 0.2) * unit, 1.6 * unit, most);
}

// Height of n rows on a narrow screen: every label is written up to 24 of them, then they get thinner.
export const rowRects = (n, unit) => (n <= 24 ? n * 1.35 : Math.max(24 * 1.35, n * 0.62)) * unit;

// Which rows of a column of texts are written: all, or every second, third, ...; near the current row only that one.
export function numbersFit(count, space, size, current) {
  const every = Math.max(1, Math.ceil(size / space));
  const near = (i) => every > 1 && current !== undefined && i !== current && Math.abs(i - current) < every;
  return Array.from({ length: count }, (_, i) => i).filter((i) => i === current || (i % every === 0 && !near(i)));
}

const rowsOf = new WeakMap();

// One row of a matrix as a matrix; the same object every time.
export function rowRect(matrix, row) {
  if (!rowsOf.has(matrix)) rowsOf.set(matrix, new Map());
  const made = rowsOf.get(matrix);
  if (!made.has(row)) {
    const { cols, data, name, exact, top, axes } = matrix;
    const at = (_, col) => matrix.at(row, col);
    const numbers = data.subarray(row * cols, (row + 1) * cols);
    const range = [Math.min(...numbers), Math.max(...numbers)];
    const id = `${matrix.id}#${row}`;
    const shape = [1, 1, cols];
    made.set(row, { id, name, data: numbers, rows: 1, cols, at, exact, top, shape, axes, range, masked: false });
  }
  return made.get(row);
}

export class BoardPen extends Pen {
  constructor(ctx, colour) {
    super(ctx);
    this.colour = colour;
  }

  // Width of a text in pixels: in the stage's font, or estimated if the font is not known.
  wide(text, size = 1, weight = 400) {
    const { font } = this.ctx.theme;
    if (!font) return mathWidth(text, weight > 400) * size * this.unit;
    return paintedWidth(text, font, size * this.unit, weight);
  }

  // y: the top of the line.
  text(key, text, { x, y, w }, { size = SMALL_TEXT, kind = "text", ...look } = /** @type {any} */ ({})) {
    return this.add({ key, kind, text, x, y, w, h: LINE_HEIGHT * size * this.unit, size, ...look });
  }

  math(key, text, rect, look = {}) {
    return this.text(key, text, rect, { kind: "math", size: 1, ...look });
  }

  box(key, rect, look = {}) {
    return super.box(key, rect, { radius: 3, ...look });
  }

  path(key, points, look = {}) {
    return super.path(key, points, { weight: 1, tip: false, round: 0, ...look });
  }

  // A note, in the first of several wordings that fits.
  note(key, texts, values, rect, look = /** @type {any} */ ({})) {
    const { size = SMALL_TEXT } = look;
    const wordings = texts.map((name) => this.ctx.t(name, values));
    const text = wordings.find((wording) => this.wide(wording, size) <= rect.w) ?? wordings.at(-1);
    return this.text(key, text, rect, { colour: "dim", ...look });
  }

  // A sign of arithmetic in the middle of a gap.
  sign(key, text, { x, y, w, h }, look = {}) {
    const size = 1.35;
    const high = LINE_HEIGHT * size * this.unit;
    return this.math(key, text, { x, y: y + (h - high) / 2, w }, { align: "center", size, ...look });
  }

  // The numbers, or an outline until they have arrived (or been computed).
  matrix(key, matrix, rect, { parent, ...look } = /** @type {any} */ ({})) {
    if (!matrix) return this.outline(key, rect, { radius: 3, parent });
    const parents = [`${key}:wait`, parent].flat().filter(Boolean);
    return this.add({ key, kind: "matrix", matrix, ...rect, ramp: this.colour, ...look, parent: parents });
  }

  // Name (the first of several that fits) and shape in the line above a matrix: "W_1 [256, 1,024]"; the shape only if
  // both fit, and after it `end`, the end of the colour scale. before: how much is free at the left.
  named(key, names, shape, { x, y, w }, { end, before = 0, ...more } = /** @type {any} */ ({})) {
    const { unit } = this;
    const top = y - NAME_SIZE * unit;
    const textWidth = (name) => this.wide(name, 1, 600) + 0.1 * unit;
    const wordings = [names].flat();
    const symbol = wordings.find((name) => textWidth(name) <= w) ?? wordings.at(-1);
    const wide = Math.min(w, textWidth(symbol));
    const text = typeof shape === "string" ? shape : `[${shape.map(formatCount).join(", ")}]`;
    const scale = end ? sheetScale(end) : "";
    const apart = 0.4 * unit;
    const needs = (parts, size) => parts.reduce((sum, part) => sum + apart + this.wide(part, size), wide);
    // Both, or only the shape, small if there is no space for more.
    const fits = ({ parts, size }) => needs(parts, size) <= w + before;
    const tries = [SMALL_TEXT, LEAST].map((size) => ({ parts: [text], size }));
    if (scale) tries.unshift({ parts: [text, scale], size: SMALL_TEXT });
    const { parts, size } = tries.find(fits) || { parts: [], size: 1 };
    const start = x - Math.max(0, needs(parts, size) - w);
    this.math(`name:${key}`, symbol, { x: start, y: top, w: wide }, { weight: 600, ...more });
    const look = { size, colour: "dim", alpha: more.alpha, parent: more.parent };
    let at = start + wide + apart;
    parts.forEach((part, i) => {
      const long = this.wide(part, size);
      const rect = { x: at, y: top + 0.1 * unit, w: long + 0.1 * unit };
      this.text(`${["shape", "scale"][i]}:${key}`, part, rect, look);
      at += long + apart;
    });
  }

  // A matrix with its name. room: the width of the name.
  full(key, matrix, rect, symbol, shape, { room, nameAlpha, scale, before, ...more } = /** @type {any} */ ({})) {
    const item = this.matrix(key, matrix, rect, more);
    const alpha = nameAlpha ?? more.alpha;
    const about = { alpha, parent: more.parent, end: scale && matrix ? matrix.top : 0, before };
    this.named(key, symbol, shape, { x: rect.x, y: rect.y, w: room || rect.w }, about);
    return item;
  }

  // The outline of the result of a later step.
  coming(key, rect, symbol, shape, nameWidth) {
    this.matrix(key, null, rect);
    this.named(key, symbol, shape, { x: rect.x, y: rect.y, w: nameWidth || rect.w }, { alpha: 0.45 });
  }

  tokens(key, labels, rect, look = {}) {
    return super.tokens(key, labels, rect, { colour: this.colour, ...look });
  }
}
