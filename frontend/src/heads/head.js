import { shorten } from "../core/dom.js";
import { arrowStep, stepIndex } from "../core/keys.js";
import { makeRamp, rampIndex, cssColour, packPixel } from "../core/colour.js";
import { HeadCanvas, outline } from "./canvas.js";

// Meanings of words under the labels, smaller: their size, the height of both lines in sizes of the label, the height that
// two lines need in pixels, and the gap between a label and the meaning after it.
export const MEANING_SIZE = 0.8;
export const TWO_LINES = 1.95;
export const MEANING_ROOM = 27;
export const MEANING_GAP = 0.4;
const SLANTED_ROOM = 36; // nearer, the second line of a slanted label seems to belong to the next one
const COLUMN_ROOM = 14; // nearer, labels with their meanings are a block of letters: meanings of columns are left out

// One head as a heatmap with its tokens on both axes.
export class HeadPlot extends HeadCanvas {
  /** @type {any} */ options;
  /** @type {State} */ state;
  /** @type {Theme} */ theme;
  /** @type {HeadView} */ view;
  /** @type {{row: number | null, column: number | null} | null} */ lit = null;
  constructor(kind, hooks) {
    super(kind, hooks, { class: "hs-canvas hs-head", role: "application", "data-testid": "head-" + kind });
  }

  // options: {top: weight at the end of the colours, cell: [row, column] of the view or null, width, height, label}
  draw(view, state, theme, options) {
    this.canvas.setAttribute("aria-label", options.label);
    this.lay(view, state, theme, options);
    this.paintBase();
    this.paint();
    this.pointAgain();
  }

  lay(view, state, theme, options) {
    Object.assign(this, { view, state, theme, options });
    if (this.hover && (this.hover[0] >= view.queries || this.hover[1] >= view.keys)) this.hover = null;
    this.layout(options.width, options.height);
  }

  layout(width, height) {
    const { view, theme } = this;
    const context = this.canvas.getContext("2d");
    const unit = theme.size / 15;
    let size = 15 * unit;
    // Labels shrink before some are left out: a missing token is worse than small print.
    const least = 9 * Math.min(unit, 1.2);
    const rows = Math.max(1, view.queries);
    const columns = Math.max(1, view.keys);
    const rowHeight = (height - (view.keys > 40 ? 90 : 64) * unit) / rows;
    // Meanings stand under their labels, or beside them where that would make both too small.
    const rowsUnder = Boolean(view.rowMeanings) && rowHeight >= MEANING_ROOM * unit;
    size = Math.max(least, Math.min(size, rowHeight / (rowsUnder ? TWO_LINES : 1.06)));
    const meaningSize = (of) => Math.max(least, of * MEANING_SIZE);
    const widest = (labels, font) => {
      context.font = font;
      return labels.reduce((most, label) => Math.max(most, context.measureText(label).width), 0);
    };
    // Each label with its meaning, under it or after it.
    const widths = (labels, meanings, of, under) => {
      context.font = `700 ${of}px ${theme.font}`;
      const plain = labels.map((label) => context.measureText(label).width);
      if (!meanings) return plain;
      context.font = `400 ${meaningSize(of)}px ${theme.font}`;
      return plain.map((width, i) => {
        const more = context.measureText(meanings[i]).width;
        return under ? Math.max(width, more) : width + (more && more + MEANING_GAP * of);
      });
    };
    const names = [this.hooks.axis(view.sides.rows, "row"), this.hooks.axis(view.sides.columns, "column")];
    const nameFont = axisFont(unit, theme);
    const rowWidest = Math.max(0, ...widths(view.rowLabels, view.rowMeanings, size, rowsUnder));
    const limit = width * (view.rowMeanings && !rowsUnder ? 0.4 : 0.3);
    const left = Math.ceil(Math.max(widest(names, nameFont) + 1, Math.min(rowWidest, limit)) + 10 * unit);
    const most = 78 * unit;
    let cw = Math.min((width - left - 6) / columns, most);
    // Column labels: horizontal if they fit, else slanted, else vertical.
    let columnSize = Math.min(15 * unit, size + 2 * unit);
    const { columnLabels } = view;
    const fits = (meanings) => Math.max(0, ...widths(columnLabels, meanings, columnSize, true)) + 6 * unit <= cw;
    const roomy = cw * 0.72 >= COLUMN_ROOM * unit || fits(view.columnMeanings);
    const columnMeanings = roomy ? view.columnMeanings : null;
    const flat = fits(columnMeanings);
    const columnsUnder = Boolean(columnMeanings) && (flat || cw * 0.72 >= SLANTED_ROOM * unit);
    const lines = columnsUnder ? TWO_LINES : 0.95;
    const slanted = cw * 0.72 >= Math.max(least, 10.5 * unit) * 0.95;
    const angle = flat ? 0 : slanted ? Math.PI / 4 : Math.PI / 2;
    if (slanted && !flat) columnSize = Math.min(columnSize, (cw * 0.72) / lines);
    else if (!flat) columnSize = Math.max(least, Math.min(columnSize, cw));
    const columnWidths = widths(columnLabels, columnMeanings, columnSize, columnsUnder);
    const deepest =
      columnMeanings && !columnsUnder ? Math.min(200 * unit, height * 0.42) : Math.min(130 * unit, height * 0.24);
    const longest = Math.min(Math.max(0, ...columnWidths), Math.max(74 * unit, deepest));
    let right = 4;
    if (angle === Math.PI / 4) {
      // The last slanted labels reach to the right: leave space for them.
      const measure = (i) => Math.min(longest, columnWidths[i]) * 0.72 + columnSize * 0.35;
      for (let i = 0; i < view.keys; i++) right = Math.max(right, measure(i) - (view.keys - i - 0.5) * cw);
      right = Math.min(right, width * 0.12);
      cw = Math.min((width - left - right - 2) / columns, most);
      columnSize = Math.max(least, Math.min(columnSize, (cw * 0.72) / lines));
    }
    const second = columnsUnder ? meaningSize(columnSize) * 1.15 : 0; // height of the second line
    const top = Math.ceil(
      Math.max(
        42 * unit,
        angle === 0
          ? columnSize * 1.2 + 10 * unit + second
          : angle === Math.PI / 2
            ? longest + 14 * unit
            : longest * 0.72 + columnSize * 0.75 + 8 * unit + second * 0.8,
      ),
    );
    const bottom = 3;
    const fit = (height - top - bottom) / rows;
    const ch = Math.max(1, Math.min(fit, 40 * unit, Math.max(cw * 1.6, (rowsUnder ? 30 : 22) * unit)));
    size = Math.max(least, Math.min(size, ch / (rowsUnder ? TWO_LINES : 1.04)));
    this.plot = {
      left,
      top,
      cw,
      ch,
      angle,
      longest,
      size,
      columnSize,
      rowsUnder,
      columnsUnder,
      columnMeanings,
      meaningSize,
      unit,
      rowStep: Math.max(1, Math.ceil(size / ch - 0.1)),
      columnStep: angle ? Math.max(1, Math.ceil(columnSize / (angle === Math.PI / 4 ? cw * 0.76 : cw) - 0.05)) : 1,
    };
    this.width = Math.ceil(width);
    this.height = Math.ceil(top + ch * rows + bottom);
    this.canvas.dataset.plot = JSON.stringify({ left, top, cw, ch, rows: view.queries, columns: view.keys });
  }

  // The colours of this plot, and the colour of a number.
  palette() {
    return makeRamp(this.theme, this.kind);
  }

  shadeOf(value) {
    return rampIndex(value, this.options.top, this.state.threshold);
  }

  // Draws over a cell, for plots that need more than its colour.
  mark(..._cell) {}

  // Where columns and rows begin, at whole pixels of the screen.
  get edge() {
    const { left, top, cw, ch } = this.plot;
    const ratio = Math.min(4, window.devicePixelRatio || 1);
    const snap = (value) => Math.round(value * ratio) / ratio;
    return { x: (c) => snap(left + c * cw), y: (r) => snap(top + r * ch) };
  }

  drawBase(context) {
    const { view, theme, plot, edge } = this;
    const ramp = this.palette();
    const w = edge.x(view.keys) - edge.x(0);
    const h = edge.y(view.queries) - edge.y(0);
    context.strokeStyle = cssColour(theme.line);
    context.lineWidth = 1;
    if (Math.min(plot.cw, plot.ch) < 7) {
      // Thousands of small cells: one picture with one pixel per cell, enlarged.
      const image = new ImageData(view.keys, view.queries);
      const pixels = new Uint32Array(image.data.buffer);
      const table = ramp.map(packPixel);
      const masked = packPixel(theme.masked);
      for (let at = 0; at < pixels.length; at++) {
        pixels[at] = view.mask && view.mask[at] ? masked : table[this.shadeOf(view.data[at])];
      }
      const small = document.createElement("canvas");
      small.width = view.keys;
      small.height = view.queries;
      small.getContext("2d").putImageData(image, 0, 0);
      context.imageSmoothingEnabled = false;
      context.drawImage(small, edge.x(0), edge.y(0), w, h);
      context.strokeRect(edge.x(0) - 0.5, edge.y(0) - 0.5, w + 1, h + 1);
      return;
    }
    const colours = ramp.map((rgb) => cssColour(rgb));
    const hatched = [];
    for (let r = 0; r < view.queries; r++) {
      for (let c = 0; c < view.keys; c++) {
        const at = r * view.keys + c;
        /** @type {[number, number, number, number]} */
        const box = [edge.x(c), edge.y(r), edge.x(c + 1) - edge.x(c) - 1, edge.y(r + 1) - edge.y(r) - 1];
        const masked = view.mask && view.mask[at];
        context.fillStyle = masked ? cssColour(theme.masked) : colours[this.shadeOf(view.data[at])];
        context.fillRect(...box);
        if (masked) hatched.push(box);
        else this.mark(context, view.data[at], ...box);
      }
    }
    hatchCells(context, hatched, cssColour(theme.hatch));
    context.strokeStyle = cssColour(theme.line);
    // A faint grid of lines: without it an almost empty head is a blank page.
    context.beginPath();
    for (let r = 0; r <= view.queries; r++) addLine(context, edge.x(0), edge.y(r) - 0.5, w, 0);
    for (let c = 0; c <= view.keys; c++) addLine(context, edge.x(c) - 0.5, edge.y(0), 0, h);
    context.globalAlpha = 0.75;
    context.stroke();
    context.globalAlpha = 1;
  }

  drawOver(context) {
    const { theme } = this;
    const cell = this.options.cell;
    const at = this.hover || cell;
    const { row, column } = (!this.hover && this.lit) || { row: at ? at[0] : null, column: at ? at[1] : null };
    this.shade(context, row, column);
    this.rowLabels(context, row);
    this.columnLabels(context, column);
    this.axisNames(context);
    if (cell) this.around(context, cell, cssColour(theme.ink), 2.5);
    if (this.hover && !(cell && cell[0] === this.hover[0] && cell[1] === this.hover[1])) {
      this.around(context, this.hover, cssColour(theme.ink), 1.25);
    }
  }

  // The highlighted row and column: lines beside the cells, which keep their true colours.
  shade(context, row, column) {
    const { plot, theme, view } = this;
    context.strokeStyle = cssColour(theme.ink, 0.55);
    context.lineWidth = 1;
    if (row !== null && row < view.queries) {
      context.strokeRect(plot.left - 0.5, plot.top + row * plot.ch - 0.5, plot.cw * view.keys, plot.ch);
    }
    if (column !== null && column < view.keys) {
      context.strokeRect(plot.left + column * plot.cw - 0.5, plot.top - 0.5, plot.cw, plot.ch * view.queries);
    }
  }

  around(context, /** @type {number[]} */ [row, column], colour, width) {
    const { left, top, cw, ch } = this.plot;
    outline(context, left + column * cw - 1, top + row * ch - 1, cw + 1, ch + 1, colour, width);
  }

  // The colour of a token list: source blue, target orange.
  sideColour(side) {
    return cssColour(this.theme.hues[side === "source" ? "encoder_self" : "decoder_self"]);
  }

  rowLabels(context, lit) {
    const { plot, theme, view } = this;
    context.textAlign = "right";
    context.textBaseline = "middle";
    const space = plot.left - 10 * plot.unit;
    const x = plot.left - 8 * plot.unit;
    const write = (r, on) => {
      const meaning = view.rowMeanings ? view.rowMeanings[r] : "";
      const small = plot.meaningSize(plot.size);
      const under = meaning && plot.rowsUnder;
      const y = plot.top + (r + 0.5) * plot.ch;
      context.fillStyle = on ? this.sideColour(view.sides.rows) : cssColour(theme.ink);
      context.font = `${on ? 700 : 400} ${plot.size}px ${theme.font}`;
      context.fillText(shorten(context, view.rowLabels[r], space), x, under ? y - small * 0.54 : y);
      if (!meaning) return;
      context.font = `700 ${plot.size}px ${theme.font}`; // does not move when it is highlighted
      const beside = under ? 0 : context.measureText(view.rowLabels[r]).width + MEANING_GAP * plot.size;
      this.writeMeaning(context, meaning, x - beside, under ? y + plot.size * 0.54 : y, small, space - beside);
    };
    for (let r = 0; r < view.queries; r += plot.rowStep) {
      if (r !== lit && !(lit !== null && Math.abs(r - lit) * plot.ch < plot.size * 0.9)) write(r, false);
    }
    if (lit !== null && lit < view.queries) write(lit, true);
  }

  columnLabels(context, lit) {
    const { plot, theme, view } = this;
    context.textBaseline = "middle";
    const small = plot.meaningSize(plot.columnSize);
    const raised = plot.angle && plot.columnsUnder ? small * 0.5 : 0; // the second line is lower
    const gap = plot.angle === 0 || plot.angle === Math.PI / 2 ? plot.cw : plot.cw * 0.72;
    const write = (c, on) => {
      context.fillStyle = on ? this.sideColour(view.sides.columns) : cssColour(theme.ink);
      context.font = `${on ? 700 : 400} ${plot.columnSize}px ${theme.font}`;
      context.textAlign = plot.angle ? "left" : "center";
      context.save();
      const text = plot.angle ? shorten(context, view.columnLabels[c], plot.longest) : view.columnLabels[c];
      const shift = plot.angle === Math.PI / 4 ? 2 * plot.unit : 0;
      context.translate(plot.left + (c + 0.5) * plot.cw + shift, plot.top - (plot.angle ? 7 : 12) * plot.unit - raised);
      context.rotate(-plot.angle);
      const meaning = plot.columnMeanings ? plot.columnMeanings[c] : "";
      const under = plot.columnsUnder && (meaning || !plot.angle); // horizontal labels stay on one line
      const above = plot.angle ? small * 0.54 : small * 1.15;
      context.fillText(text, 0, under ? -above : 0);
      if (meaning) {
        context.font = `700 ${plot.columnSize}px ${theme.font}`;
        const after = plot.columnsUnder ? 0 : context.measureText(text).width + MEANING_GAP * plot.columnSize;
        // A slanted label must not leave the picture.
        const room =
          plot.angle === Math.PI / 4 ? (this.width - plot.left - (c + 0.5) * plot.cw) / 0.72 - small : Infinity;
        const space = plot.angle ? Math.min(plot.longest, room) - after : Infinity;
        const y = !plot.columnsUnder ? 0 : plot.angle ? plot.columnSize * 0.54 : 0;
        this.writeMeaning(context, meaning, after, y, small, space);
      }
      context.restore();
    };
    for (let c = 0; c < view.keys; c += plot.columnStep) {
      if (c !== lit && !(lit !== null && plot.angle && Math.abs(c - lit) * gap < plot.columnSize * 0.85))
        write(c, false);
    }
    if (lit !== null && lit < view.keys) write(lit, true);
  }

  // space: pixels; where not even a few letters fit, nothing is written.
  writeMeaning(context, meaning, x, y, size, space) {
    context.fillStyle = cssColour(this.theme.dim);
    context.font = `400 ${size}px ${this.theme.font}`;
    const text = shorten(context, meaning, space);
    if (text === meaning || text.length > 2) context.fillText(text, x, y);
  }

  // Names rows and columns, in the free corner above the row labels.
  axisNames(context) {
    const { plot, theme, view } = this;
    context.font = axisFont(plot.unit, theme);
    context.fillStyle = cssColour(theme.dim);
    context.textAlign = "right";
    context.textBaseline = "alphabetic";
    const x = plot.left - 8 * plot.unit;
    if (plot.top >= 40 * plot.unit) {
      context.fillText(this.hooks.axis(view.sides.columns, "column"), x, plot.top - 24 * plot.unit);
    }
    context.fillText(this.hooks.axis(view.sides.rows, "row"), x, plot.top - 7 * plot.unit);
  }

  cellAt(event) {
    const { plot, view } = this;
    if (!plot) return null;
    const frame = this.canvas.getBoundingClientRect();
    const row = Math.floor((event.clientY - frame.top - plot.top) / plot.ch);
    const column = Math.floor((event.clientX - frame.left - plot.left) / plot.cw);
    return row >= 0 && column >= 0 && row < view.queries && column < view.keys ? [row, column] : null;
  }

  light(lit) {
    this.lit = lit;
    this.paint();
  }

  pointer(event) {
    const cell = this.cellAt(event);
    const same = cell && this.hover && cell[0] === this.hover[0] && cell[1] === this.hover[1];
    this.canvas.style.cursor = cell ? "crosshair" : "default";
    if (!same && (cell || this.hover)) {
      this.hover = cell;
      this.paint();
    }
    if (cell) this.hooks.hover(this.view, cell, event);
    else this.hooks.unhover();
  }

  click(event) {
    const cell = this.cellAt(event);
    if (cell) this.hooks.choose(this.view, cell);
  }

  key(event) {
    if (this.plot) walkCells(event, this.view, this.options.cell, (cell) => this.hooks.choose(this.view, cell));
  }
}

// The arrow keys move from cell to cell of a view. from: the chosen cell, or null; choose: called with the next cell.
export function walkCells(event, view, from, choose) {
  const step = arrowStep(event);
  if (!step) return;
  event.preventDefault();
  if (!view.queries || !view.keys) return;
  choose(from ? [stepIndex(from[0], step[0], view.queries), stepIndex(from[1], step[1], view.keys)] : [0, 0]);
}

function axisFont(unit, theme) {
  return `400 ${Math.max(10, 12 * unit)}px ${theme.font}`;
}

function addLine(context, x, y, w, h) {
  context.moveTo(x, y);
  context.lineTo(x + w, y + h);
}

// Slanted lines over cells, [x, y, w, h] each.
function hatchCells(context, cells, colour) {
  context.strokeStyle = colour;
  context.beginPath();
  for (const [x, y, w, h] of cells) {
    for (let shift = 7 - h; shift < w; shift += 7) {
      const [from, to] = [Math.max(0, shift), Math.min(w, shift + h)]; // within the cell
      addLine(context, x + from, y + h - (from - shift), to - from, from - to);
    }
  }
  context.stroke();
}
