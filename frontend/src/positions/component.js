import { buttonEl, documentTop, el, sliderEl } from "../core/dom.js";
import { countDrawing } from "../core/picture.js";
import { figureMarkup } from "../figure/markup.js";
import { FigurePlot } from "../figure/plot.js";
import { FIGURE_TEXTS } from "../figure/texts.js";
import { PlainView, plainComponent } from "../host/plain_view.js";
import { appLive } from "../live/live.js";
import { POSITIONS } from "../state/generated.js";
import { encodingTable, rowsOf, wavelengths, dotProducts, byOffset } from "./numbers.js";
import { sameProducts, defaultDims, readDims } from "./numbers.js";
import { FIGURES } from "./fill.js";
import { livePositions } from "./live.js";
import { encodingSentences, distanceSentences, checkSentences } from "./sentences.js";
import { POSITION_TEXTS } from "./texts.js";

// Position encodings under sliders: everything is computed and drawn here on every move; Python is told afterwards, for
// the link. data: {model, part: "encoding" | "distance", figures: {name: JSON text}, values: {d_model, length, dims, k, q},
// own: the model's d_model, layout: "halves" or "fairseq" where its own are others, tokens: of the source, revision, big, texts}; dims
// null: the default for any d_model. The engine gives the tokens of what is typed.

const REPORT_PAUSE = 300; // milliseconds from the last move until Python is told
const FIRST = 2; // figures of the first screen
const EXACT_DIGITS = 120; // milliseconds after the last move until large matrices are summed product by product
const LARGE = 8e6; // multiplications of a matrix that take some 10 ms
const PARTS = {
  encoding: { sliders: ["d_model", "length"], figures: ["encoding", "curves", "wavelengths"], dims: true },
  distance: { sliders: ["d_model", "length", "k", "q"], figures: ["products", "offsets", "map", "shifted"] },
};

export class Positions extends PlainView {
  /** @type {string[] | null} */ computed = null; // tokens of the source
  follow = () => {};

  constructor(parent) {
    super(parent, "positions", { ...FIGURE_TEXTS, ...POSITION_TEXTS }, { fitsWindow: true });
    this.sent = new Set();
    this.done = {};
  }

  get tokens() {
    return this.computed ?? this.data.tokens;
  }

  destroy() {
    clearTimeout(this.exactly);
    cancelAnimationFrame(this.frame);
    for (const plot of Object.values(this.plots || {})) plot.destroy();
    super.destroy();
  }

  // Another part of the page has other sliders and figures: rebuild.
  show(data) {
    if (data && this.data && data.part !== this.data.part) this.data = this.text = this.kept = undefined;
    super.show(data);
  }

  // Python's values count only if Python changed them: the echo of an earlier report must not move a slider back.
  take(before) {
    const { data } = this;
    this.part = PARTS[data.part];
    this.figures = Object.fromEntries(this.part.figures.map((name) => [name, JSON.parse(data.figures[name])]));
    this.done = {};
    const values = JSON.stringify(data.values);
    const anew = !before || before.revision !== data.revision;
    if (anew) this.sent.clear();
    if (anew || (values !== JSON.stringify(before.values) && !this.sent.has(values))) this.values = { ...data.values };
  }

  build() {
    for (const plot of Object.values(this.plots || {})) plot.destroy();
    this.done = {};
    this.controls = Object.fromEntries(this.part.sliders.map((name) => [name, this.slider(name)]));
    const rows = Object.values(this.controls).map((control) => control.row);
    this.wrong = el("p", { class: "pos-wrong", role: "status", "data-testid": "positions-wrong" });
    this.says = el("p", { class: "hs-point", "data-testid": "positions-says" });
    this.checks = el("ul", { class: "pos-checks", "data-testid": "positions-checks" });
    this.plots = Object.fromEntries(this.part.figures.map((name) => [name, new FigurePlot(this.t, () => {})]));
    const boxes = Object.entries(this.plots).map(([name, plot]) =>
      el("div", { class: "pos-figure", "data-figure": name, "data-testid": "positions-" + name }, plot.element),
    );
    boxes.splice(FIRST, 0, this.part.dims ? this.dimensions() : this.checks);
    return [
      this.says,
      el("div", { class: "pos-controls" }, ...rows),
      this.wrong,
      el("div", { class: "pos-figures", "data-part": this.data.part }, ...boxes),
      (this.about = el("div", { class: "pos-about" })),
    ];
  }

  slider(name) {
    const [low, high] = this.limits(name);
    const step = name === "d_model" ? 2 : 1;
    const bounds = { min: low, max: high, step };
    const label = el("span", { class: "pos-name hs-term", tabindex: 0 });
    this.hint(label, () => [this.t(name + "_term", this.words(name))]);
    const range = sliderEl("positions-" + name, null, bounds, (value) => this.set(name, value));
    const number = el("input", { type: "number", ...bounds, "data-testid": `positions-${name}-number` });
    number.addEventListener("input", () => {
      const typed = Number(number.value);
      if (number.value !== "" && Number.isInteger(typed)) this.set(name, typed, number);
    });
    number.addEventListener("change", () => this.left(name, number));
    return { label, range, number, row: el("div", { class: "pos-row" }, label, range, number) };
  }

  dimensions() {
    this.dims = el("input", { type: "text", class: "pos-dims", "data-testid": "positions-dims", autocomplete: "off" });
    this.dims.addEventListener("input", () => this.typed());
    this.dims.addEventListener("change", () => this.settle(this.note));
    const clear = { class: "hs-press", "data-testid": "positions-dims-reset", click: () => this.choose(null) };
    const reset = buttonEl(clear, this.t("dims_reset"));
    const label = el("span", { class: "pos-name hs-term", tabindex: 0 }, this.t("dims"));
    this.dims.setAttribute("aria-label", this.t("dims"));
    this.hint(label, () => [this.t("dims_term", this.words("dims"))]);
    return el("div", { class: "pos-row pos-dims-row" }, label, this.dims, reset);
  }

  // The description of a slider.
  words(name) {
    const { own } = this.data;
    const [low, high] = this.limits(name);
    return { low, high, own, tokens: this.tokens.length, most: POSITIONS.curves, last: this.values.d_model - 1 };
  }

  limits(name) {
    if (name === "k" || name === "q") return [0, this.values.length - 1];
    return POSITIONS[name] || [0, 0];
  }

  bounded(name, value) {
    const [low, high] = this.limits(name);
    const inside = Math.max(low, Math.min(high, value));
    return name === "d_model" ? inside - (inside % 2) : inside;
  }

  // typing: the field in which the user types; it keeps its text until the user leaves it
  set(name, value, typing) {
    this.values[name] = this.bounded(name, value);
    this.typing = typing;
    this.note = "";
    for (const name of ["k", "q"])
      if (this.values[name] !== undefined) this.values[name] = this.bounded(name, this.values[name]);
    this.moved();
  }

  // The user left a field: it shows the value drawn, with a note if that is not the value typed.
  left(name, number) {
    const [low, high] = this.limits(name);
    const value = this.values[name];
    const fits = number.value !== "" && Number(number.value) === value;
    this.settle(fits ? "" : this.t(name === "d_model" ? "number_even" : "number_wrong", { low, high, shown: value }));
  }

  settle(note = "") {
    this.typing = null;
    this.note = note;
    this.moved();
  }

  typed() {
    const { d_model } = this.values;
    const most = POSITIONS.curves;
    const { found, wrong, many } = readDims(this.dims.value, d_model, most);
    this.note = "";
    if (wrong.length) this.note = this.t("dims_wrong", { last: d_model - 1, wrong: wrong.join(", ") });
    else if (many.length) this.note = this.t("dims_many", { most, wrong: many.join(", ") });
    this.values.dims = found.length ? found : null;
    this.typing = this.dims;
    this.moved();
  }

  choose(dims, note) {
    this.values.dims = dims && dims.length ? dims : null;
    this.settle(note);
  }

  // The dimensions to draw: the chosen ones that this d_model has, or the default.
  shown() {
    const { dims, d_model } = this.values;
    const valid = (dims || []).filter((dimension) => dimension < d_model);
    return valid.length ? valid : defaultDims(d_model);
  }

  // Draws once per frame, however fast the moves come; Python is told once they have stopped.
  moved() {
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => this.draw());
    this.later(REPORT_PAUSE, () => this.report());
  }

  report() {
    const values = { ...this.values };
    const text = JSON.stringify(values);
    if (text === JSON.stringify(this.data.values) && !this.sent.size) return;
    this.sent.add(text);
    const { part, revision } = this.data;
    this.component.setStateValue("values", { ...values, part, revision });
  }

  room(tokens) {
    return this.bounded("length", Math.max(POSITIONS.lengths[this.data.part], tokens.length));
  }

  // A length that nobody chose leaves room for the sentence.
  fitLength() {
    if (this.fitted && this.values.length === this.room(this.fitted)) this.values.length = this.room(this.tokens);
    this.fitted = this.tokens;
  }

  paint() {
    this.fitLength();
    this.showControls();
    const values = this.numbers();
    this.showSays(values);
    const { big } = this.data;
    const look = [big, this.element.clientWidth, this.theme.key, window.innerHeight, documentTop(this.element)];
    const drawings = [];
    for (const [at, [name, plot]] of Object.entries(this.plots).entries()) {
      const { fill, needs } = FIGURES[name];
      const key = JSON.stringify([needs.map((name) => values[name]), look]);
      if (this.done[name] === key) continue;
      this.done[name] = key;
      const options = {
        name: "positions_" + name,
        big,
        quiet: true,
        first: at < FIRST,
        share: this.part.dims && FIRST,
      };
      const drawing = plot.show(fill(this.figures[name], values), options);
      // The label at a resting pointer belongs to the old picture; plotly would put it back.
      drawings.push(drawing.then(() => !plot.gone && plot.box.posListens && window.Plotly.Fx.unhover(plot.box)));
    }
    Promise.all(drawings).then(() => {
      this.listen();
      countDrawing(this.element, "positions");
    });
  }

  showControls() {
    for (const [name, { label, range, number }] of Object.entries(this.controls)) {
      const [low, high] = this.limits(name);
      const value = this.values[name];
      label.replaceChildren(...figureMarkup(this.t(name, { last: this.values.length - 1 })));
      const text = label.textContent;
      for (const field of [range, number]) Object.assign(field, { min: low, max: high });
      range.value = value;
      range.setAttribute("aria-label", text);
      range.setAttribute("aria-valuetext", String(value));
      number.setAttribute("aria-label", this.t("number", { name: text }));
      if (this.typing !== number) number.value = value;
    }
    if (this.dims && this.typing !== this.dims) this.dims.value = this.shown().join(", ");
    const note = this.note || "";
    if (this.wrong.textContent !== note) this.wrong.textContent = note; // screen readers speak it once
  }

  // The values that fill the figures; tables and products are cached while d_model and length stay.
  numbers() {
    const { d_model: dModel, length, k = 0, q = 0 } = this.values;
    const size = `${dModel} ${length}`;
    if (!this.kept || this.kept.size !== size) {
      const table = encodingTable(length, dModel);
      this.kept = { size, table, rows: rowsOf(table, dModel), wavelengths: wavelengths(dModel), exact: false };
      if (this.data.part === "distance") this.multiply(length * length * dModel <= LARGE);
    }
    const axisWidth = this.plots.curves ? this.plots.curves.box.clientWidth - 110 : 0; // of the axis, in CSS pixels
    const most = Math.max(4, Math.floor(axisWidth / (1.3 * this.theme.size)));
    return { dModel, length, k, q, most, dims: this.shown(), tokens: this.tokens, ...this.kept };
  }

  // Products of a large table are first computed from p - q, and summed one by one as soon as the slider rests: the two
  // differ by about 1e-6, and only the sums can show it.
  multiply(exact) {
    const { kept } = this;
    const [dModel, length] = kept.size.split(" ").map(Number);
    const products = exact ? dotProducts(kept.table, length, dModel) : sameProducts(kept.table, length, dModel);
    const offsets = byOffset(products, length);
    Object.assign(kept, { exact, offsets, matrix: rowsOf(products, length) });
    clearTimeout(this.exactly);
    if (exact) return;
    this.exactly = setTimeout(() => {
      if (this.kept !== kept) return;
      this.multiply(true);
      this.draw();
    }, EXACT_DIGITS);
  }

  showSays(values) {
    const isEncoding = this.data.part === "encoding";
    this.says.replaceChildren(...(isEncoding ? encodingSentences : distanceSentences)(this.t, values));
    if (!isEncoding) this.checks.replaceChildren(...checkSentences(this.t, values));
    const { part, layout, model, own } = this.data;
    const about = [this.t(`${part}_about`), layout && this.t(layout, { name: model, half: own / 2 })];
    this.about.replaceChildren(...about.filter(Boolean).map((text) => el("p", {}, text)));
  }

  // A click on a column: in the encoding it selects its dimension, in the products its q.
  listen() {
    const on = (name, then) => {
      const { box } = this.plots[name];
      if (!box.on || box.posListens) return;
      box.posListens = true;
      if (then) box.on("plotly_click", (event) => then(event.points[0].x));
    };
    const clicks = { encoding: (dimension) => this.clicked(dimension), products: (q) => this.set("q", q) };
    for (const name of Object.keys(this.plots)) on(name, clicks[name]);
  }

  clicked(dimension) {
    const dims = this.shown();
    const without = dims.filter((dim) => dim !== dimension);
    const most = POSITIONS.curves;
    if (without.length < dims.length) this.choose(without);
    else if (dims.length < most) this.choose([...dims, dimension]);
    else this.choose(dims, this.t("dims_many", { most, wrong: dimension }));
  }
}

export default plainComponent(Positions, (view) => livePositions(view, appLive()));
