import { lettersWidth } from "../stage/measure.js";
import { tableOf } from "./operands.js";

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
    const longer = lines.length ? `${lines[lines.length - 1]} ${piece}` : piece;
    if (lines.length && widthOfText(longer, size) <= width) lines[lines.length - 1] = longer;
    else lines.push(piece);
  }
  return lines;
}

export class NumberSheet {
  /** @type {any} */ computation;
  /** @type {any} */ items;
  /** @type {any} */ ramp;
  /** @type {any} */ ctx;
  /** @type {any} */ scale;
  /** @type {any} */ unit;
  // computation: what operandsOf gives; ramp: the side whose colours the numbers have; scale: of allOf on it.
  constructor(ctx, computation, ramp, scale = 1) {
    Object.assign(this, { ctx, computation, ramp, scale, t: ctx.t, unit: ctx.unit * scale, items: [] });
  }

  // Everything grows out of the cell; numbers of another matrix grow out of that matrix.
  add(name, item) {
    const { key, row, col } = this.computation;
    const home = item.parent ? {} : { parent: key, parentCell: { key, row, col } };
    this.items.push({ key: `number:${name}`, ...home, ...item });
  }

  // Text in a rectangle whose upper left corner is given; returns the y below it.
  text(name, text, x, y, w, { size = 1, kind = "text", ...more } = {}) {
    const h = size * LINE_HEIGHT * this.unit;
    this.add(name, { kind, text, x, y, w, h, size: size * this.scale, ...more });
    return y + h;
  }

  // A text over as many lines as it needs.
  paragraph(name, text, x, y, w, { size = 1, ...more } = {}) {
    this.paragraphLines(text, w, size).forEach(
      (line, i) => (y = this.text(`${name}.${i}`, line, x, y, w, { size, ...more })),
    );
    return y;
  }

  paragraphLines(text, w, size = 1) {
    return linesOfText(text.split(" "), size * this.unit, w);
  }

  paragraphHeight(text, w, size = 1) {
    return this.paragraphLines(text, w, size).length * size * LINE_HEIGHT * this.unit;
  }

  box(name, x, y, w, h, more) {
    this.add(name, { kind: "box", x, y, w, h, fill: null, stroke: null, radius: 6, ...more });
  }

  line(name, points, more) {
    const [xs, ys] = [0, 1].map((odd) => points.filter((_, i) => i % 2 === odd));
    const [x, y] = [Math.min(...xs), Math.min(...ys)];
    const [w, h] = [Math.max(...xs) - x, Math.max(...ys) - y];
    this.add(name, { kind: "arrow", points, tip: false, round: 0, x, y, w, h, ...more });
  }

  // Numbers as a picture. origin: identifies these numbers; pick(index): where a number comes from; says(index): the
  // lines of its tooltip.
  matrix(name, numbers, rows, cols, x, y, w, h, options) {
    const { origin, label, top, axes, says, pick, ramp, first = 0, ...more } = options;
    const id = `number|${origin}|${first}|${rows}x${cols}`;
    const matrix = tableOf(id, label, numbers, rows, cols, { top, axes });
    const chosen = pick && { pick: (row, col) => pick(first + row * cols + col) };
    const names = says && { says: (row, col) => says(first + row * cols + col) };
    this.add(name, { kind: "matrix", matrix, ramp: ramp || this.ramp, x, y, w, h, ...chosen, ...names, ...more });
  }

  // A long row of numbers in lines of 64, the last of them shorter; returns the y below it.
  strip(name, numbers, x, y, w, line, { mark = -1, ...more }) {
    const wide = Math.min(WRAP, numbers.length);
    const full = Math.floor(numbers.length / wide);
    const rest = numbers.length - full * wide;
    const top =
      more.top ||
      numbers.reduce((most, value) => (Number.isFinite(value) ? Math.max(most, Math.abs(value)) : most), 0) ||
      1;
    const chosen = (from, rows) => {
      const at = mark - from;
      return at >= 0 && at < rows * wide ? { chosen: [Math.floor(at / wide), at % wide] } : {};
    };
    const head = numbers.subarray(0, full * wide);
    this.matrix(name, head, full, wide, x, y, w, full * line, { ...more, top, ...chosen(0, full) });
    if (rest) {
      const tail = {
        ...more,
        top,
        first: full * wide,
        ...(mark >= full * wide ? { chosen: [0, mark - full * wide] } : {}),
      };
      this.matrix(
        `${name}.rest`,
        numbers.subarray(full * wide),
        1,
        rest,
        x,
        y + full * line,
        (w * rest) / wide,
        line,
        tail,
      );
    }
    return y + (full + (rest ? 1 : 0)) * line;
  }

  stripRows(count) {
    return Math.ceil(count / WRAP);
  }
}

// Variants of a part, the best first -> the first that fits a height, or the last one.
export function fittingVariant(variants, height) {
  return variants.find((variant) => variant.least <= height) || variants[variants.length - 1];
}
