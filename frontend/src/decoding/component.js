import { el, printable } from "../core/dom.js";
import { savingMenu } from "../saving/menu.js";
import { PlainView, plainComponent } from "../host/plain_view.js";
import { StepHeads } from "./heads.js";
import { DECODING_TEXTS } from "./texts.js";

// Translations of one source, token by token; the distribution that the chosen token was taken from, and the attention
// of that step. data = {lines: [{tokens, probs, forced, shared, text, score, complete, drops}], at: {line, step}, bars:
// {tokens, ids, p, narrowed, rest, others, entropy, most, before}, grows: a bar can be taken, cross, self: see heads.js}.
// What a person does goes to Python: `at`, the chosen token; `take`, {line, step, id}; `drop`, a line.

const percent = (p) =>
  p >= 0.0995 ? `${(100 * p).toFixed(0)} %` : p >= 0.0005 ? `${(100 * p).toFixed(1)} %` : "< 0.1 %";

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
      el("div", { class: "decoding-attention" }, this.heads.cross.element, this.heads.self.element),
    );
    return [this.lines, this.picture, savingMenu(this, "decoding-save", () => this.saved())];
  }

  paint() {
    const focused = this.element.getRootNode().activeElement?.dataset.testid;
    this.lines.replaceChildren(...this.data.lines.map((line, n) => this.buildLine(line, n)));
    this.bars.replaceChildren(...this.buildBars());
    const width = (this.picture.clientWidth - 16) * (this.picture.clientWidth > 700 ? 0.58 : 1);
    for (const kind of ["cross", "self"]) this.heads[kind].draw(this.data[kind], width / (width > 560 ? 2 : 1));
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
    const taken = this.data.lines[at.line].tokens[at.step];
    const title = bars.before ? this.t("after", { text: bars.before }) : this.t("after_nothing");
    const most = Math.max(bars.p[0], ...(bars.narrowed || []));
    const rows = bars.tokens.map((token, i) => {
      const values = { token: printable(token), p: percent(bars.p[i]) };
      const inside = [
        el("span", { class: "decoding-token" }, printable(token)),
        el("span", { class: "decoding-bar" }, el("i", { style: `width: ${(100 * bars.p[i]) / most}%` })),
        el("span", { class: "hs-number" }, values.p),
      ];
      if (bars.narrowed) {
        const p = bars.narrowed[i];
        inside.push(
          el("span", { class: "decoding-bar", "data-narrowed": "" }, el("i", { style: `width: ${(100 * p) / most}%` })),
        );
        inside.push(el("span", { class: "hs-number" }, p ? percent(p) : "0"));
      }
      const attributes = {
        class: "decoding-row",
        "data-taken": token === taken || null,
        "data-testid": `decoding-bar-${i}`,
      };
      if (!grows) return el("div", attributes, ...inside);
      const click = () => this.component.setTriggerValue("take", { ...at, id: bars.ids[i] });
      return el("button", { type: "button", ...attributes, "aria-label": this.t("bar", values), click }, ...inside);
    });
    const others = el(
      "div",
      { class: "decoding-row", "data-rest": "" },
      el("span", { class: "decoding-token" }, this.t("rest", { count: bars.others.toLocaleString("en") })),
      el("span", { class: "decoding-bar" }, el("i", { style: `width: ${(100 * bars.rest) / most}%` })),
      el("span", { class: "hs-number" }, percent(bars.rest)),
    );
    const entropy = this.t("entropy", { value: bars.entropy.toFixed(2), most: bars.most.toFixed(2) });
    const dim = this.hint(el("p", { class: "hs-number", tabindex: 0 }, entropy), () => [this.t("entropy_hint")]);
    const heading = bars.narrowed
      ? el("p", { class: "decoding-columns" }, el("span", {}, this.t("model")), el("span", {}, this.t("narrowed")))
      : null;
    return [
      el("h2", {}, title),
      heading,
      el("div", { class: "decoding-table", "data-two": bars.narrowed ? "" : null }, ...rows, others),
      dim,
    ].filter(Boolean);
  }

  saved() {
    const { bars, at, stem, caption } = this.data;
    const head = ["csv_rank", "csv_token", "csv_probability", ...(bars.narrowed ? ["csv_narrowed"] : [])];
    const rows = bars.tokens.map((token, i) => [i + 1, token, bars.p[i], ...(bars.narrowed ? [bars.narrowed[i]] : [])]);
    return {
      element: this.picture,
      stem: [...stem, `line${at.line + 1}`, `step${at.step + 1}`],
      caption: [caption, this.data.lines[at.line].text],
      rows: [head.map((name) => this.t(name)), ...rows],
    };
  }
}

export default plainComponent(View);
