import { buttonEl, el, sliderEl, svgEl } from "../core/dom.js";
import { arrowStep } from "../core/keys.js";
import { linePath, plotSvg, pointMark } from "../core/plot.js";
import { headTable } from "../heads/table.js";
import { makeRamp, rampGradient, cssColour, inkOn } from "../core/colour.js";
import { countText, formatWeight, formatScore } from "../core/format.js";
import { appLive } from "../live/live.js";
import { liveWhy } from "./live.js";
import { WHY_TEXTS } from "./texts.js";
import { numberText, richText, legend, histogram } from "./plots.js";
import { savable } from "../saving/menu.js";
import { toldOf } from "../saving/told.js";
import { PlainView, plainComponent } from "../host/plain_view.js";

// Why scores are divided by sqrt(d_k): one slider over d_k redraws histogram, softmax and curves in the browser; below,
// the variances of the model's own q and k. The numbers come from transformer/analysis/scaling.py.

const WAYS = ["scaled", "unscaled", "additive"];
/** @type {Record<string, Parameters<typeof pointMark>[0]>} */
const MARKS = { scaled: "circle", unscaled: "square", additive: "diamond" }; // besides dash and colour
const MEASURES = ["entropy", "largest", "room"];
const QUANTITIES = ["query", "key", "product"];
const OCTAVE = 5; // depths to an octave, a page of the slider's keys
const HEIGHT = 10.5; // of a plot, in em
const PAUSE = 250; // milliseconds a control must rest before the link is told
const AXIS = 64; // of the histogram: one for every d_k, so that a wider histogram is drawn wider; 4 deviations at 256
const TICKS = [1, 4, 16, 32, 64, 128, 256, 1024]; // of the slider
const SATURATED = 0.8; // a mean of the largest weights from which the sentence says so
const MANY = 10; // heads; more do not fit side by side

export class Why extends PlainView {
  constructor(parent) {
    super(parent, "why", WHY_TEXTS);
  }

  // The link's choices when the picture appears, or another model's; then the person's.
  take(before) {
    const { data } = this;
    const { depth, quantity } = data.shown;
    if (!before || before.d_k !== data.d_k) this.at = this.nearest(Math.log2(depth));
    if (!before) this.quantity = quantity;
    const about = ({ chosen, saved }) => JSON.stringify([chosen, saved.model]);
    if (!before || about(before) !== about(data))
      this.chosen = data.chosen || { kind: data.own[0].kind, layer: 0, head: 0 };
  }

  // Tells the link, once a slider rests.
  tell(pause = PAUSE, more = {}) {
    this.later(pause, () => {
      const { quantity, chosen, data } = this;
      const shown = { depth: data.depths[this.at], quantity, chosen, draw: data.seed, ...more };
      this.component.setStateValue("shown", shown);
    });
  }

  term(name, definition) {
    const { keys, rows } = this.data;
    const values = { keys, rows, n: countText(rows * keys) };
    const text = this.t(definition, values);
    const term = el("span", { class: "hs-term", tabindex: 0, "aria-description": text }, this.t(name, values));
    return this.hint(term, () => [text]);
  }

  plot(name) {
    const box = el("div", { class: "why-box", "data-testid": `why-${name}` });
    const keys = el("div", { class: "why-keys" });
    const head = el("h2", {}, this.term(name, name + "_term"));
    return { box, keys, head, figure: el("div", { class: "why-plot" }, head, box, keys) };
  }

  build() {
    const { depths, d_k } = this.data;
    const last = depths[depths.length - 1];
    this.number = el("output", { class: "why-depth", "data-testid": "why-depth" });
    const bounds = { min: 0, max: Math.log2(last), step: 0.001, keydown: (event) => this.onKey(event) };
    this.slider = sliderEl("why-slider", this.t("slider"), bounds, (power) => this.goTo(this.nearest(power)));
    const mark = (d, name, text) => el("span", { class: name, style: `--at: ${this.sliderShare(d)}` }, text);
    const marks = TICKS.map((d) => mark(d, "why-tick", countText(d)));
    marks[marks.length - 1].classList.add("why-last");
    this.own = mark(d_k, "why-here", "");
    const track = el("div", { class: "why-track" }, ...marks, this.own, this.slider);
    const again = () => this.tell(0, { draw: (this.data.seed + 1) % this.data.draws });
    const draw = buttonEl({ class: "hs-press", "data-testid": "why-again", click: again }, this.t("again"));
    this.hint(draw, () => [this.t("again_term")]);
    this.plots = { histogram: this.plot("histogram"), row: this.plot("row") };
    for (const name of MEASURES) this.plots[name] = this.plot(name);
    this.sentence = el("p", { class: "why-sentence", "data-testid": "why-sentence" });
    this.tables = el("div", { class: "why-tables" });
    this.legend = el("p", { class: "hs-table-legend", "data-testid": "why-legend" });
    this.ownPlot = this.plot("product");
    const group = { class: "hs-seg", "data-not-saved": true, role: "group", "aria-label": this.t("quantity") };
    this.quantities = el("div", group);
    for (const name of QUANTITIES) {
      const choose = () => {
        this.quantity = name;
        this.drawOwn();
        this.tell();
      };
      const button = buttonEl({ "data-quantity": name, click: choose }, ...richText(this.t(name)));
      this.quantities.append(this.hint(button, () => [this.t(name + "_term")]));
    }
    this.random = el(
      "div",
      {},
      el("div", { class: "why-two" }, this.plots.histogram.figure, this.plots.row.figure),
      el("div", { class: "why-three" }, ...MEASURES.map((name) => this.plots[name].figure)),
    );
    this.ownPicture = el(
      "div",
      {},
      el("div", { class: "why-choice" }, this.quantities, this.legend),
      el("div", { class: "why-own" }, this.tables, this.ownPlot.figure),
    );
    return [
      this.sentence,
      el("div", { class: "why-slide" }, this.number, track, draw),
      savable(this, "why-save", this.random, () => this.savedRandom()),
      el("p", { class: "why-lead" }, this.t("lead"), " (", this.term("footnote_term", "footnote"), ")"),
      el("p", { class: "why-note" }, ...richText(this.t("additive_note"))),
      el("h2", {}, this.t("own"), el("small", {}, this.t("own_hint"))),
      savable(this, "why-own-save", this.ownPicture, () => this.savedOwn()),
    ];
  }

  // The five pictures of the random experiment at the chosen d_k, as files.
  savedRandom() {
    const { data, at } = this;
    const depth = data.depths[at];
    const name = (key) => this.t(key, { keys: data.keys });
    const ways = WAYS.map((way) => this.t(way));
    const curves = MEASURES.flatMap((measure) =>
      data.depths.map((d, i) => [name(measure), d, ...data[measure].map((values) => values[i])]),
    );
    const weightsOf = (key) => data.weights.map((way) => way[at][key]);
    const weights = data.weights[0][at].map((_, key) => [name("row"), key + 1, ...weightsOf(key)]);
    const bins = data.histogram[at];
    const products = bins.map((density, i) => {
      const middle = ((2 * i + 1) / bins.length - 1) * data.limit * Math.sqrt(depth);
      return [name("histogram"), middle, middle / Math.sqrt(depth), density];
    });
    return {
      element: this.random,
      stem: ["why-scaling", `d_k${depth}`, `draw${data.seed}`],
      caption: [this.said, this.t("lead")],
      rows: [
        ...[[this.t("csv_curve"), "d_k", ...ways], ...curves, []],
        ...[[this.t("csv_row", { d: depth }), this.t("key_axis"), ...ways], ...weights, []],
        ...[[this.t("csv_histogram", { d: depth }), "q·k", "q·k ÷ √d_k", this.t("csv_density")], ...products],
      ],
    };
  }

  // The tables of the model's own q and k and the histogram of the chosen head, as files.
  savedOwn() {
    const { kind, layer, head } = this.chosen;
    const { stem, lines } = toldOf(this.data.saved);
    const rows = this.data.own.flatMap((numbers) =>
      numbers.query.flatMap((heads, l) =>
        heads.map((_, h) => {
          const values = [...QUANTITIES, "mean"].map((name) => numbers[name][l][h] ?? NaN);
          return [this.t("kind_" + numbers.kind), l + 1, h + 1, ...values];
        }),
      ),
    );
    const names = [...QUANTITIES.map((name) => this.t(name)), this.t("csv_mean")];
    return {
      element: this.ownPicture,
      stem: [...stem, "q-and-k", this.quantity, kind, `layer${layer + 1}`, `head${head + 1}`],
      caption: [this.t("own_caption", { name: this.t(this.quantity) }), ...lines],
      rows: [[this.t("csv_kind"), this.t("csv_layer"), this.t("csv_head"), ...names], ...rows],
    };
  }

  // The position of a depth on the slider, 0 to 1.
  sliderShare(d) {
    const { depths } = this.data;
    return Math.min(1, Math.max(0, Math.log2(d) / Math.log2(depths[depths.length - 1])));
  }

  // The index of the depth whose logarithm is nearest.
  nearest(power) {
    const far = this.data.depths.map((d) => Math.abs(Math.log2(d) - power));
    return far.indexOf(Math.min(...far));
  }

  goTo(at) {
    this.at = Math.max(0, Math.min(this.data.depths.length - 1, at));
    this.drawRandom();
    this.tell();
  }

  // Moves from depth to depth: a step of the slider itself is too small to reach the next depth.
  onKey(event) {
    const arrow = arrowStep(event);
    const more = { PageUp: OCTAVE, PageDown: -OCTAVE, Home: -Infinity, End: Infinity };
    const step = arrow ? arrow[1] - arrow[0] : more[event.key];
    if (!step || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    this.goTo(this.at + step);
  }

  paint() {
    this.em = this.theme.size;
    this.own.textContent = this.t("this_model", { d: countText(this.data.d_k) });
    this.own.style.setProperty("--at", this.sliderShare(this.data.d_k));
    this.drawRandom();
    this.drawOwn();
  }

  drawRandom() {
    const { data, at } = this;
    const d = countText(data.depths[at]);
    const values = (name) => Object.fromEntries(WAYS.map((way, i) => [way, formatWeight(data[name][i][at])]));
    this.number.replaceChildren(...richText(this.t("depth", { d })));
    this.slider.value = Math.log2(data.depths[at]).toFixed(3);
    this.slider.setAttribute("aria-valuetext", this.t("depth", { d }));
    const share = Math.round((100 * data.room[1][at]) / data.room[0][at]);
    const saturated = data.largest[1][at] >= SATURATED;
    const about = { d, keys: data.keys, rows: data.rows, share, ...values("largest") };
    const summary = this.t(saturated ? "summary_saturated" : "summary", about);
    this.said = summary.replaceAll("**", "");
    const parts = summary.split("**").map((part, i) => (i % 2 ? [el("b", {}, part)] : richText(part)));
    this.sentence.replaceChildren(...parts.flat());
    this.tooltip.hide(); // its anchor is redrawn
    this.drawHistogram(d);
    this.drawRow(d);
    for (const name of MEASURES) {
      const spoken = { name: this.t(name, { keys: data.keys }), d, ...values(name) };
      this.drawCurve(name, this.t("curve_spoken", spoken));
      const entry = (way) => [way, false, this.t("key_value", { way: this.t(way), value: values(name)[way] })];
      legend(this.plots[name].keys, WAYS.map(entry), this.t("key_at", { d }));
    }
  }

  drawHistogram(d) {
    const { data, at, plots } = this;
    const depth = data.depths[at];
    const variance = numberText(data.variance[at]);
    const scaled = numberText(data.scaled[at]);
    const bins = data.histogram[at];
    const normal = 1 / Math.sqrt(2 * Math.PI);
    const peak = Math.max(normal, ...bins);
    const sd = Math.sqrt(depth);
    const label = this.t("histogram_label", { n: countText(data.rows * data.keys), d, variance, scaled });
    const area = { bins, limit: data.limit, peak };
    const areas = Object.entries({ unscaled: sd, scaled: 1 }).map(([way, unit]) => ({ ...area, unit, way }));
    const { box, keys } = plots.histogram;
    box.replaceChildren(histogram(box.clientWidth, this.em, label, AXIS, sd, normal / peak, areas));
    legend(keys, [
      ["unscaled", true, this.t("key_unscaled", { variance, d })],
      ["scaled", true, this.t("key_scaled", { variance: scaled })],
      ["normal", false, this.t("key_normal")],
    ]);
  }

  drawRow(d) {
    const { data, at, em } = this;
    const { box, keys } = this.plots.row;
    const rows = data.weights.map((depths) => depths[at]);
    const largest = Object.fromEntries(WAYS.map((way, i) => [way, formatWeight(Math.max(...rows[i]))]));
    const width = box.clientWidth;
    const height = Math.round(HEIGHT * em);
    const base = height - 1.5 * em;
    const y = (weight) => base - weight * (base - 0.8 * em);
    const svg = plotSvg(width, height, this.t("row_label", { keys: data.keys, d, ...largest }));
    this.drawScale(svg, 0, width, y);
    const left = 2.1 * em;
    const step = (width - left) / data.keys;
    const bar = step * 0.25;
    for (let key = 0; key < data.keys; key++) {
      const x = left + key * step;
      const group = svgEl("g", { class: "why-group" });
      group.append(svgEl("rect", { class: "why-hit", x, y: 0, width: step, height: base }));
      WAYS.forEach((way, i) => {
        const top = y(rows[i][key]);
        const rect = { x: x + step * 0.11 + i * (bar + 1), y: top, width: bar - 1, height: base - top };
        group.append(svgEl("rect", { class: "why-bar", "data-way": way, ...rect }));
      });
      group.append(svgEl("text", { x: x + step / 2, y: base + 1.15 * em, "text-anchor": "middle" }, String(key + 1)));
      const line = (way, i) => {
        const [score, weight] = [formatScore(data.scores[i][at][key]), formatWeight(rows[i][key], true)];
        return this.t("key_line", { way: this.t(way), score, weight });
      };
      svg.append(this.hint(group, () => [this.t("key_number", { n: key + 1 }), ...WAYS.map(line)]));
    }
    svg.append(svgEl("text", { x: 0, y: base + 1.15 * em }, this.t("key_axis")));
    svg.append(svgEl("path", { class: "why-axis", d: `M${left} ${base}H${width}` }));
    box.replaceChildren(svg);
    const entry = (way) => [way, true, this.t("key_value", { way: this.t(way), value: largest[way] })];
    legend(keys, WAYS.map(entry), this.t("key_row"));
  }

  // Lines at 0, 0.5 and 1 from `left` to `right`, with their numbers.
  drawScale(svg, left, right, y) {
    for (const value of [0, 0.5, 1]) {
      const line = `M${left + 2.1 * this.em} ${y(value)}H${right}`;
      svg.append(svgEl("path", { class: value ? "why-grid" : "why-axis", d: line }));
      svg.append(svgEl("text", { x: left, y: y(value) + 0.3 * this.em }, value === 0.5 ? "0.5" : String(value)));
    }
  }

  drawCurve(name, label) {
    const { data, at, em } = this;
    const { box } = this.plots[name];
    const width = box.clientWidth;
    const height = Math.round(12.5 * em);
    const base = height - 1.5 * em;
    const left = 2.1 * em;
    const right = width - 5 * em;
    const y = (value) => base - value * (base - 1.7 * em);
    const last = Math.log2(data.depths[data.depths.length - 1]);
    const x = (d) => left + (Math.min(last, Math.log2(d)) / last) * (right - left);
    const svg = plotSvg(width, height, label);
    this.drawScale(svg, 0, right, y);
    const stride = right - left < 13 * em ? 5 : 2; // 1, 32, 1,024 if 1, 4, 16 ... would touch
    for (let power = 0; power <= last; power += stride) {
      const tickX = x(2 ** power);
      svg.append(svgEl("path", { class: "why-axis", d: `M${tickX} ${base}v4` }));
      svg.append(svgEl("text", { x: tickX, y: base + 1.15 * em, "text-anchor": "middle" }, countText(2 ** power)));
    }
    const cursorX = x(data.d_k);
    svg.append(svgEl("path", { class: "why-own-line", d: `M${cursorX} ${y(1)}V${base}` }));
    const anchor = cursorX > (left + right) / 2 ? "end" : cursorX < left + 3 * em ? "start" : "middle";
    const text = this.t("this_model", { d: countText(data.d_k) });
    svg.append(svgEl("text", { x: cursorX, y: y(1) - 0.6 * em, "text-anchor": anchor }, text));
    const chosenX = x(data.depths[at]);
    svg.append(svgEl("path", { class: "why-now", d: `M${chosenX} ${y(1)}V${base}` }));
    const labels = WAYS.map((way, i) => {
      const values = data[name][i];
      const points = values.map((value, j) => [x(data.depths[j]), y(value)]);
      svg.append(linePath(points, { class: "why-line", "data-way": way }));
      return { way, value: values[at], y: y(values[values.length - 1]) + 0.3 * em };
    });
    for (const { way, value } of labels)
      svg.append(pointMark(MARKS[way], chosenX, y(value), 0.29 * em, { class: "why-mark", "data-way": way }));
    // Names stand at the ends of their lines, moved apart if two would touch.
    labels.sort((a, b) => a.y - b.y);
    labels.forEach((label, i) => i && (label.y = Math.max(label.y, labels[i - 1].y + 1.15 * em)));
    for (let i = labels.length - 1, floor = base + 0.1 * em; i >= 0; i--, floor -= 1.15 * em)
      labels[i].y = Math.min(labels[i].y, floor);
    for (const { way, y: labelY } of labels)
      svg.append(svgEl("text", { class: "why-name", "data-way": way, x: right + 0.5 * em, y: labelY }, this.t(way)));
    box.replaceChildren(svg);
  }

  drawOwn() {
    for (const button of this.quantities.children)
      button.setAttribute("aria-pressed", String(button.dataset.quantity === this.quantity));
    // Logarithmic: otherwise one head with 80 would make all others, including 1, as pale as the page. One scale for
    // all kinds: equal shades are equal numbers.
    const { own } = this.data;
    const variances = own.flatMap((kindNumbers) => kindNumbers[this.quantity].flat());
    const top = Math.max(1, ...variances.filter((value) => value !== null));
    const ramps = own.map((kindNumbers) => makeRamp(this.theme, kindNumbers.kind));
    const table = (kindNumbers, i) => this.ownTable(kindNumbers, ramps[i], Math.log1p(top));
    this.tables.replaceChildren(...own.map(table));
    const many = own.some((kindNumbers) => kindNumbers.query[0].length > MANY);
    this.element.toggleAttribute("data-many", many);
    const stripe = (ramp) => el("i", { style: `background: ${rampGradient(ramp, 1, 0)}` });
    this.legend.replaceChildren(
      this.t("legend"),
      el("span", { "aria-hidden": "true" }, ...ramps.map(stripe)),
      this.t("legend_scale", { high: numberText(top) }),
    );
    this.choose(this.chosen);
  }

  ownTable(kindNumbers, ramp, top) {
    const values = kindNumbers[this.quantity];
    const [layers, heads] = [values.length, values[0].length];
    const kind = this.t("kind_" + kindNumbers.kind);
    const name = this.t(this.quantity);
    const label = this.t("table", { kind, name, layers, heads });
    const cell = (value, layer, head) => this.ownCell(kindNumbers, layer, head, value, ramp, top);
    const products = kindNumbers.product.flat().filter((value) => value !== null);
    const [low, high] = [Math.min(...products), Math.max(...products)].map(numberText);
    const unit = this.t("unit", { n: kindNumbers.unit, total: layers * heads });
    const spread = products.length ? richText(this.t("spread", { low, high })) : [];
    return el(
      "div",
      { "data-testid": `why-own-${kindNumbers.kind}` },
      el("h3", { "data-kind": kindNumbers.kind }, kind),
      headTable(this.t, label, values, cell, (button) => button.click()),
      el("p", {}, unit, " ", ...spread),
    );
  }

  ownCell(kindNumbers, layer, head, value, ramp, top) {
    const colour = ramp[value === null ? 0 : Math.round((255 * Math.log1p(value)) / top)];
    const address = { layer: layer + 1, head: head + 1 };
    const { kind } = kindNumbers;
    const text = numberText(value);
    const label = this.t("head_cell", { ...address, name: this.t(this.quantity), value: text });
    const look = { style: `background: ${cssColour(colour)}; color: ${inkOn(colour)}`, "aria-label": label };
    const click = () => this.pick({ kind, layer, head });
    const cell = buttonEl({ ...look, "data-cell": `${kind}-${layer}-${head}`, click }, text);
    const of = (name) => numberText(kindNumbers[name][layer][head]);
    const line = (name) => this.t("head_line", { name: this.t(name), value: of(name) });
    const title = () => this.t("head", { kind: this.t("kind_" + kind), ...address });
    return this.hint(cell, () => [title(), ...QUANTITIES.map(line), this.t("head_mean", { value: of("mean") })]);
  }

  pick(chosen) {
    this.choose(chosen);
    this.tell();
  }

  // Outlines a head and draws its products with N(0, d_k); each area and the curve have their own peak.
  choose(chosen) {
    this.chosen = chosen;
    const { data, em } = this;
    const { kind, layer, head } = chosen;
    const name = `${kind}-${layer}-${head}`;
    const cells = [...this.tables.querySelectorAll("[data-cell]")];
    for (const cell of cells) {
      const on = cell.dataset.cell === name;
      cell.setAttribute("aria-pressed", String(on));
      const entry = on || (!cell.dataset.cell.startsWith(kind + "-") && cell.dataset.cell.endsWith("-0-0"));
      cell.tabIndex = entry ? 0 : -1;
    }
    const kindNumbers = data.own.find((numbers) => numbers.kind === kind);
    const { box, keys, head: title } = this.ownPlot;
    const [bins, limit, product] = ["histogram", "limit", "product"].map((name) => kindNumbers[name][layer][head]);
    const sd = Math.sqrt(data.d_k);
    const d = countText(data.d_k);
    const variance = product === null ? numberText(null) : numberText(product * data.d_k);
    const label = this.t("own_label", { layer: layer + 1, head: head + 1, variance, d });
    const area = { bins, limit, unit: sd, peak: Math.max(...bins) || 1, way: kind };
    title.textContent = this.t("head", { kind: this.t("kind_" + kind), layer: layer + 1, head: head + 1 });
    box.replaceChildren(histogram(box.clientWidth, em, label, limit * sd, sd, 1, [area]));
    legend(keys, [
      [kind, true, this.t("key_own", { variance, times: numberText(product), d })],
      ["normal", false, this.t("key_normal_own", { d })],
    ]);
  }
}

export default plainComponent(Why, (view) => liveWhy(view, appLive()));
