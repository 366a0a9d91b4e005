import { el } from "../../core/dom.js";
import { hint } from "../../core/tooltip.js";
import { readTheme, cssColour } from "../../core/colour.js";
import { formatNumber, formatCount } from "../format.js";
import { PaintKit } from "../stage/paint.js";
import { equationOf, cellEquationOf, richText } from "./equations.js";
import { wholeRow, textKeys, textValues, factOf, parametersOf, switchChange, isNear } from "./facts.js";
import { sideOf, switchEffects } from "./facts.js";
import { spokenState } from "../words/spoken.js";
import { isOpen, kindOf, placeName } from "../walk.js";

// The panel beside the drawing: what is computed, its equation, its numbers in shape and colour, and the reason.

const STRIP_ROWS = 12; // of the legend of a strip, at most: those that do not fit are not seen
const STRIP_NUMBERS = 48;
const STOPS = 32; // of the gradient between the smallest and the largest number
const SMALLEST = 0.6; // of the size of an equation that would be wider than the panel

export class ExplanationPanel {
  constructor({ t, tooltip, hooks }) {
    this.t = /** @type {Translate} */ (t);
    this.tooltip = tooltip;
    this.kit = new PaintKit();
    this.shown = {}; // by part of the panel
    const made = (tag, name, ...children) =>
      el(tag, { class: "hs-an-" + name, "data-testid": "tell-" + name }, ...children);
    this.title = made("h2", "title");
    this.equation = made("div", "equation");
    this.shape = made("p", "shape");
    this.legend = made("div", "legend");
    this.parameters = made("summary", "parameters-line");
    this.tensors = made("div", "tensors");
    this.box = made("details", "parameters", this.parameters, this.tensors);
    this.explanation = made("p", "explanation");
    this.fact = made("p", "fact");
    this.moreText = made("p", "more-text");
    this.more = made("details", "more", el("summary", null, t("tell_more_open")), this.moreText);
    this.changed = made("p", "changed");
    this.switches = made("ul", "switched");
    const switched = el("p", { class: "hs-an-off-name" }, t("tell_switched"));
    this.off = made("div", "off", this.changed, switched, this.switches);
    this.folds = { more: this.more, parameters: this.box };
    for (const [name, fold] of Object.entries(this.folds))
      fold.addEventListener("toggle", () => hooks.fold(name, fold.open));
    this.start = new StartPart(t);
    this.element = el(
      "section",
      { class: "hs-an-tell", "aria-label": t("tell_region"), "data-testid": "anatomy-tell" },
      ...[this.start.element, this.title, this.equation, this.shape, this.legend],
      el("div", { class: "hs-an-why" }, this.explanation, this.fact, this.more, this.box, this.off),
    );
    this.element.tabIndex = 0; // it scrolls
    new ResizeObserver(() => this.fitEquation()).observe(this.equation);
  }

  // info: {matrix: the result of the step, or null; item: the item of the scene that shows it, for its colours;
  // waiting: its numbers have not arrived}
  draw(state, data, info) {
    const { t } = this;
    const matrix = info.matrix || null;
    const keys = textKeys(state, data, matrix);
    const values = textValues(state, data, t);
    this.element.dataset.kind = kindOf(state.place);
    this.element.dataset.step = isNear(state) ? state.step : "";
    for (const [name, fold] of Object.entries(this.folds)) fold.open = isOpen(state, name);
    this.element.toggleAttribute("data-start", this.start.draw(state, data));
    this.title.replaceChildren(...richText(t(keys.title), values));
    this.drawEquation(state, data, matrix);
    this.drawShape(matrix, info.waiting);
    this.drawLegend(state, matrix, matrix && wholeRow(state, data, matrix), info);
    this.explanation.replaceChildren(...richText(t(keys.text), values));
    this.moreText.replaceChildren(...richText(t(keys.more), values));
    const fact = factOf(state, data, matrix);
    this.fact.hidden = !fact;
    this.fact.textContent = fact ? t(fact.key, fact.values) : "";
    this.drawParameters(state, data);
    this.drawSwitches(state, data, matrix);
    const { zoom, place, encoder, decoder, step } = state;
    if (this.isNew("stop", data.id, zoom, place, encoder, decoder, step)) this.element.scrollTop = 0;
  }

  // Whether a part of the panel shows something else than when it was drawn.
  isNew(part, ...shown) {
    const before = this.shown[part];
    this.shown[part] = JSON.stringify(shown);
    return this.shown[part] !== before;
  }

  drawEquation(state, data, matrix) {
    const { config } = data;
    const about = switchEffects(state, data);
    const { zoom, place, step, row, col } = state;
    const chosen = zoom === "number" && place !== "output" && col >= 0;
    const cell = chosen && matrix && row < matrix.rows && col < matrix.cols;
    const value = cell ? formatNumber(matrix.at(row, col), matrix.name) : "";
    const number = cell && [matrix.name, row, col, value];
    if (!this.isNew("equation", zoom, place, step, state.head, number, about, config)) return;
    const equations = [equationOf(state, config, this.t, about)];
    const equation = cell && cellEquationOf(state, config, value, this.t, about);
    if (equation) equations.push(el("div", { class: "hs-an-cell-equation" }, equation));
    this.equation.replaceChildren(...equations);
    this.fitEquation();
  }

  // Every system has other mathematical fonts: an equation that is wider than the panel gets smaller letters.
  fitEquation() {
    const { style, clientWidth } = this.equation;
    style.setProperty("--an-fit", "1");
    const { scrollWidth } = this.equation;
    const fit = (0.98 * clientWidth) / scrollWidth;
    if (scrollWidth > clientWidth) style.setProperty("--an-fit", Math.max(SMALLEST, fit).toFixed(3));
  }

  // "scores [1, 8, 12, 12] = [batch, head, query, key]"
  drawShape(matrix, waiting) {
    const { t } = this;
    if (!this.isNew("shape", matrix ? [matrix.name, matrix.shape, matrix.axes] : waiting)) return undefined;
    if (!matrix) return this.shape.replaceChildren(t(waiting ? "tell_waiting" : "tell_nothing"));
    const list = (parts) => ["[", ...parts.flatMap((part, i) => (i ? [", ", part] : [part])), "]"];
    const says = (axis, n) => {
      const name = "axis_" + axis.replace("head·", "heads_");
      const text = t(name, { n: formatCount(n) });
      return text === name ? null : text;
    };
    const term = (axis, i, children, focus) => {
      const text = says(axis, matrix.shape[i]);
      if (!text) return el("span", null, ...children);
      const attributes = { class: "hs-an-axis", tabindex: focus ? 0 : null, "aria-description": text };
      return hint(el("span", attributes, ...children), this.tooltip, () => [text]);
    };
    const sizes = matrix.axes.map((axis, i) => term(axis, i, [formatCount(matrix.shape[i])], false));
    const names = matrix.axes.map((axis, i) => term(axis, i, richText(axis.replace("head·", "h · ")), true));
    const name = "matrix_" + matrix.name;
    const label = t(name) === name ? matrix.name : t(name);
    return this.shape.replaceChildren(
      el("b", null, ...richText(label)),
      el("span", { class: "hs-an-sizes" }, ...list(sizes)),
      el("span", { class: "hs-an-names" }, "= ", ...list(names)),
    );
  }

  // The colours between the smallest and the largest number, as in the drawing. one: the chosen head; matrix: all heads
  // that are drawn.
  drawLegend(state, head, matrix, info) {
    const { t } = this;
    this.legend.classList.toggle("hs-an-unseen", !matrix);
    if (!matrix) return;
    const theme = readTheme(this.element);
    const weights = matrix.name === "weights" || matrix.name === "probabilities";
    const { item } = info;
    const top = (item && item.top) || head.top;
    const [low, high] = weights ? [0, 1] : matrix.range;
    const name = (item && item.ramp) || sideOf(state.place, matrix.name);
    if (!this.isNew("legend", theme.key, matrix.id, name, top)) return;
    const colour = (value) => cssColour(this.kit.rgb(theme, { ramp: name, top, matrix }, value));
    const at = (i) => low + ((high - low) * i) / STOPS;
    const stop = (_, i) => `${colour(at(i))} ${((100 * i) / STOPS).toFixed(1)}%`;
    const stops = Array.from({ length: STOPS + 1 }, stop);
    const ramp = el("span", { class: "hs-an-ramp", style: `background:linear-gradient(to right,${stops.join(",")})` });
    if (low < 0 && high > 0) ramp.append(el("i", { style: `left:${((100 * -low) / (high - low)).toFixed(2)}%` }, "0"));
    const [first, last] = [low, high].map((value) => rampEnd(value, weights));
    const end = (text) => el("span", { class: "hs-an-end" }, text);
    const scale = el("span", { class: "hs-an-scale" }, end(first), ramp, end(last));
    const says = [t("tell_legend", { low: first, high: last })];
    if (top !== head.top) says.push(t("tell_legend_top_shared", { top: rampEnd(top) }));
    else if (Math.max(-low, high) > top) says.push(t("tell_legend_top", { top: rampEnd(top) }));
    hint(scale, this.tooltip, () => says);
    const hatch = [el("span", { class: "hs-an-hatch" }), el("span", null, t("tell_legend_hidden"))];
    this.legend.replaceChildren(scale, el("span", { class: "hs-an-hidden" }, ...(matrix.masked ? hatch : [])));
    this.legend.setAttribute("aria-label", says[0]);
    this.legend.setAttribute("role", "img");
    Object.assign(this.legend.dataset, { low, high, top });
  }

  drawParameters(state, data) {
    const { t } = this;
    const parameters = parametersOf(state, data);
    if (!this.isNew("parameters", data.id, parameters.name, parameters.step, parameters.key)) return;
    const count = formatCount(parameters.count);
    const share = percentText(parameters.share);
    const boxes = parameters.shared.map((name) => t("box_" + name.replace(".", "_")));
    const joined = boxes.length > 1 ? t("box_two", { first: boxes[0], second: boxes[1] }) : boxes[0];
    const ownCount = formatCount(parameters.own);
    const line = el("span", null, ...richText(t(parameters.key, { count, share, boxes: joined, own: ownCount })));
    this.parameters.replaceChildren(line);
    const rows = parameters.tensors.map(({ symbol, shape, count: numbers }) => {
      const size = shape.map(formatCount).join(" × ");
      const text = shape.length > 1 ? t("tell_tensor", { shape: size, count: formatCount(numbers) }) : size;
      return el("li", null, el("span", null, ...richText(symbol)), el("span", null, text));
    });
    const total = t("tell_total", { count: formatCount(data.config.parameters) });
    this.tensors.replaceChildren(el("ul", null, ...rows), el("p", null, total));
  }

  drawSwitches(state, data, matrix) {
    const { t } = this;
    const words = data.phrases;
    const on = words.length > 0;
    this.off.hidden = !on;
    if (!on) return;
    const change = switchChange(state, data, matrix);
    const { most, cells } = change || { most: 0, cells: 0 };
    const changedKey = cells ? (most > 0 ? "tell_changed_both" : "tell_changed_cells") : "tell_changed";
    const key = most > 0 || cells ? changedKey : "tell_changed_none";
    this.changed.hidden = !change;
    this.changed.textContent = change ? t(key, { value: rampEnd(most), n: formatCount(cells) }) : "";
    this.changed.toggleAttribute("data-none", key === "tell_changed_none");
    if (this.isNew("switches", words)) this.switches.replaceChildren(...words.map((word) => el("li", null, word)));
  }

  // One or two sentences that replace the picture for screen readers.
  spoken(state, data, info) {
    return spokenState(this.t, state, data, info.matrix || null, placeName(state.place), info.waiting);
  }
}

// The first stop of the way through the model: what a strip is.
class StartPart {
  constructor(t) {
    this.t = t;
    this.strip = el("div", { class: "hs-an-strip", "aria-hidden": "true" });
    this.says = el("p", { class: "hs-an-strip-text", "data-testid": "tell-strip" });
    this.element = el("div", { class: "hs-an-start" }, this.says, this.strip);
  }

  // Whether this is the first stop.
  draw({ zoom, place }, data) {
    const first = zoom === "model" && place === "source";
    this.element.hidden = !first;
    const key = `${data.id}/${readTheme(this.element).key}`;
    if (!first || key === this.key) return first;
    this.key = key;
    const labels = data.labels("source").slice(0, STRIP_ROWS);
    const matrix = data.matrix("encoder.0.self.enters");
    const { d_model } = data.config;
    const length = Math.min(STRIP_NUMBERS, d_model);
    const theme = readTheme(this.element);
    const kit = new PaintKit();
    const colour = (value) => cssColour(kit.rgb(theme, { ramp: "source", matrix }, value));
    const bars = (row) => {
      const stops = Array.from({ length }, (_, i) => {
        const [from, to] = [i, i + 1].map((at) => `${((100 * at) / length).toFixed(2)}%`);
        return `${colour(matrix.at(row, i))} ${from} ${to}`;
      });
      return el("i", { style: `background:linear-gradient(to right,${stops.join(",")})` });
    };
    const rows = matrix
      ? labels.map((label, row) => el("div", null, el("span", { dir: "auto" }, label), bars(row)))
      : [];
    this.strip.replaceChildren(...rows);
    this.says.replaceChildren(...richText(this.t("start_strip", { count: length, d_model: formatCount(d_model) })));
    return first;
  }
}

function rampEnd(value, whole) {
  if (whole || value === 0) return String(value);
  const size = Math.abs(value);
  const digits = size >= 100 ? 0 : size >= 10 ? 1 : size >= 0.01 ? 2 : null;
  return (digits === null ? value.toExponential(1) : value.toFixed(digits)).replace("-", "−");
}

function percentText(share) {
  const percent = 100 * share;
  return `${percent >= 10 ? percent.toFixed(0) : percent >= 0.1 ? percent.toFixed(1) : percent.toFixed(3)}%`;
}
