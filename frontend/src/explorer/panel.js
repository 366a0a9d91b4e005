import { mergesTokens } from "./saving.js";
import { buttonEl, el } from "../core/dom.js";
import { Grid } from "../heads/grid.js";
import { HeadPlot } from "../heads/head.js";
import { LinesPlot } from "../heads/lines.js";
import { habitsOf } from "./recorded.js";
import { CHECK_TOLERANCE, checkMatrix, meanEntropy } from "../core/matrix.js";
import { formatDeviation } from "../core/format.js";

const AFTER_PICTURE = 150; // milliseconds

// One kind of attention on the screen: its grid of heads, one head in detail, and the numbers below it.
export class Panel {
  /** @type {any} */ model;
  /** @type {any} */ state;
  constructor(kind, hooks) {
    this.kind = kind;
    this.hooks = hooks;
    const { t } = hooks;
    this.grid = new Grid(kind, hooks);
    this.head = new HeadPlot(kind, hooks);
    this.lines = new LinesPlot(kind, hooks);
    this.gridTitle = el("h2", null, el("span", { class: "hs-kind" }), " ", el("small", null));
    this.title = el("h2", null, el("span", null), " ", el("small", null));
    this.note = el("span", { class: "hs-note", "data-testid": "note" });
    this.plotBox = el("div", { class: "hs-plot" });
    this.empty = el("p", { class: "hs-empty" }, t("nothing_left"));
    this.stats = el("div", { class: "hs-stats" });
    this.gridBox = el("section", { class: "hs-grid-box" }, this.gridTitle, this.grid.canvas);
    this.headBox = el("section", { class: "hs-head-box" }, this.title, this.plotBox, this.stats);
  }

  get plot() {
    return this.state.view === "lines" ? this.lines : this.head;
  }

  // `among`: whether this panel stands beside others (all three kinds); preview: [layer, head], shown instead of the chosen.
  setTexts(model, state, among, preview) {
    const { t } = this.hooks;
    Object.assign(this, { model, state, preview });
    const [layer, head] = preview ?? Object.values(model.clampChoice(this.kind, state.layer, state.head));
    this.view = model.view(this.kind, layer, head, state);
    const { layers, heads } = model.kinds[this.kind];
    const hint = state.sight === "all" ? t("every_head_hint") : t("every_head_first", { n: layers * heads });
    this.gridTitle.firstChild.textContent = t(among ? "kind_" + this.kind : "every_head");
    this.gridTitle.lastChild.textContent = among ? "" : hint;
    this.title.firstChild.textContent = this.hooks.title(this.kind, layer, head);
    this.about = t(this.kind === "encoder_self" ? "about_encoder_self" : `about_${this.kind}_${state.rows}`);
    this.title.lastChild.textContent = this.about;
    const notes = [];
    if (state.special === "hidden") notes.push(t("note_hidden"));
    if (state.special === "renormalised") notes.push(t("note_renormalised"));
    if (state.pieces === "words" && !this.view.identity && mergesTokens(this.view)) notes.push(t("note_words"));
    if (state.threshold > 0) notes.push(t("note_threshold", { value: state.threshold.toFixed(2) }));
    this.note.textContent = notes.join(" ");
    // Checking all heads of a pass of 128 tokens takes longer than drawing one: the picture does not wait for it.
    clearTimeout(this.due);
    if (this.stats.firstChild) this.due = window.setTimeout(() => this.drawStats(), AFTER_PICTURE);
    else this.drawStats();
  }

  // The weight at the strong end of the colours: for the grid's tiles (null: each tile has its own) and for the head.
  tops() {
    const { state, model, view } = this;
    if (state.scale === "common") {
      const top = model.tiles(this.kind, state).largest;
      return { grid: top, head: top };
    }
    return state.scale === "head" ? { grid: null, head: view.largest } : { grid: 1, head: 1 };
  }

  drawGrid(theme, width, height) {
    this.grid.draw(this.model, this.state, theme, width, height);
  }

  drawHead(theme, width, height, cell) {
    const { view } = this;
    const nothing = !view.queries || !view.keys;
    const shownElement = nothing ? this.empty : this.state.view === "lines" ? this.lines.element : this.head.canvas;
    if (this.plotBox.firstChild !== shownElement) this.plotBox.replaceChildren(shownElement);
    if (nothing) return;
    this.plot.draw(view, this.state, theme, {
      top: this.tops().head,
      cell,
      width,
      height,
      label: this.hooks.describe(view),
    });
  }

  drawStats() {
    const { t } = this.hooks;
    const { view, model, state } = this;
    const kindData = model.kinds[this.kind];
    const numberSpan = (name, value, decimals) =>
      el(
        "span",
        { title: t(name + "_title") },
        t(name) + " ",
        el("b", null, view.exact ? value.toFixed(decimals) : t("approximate", { value: value.toFixed(2) })),
      );
    if (model.recorded) {
      const badge = { class: "hs-badge", "data-testid": "recorded", title: t("recorded_title") };
      const single = view.layer !== "all" && view.head !== "all";
      const { rows, sentences } = model.recorded.habits;
      const words = { sentences, rows: rows[this.kind][this.kind === "cross" ? 1 : 0] };
      const known = single ? habitsOf(model, this.kind, view.layer, view.head) : [];
      const habits = known.map(({ name, percent }) => {
        const attributes = { "data-testid": "habit-" + name, title: t("habit_title_" + name, words) };
        return el("span", attributes, t("habit_" + name) + " ", el("b", null, t("percent", { n: percent })));
      });
      this.stats.replaceChildren(
        numberSpan("entropy", meanEntropy(view.raw, kindData.queries, kindData.keys), 3),
        numberSpan("largest", view.largest, 4),
        el("span", badge, t("recorded")),
        habits.length ? el("span", { class: "hs-habits" }, el("em", null, t("habits", words)), ...habits) : "",
        this.note,
      );
      return;
    }
    const single = view.layer !== "all" && view.head !== "all";
    const exact = single ? model.exactOf(this.kind, view.layer, view.head) : null;
    const deviations = exact ? checkMatrix(exact, model.hidden(this.kind, view.layer, view.head)) : {};
    const rows = state.special === "hidden" ? "rows_stored" : "rows";
    const checks = model.checks(this.kind);
    const badges = [this.badge(rows, checks.row_sum, deviations.row_sum, CHECK_TOLERANCE)];
    if (!single && state.summary === "max") {
      const title = t("badge_rows_max_title", { value: formatDeviation(checks.row_sum) });
      badges[0] = el("span", { "data-testid": "badge-rows", class: "hs-badge", title }, t("badge_rows_max"));
    }
    if (kindData.masks) badges.push(this.badge("masked", checks.masked, deviations.masked, 0));
    badges.push(this.badge("recomputed", checks.recomputed, deviations.recomputed, checks.tolerance));
    this.stats.replaceChildren(
      numberSpan("entropy", meanEntropy(view.raw, kindData.queries, kindData.keys), 3),
      numberSpan("largest", view.largest, 4),
      ...badges,
      single && this.kind === "cross" ? this.alignment(model.header.alignment) : "",
      this.note,
    );
  }

  // How well the chosen head aligns words in either reading of its rows, and a button to the reading in which it does.
  alignment(measured) {
    if (!measured) return "";
    const { t } = this.hooks;
    const { layer, head } = this.view;
    const [fed, predicted] = [measured.aligned_in, measured.aligned_out].map((shares) => shares[layer][head]);
    const better = fed > predicted ? "fed" : "predicted";
    const percent = (share) => Math.round(100 * share);
    const words = t("aligns", { ...measured, fed: percent(fed), predicted: percent(predicted) });
    const label = { "data-testid": "aligns", title: t("aligns_title", measured) };
    const change = () => this.hooks.change({ rows: better });
    const button = { class: "hs-link", "data-testid": "aligns-rows", click: change };
    const offered = better !== this.state.rows && Math.max(fed, predicted) >= 0.5;
    return el(
      "span",
      { class: "hs-habits" },
      el("span", label, words),
      offered ? buttonEl(button, t("aligns_" + better)) : "",
    );
  }

  // A check holds when it holds for every head (computed in Python) and, once its numbers have arrived, for this head.
  badge(name, all, deviation, tolerance) {
    const { t } = this.hooks;
    const known = deviation !== undefined && deviation !== null;
    const holds = all <= tolerance && (!known || deviation <= tolerance);
    const worst = known && !(deviation <= tolerance) ? deviation : all;
    const title = known
      ? t("badge_title_head", { all: formatDeviation(all), head: formatDeviation(deviation) })
      : t("badge_title", { all: formatDeviation(all) });
    const label = t("badge_" + name);
    const value = formatDeviation(worst);
    const says = t(holds ? "badge_holds" : "badge_fails", { name: label, value });
    const testid = "badge-" + name.replace("_stored", "");
    const about = { class: "hs-badge", "data-testid": testid, "data-ok": String(holds), title, role: "img" };
    const mark = el("span", { class: holds ? "hs-ok" : "hs-bad" }, holds ? "✓" : "✗ " + value);
    return el("span", { ...about, "aria-label": says }, label + " ", mark);
  }

  // The chosen subword cell -> [row, column] of the view, or null if it is dropped or out of range.
  cellInView(cell) {
    if (!cell || !this.view) return null;
    const row = this.view.rows.findIndex((group) => group.includes(cell[0]));
    const column = this.view.columns.findIndex((group) => group.includes(cell[1]));
    return row < 0 || column < 0 ? null : [row, column];
  }

  // Lights a token of the source or of the target in the head and in every tile; index null: none.
  light(side, index) {
    if (!this.view) return;
    const { view, kind } = this;
    const find = (groups, of) => (of === side && index !== null ? groups.findIndex((one) => one.includes(index)) : -1);
    const row = find(view.rows, kind === "encoder_self" ? "source" : "target");
    const column = find(view.columns, kind === "decoder_self" ? "target" : "source");
    const lit = row < 0 && column < 0 ? null : { row: row < 0 ? null : row, column: column < 0 ? null : column };
    this.plot.light(lit);
    this.grid.light(lit);
  }
}
