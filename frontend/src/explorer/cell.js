import { el } from "../core/dom.js";
import { cssColour, mixColours } from "../core/colour.js";
import { CHECK_TOLERANCE, recomputeRow, strongestPair } from "../core/matrix.js";
import { formatWeight, formatScore, formatSmall, formatFactor } from "../core/format.js";

// "How is this cell computed?": one line of arithmetic with the real numbers, and a drawer with the vectors behind it.
export class CellLine {
  constructor(hooks) {
    this.hooks = hooks;
    this.line = el("div", { class: "hs-cell-line", "data-testid": "cell" });
    this.more = el("details", { class: "hs-cell-more", "data-testid": "cell-more", toggle: () => this.toggled() });
    this.summaryText = el("summary", { click: () => (this.pressed = true) });
    this.body = el("div", { class: "hs-cell-body" });
    this.more.append(this.summaryText, this.body);
    this.element = el("div", { class: "hs-cell" }, this.line, this.more);
    this.body.addEventListener("pointermove", (event) => this.tip(event));
    this.body.addEventListener("pointerleave", () => hooks.tooltip.hide());
  }

  // What a person opens scrolls into view; what a link opens does not move the page.
  toggled() {
    this.fill();
    const calm = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
    if (this.pressed && this.more.open)
      this.more.scrollIntoView({ block: "nearest", behavior: calm ? "auto" : "smooth" });
    this.pressed = false;
  }

  tip(event) {
    const text = event.target.dataset ? event.target.dataset.tip : null;
    if (text) this.hooks.tooltip.show([text], event.clientX, event.clientY);
    else this.hooks.tooltip.hide();
  }

  hint(key) {
    this.subject = null;
    this.line.replaceChildren(el("em", null, this.hooks.t(key)));
    this.finish(false);
  }

  finish(open) {
    this.summaryText.textContent = this.hooks.t("cell_more");
    this.more.classList.toggle("hs-absent", !open);
    if (!open) this.more.open = false;
    this.body.replaceChildren();
    if (this.more.open) this.fill();
  }

  // subject: {model, view, theme, state, cell: [query, key] in subword tokens, at: [row, column] of the view or null}
  draw(subject) {
    const { t } = this.hooks;
    const { model, view, cell, at } = subject;
    if (!cell) return this.hint(model.recorded ? "cell_hint_recorded" : "cell_hint");
    if (!at) return this.hint("cell_dropped");
    this.subject = subject;
    const kindData = model.kinds[view.kind];
    const merged = view.rows[at[0]].length > 1 || view.columns[at[1]].length > 1;
    const weight = view.data[at[0] * view.keys + at[1]];
    const parts = this.pair(view, view.rowLabels[at[0]], view.columnLabels[at[1]]);
    if (view.layer === "all" || view.head === "all") {
      const n = model.members(view.kind, view.layer, view.head).length;
      const key = subject.state.summary === "max" ? "cell_max" : "cell_mean";
      parts.push(
        el("b", null, t(key, { n, value: this.weight(weight, view.exact) })),
        el("em", null, t("cell_no_arithmetic")),
      );
      this.line.replaceChildren(...parts);
      return this.finish(false);
    }
    const exact = model.exactOf(view.kind, view.layer, view.head);
    if (!exact || !exact.queries) {
      const why = model.recorded ? "cell_recorded" : "cell_waiting";
      parts.push(el("b", null, this.weight(weight, view.exact)), el("em", null, t(why)));
      this.line.replaceChildren(...parts);
      return this.finish(false);
    }
    // A merged cell has no arithmetic: show the arithmetic of its strongest pair of subword tokens.
    const [q, k] = merged ? strongestPair(exact.weights, kindData.keys, view.rows[at[0]], view.columns[at[1]]) : cell;
    const masked = model.hidden(view.kind, view.layer, view.head);
    const row = recomputeRow(exact, q, masked);
    const stored = exact.weights[q * exact.count + k];
    const apart = Math.abs(row.weights[k] - stored);
    // The tolerance is at least this; to find it takes a product for every cell of all heads.
    const agrees = apart <= CHECK_TOLERANCE || apart <= model.checks(view.kind).tolerance;
    this.work = { exact, row, q, k, stored, agrees, merged, shown: weight };
    if (merged) {
      parts.push(el("em", null, t("cell_words_piece")));
      parts.push(...this.pair(view, model.pieceLabel(view.sides.rows, q), model.pieceLabel(view.sides.columns, k)));
    }
    const hidden = masked && masked[q * exact.count + k];
    const numberSpan = (name, value) => el("span", { class: "hs-pairing" }, el("em", null, name), " ", value);
    const scaled = t("cell_" + this.scaled(exact), { d: exact.depth, factor: formatFactor(exact.scale) });
    const rule = t(["cell_softmax", "cell_uniform", "cell_argmax"][exact.rule]);
    const title = t("cell_stored_title", { computed: row.weights[k].toPrecision(7), stored: stored.toPrecision(7) });
    const check = { class: agrees ? "hs-ok" : "hs-bad", "data-testid": "cell-check", title };
    parts.push(
      numberSpan(t("cell_dot"), formatScore(row.products[k])),
      numberSpan(scaled, formatScore(row.products[k] * exact.scale)),
      ...this.bias(exact, row, q, k),
      el("em", null, t(hidden ? "cell_hidden" : "cell_visible")),
      numberSpan(rule, el("b", null, formatWeight(row.weights[k], true))),
      el("span", check, t(agrees ? "cell_stored" : "cell_differs")),
      ...this.drawnSteps(),
    );
    if (kindData.zero && kindData.zero[view.layer][view.head]) parts.push(el("em", null, t("knocked_out")));
    if (kindData.replaced && kindData.replaced[view.layer][view.head]) parts.push(el("em", null, t("replaced_output")));
    this.line.replaceChildren(...parts);
    return this.finish(true);
  }

  // From the stored weight to what is drawn: merged words, hidden special tokens, the threshold.
  drawnSteps() {
    const { t } = this.hooks;
    const { view, state } = this.subject;
    const { shown, stored, merged } = this.work;
    const value = this.weight(shown, true);
    const steps = [];
    if (merged) steps.push(t(view.renormalise ? "cell_merged_renormalised" : "cell_merged", { value }));
    else if (view.renormalise && shown > 0) {
      steps.push(t("cell_renormalised", { rest: formatWeight(stored / shown, true), value }));
    }
    if (state.threshold > 0 && shown < state.threshold) {
      steps.push(t("cell_below", { threshold: state.threshold.toFixed(2) }));
    }
    return steps.map((step) => el("span", { class: "hs-pairing", "data-testid": "cell-drawn" }, step));
  }

  // Whether the scores are q . k / sqrt(d) (equation 1), q . k, or q . k times another factor.
  scaled(exact) {
    if (Math.abs(exact.scale * Math.sqrt(exact.depth) - 1) < 1e-6) return "scale";
    return exact.scale === 1 ? "unscaled" : "factor";
  }

  // What relative positions add to the score (T5).
  bias(exact, row, q, k) {
    if (!exact.bias) return [];
    const { t } = this.hooks;
    const bias = exact.bias[q * exact.count + k];
    const name = t(k === q ? "cell_bias_here" : k < q ? "cell_bias_before" : "cell_bias_after", {
      bias: formatScore(bias),
      distance: Math.abs(k - q),
    });
    const score = formatScore(row.products[k] * exact.scale + bias);
    return [el("span", { class: "hs-pairing", "data-testid": "cell-bias" }, el("em", null, name), " ", score)];
  }

  weight(value, exact) {
    return exact ? formatWeight(value, true) : this.hooks.t("approximate", { value: formatWeight(value, false) });
  }

  pair(view, rowLabel, columnLabel) {
    const name = (label, side) => el("b", { class: side === "source" ? "hs-source" : "hs-target", dir: "auto" }, label);
    const [row, column] = [name(rowLabel, view.sides.rows), name(columnLabel, view.sides.columns)];
    return [el("span", { class: "hs-pairing" }, row, " → ", column)];
  }

  // The drawer is only filled when it is open: 5 strips and a row of up to 128 bars.
  fill() {
    if (!this.more.open || !this.subject || this.body.childElementCount) return;
    const { t } = this.hooks;
    const { model, view, at } = this.subject;
    const { exact, row, q, k, merged } = this.work;
    const { depth, valueDepth } = exact;
    const query = model.pieceLabel(view.sides.rows, q);
    const key = model.pieceLabel(view.sides.columns, k);
    const slice = (array, index, width) => array.subarray(index * width, (index + 1) * width);
    const qs = slice(exact.queries, q, depth);
    const ks = slice(exact.keys, k, depth);
    const products = Float64Array.from(qs, (value, i) => value * ks[i]);
    const strips = el("div", { class: "hs-strips" });
    const add = (label, values, top) =>
      strips.append(el("span", { class: "hs-strip-name", dir: "auto" }, label), this.strip(values, top));
    add(t("cell_query", { token: query }), qs);
    add(t("cell_key", { token: key }), ks);
    add(t("cell_product", { value: formatScore(row.products[k]) }), products);
    if (exact.values) {
      const vs = slice(exact.values, k, valueDepth);
      const top = vs.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
      add(t("cell_value", { token: key }), vs, top);
      const fetched = Float64Array.from(vs, (value) => value * row.weights[k]);
      add(t("cell_fetched"), fetched, top);
    }
    const how = { scale: "cell_equation", unscaled: "cell_equation_unscaled", factor: "cell_equation_factor" };
    const equation = t(how[this.scaled(exact)], { d: depth, factor: formatFactor(exact.scale) });
    this.body.append(el("p", { class: "hs-equation" }, exact.bias ? t("cell_biased", { equation }) : equation), strips);
    if (merged) this.body.append(this.mergedTable(model, view, at));
    this.body.append(this.rowBars(model, view, row, k));
  }

  // One coloured block per number: the kind's hue for positive numbers, grey for negative numbers.
  strip(values, top) {
    const { theme, view } = this.subject;
    const { t } = this.hooks;
    const most = top || values.reduce((largest, value) => Math.max(largest, Math.abs(value)), 0) || 1;
    const hue = theme.hues[view.kind];
    const strip = el("span", { class: "hs-strip" });
    values.forEach((value, i) => {
      const share = Math.min(1, Math.abs(value) / most);
      const block = el("i", {
        "data-tip": t("cell_component", { n: i + 1, d: values.length, value: formatSmall(value) }),
      });
      block.style.background = cssColour(mixColours(theme.background, value < 0 ? theme.dim : hue, share ** 0.8));
      strip.append(block);
    });
    return strip;
  }

  rowBars(model, view, row, chosen) {
    const { t } = this.hooks;
    const titles = { token: 1, score: 1, weight: 2 }; // columns
    const heads = Object.entries(titles).map(([name, colspan]) => el("th", { colspan }, t("cell_row_" + name)));
    const lines = Array.from(row.weights, (weight, k) => {
      const bar = el("i", { class: "hs-bar-fill" });
      bar.style.width = (100 * weight).toFixed(2) + "%";
      return el(
        "tr",
        { class: k === chosen ? "hs-on" : null },
        el("td", { dir: "auto" }, model.pieceLabel(view.sides.columns, k)),
        el("td", null, formatScore(row.scores[k])),
        el("td", { class: "hs-bar-cell" }, bar),
        el("td", null, formatWeight(weight, true)),
      );
    });
    return rowTable(t("cell_row"), heads, lines);
  }

  // The subword cells under one merged cell, and their sum.
  mergedTable(model, view, at) {
    const { t } = this.hooks;
    const keys = model.kinds[view.kind].keys;
    const rows = view.rows[at[0]];
    const columns = view.columns[at[1]];
    const strongest = strongestPair(view.raw, keys, rows, columns);
    const names = columns.map((k) => model.pieceLabel(view.sides.columns, k));
    const heads = ["", ...names, "Σ"].map((name) => el("th", null, name));
    const lines = rows.map((q) => {
      const values = columns.map((k) => view.raw[q * keys + k]);
      const cells = values.map((value, i) => {
        const on = strongest[0] === q && strongest[1] === columns[i];
        return el("td", { class: on ? "hs-on" : null }, formatWeight(value, true));
      });
      const sum = values.reduce((sum, value) => sum + value, 0);
      const name = el("th", null, model.pieceLabel(view.sides.rows, q));
      return el("tr", null, name, ...cells, el("td", null, formatWeight(sum, true)));
    });
    const title = t("cell_words_title", {
      value: formatWeight(this.work.shown, true),
      rows: rows.length,
      columns: columns.length,
    });
    return rowTable(title, heads, lines);
  }
}

function rowTable(title, heads, lines) {
  const table = el("table", null, el("thead", null, el("tr", null, ...heads)), el("tbody", null, ...lines));
  return el("div", { class: "hs-row-table" }, el("h3", null, title), table);
}
