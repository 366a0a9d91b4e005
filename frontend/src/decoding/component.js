import { el, printable } from "../core/dom.js";
import { savingMenu } from "../saving/menu.js";
import { PlainView, plainComponent } from "../host/plain_view.js";
import { StepHeads, headsElement } from "./heads.js";
import { DECODING_TEXTS } from "./texts.js";

// Translations of one source, token by token; the distribution that the chosen token was taken from, and the attention
// of that step. data = {lines: [{ids, tokens, probs, forced, shared, text, score, complete, drops}], at: {line, step},
// bars: {tokens, ids, p, rules: [{name, value, p, rest}], rest, others, entropy, most, before}, grows: a bar can be taken,
// cross, self: see heads.js}. rules: of sampling, each with what it left of the distribution before it.
// What a person does goes to Python: `at`, the chosen token; `take`, {line, step, id}; `drop`, a line.

const percent = (p) => (p >= 0.0995 ? `${(100 * p).toFixed(0)}%` : p >= 0.0005 ? `${(100 * p).toFixed(1)}%` : "< 0.1%");

class View extends PlainView {
  constructor(parent) {
    super(parent, "decoding", DECODING_TEXTS);
  }

  build() {
    this.lines = el("div", { class: "decoding-lines", role: "group" });
    this.bars = el("div", { class: "decoding-bars", "data-testid": "decoding-bars" });
    this.heads = { cross: new StepHeads(this, "cross"), self: new StepHeads(this, "self") };
    this.picture = el(
      "div",
      { class: "decoding-step", "data-saved-by": "decoding-save" },
      this.bars,
      headsElement(this, this.heads),
    );
    return [this.lines, this.picture, savingMenu(this, "decoding-save", () => this.saved())];
  }

  paint() {
    const focused = this.element.getRootNode().activeElement?.dataset.testid;
    const left = this.lines.scrollLeft;
    this.lines.toggleAttribute("data-samples", this.data.bars.rules.length > 0);
    this.lines.replaceChildren(...this.data.lines.map((line, n) => this.buildLine(line, n)));
    this.lines.scrollLeft = left;
    this.bars.replaceChildren(...this.buildBars());
    for (const kind of ["cross", "self"]) this.heads[kind].draw(this.data[kind]);
    if (focused) this.element.querySelector(`[data-testid="${focused}"]`)?.focus();
  }

  buildLine({ tokens, probs, forced, shared, text, score, complete, drops }, n) {
    const { at } = this.data;
    const chips = tokens.map((token, step) => {
      const values = { step: step + 1, token: printable(token), p: percent(probs[step]) };
      const chosen = at.line === n && at.step === step;
      return el(
        "button",
        {
          type: "button",
          class: "decoding-chip",
          "data-testid": `decoding-chip-${n}-${step}`,
          "data-forced": step < forced || null,
          "data-shared": step < shared || null,
          "aria-pressed": String(chosen),
          "aria-label": this.t(step < forced ? "chip_forced" : "chip", values),
          style: `--p: ${(100 * probs[step]).toFixed(1)}%`,
          click: () => this.component.setStateValue("at", { line: n, step }),
        },
        printable(token),
      );
    });
    const numbers = el(
      "span",
      { class: "decoding-score" },
      this.t("score", { score: score.toFixed(3).replace("-", "−") }),
    );
    numbers.append(` · ${this.t("score_length", { count: tokens.length })}${complete ? "" : ` · ${this.t("cut")}`}`);
    this.hint(numbers, () => [this.t("score_hint")]);
    const drop = drops
      ? el(
          "button",
          {
            type: "button",
            class: "decoding-drop",
            "data-testid": `decoding-drop-${n}`,
            "aria-label": this.t("drop", { n: n + 1 }),
            click: () => this.component.setTriggerValue("drop", n),
          },
          "✕",
        )
      : null;
    const name = el("span", { class: "decoding-name" }, this.t("line", { n: n + 1 }));
    const spoken = { role: "group", "aria-label": this.t("line_spoken", { n: n + 1, text }) };
    return el(
      "div",
      { class: "decoding-line", ...spoken },
      name,
      el("span", { class: "decoding-chips" }, ...chips),
      numbers,
      drop,
    );
  }

  buildBars() {
    const { bars, at, grows } = this.data;
    const taken = this.data.lines[at.line].ids[at.step];
    const title = bars.before ? this.t("after", { text: bars.before }) : this.t("after_nothing");
    const columns = [bars, ...bars.rules];
    const most = Math.max(...columns.flatMap(({ p, rest }) => [...p, rest]));
    const cell = (column, p) => [
      el(
        "span",
        { class: "decoding-bar", "data-rule": column || null },
        el("i", { style: `width: ${(100 * p) / most}%` }),
      ),
      el("span", { class: "hs-number" }, p || !column ? percent(p) : "0"),
    ];
    const rows = bars.ids.map((id, i) => {
      const values = { token: printable(bars.tokens[i]), p: percent(bars.p[i]) };
      const inside = [
        el("span", { class: "decoding-token" }, values.token),
        ...columns.flatMap(({ p }, column) => cell(column, p[i])),
      ];
      const attributes = {
        class: "decoding-row",
        "data-id": id,
        "data-taken": id === taken || null,
        "data-testid": `decoding-bar-${i}`,
      };
      if (!grows) return el("div", attributes, ...inside);
      const click = () => this.component.setTriggerValue("take", { ...at, id });
      return el("button", { type: "button", ...attributes, "aria-label": this.t("bar", values), click }, ...inside);
    });
    const others = el(
      "div",
      { class: "decoding-row", "data-rest": "" },
      el("span", { class: "decoding-token" }, this.t("rest", { count: bars.others.toLocaleString("en") })),
      ...columns.flatMap(({ rest }, column) => cell(column, rest)),
    );
    const entropy = this.t("entropy", { value: bars.entropy.toFixed(2), most: bars.most.toFixed(2) });
    const dim = this.hint(el("p", { class: "hs-number", tabindex: 0 }, entropy), () => [this.t("entropy_hint")]);
    const heading = bars.rules.length
      ? el(
          "div",
          { class: "decoding-row decoding-columns" },
          el("span", {}),
          ...this.columnNames().map((name) => el("span", {}, name)),
        )
      : null;
    const table = { class: "decoding-table", "data-rules": bars.rules.length ? "" : null };
    return [el("h2", {}, title), el("div", table, heading, ...rows, others), dim];
  }

  columnNames() {
    const { rules } = this.data.bars;
    const of = ({ name, value }) => (value === null ? this.t(`${name}_off`) : this.t(name, { value }));
    return [this.t("model"), ...rules.map(of)];
  }

  saved() {
    const { bars, at, stem, caption } = this.data;
    const columns = [bars, ...bars.rules];
    const [, ...names] = this.columnNames();
    const head = [...["csv_rank", "csv_token", "csv_probability"].map((name) => this.t(name)), ...names];
    const rows = bars.tokens.map((token, i) => [i + 1, token, ...columns.map(({ p }) => p[i])]);
    const rest = ["", this.t("rest", { count: bars.others }), ...columns.map((column) => column.rest)];
    return {
      element: this.picture,
      stem: [...stem, `line${at.line + 1}`, `step${at.step + 1}`],
      caption: [caption, this.data.lines[at.line].text],
      rows: [head, ...rows, rest],
    };
  }
}

export default plainComponent(View);
