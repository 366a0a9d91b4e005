import { formatCount } from "../format.js";
import { matrixOf } from "../matrix.js";
import { clamp, lettersWidth, mathWidth, paintedWidth, sheetScale } from "./measure.js";
import { Pen } from "./pen.js";

// What all boards are drawn with: texts, named matrices and signs, at rectangles in pixels; one unit is the text size.

const LINE_HEIGHT = 1.3; // height of a line of text, in its size
export const NAME_SIZE = 1.75; // height of the line that names a matrix, in units
export const PALE = 0.3; // opacity of what a step does not use
const SMALL_TEXT = 0.9; // size of small texts, in units
const SHRUNK = 0.95; // of its size, the smallest title
const SHRUNK_BIG = 0.67; // in large text
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
  const near = (i) => every > 1 && i !== current && Math.abs(i - (current ?? Infinity)) < every;
  return Array.from({ length: count }, (_, i) => i).filter((i) => i === current || (i % every === 0 && !near(i)));
}

// Rectangles side by side, of the same y and height: {name: rectangle}. template: the names in their order, as in a CSS
// grid, with gaps between them in units ("tokens 0.5 ids"); widths: by name, in pixels.
export function sideBySide({ x, y, h, unit }, template, widths) {
  const rects = {};
  for (const name of template.split(" ")) {
    const w = widths[name] ?? Number(name) * unit;
    rects[name] = { x, y, w, h };
    x += w;
  }
  return rects;
}

// The rows of a table of `count` rows, each at its true height in the table's rectangle: strip(row) is its rectangle.
export function tableRows(table, count, unit) {
  const cell = table.h / count;
  const thick = clamp(cell - 1, 2, 1.2 * unit);
  const top = (row) =>
    clamp(table.y + (row + 0.5) * cell, table.y + thick / 2, table.y + table.h - thick / 2) - thick / 2;
  return (row) => ({ x: table.x + 1, y: top(row), w: table.w - 2, h: thick });
}

const partsOf = new WeakMap();

// Some numbers of a matrix, `count` from the one at `first` on, as a matrix of one row; the same object every time.
export function rowPart(matrix, first, count = matrix.cols) {
  if (!partsOf.has(matrix)) partsOf.set(matrix, new Map());
  const made = partsOf.get(matrix);
  if (!made.has(first)) {
    const { name, exact, top, axes } = matrix;
    const data = matrix.data.subarray(first, first + count);
    const about = { id: `${matrix.id}/${first}`, name, data, rows: 1, cols: count, shape: [1, 1, count] };
    made.set(first, matrixOf({ ...about, exact, top, axes }));
  }
  return made.get(first);
}

export class Sheet extends Pen {
  titles = { size: 1, weight: 600, shapeSize: SMALL_TEXT, least: 0.85 }; // sizes, and of a name where space is short

  constructor(ctx, colour) {
    super(ctx);
    this.colour = colour;
  }

  // Width of a text in pixels: in the stage's font, or estimated if the font is not known.
  wide(text, size = 1, weight = 400) {
    const font = this.ctx.theme?.font;
    if (!font) return mathWidth(text, weight > 400) * size * this.unit;
    return paintedWidth(text, font, size * this.unit, weight);
  }

  // y: the top of the line.
  text(key, text, rect, { size = SMALL_TEXT, kind = "text", ...look } = /** @type {any} */ ({})) {
    return this.add({ key, kind, text, h: LINE_HEIGHT * size * this.unit, size, ...rect, ...look });
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

  // A sign of arithmetic in the middle of a rectangle.
  sign(key, text, rect, look = {}) {
    return this.math(key, text, rect, { align: "center", size: 1.35, ...look });
  }

  // The numbers, or an outline until they have arrived (or been computed).
  matrix(key, matrix, rect, { parent, ...look } = /** @type {any} */ ({})) {
    if (!matrix) return this.outline(key, rect, { radius: 3, parent });
    const parents = [`${key}:wait`, parent].flat().filter(Boolean);
    return this.add({ key, kind: "matrix", matrix, ...rect, ramp: this.colour, ...look, parent: parents });
  }

  // Name (the longest of several that fits) and shape (or another text) in one line above a matrix: "W_1 [256, 1,024]";
  // the shape only if both fit, and after it `end`, the end of the colour scale. Both shrink a little before the shape
  // goes, and large text more. before: how much is free at the left.
  title(key, names, shape, { x, y, w }, { align = "left", end = 0, before = 0, ...look } = /** @type {any} */ ({})) {
    const { unit } = this;
    const { size, weight, shapeSize, least } = this.titles;
    const widthOf = (name) => this.wide(name, size, weight) + 0.1 * unit;
    const wordings = [names].flat();
    const name = wordings.find((wording) => widthOf(wording) <= w) ?? wordings.at(-1);
    const says = Array.isArray(shape) ? `[${shape.map(formatCount).join(", ")}]` : shape || "";
    const [named, apart, shaped] = [widthOf(name), 0.4 * unit, this.wide(says, shapeSize) + 0.1 * unit];
    const scale = end ? sheetScale(end) : "";
    const share = Math.min(1, (w + before) / (named + apart + shaped));
    const both = says && share >= (this.ctx.big ? SHRUNK_BIG : SHRUNK);
    const scaled = scale && this.wide(scale, SMALL_TEXT) + 0.5 * unit;
    const all = both && scale && named + apart + shaped + scaled <= w + before;
    const used = (both ? (named + apart + shaped) * share : Math.min(named, w)) + (all ? scaled : 0);
    const spare = used > w ? 1 : { left: 0, center: 0.5, right: 1 }[align];
    const about = { parent: [key], ...look };
    const at = { x: x + (w - used) * spare, y, w: both ? named * share : Math.min(named, w), h: 1.4 * unit };
    this.math(`name:${key}`, name, at, { ...about, size: clamp((size * at.w) / named, least, size), weight });
    if (!both) return;
    const small = { ...about, size: shapeSize * share, colour: "dim" };
    const after = { ...at, x: at.x + (named + apart) * share, w: shaped * share };
    this.text(`shape:${key}`, says, after, small);
    if (all) this.text(`scale:${key}`, scale, { ...after, x: after.x + after.w + 0.3 * unit, w: scaled }, small);
  }

  // The same in the line above a matrix at `rect`.
  titleAbove(key, names, shape, rect, look) {
    this.title(key, names, shape, { ...rect, y: rect.y - (NAME_SIZE + 0.05) * this.unit }, look);
  }

  // A matrix with its name. room: the width of the name.
  full(key, matrix, rect, symbol, shape, { room = rect.w, nameAlpha, ...more } = /** @type {any} */ ({})) {
    const look = { alpha: nameAlpha ?? more.alpha, parent: more.parent };
    this.titleAbove(key, symbol, shape, { ...rect, w: room }, look);
    return this.matrix(key, matrix, rect, more);
  }

  // The outline of the result of a later step.
  coming(key, rect, symbol, shape, nameWidth = rect.w) {
    this.matrix(key, null, rect);
    this.titleAbove(key, symbol, shape, { ...rect, w: nameWidth }, { alpha: 0.45 });
  }

  tokens(key, labels, rect, look = {}) {
    return super.tokens(key, labels, rect, { colour: this.colour, ...look });
  }
}
