import { tableOf } from "../matrix.js";
import { lettersWidth } from "../stage/measure.js";
import { Pen } from "../stage/pen.js";

// Drawing functions for the parts of a number's board: items of the stage, in pixels, and widths of texts.

export const LINE_HEIGHT = 1.45; // height of a line of text, in sizes of the text
export const SMALL_TEXT = 0.86;
const WRAP = 64; // numbers in a line of a long strip

// The width of a text in pixels; an index counts as if it were large.
export function widthOfText(text, size) {
  return lettersWidth(text.replace(/[_^{}]/g, "")) * size;
}

// Splits pieces into lines of at most so many pixels; a wider piece stands alone.
export function linesOfText(pieces, size, width) {
  const lines = [];
  for (const piece of pieces) {
    const longer = lines.length ? `${lines.at(-1)} ${piece}` : piece;
    if (lines.length && widthOfText(longer, size) <= width) lines[lines.length - 1] = longer;
    else lines.push(piece);
  }
  return lines;
}

// The largest absolute value, without masked cells.
export const largestOf = (numbers) =>
  numbers.reduce((most, value) => (Number.isFinite(value) ? Math.max(most, Math.abs(value)) : most), 0);

export class NumberSheet extends Pen {
  // computation: what operandsOf gives; ramp: the side whose colours the numbers have; scale: of all on it.
  constructor(ctx, computation, ramp, scale = 1) {
    super(ctx);
    this.computation = computation;
    this.ramp = ramp;
    this.scale = scale;
    this.t = ctx.t;
    this.unit = ctx.unit * scale;
  }

  // Everything grows out of the cell; numbers of another matrix grow out of that matrix.
  add({ key: name, ...item }) {
    const { key, row, col } = this.computation;
    const home = item.parent ? {} : { parent: key, parentCell: { key, row, col } };
    return super.add({ key: `number:${name}`, ...home, ...item });
  }

  // Text in a rectangle whose upper left corner is given; returns the y below it.
  text(name, text, x, y, w, { size = 1, kind = "text", ...more } = {}) {
    const h = size * LINE_HEIGHT * this.unit;
    this.add({ key: name, kind, text, x, y, w, h, size: size * this.scale, ...more });
    return y + h;
  }

  // A text over as many lines as it needs.
  paragraph(name, text, x, y, w, look = {}) {
    this.paragraphLines(text, w).forEach((line, i) => (y = this.text(`${name}.${i}`, line, x, y, w, look)));
  }

  paragraphLines(text, w) {
    return linesOfText(text.split(" "), this.unit, w);
  }

  paragraphHeight(text, w) {
    return this.paragraphLines(text, w).length * LINE_HEIGHT * this.unit;
  }

  box(name, rect, look) {
    return super.box(name, rect, { radius: 6, ...look });
  }

  path(name, points, look) {
    return super.path(name, points, { tip: false, round: 0, ...look });
  }

  // Numbers as a picture. origin: identifies these numbers; pick(index): where a number comes from; says(index): the
  // lines of its tooltip.
  matrix(name, numbers, rect, { rows = 1, first = 0, ...options }) {
    const { origin, label, top, axes, says, pick, ramp = this.ramp, ...more } = options;
    const cols = numbers.length / rows;
    const id = `number|${origin}|${first}|${rows}x${cols}`;
    const matrix = tableOf(id, label, numbers, rows, cols, { top, axes });
    const chosen = pick && { pick: (row, col) => pick(first + row * cols + col) };
    const names = says && { says: (row, col) => says(first + row * cols + col) };
    return this.add({ key: name, kind: "matrix", matrix, ramp, ...rect, ...chosen, ...names, ...more });
  }

  // One number as a bar. says: its tooltip.
  bar(name, value, rect, { says, ...look }) {
    this.matrix(name, Float64Array.of(value), rect, { outline: null, says: () => [says], ...look });
  }

  // A long row of numbers in lines of 64, the last of them shorter; returns the y below it.
  strip(name, numbers, { x, y, w }, line, { mark = -1, ...more }) {
    const wide = Math.min(WRAP, numbers.length);
    const full = Math.floor(numbers.length / wide);
    const rest = numbers.length - full * wide;
    const top = more.top || largestOf(numbers) || 1;
    const part = (key, from, rows, cols) => {
      const rect = { x, y: y + (from / wide) * line, w: (w * cols) / wide, h: rows * line };
      const at = mark - from;
      const chosen = at >= 0 && at < rows * cols ? { chosen: [Math.floor(at / wide), at % wide] } : {};
      this.matrix(key, numbers.subarray(from, from + rows * cols), rect, {
        ...more,
        rows,
        top,
        first: from,
        ...chosen,
      });
    };
    part(name, 0, full, wide);
    if (rest) part(`${name}.rest`, full * wide, 1, rest);
    return y + (full + (rest ? 1 : 0)) * line;
  }

  stripRows(count) {
    return Math.ceil(count / WRAP);
  }
}
