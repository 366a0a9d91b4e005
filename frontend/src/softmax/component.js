import { buttonEl, el, sliderEl } from "../core/dom.js";
import { mixColours, cssColour, inkOn, makeNegativeRamp } from "../core/colour.js";
import { formatScore, formatSmall } from "../core/format.js";
import { savable } from "../saving/menu.js";
import { PlainView, plainComponent } from "../host/plain_view.js";
import { SOFTMAX_TEXTS } from "./texts.js";
import { richText } from "../why/plots.js";

// Softmax playground: five scores, a temperature, the weights and the Jacobian. Nothing leaves the browser.

const LARGEST_SCORE = 10; // of a score, positive or negative
const POWERS = 1; // temperatures from 10^-1 to 10^1
const PAUSE = 250; // milliseconds a slider must rest before the link is told
const DEPTH = 64;
// Possible q·k of random vectors of 64 numbers: standard deviation 8; divided by 8 they have tenths.
const PRESETS = {
  preset_equal: [0, 0, 0, 0, 0],
  preset_ahead: [10, 0, 0, 0, 0],
  preset_large: [9.6, 4, -2.4, -6.4, 1.6],
};

function softmax(scores, temperature) {
  const top = Math.max(...scores);
  const parts = scores.map((score) => Math.exp((score - top) / temperature));
  const sum = parts.reduce((a, b) => a + b, 0);
  return parts.map((part) => part / sum);
}

function jacobian(weights, temperature) {
  return weights.map((p, i) => weights.map((q, j) => ((i === j ? p : 0) - p * q) / temperature));
}

function subscript(n) {
  return String.fromCharCode(0x2080 + n);
}

// Numbers under the slider at their positions, from end to end.
function rampEnds(values) {
  const end = (value) => el("span", {}, String(value).replace("-", "−"));
  return el("span", { class: "softmax-ends", "aria-hidden": "true" }, ...values.map(end));
}

export class Softmax extends PlainView {
  constructor(parent) {
    super(parent, "softmax", SOFTMAX_TEXTS);
  }

  // The link's numbers when the picture appears; then the person's.
  take(before) {
    if (before) return;
    this.scores = [...this.data.shown.scores];
    this.power = Math.log10(this.data.shown.temperature); // temperature = 10 ^ power
  }

  // A person's change. The link is told once a slider rests.
  changed() {
    this.draw();
    const shown = { scores: [...this.scores], temperature: 10 ** this.power };
    this.later(PAUSE, () => this.component.setStateValue("shown", shown));
  }

  term(lines, text) {
    return this.hint(el("span", { class: "hs-term", tabindex: 0 }, text || ""), lines);
  }

  preset(text, testid, scores) {
    const click = () => {
      this.scores = scores();
      this.power = 0;
      this.changed();
    };
    return buttonEl({ class: "hs-press", "data-testid": testid, click }, ...richText(text));
  }

  build() {
    const keys = this.scores.map((_, i) => i);
    const root = Math.sqrt(DEPTH);
    this.rows = keys.map((i) => this.buildRow(i));
    const powers = { min: -POWERS, max: POWERS, step: 0.01 };
    this.temperature = sliderEl("softmax-temperature", this.t("temperature"), powers, (power) => {
      this.power = power;
      this.changed();
    });
    const temperature = this.term(() => [this.t("temperature_term")], this.t("temperature_short"));
    this.temperatureNumber = el("output", { class: "softmax-number" });
    const presets = Object.entries(PRESETS).map(([name, scores]) =>
      this.preset(this.t(name, { d: DEPTH }), `softmax-${name}`, () => [...scores]),
    );
    const divided = () => this.scores.map((score) => Number((score / root).toFixed(4)));
    const divide = this.preset(this.t("divide", { d: DEPTH, root }), "softmax-divide", divided);
    this.cells = keys.map((i) => keys.map((j) => this.buildCell(i, j)));
    const most = () => formatSmall(0.25 / 10 ** this.power);
    const jacobian = this.term(() => [this.t("jacobian_term", { most: most() })], this.t("jacobian"));
    this.legend = ["low", "none", "high"].map((end) => el("span", { class: `softmax-${end}` }));
    this.legendRamp = el("span", { class: "softmax-ramp" });
    const legend = el("div", { class: "softmax-legend", "data-testid": "softmax-legend" }, this.legendRamp);
    legend.append(...this.legend);
    this.hint(legend, () => [this.t("legend_term", { most: most() })]);
    this.traceTerm = this.term(() => [this.t("trace_term")]);
    this.traceTerm.dataset.testid = "softmax-trace";
    this.sentence = el("p", { class: "softmax-says", "data-testid": "softmax-says" });
    const title = (text, name) => el("span", { class: "softmax-title" + (name ? " " + name : "") }, text);
    const work = [
      el(
        "div",
        { class: "softmax-keys" },
        ...[title(""), rampEnds([-LARGEST_SCORE, 0, LARGEST_SCORE]), title(this.t("score"), "softmax-over")],
        title(this.t("weight"), "softmax-wide"),
        ...this.rows.flatMap((row) => row.parts),
        ...[temperature, this.temperature, this.temperatureNumber, title(this.t("temperature"), "softmax-wide")],
        ...[title(""), rampEnds([-POWERS, 0, POWERS].map((power) => 10 ** power))],
      ),
      el(
        "div",
        { class: "softmax-matrix", role: "group", "aria-label": this.t("jacobian") },
        title(""),
        ...keys.map((j) => title(this.t("column", { n: subscript(j + 1) }))),
        ...keys.flatMap((i) => [title(this.t("row", { n: subscript(i + 1) })), ...this.cells[i]]),
        el("p", { class: "softmax-foot" }, jacobian, this.traceTerm),
        legend,
      ),
    ];
    return [
      this.sentence,
      el("div", { class: "softmax-presets", role: "group", "aria-label": this.t("presets") }, ...presets, divide),
      savable(this, "softmax-save", el("div", { class: "softmax-work" }, ...work), () => this.saved()),
      el("p", { class: "softmax-lead" }, this.t("lead")),
    ];
  }

  // Scores, weights and the Jacobian, as files.
  saved() {
    const temperature = 10 ** this.power;
    const weights = softmax(this.scores, temperature);
    const columns = this.scores.map((_, j) => this.t("column", { n: subscript(j + 1) }));
    const head = [this.t("csv_key"), this.t("score"), this.t("temperature"), this.t("weight"), ...columns];
    const rows = this.scores.map((score, i) => [i + 1, score, temperature, weights[i], ...this.jacobian[i]]);
    return {
      stem: ["softmax", `T${temperature.toFixed(2)}`, `scores${this.scores.join("_")}`],
      caption: [this.sentence.textContent, this.t("formula", { temperature: temperature.toFixed(2) })],
      rows: [head, ...rows],
    };
  }

  buildRow(i) {
    const n = i + 1;
    const bounds = { min: -LARGEST_SCORE, max: LARGEST_SCORE, step: 0.1 };
    const slider = sliderEl(`softmax-score-${n}`, this.t("score_of", { n }), bounds, (score) => {
      this.scores[i] = score;
      this.changed();
    });
    const number = el("output", { class: "softmax-number" });
    const fill = el("i", {});
    const weight = el("output", { class: "softmax-number", "data-testid": `softmax-weight-${n}` });
    const name = el("span", { class: "softmax-title softmax-name" }, this.t("key", { n }));
    const bar = el("span", { class: "softmax-bar" }, fill);
    return { slider, number, fill, weight, parts: [name, slider, number, bar, weight] };
  }

  buildCell(i, j) {
    const cell = el("span", { class: "softmax-cell", "data-testid": `softmax-jacobian-${i + 1}-${j + 1}` });
    const value = () => this.jacobian[i][j].toPrecision(4).replace(/-/g, "−");
    const says = () => this.t("cell_says", { i: i + 1, j: j + 1, value: value() });
    return this.hint(cell, () => [this.t("cell", { i: subscript(i + 1), j: subscript(j + 1) }), says()]);
  }

  paint() {
    const { theme } = this;
    const temperature = 10 ** this.power;
    const weights = softmax(this.scores, temperature);
    this.jacobian = jacobian(weights, temperature);
    this.temperature.value = this.power;
    this.temperature.dataset.value = temperature;
    this.temperatureNumber.textContent = temperature.toFixed(2);
    this.temperature.setAttribute("aria-valuetext", temperature.toFixed(2));
    this.rows.forEach(({ slider, number, fill, weight }, i) => {
      slider.value = this.scores[i];
      slider.dataset.value = this.scores[i];
      number.textContent = formatScore(this.scores[i]);
      fill.style.width = 100 * weights[i] + "%";
      weight.textContent = weights[i].toFixed(4);
      weight.dataset.value = weights[i];
      weight.setAttribute("aria-label", this.t("weight_of", { n: i + 1, value: weights[i].toFixed(4) }));
    });
    const most = 0.25 / temperature;
    // There are many small rates and they matter: the exponent makes them visible.
    const shade = (share) =>
      mixColours(
        theme.background,
        share < 0 ? makeNegativeRamp(theme, "cross")[255] : theme.hues.cross,
        Math.min(1, Math.abs(share)) ** 0.72,
      );
    const stops = Array.from({ length: 33 }, (_, i) => cssColour(shade(i / 16 - 1)));
    this.legendRamp.style.background = `linear-gradient(to right, ${stops.join(", ")})`;
    const value = Number(most.toPrecision(3));
    ["low", "none", "high"].forEach((end, i) => (this.legend[i].textContent = this.t("legend_" + end, { value })));
    this.jacobian.forEach((row, i) =>
      row.forEach((value, j) => {
        const cell = this.cells[i][j];
        const colour = shade(value / most);
        cell.style.background = cssColour(colour);
        cell.style.color = inkOn(colour);
        cell.textContent = Math.abs(value) < 0.0005 ? this.t("cell_none") : formatSmall(value);
        cell.dataset.value = value;
      }),
    );
    this.drawWords(weights, temperature);
  }

  drawWords(weights, temperature) {
    const n = weights.length;
    const gradient = 1 - weights.reduce((sum, p) => sum + p * p, 0);
    const share = (100 * gradient) / (1 - 1 / n);
    const trace = gradient / temperature;
    this.traceTerm.textContent = this.t("trace", { value: formatSmall(trace) });
    this.traceTerm.dataset.value = trace;
    const largest = Math.max(...weights);
    const closed = gradient > 0 ? "says_closed" : "says_none";
    const key = share > 97 ? "says_open" : share < 10 ? closed : "says_between";
    const few = share < 0.0001 ? this.t("less_than", { value: 0.0001 }) : share.toPrecision(1);
    this.sentence.textContent = this.t(key, {
      n,
      room: gradient < 0.0005 ? gradient.toExponential(1).replace("-", "−") : formatSmall(gradient),
      share: share < 1 ? few : share.toFixed(0),
      key: weights.indexOf(largest) + 1,
      weight: largest.toFixed(4),
    });
  }
}

export default plainComponent(Softmax);
