import { buttonEl, documentTop, el } from "../core/dom.js";
import { KINDS, makeRamp, rampGradient } from "../core/colour.js";
import { markup } from "../core/markup.js";
import { savable } from "../saving/menu.js";
import { toldOf } from "../saving/told.js";
import { PlainView, plainComponent } from "../host/plain_view.js";
import { appLive } from "../live/live.js";
import { liveMeasures } from "./live.js";
import { MEASURES_TEXTS } from "./texts.js";
import { exactText, meanText, tickText } from "./numbers.js";
import { axisTicks, markLegend, scatterPlot } from "./plot.js";
import { measureTable } from "./table.js";

// Saturation of every head, before and after the switches: five measures to choose from, tables layer by head, and all
// heads in one plot. The numbers come from transformer/analysis/saturation.py through pages/lab/measures.py: data =
// {before, after: {kind: {measure: [layer][head], rows: [layer][head]}}, zero: {kind: [layer][head]}, switched, chosen:
// {kind, layer, head} or null, big, texts}; null if there is nothing to measure.

export const MEASURES = ["saturated", "entropy", "largest", "gradient", "spread"];

export class Measures extends PlainView {
  constructor(parent) {
    super(parent, "measures", MEASURES_TEXTS);
  }

  take(before) {
    if (!before) this.measure = this.data.measure; // then the person's
    if (!before || JSON.stringify(before.chosen) !== JSON.stringify(this.data.chosen)) this.chosen = this.data.chosen;
  }

  // The text of a definition: name, formula and meaning, source, and which rows count.
  definition(name) {
    const dim = (text) => ({ text, class: "hs-tip-dim" });
    return [this.t("full_" + name), this.t("formula_" + name), this.t("term_" + name), dim(this.t("term_rows"))];
  }

  build() {
    this.sentence = el("p", { class: "measures-says", "data-testid": "measures-says" });
    this.cards = el("div", { class: "measures-cards", role: "group", "aria-label": this.t("measures") });
    this.about = el("div", { class: "measures-about" });
    this.tables = el("div", { class: "measures-tables" });
    this.plot = el("div", { class: "measures-plot" });
    this.plotHint = el("small", { "data-not-saved": true }, this.t("plot_hint"));
    const work = el("div", { class: "measures-work" }, this.plot, this.tables);
    this.picture = el("div", {}, work, this.about);
    return [this.sentence, this.cards, savable(this, "measures-save", this.picture, () => this.saved())];
  }

  // The tables and the plot of the chosen measure, as files.
  saved() {
    const { stem, lines, switches } = toldOf(this.data.saved);
    const name = this.t("full_" + this.measure);
    const sides = ["before", "after"].map((side) => this.t("csv_" + side, { name, switches: this.data.in_words }));
    const rows = this.heads(this.measure).map(({ kind, layer, head, before, after }) => {
      const counted = this.data.after[kind].rows[layer][head];
      return [this.t("kind_" + kind), layer + 1, head + 1, before ?? NaN, after ?? NaN, counted];
    });
    return {
      stem: [...stem, "every-head", this.measure, ...switches],
      caption: [this.sentence.textContent, ...lines],
      rows: [[this.t("csv_kind"), this.t("csv_layer"), this.t("csv_head"), ...sides, this.t("csv_rows")], ...rows],
    };
  }

  // Every head of the model: [{kind, layer, head, before, after, zero}].
  heads(name) {
    return KINDS.flatMap((kind) =>
      this.data.before[kind][name].flatMap((row, layer) =>
        row.map((before, head) => {
          const after = this.data.after[kind][name][layer][head];
          return { kind, layer, head, before, after, zero: this.data.zero[kind][layer][head] };
        }),
      ),
    );
  }

  known(name) {
    return this.heads(name).filter((head) => typeof head.before === "number" && typeof head.after === "number");
  }

  axis(name) {
    const values = this.heads(name).flatMap((head) => [head.before, head.after]);
    const numbers = values.filter((value) => typeof value === "number");
    return axisTicks(name, numbers);
  }

  paint() {
    this.ramps = Object.fromEntries(KINDS.map((kind) => [kind, makeRamp(this.theme, kind)]));
    this.tooltip.hide();
    this.drawCards();
    this.drawChosen();
  }

  drawCards() {
    const hasFocus = this.cards.contains(this.element.getRootNode().activeElement);
    this.cards.replaceChildren(...MEASURES.map((name) => this.card(name)));
    if (hasFocus) this.cards.querySelector('[aria-pressed="true"]').focus();
  }

  card(name) {
    const points = this.known(name);
    const sum = (side) => points.reduce((all, point) => all + point[side], 0);
    const mean = (side) => (points.length ? meanText(sum(side) / points.length) : this.t("none"));
    const values = { name: this.t("full_" + name), n: points.length, before: mean("before"), after: mean("after") };
    const word = el("span", { class: "hs-term" }, this.t(name));
    const choose = () => {
      this.measure = name;
      this.component.setStateValue("measure", name);
      for (const card of this.cards.children) card.setAttribute("aria-pressed", String(card === button));
      this.tooltip.hide();
      this.drawChosen();
    };
    const button = buttonEl(
      {
        class: "measures-card",
        "aria-pressed": String(name === this.measure),
        "aria-label": this.t(this.data.switched ? "card" : "card_same", values),
        "aria-description": this.t("term_" + name),
        "data-testid": "measures-" + name,
        click: choose,
      },
      el(
        "span",
        { class: "measures-words" },
        word,
        el("span", { class: "measures-mean" }, this.t(this.data.switched ? "mean" : "mean_same", values)),
      ),
    );
    this.hint(word, () => this.definition(name));
    // The pointer hovers over the name only, but the keyboard reaches the whole card.
    button.addEventListener("blur", () => this.tooltip.hide());
    button.addEventListener("focus", () => {
      const rect = button.getBoundingClientRect();
      if (button.matches(":focus-visible")) this.tooltip.show(this.definition(name), rect.left, rect.bottom);
    });
    return button;
  }

  // Redraws everything that shows the chosen measure.
  drawChosen() {
    const name = this.measure;
    const axis = this.axis(name);
    const description = this.t("term_" + name);
    const about = { "data-testid": "measures-definition", "data-not-saved": true };
    const reachable = { tabindex: 0, "aria-description": description, ...about };
    const term = el("span", { class: "hs-term", ...reachable }, this.t("definition"));
    this.hint(term, () => this.definition(name));
    const ramps = KINDS.map((kind) => el("i", { style: `background: ${rampGradient(this.ramps[kind], 1, 0)}` }));
    const ends = { low: tickText(axis.low), high: tickText(axis.high) };
    this.about.replaceChildren(
      el("h3", { "data-testid": "measures-name" }, this.t("full_" + name)),
      el("p", {}, el("b", {}, this.t("formula_" + name)), " ", this.t("meaning_" + name), " ", term),
      el(
        "p",
        { class: "hs-table-legend", "data-testid": "measures-legend" },
        this.t("legend"),
        el("span", {}, ...ramps),
        this.t(axis.log ? "legend_log" : "legend_common", ends),
      ),
    );
    const focused = this.element.getRootNode().activeElement;
    const focusedId = this.tables.contains(focused) ? focused.dataset.testid : null;
    this.tables.replaceChildren(
      ...KINDS.flatMap((kind) => ["before", "after"].map((side) => measureTable(this, kind, side, axis))),
    );
    this.tables.toggleAttribute("data-many", this.data.zero.cross[0].length > 10); // two tables side by side would be cut off
    if (focusedId) this.tables.querySelector(`[data-testid="${focusedId}"]`)?.focus();
    this.drawPlot();
  }

  isChosen(head) {
    return Boolean(this.chosen) && ["kind", "layer", "head"].every((name) => head[name] === this.chosen[name]);
  }

  // The tooltip of a head, in tables and plot.
  lines({ kind, layer, head }) {
    const at = (side, name) => this.data[side][kind][name][layer][head];
    const [before, after] = ["before", "after"].map((side) => exactText(at(side, this.measure), this.t("none")));
    const rows = { before: at("before", "rows"), after: at("after", "rows"), n: at("before", "rows") };
    const dim = (text) => ({ text, class: "hs-tip-dim" });
    return [
      this.t("head", { kind: this.t("kind_" + kind), layer: layer + 1, head: head + 1 }),
      this.t("change", { name: this.t("full_" + this.measure), before, after }),
      dim(this.t(rows.before === rows.after ? "counted" : "counted_both", rows)),
      rows.before && rows.after ? null : dim(this.t("nothing")),
      this.data.zero[kind][layer][head] ? dim(this.t("zero")) : null,
    ];
  }

  choose(head) {
    this.chosen = head;
    const name = `${head.kind}.${head.layer + 1}.${head.head + 1}`;
    for (const cell of this.tables.querySelectorAll("button")) {
      const same = cell.dataset.place === name;
      cell.setAttribute("aria-pressed", String(same));
      if (cell.dataset.place.startsWith(head.kind + ".")) cell.setAttribute("tabindex", same ? 0 : -1);
    }
    this.drawPlot();
    this.component.setTriggerValue("pick", [head.kind, head.layer, head.head]);
  }

  drawPlot() {
    const name = this.measure;
    const points = this.known(name);
    const wide = Math.min(this.plot.clientWidth, (560 * this.theme.size) / 15);
    const top = documentTop(this.element.getRootNode().host || this.element) + this.plot.offsetTop;
    const left = window.innerHeight - Math.min(top, window.innerHeight * 0.68) - (86 * this.theme.size) / 15;
    const size = Math.round(Math.max(210, Math.min(wide, left)));
    const signs = points.map((point) => Math.sign(point.after - point.before));
    const moved = (sign) => signs.filter((value) => value === sign).length;
    const says = { name: this.t("full_" + name), n: points.length, above: moved(1), below: moved(-1), same: moved(0) };
    const { svg, near, away } = scatterPlot({
      points,
      axis: this.axis(name),
      size,
      before: this.t("axis_before"),
      after: this.t("axis_after"),
      label: this.t("plot_label", says),
      chosen: this.chosen,
      unit: this.theme.size / 15,
    });
    const at = (event) => {
      const frame = svg.getBoundingClientRect();
      const unit = size / frame.width;
      return near((event.clientX - frame.left) * unit, (event.clientY - frame.top) * unit);
    };
    svg.addEventListener("pointermove", (event) => {
      const point = at(event);
      svg.style.cursor = point ? "pointer" : "";
      if (point) this.tooltip.show(this.lines(point), event.clientX, event.clientY);
      else this.tooltip.hide();
    });
    svg.addEventListener("pointerleave", () => {
      away();
      this.tooltip.hide();
    });
    svg.addEventListener("click", (event) => {
      const point = at(event);
      if (point) this.choose({ kind: point.kind, layer: point.layer, head: point.head });
    });
    const zero = points.some((point) => point.zero);
    const keys = markLegend(zero, Boolean(this.chosen));
    const mean = (side) => meanText(points.reduce((sum, point) => sum + point[side], 0) / points.length);
    const means = points.length ? { before: mean("before"), after: mean("after") } : { before: "–", after: "–" };
    const key = this.data.switched ? "says_switched" : "says_same";
    const sentence = this.t(key, { ...says, ...means, switches: this.data.in_words });
    this.sentence.replaceChildren(...markup(sentence));
    this.plot.replaceChildren(
      el("h2", {}, this.t("plot", says), this.plotHint),
      el("div", { class: "measures-keys" }, ...keys.map(([swatch, key]) => el("span", {}, swatch, this.t(key)))),
      el("div", { "data-testid": "measures-scatter" }, svg),
    );
  }
}

export default plainComponent(Measures, (view) => liveMeasures(view, appLive()));
