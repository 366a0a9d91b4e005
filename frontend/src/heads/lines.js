import { range } from "d3-array";
import { el, setAttributes, svgEl, shorten } from "../core/dom.js";
import { cssColour } from "../core/colour.js";
import { formatWeight } from "../core/format.js";
import { strongestPair } from "../core/matrix.js";
import { styledSvg } from "../core/snapshot.js";
import { MEANING_GAP, MEANING_ROOM, MEANING_SIZE, TWO_LINES, walkCells } from "./head.js";

// One head as lines between two columns of tokens: queries left, keys right; opacity and width follow the weight. Lines
// fainter than this share of the scale are invisible; skipping them keeps 128 x 128 tokens fast.
const FAINTEST = 0.012;
const SHADES = 24;

export class LinesPlot {
  /** @type {any} */ options;
  /** @type {State} */ state;
  /** @type {Theme} */ theme;
  /** @type {HeadView} */ view;
  constructor(kind, hooks) {
    this.kind = kind;
    this.hooks = hooks;
    this.svg = svgEl("svg", { class: "hs-lines", role: "img", "data-testid": "lines-" + kind });
    const keydown = (event) => walkCells(event, this.view, this.options.cell, (cell) => hooks.choose(this.view, cell));
    this.element = el("div", { class: "hs-lines-box", tabindex: "0", role: "application", keydown }, this.svg);
    this.svg.addEventListener("pointermove", (event) => this.pointer(event));
    this.svg.addEventListener("pointerleave", () => this.leave());
    this.svg.addEventListener("click", (event) => this.click(event));
    this.hover = null;
    this.lit = null;
  }

  // options as for HeadPlot: {top, cell, width, height, label}
  draw(view, state, theme, options) {
    Object.assign(this, { view, state, theme, options, hover: null });
    const unit = theme.size / 15;
    const most = Math.max(view.queries, view.keys, 1);
    const head = 24 * unit;
    const step = Math.max(
      (most > 40 ? 12.5 : 11) * Math.min(unit, 1.15),
      Math.min(30 * unit, (options.height - head - 6) / most),
    );
    // Meanings stand under their labels, or beside them, away from the lines, where that would make both too small.
    const under = Boolean(view.rowMeanings || view.columnMeanings) && step >= MEANING_ROOM * unit;
    const size = Math.min(16 * unit, under ? step / TWO_LINES : step * 0.86);
    const small = Math.max(9 * Math.min(unit, 1.15), size * MEANING_SIZE);
    const measure = document.createElement("canvas").getContext("2d");
    const limit = options.width * 0.32;
    const font = (of) => `600 ${of}px ${theme.font}`;
    // Widths of the labels, and of their meanings as they are written: as much of them as fits.
    const sized = (labels, meanings) => {
      measure.font = font(size);
      const widths = labels.map((text) => Math.min(limit, measure.measureText(text).width));
      measure.font = font(small);
      const shown = labels.map((_, i) => {
        const space = under ? limit : limit - widths[i] - MEANING_GAP * size;
        const text = meanings && meanings[i] ? shorten(measure, meanings[i], space) : "";
        return text.length > 2 || (meanings && text === meanings[i]) ? text : "";
      });
      const wholes = shown.map((text, i) => {
        const more = text ? measure.measureText(text).width : 0;
        return under ? Math.max(widths[i], more) : widths[i] + (more && more + MEANING_GAP * size);
      });
      measure.font = font(size);
      return { widths, shown, wholes };
    };
    const rows = sized(view.rowLabels, view.rowMeanings);
    const columns = sized(view.columnLabels, view.columnMeanings);
    const left = Math.ceil(Math.max(...rows.wholes, 70 * unit) + 10);
    const right = Math.ceil(options.width - Math.max(...columns.wholes, 70 * unit) - 10 - 54 * unit);
    const offset = (count) => head + ((most - count) * step) / 2 + step / 2;
    const lines = {
      ...{ left, right: Math.max(left + 40, Math.min(right, left + 520 * unit)), step },
      ...{ rowsFrom: offset(view.queries), columnsFrom: offset(view.keys) },
    };
    this.plot = { ...lines, unit, size, limit, measure, under, small, rows, columns };
    this.width = options.width;
    this.height = Math.ceil(head + most * step + 4);
    const viewBox = `0 0 ${this.width} ${this.height}`;
    setAttributes(this.svg, { viewBox, width: this.width, height: this.height, "aria-label": options.label });
    this.element.setAttribute("aria-label", options.label);
    this.element.style.maxHeight = Math.max(160, options.height) + "px";
    this.svg.dataset.plot = JSON.stringify(lines);
    this.build();
  }

  // For a saved file: without the parts that only a page can use.
  drawOn(context) {
    const copy = styledSvg(this.svg);
    for (const name of ["data-testid", "data-plot"]) copy.removeAttribute(name);
    context.add(new XMLSerializer().serializeToString(copy));
  }

  rowY(r) {
    return this.plot.rowsFrom + r * this.plot.step;
  }

  columnY(c) {
    return this.plot.columnsFrom + c * this.plot.step;
  }

  build() {
    const { view, theme, plot } = this;
    const colour = (side) => cssColour(theme.hues[side === "source" ? "encoder_self" : "decoder_self"]);
    this.all = svgEl("g", { fill: "none", stroke: cssColour(theme.hues[this.kind]) });
    this.some = svgEl("g", { fill: "none", stroke: cssColour(theme.hues[this.kind]) });
    this.numbers = svgEl("g", {});
    const fill = cssColour(theme.ink);
    const look = { "dominant-baseline": "central", "font-size": plot.size.toFixed(1), fill };
    const text = (label, x, y, anchor, extra) =>
      svgEl("text", { x, y, "text-anchor": anchor, ...look, ...extra }, label);
    const short = (label) => shorten(plot.measure, label, plot.limit);
    const dim = { fill: cssColour(theme.dim), "font-size": (12 * plot.unit).toFixed(1) };
    const meaningDim = { ...dim, "font-size": plot.small.toFixed(1) };
    // The texts of a token: its label, and its meaning if it has one.
    const token = (label, { widths, shown }, i, x, y, anchor) => {
      const under = plot.under && shown[i];
      const node = text(short(label), x, under ? y - plot.small * 0.54 : y, anchor);
      if (!shown[i]) return [node];
      const beside = plot.under ? 0 : (widths[i] + MEANING_GAP * plot.size) * (anchor === "end" ? -1 : 1);
      return [node, text(shown[i], x + beside, under ? y + plot.size * 0.54 : y, anchor, meaningDim)];
    };
    const { rows, columns } = plot;
    this.rowTexts = view.rowLabels.map((label, r) => token(label, rows, r, plot.left - 8, this.rowY(r), "end"));
    const columnText = (label, c) => token(label, columns, c, plot.right + 8, this.columnY(c), "start");
    this.columnTexts = view.columnLabels.map(columnText);
    const names = [
      text(short(this.hooks.axis(view.sides.rows, "row")), plot.left - 8, 9 * plot.unit, "end", dim),
      text(short(this.hooks.axis(view.sides.columns, "row")), plot.right + 8, 9 * plot.unit, "start", dim),
    ];
    this.colours = { rows: colour(view.sides.rows), columns: colour(view.sides.columns), plain: fill };
    const tokens = [...this.rowTexts, ...this.columnTexts].flat();
    this.svg.replaceChildren(this.all, this.some, ...names, ...tokens, this.numbers);
    this.drawAll();
    this.emphasise();
  }

  path(r, c) {
    const { left, right } = this.plot;
    const middle = ((left + right) / 2).toFixed(1);
    const y1 = this.rowY(r).toFixed(1);
    const y2 = this.columnY(c).toFixed(1);
    return `M${left} ${y1}C${middle} ${y1} ${middle} ${y2} ${right} ${y2}`;
  }

  strength(at) {
    const weight = this.view.data[at];
    if (!(weight > 0) || weight < this.state.threshold) return 0;
    return Math.min(1, weight / (this.options.top || 1));
  }

  lineWidth(share) {
    return Math.max(0.6, Math.min(7, this.plot.step * 0.3) * share + 0.5);
  }

  // All lines, grouped by strength into a few paths: 24 elements instead of up to 16,384.
  drawAll() {
    const { view } = this;
    const shades = Array.from({ length: SHADES + 1 }, () => []);
    for (let r = 0; r < view.queries; r++) {
      for (let c = 0; c < view.keys; c++) {
        const share = this.strength(r * view.keys + c);
        if (share >= FAINTEST) shades[Math.ceil(share * SHADES)].push(this.path(r, c));
      }
    }
    const drawn = shades.map((paths, i) => (paths.length ? this.line(paths.join(""), i / SHADES, 0.06, 0.9) : ""));
    this.all.replaceChildren(...drawn);
  }

  // share: of the strongest; its opacity rises from `least` by `more`.
  line(d, share, least, more) {
    const opacity = (least + more * share).toFixed(3);
    return svgEl("path", { d, "stroke-width": this.lineWidth(share).toFixed(2), "stroke-opacity": opacity });
  }

  // Only the lines of one token, with their weights beside the tokens at the other end.
  emphasise() {
    const { view, hover, plot } = this;
    const cell = this.options.cell;
    const { row = null, column = null } = this.lit ?? {};
    const lit = row !== null ? { side: "row", index: row } : column !== null ? { side: "column", index: column } : null;
    const focus = hover || lit;
    this.all.setAttribute("opacity", focus ? "0.1" : "1");
    const lines = [];
    const numbers = [];
    const strong = { row: new Set(), column: new Set() };
    if (focus) {
      const isRow = focus.side === "row";
      const count = isRow ? view.keys : view.queries;
      strong[focus.side].add(focus.index);
      for (let i = 0; i < count; i++) {
        const [r, c] = isRow ? [focus.index, i] : [i, focus.index];
        const share = this.strength(r * view.keys + c);
        if (share < FAINTEST) continue;
        lines.push(this.line(this.path(r, c), share, 0.15, 0.85));
        const weight = view.data[r * view.keys + c];
        if (weight < 0.005) continue;
        strong[isRow ? "column" : "row"].add(i);
        const x = isRow ? plot.right + 14 + plot.columns.wholes[i] : plot.left + 8;
        const at = { x, y: isRow ? this.columnY(i) : this.rowY(i), "font-size": (plot.size * 0.82).toFixed(1) };
        const look = { "text-anchor": "start", "dominant-baseline": "central", class: "hs-lines-number" };
        numbers.push(svgEl("text", { ...at, ...look }, formatWeight(weight, view.exact)));
      }
    } else if (cell) {
      const look = { stroke: cssColour(this.theme.ink), "stroke-width": "1.5", "stroke-dasharray": "4 3" };
      lines.push(svgEl("path", { d: this.path(cell[0], cell[1]), ...look }));
      strong.row.add(cell[0]);
      strong.column.add(cell[1]);
    }
    this.some.replaceChildren(...lines);
    this.numbers.replaceChildren(...numbers);
    const mark = (texts, chosen, colour) =>
      texts.forEach(([label, ...meaning], i) => {
        label.setAttribute("font-weight", chosen.has(i) ? "700" : "400");
        label.setAttribute("fill", chosen.has(i) ? colour : this.colours.plain);
        for (const node of [label, ...meaning]) node.setAttribute("opacity", focus && !chosen.has(i) ? "0.45" : "1");
      });
    mark(this.rowTexts, strong.row, this.colours.rows);
    mark(this.columnTexts, strong.column, this.colours.columns);
  }

  light(lit) {
    this.lit = lit;
    if (this.plot) this.emphasise();
  }

  tokenAt(event) {
    const frame = this.svg.getBoundingClientRect();
    const x = event.clientX - frame.left;
    const y = event.clientY - frame.top;
    const side = x < (this.plot.left + this.plot.right) / 2 ? "row" : "column";
    const from = side === "row" ? this.plot.rowsFrom : this.plot.columnsFrom;
    const count = side === "row" ? this.view.queries : this.view.keys;
    const index = Math.round((y - from) / this.plot.step);
    return index >= 0 && index < count ? { side, index } : null;
  }

  pointer(event) {
    const hit = this.tokenAt(event);
    const same = hit && this.hover && hit.side === this.hover.side && hit.index === this.hover.index;
    if (same || (!hit && !this.hover)) return;
    this.hover = hit;
    this.svg.style.cursor = hit ? "pointer" : "default";
    this.emphasise();
  }

  leave() {
    this.hover = null;
    this.emphasise();
  }

  // A click on a token selects its strongest link.
  click(event) {
    const hit = this.tokenAt(event);
    if (!hit) return;
    const { view } = this;
    const rows = hit.side === "row" ? [hit.index] : range(view.queries);
    const columns = hit.side === "row" ? range(view.keys) : [hit.index];
    this.hooks.choose(view, strongestPair(view.data, view.keys, rows, columns));
  }
}
