// The first sight of a sentence: its words, those of the translation, and between them the lines of one head of
// cross-attention. On a wide screen the lines begin at the words in the field itself, where they are typed; on a narrow
// one the words stand in two columns, the source on the left.
import { range } from "d3-array";
import { el, setAttributes, shorten, svgEl } from "../core/dom.js";
import { cssColour } from "../core/colour.js";
import { formatWeight } from "../core/format.js";
import { strongestPair } from "../core/matrix.js";
import { makeSaveMenu } from "../core/menu.js";
import { styledSvg } from "../core/snapshot.js";
import { strongestWord } from "./finding.js";

const FIELD = ".st-key-source input, .hs-field-source input"; // of the app, of the site
const SIZE = "--hs-field-size"; // of its text, for the style sheets of both
const LARGEST = 28; // pixels of the words
const SMALLEST = 15;
const SPACING = 0.45; // between two words, in ems, beside a blank
const FAINTEST = 0.04; // weight of a line that is drawn
const NUMBER = 0.1; // weight that is written beside a word

export class Sight {
  /** @type {any} */ model;
  /** @type {State} */ state;
  /** @type {Theme} */ theme;
  /** @type {any} */ view = null;
  /** @type {any} */ hover = null; // {side: "source" or "target", index}
  /** @type {any} */ preview = null; // a head that the pointer is on: [layer, head]
  fresh = true; // no line was drawn yet

  constructor(hooks) {
    this.hooks = hooks;
    this.svg = svgEl("svg", { class: "hs-sight-lines", role: "img", "data-testid": "sight" });
    this.caption = el("p", { class: "hs-sight-says", "data-testid": "sight-says" });
    const menu = makeSaveMenu(hooks.t, "sight-save", hooks.saveSight);
    const saved = { class: "hs-sight hs-pictured", "data-saved-by": "sight-save" };
    this.element = el("section", saved, this.svg, this.caption, menu);
    this.svg.addEventListener("pointermove", (event) => this.point(this.wordAt(event)));
    this.svg.addEventListener("pointerleave", () => this.point(null));
    this.svg.addEventListener("click", (event) => this.press(this.wordAt(event)));
  }

  // Draws a head of a model; state and theme as for the panels.
  draw(model, state, theme) {
    Object.assign(this, { model, state, theme, hover: null });
    const [layer, head] = this.preview ?? this.chosen();
    this.view = model.view("cross", layer, head, { ...state, special: "hidden" });
    this.place();
    this.paint();
  }

  // Of another kind of attention no head can be shown here: then the one that aligns best.
  chosen() {
    const { state, model } = this;
    if (state.kind === "cross") return Object.values(model.clampChoice("cross", state.layer, state.head));
    const { alignment } = model.header;
    if (!alignment) return [0, 0];
    const shares = alignment[state.rows === "fed" ? "aligned_in" : "aligned_out"];
    const best = Math.max(...shares.flat());
    const layer = shares.findIndex((row) => row.includes(best));
    return [layer, shares[layer].indexOf(best)];
  }

  // -- where the words are -----------------------------------------------------------------------------------------------

  place() {
    const { view, theme } = this;
    const width = this.element.clientWidth;
    const narrow = width < 640 * (theme.size / 15);
    this.measure = document.createElement("canvas").getContext("2d");
    const rows = view.rowLabels;
    const field = document.querySelector(FIELD);
    const own = field && this.wordsInField(/** @type {HTMLInputElement} */ (field), view.columnLabels);
    this.columns = narrow || !own;
    this.size = this.columns ? Math.min(18, Math.max(SMALLEST, width / 24)) * (theme.size / 15) : LARGEST;
    if (this.columns) return this.placeColumns(width, view.columnLabels, rows);
    const blank = (of) => of * (SPACING + 0.3);
    const widths = (of) => (
      (this.measure.font = `500 ${of}px ${theme.font}`),
      rows.map((one) => this.measure.measureText(one).width)
    );
    const whole = (of) => widths(of).reduce((sum, one) => sum + one + blank(of), 0);
    this.size = Math.max(SMALLEST, Math.min(LARGEST * (theme.size / 15), (LARGEST * (width - 16)) / whole(LARGEST)));
    const each = widths(this.size);
    let x = (width - whole(this.size)) / 2;
    const target = each.map((one) => {
      const at = { x: x + blank(this.size) / 2 + one / 2, width: one };
      x += one + blank(this.size);
      return at;
    });
    const high = Math.min(230, Math.max(130, window.innerHeight * 0.22));
    this.words = { source: own.map((at) => ({ ...at, y: 2 })), target: target.map((at) => ({ ...at, y: high })) };
    this.sized(width, high + this.size * 1.5);
  }

  // Middles of the words of a text as it stands in its field; null if it is another text or does not fit.
  wordsInField(field, labels) {
    const { value } = field;
    const font = getComputedStyle(field);
    const set = (of) => (this.measure.font = `${font.fontWeight} ${of}px ${font.fontFamily}`);
    const blanks = (text) => text.split(" ").length - 1;
    const long = (text, of) => this.measure.measureText(text).width + blanks(text) * SPACING * of;
    set(LARGEST);
    const room = field.clientWidth - parseFloat(font.paddingLeft) - parseFloat(font.paddingRight) - 4;
    const size = Math.min(LARGEST * (this.theme.size / 15), (LARGEST * room) / Math.max(1, long(value, LARGEST)));
    document.documentElement.style.setProperty(SIZE, `${Math.max(SMALLEST, size).toFixed(2)}px`);
    if (size < SMALLEST) return null;
    this.fieldSize = size;
    set(size);
    const box = field.getBoundingClientRect();
    const left = box.left + box.width / 2 - long(value, size) / 2 - this.svg.getBoundingClientRect().left;
    let from = 0;
    const found = [];
    for (const label of labels) {
      const at = value.indexOf(label, from);
      if (at < 0) return null;
      from = at + label.length;
      const width = this.measure.measureText(label).width;
      found.push({ x: left + long(value.slice(0, at), size) + width / 2, width });
    }
    return found;
  }

  placeColumns(width, sources, targets) {
    const step = this.size * 1.75;
    const most = Math.max(sources.length, targets.length);
    this.measure.font = `700 ${this.size}px ${this.theme.font}`; // a word of the caption is bold
    const limit = width * 0.36;
    const wide = (label) => Math.min(limit, this.measure.measureText(label).width);
    const widest = (labels) => Math.max(0, ...labels.map(wide)); // a model may write nothing
    const [left, right] = [widest(sources) + 8, width - widest(targets) - 8];
    const inner = Math.max(0, (right - left - 360) / 2); // lines of a wide window are not longer than that
    const put = (labels, x) =>
      labels.map((label, i) => ({ x, y: (i + 0.5 + (most - labels.length) / 2) * step, width: wide(label) }));
    this.words = { source: put(sources, left + inner), target: put(targets, right - inner) };
    this.limit = limit;
    this.sized(width, most * step);
  }

  sized(width, height) {
    const high = Math.ceil(height);
    setAttributes(this.svg, { viewBox: `0 0 ${width} ${high}`, width, height: high });
  }

  // -- what is drawn -----------------------------------------------------------------------------------------------------

  path(r, c) {
    const [from, to] = [this.words.source[c], this.words.target[r]];
    const [x1, x2] = [from.x, to.x].map((x) => x.toFixed(1));
    if (this.columns) {
      const middle = ((from.x + to.x) / 2).toFixed(1);
      return `M${x1} ${from.y}C${middle} ${from.y} ${middle} ${to.y} ${x2} ${to.y}`;
    }
    const end = to.y - this.size * 0.35;
    const middle = ((from.y + end) / 2).toFixed(1);
    return `M${x1} ${from.y}C${x1} ${middle} ${x2} ${middle} ${x2} ${end.toFixed(1)}`;
  }

  paint() {
    const { view, theme, hover } = this;
    const about = hover ?? this.found();
    const lines = svgEl("g", { fill: "none", stroke: cssColour(theme.hues.cross), "stroke-linecap": "round" });
    const strong = { source: new Map(), target: new Map() };
    const told = hover || !about ? {} : { source: about.column, target: about.row }; // in the caption
    if (told.source !== undefined) strong.source.set(told.source, 1);
    for (let r = 0; r < view.queries; r++)
      for (let c = 0; c < view.keys; c++) {
        const weight = view.data[r * view.keys + c];
        if (!(weight >= Math.max(FAINTEST, this.state.threshold))) continue;
        const its = !hover || (hover.side === "source" ? hover.index === c : hover.index === r);
        if (hover && its) {
          strong.source.set(c, weight);
          strong.target.set(r, weight);
        }
        lines.append(
          svgEl("path", {
            d: this.path(r, c),
            pathLength: 1,
            "stroke-width": (0.8 + 6.5 * weight).toFixed(1),
            "stroke-opacity": (its ? 0.2 + 0.8 * weight : 0.06).toFixed(2),
          }),
        );
      }
    // The first lines draw themselves; those that replace them go on where they were.
    const [drawing] = this.svg.querySelector("path")?.getAnimations() ?? [];
    const drawn = this.fresh ? 0 : (drawing?.effect?.getComputedTiming().progress ?? 1);
    lines.toggleAttribute("data-first", drawn < 1);
    if (drawn < 1) lines.style.setProperty("--hs-drawn", String(drawn));
    this.fresh &&= !lines.firstChild;
    this.svg.replaceChildren(lines, ...this.texts("target", view.rowLabels, strong.target, told));
    if (this.columns) this.svg.append(...this.texts("source", view.columnLabels, strong.source, told));
    else this.svg.append(svgEl("g", { class: "hs-sight-marks" }, ...this.marks(strong.source)));
    this.svg.setAttribute("aria-label", this.hooks.describe(view));
    this.say(about);
  }

  texts(side, labels, strong, told = {}) {
    const { theme, hover, columns } = this;
    const size = columns || side === "target" ? this.size : this.fieldSize;
    const down = columns ? 0.35 : side === "target" ? 0.85 : -0.45;
    const fill = cssColour(theme.hues[side === "source" ? "encoder_self" : "decoder_self"]);
    const anchor = columns ? (side === "source" ? "end" : "start") : "middle";
    const gap = columns ? (side === "source" ? -8 : 8) : 0;
    return labels.flatMap((label, i) => {
      const { x, y } = this.words[side][i];
      const its = hover && hover.side === side && hover.index === i;
      const faded = hover && !its && !strong.has(i);
      const about = { fill, x: (x + gap).toFixed(1), "text-anchor": anchor, opacity: faded ? 0.35 : 1 };
      const word = { ...about, y: y + size * down, "font-size": size.toFixed(1) };
      const text = columns ? shorten(this.measure, label, this.limit) : label;
      const weight = !its && hover && hover.side !== side && strong.get(i);
      const number = { ...about, y: y + this.size * 1.4, "font-size": 13, fill: cssColour(theme.dim) };
      return [
        svgEl(
          "text",
          { ...word, "font-weight": its || told[side] === i ? 700 : 500, "data-side": side, "data-index": i },
          text,
        ),
        ...(weight >= NUMBER && !columns ? [svgEl("text", number, formatWeight(weight, false))] : []),
      ];
    });
  }

  // The words in the field that the lines lead to.
  marks(strong) {
    const { hover, words, theme } = this;
    const chosen = hover?.side === "source" ? new Map([[hover.index, 1], ...strong]) : strong;
    return [...chosen].map(([index, weight]) => {
      const { x, width } = words.source[index];
      const fill = cssColour(theme.hues.encoder_self);
      return svgEl("rect", { x: x - width / 2, y: 0, width, height: 3, rx: 1.5, fill, opacity: 0.25 + 0.75 * weight });
    });
  }

  // The strongest link of the word that the pointer is on, or of the chosen cell.
  found() {
    const { view } = this;
    const cell = this.state.kind === "cross" && !this.preview && this.state.cell;
    const row = cell ? view.rows.findIndex((group) => group.includes(cell[0])) : -1;
    const column = cell ? view.columns.findIndex((group) => group.includes(cell[1])) : -1;
    if (row >= 0 && column >= 0) return { row, column };
    return strongestWord(view);
  }

  say(about) {
    const { view, hooks, state } = this;
    const link = about && ("row" in about ? about : this.strongest(about));
    const head = hooks.title("cross", view.layer, view.head);
    this.said = head;
    if (!link || view.data[link.row * view.keys + link.column] < FAINTEST)
      return this.caption.replaceChildren(el("b", null, head));
    const weight = formatWeight(view.data[link.row * view.keys + link.column], false);
    const [row, column] = [view.rowLabels[link.row], view.columnLabels[link.column]];
    this.said = hooks.t(`sight_${state.rows}`, { head, weight, row, column });
    const told = hooks.t(`sight_${state.rows}`, { head, weight, row: "⁅row⁆", column: "⁅column⁆" });
    const word = { "⁅row⁆": ["hs-target", row], "⁅column⁆": ["hs-source", column] };
    return this.caption.replaceChildren(
      ...told.split(/(⁅row⁆|⁅column⁆)/).map((part) => {
        const [side, label] = word[part] ?? [];
        return side ? el("b", { class: side, dir: "auto" }, label) : part;
      }),
      " " + hooks.t("sight_hint"),
    );
  }

  strongest({ side, index }) {
    const { data, queries, keys } = this.view;
    if (!queries || !keys) return null;
    const [rows, columns] = side === "source" ? [range(queries), [index]] : [[index], range(keys)];
    const [row, column] = strongestPair(data, keys, rows, columns);
    return { row, column };
  }

  // For a saved file: words and lines, also the words that the page has in the field.
  drawing() {
    for (const lines of this.svg.getAnimations({ subtree: true })) lines.finish();
    this.paint();
    const { source, target } = this.words;
    const above = this.columns ? 0 : Math.ceil(this.fieldSize * 1.5);
    const share = this.columns ? 1 : 0.5; // of a word beside its x
    const gap = this.columns ? 8 : 0;
    const left = Math.min(...[...source, ...(above ? target : [])].map(({ x, width }) => x - gap - share * width));
    const right = Math.max(...[...target, ...(above ? source : [])].map(({ x, width }) => x + gap + share * width));
    const size = { width: Math.ceil(right - left), height: this.svg.viewBox.baseVal.height + above };
    const copy = styledSvg(this.svg);
    if (above) copy.append(...this.texts("source", this.view.columnLabels, new Map()));
    copy.removeAttribute("data-testid");
    setAttributes(copy, { viewBox: `${Math.floor(left)} ${-above} ${size.width} ${size.height}`, ...size });
    return { markup: new XMLSerializer().serializeToString(copy), ...size };
  }

  // -- the reader -------------------------------------------------------------------------------------------------------

  wordAt(event) {
    const box = this.svg.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    let best = null;
    for (const side of ["source", "target"])
      for (const [index, word] of this.words[side].entries()) {
        const across = this.columns
          ? Math.max(0, Math.abs(x - word.x) - this.limit)
          : Math.abs(x - word.x) - word.width / 2;
        const away = Math.hypot(Math.max(0, across), (y - word.y) * (this.columns ? 1 : 0.6));
        if (!best || away < best.away) best = { side, index, away };
      }
    return best && best.away < 60 ? best : null;
  }

  point(word) {
    if (word?.side === this.hover?.side && word?.index === this.hover?.index) return;
    this.hover = word;
    this.svg.style.cursor = word ? "pointer" : "";
    this.paint();
    const groups = word && this.view[word.side === "source" ? "columns" : "rows"];
    this.hooks.light(word?.side, word ? groups[word.index][0] : null);
  }

  press(word) {
    const link = word && this.strongest(word);
    if (link) this.hooks.choose(this.view, [link.row, link.column]);
  }
}
