import { buttonEl, el, printable } from "../core/dom.js";
import { countDrawing } from "../core/picture.js";
import { plainComponent } from "../host/plain_view.js";
import { appLive } from "../live/live.js";
import { LiveView } from "../live/view.js";
import { savable } from "../saving/menu.js";
import { afterBeginning, MOST, readBranches, without, writeBranches, writePosition } from "./branches.js";
import { StepHeads, headsElement } from "./heads.js";
import { liveDecoding } from "./live.js";
import { DECODING_TEXTS } from "./texts.js";

// Translations of one source, token by token; the distribution that the chosen token was taken from, and the attention
// of that step. The numbers, of from_trace.js or Python: {source, lines: [{ids, tokens, probs, forced, shared, text, score,
// complete, drops}], at: {line, step}, bars: {tokens, ids, p, rules: [{name, value, p, rest}], rest, others, entropy, most,
// before}, cross, self: see heads.js}. rules: of sampling, each with what it left of the distribution before it.
//
// Of greedy search, step by step, the state is {begin, branches, at} and the numbers say also: begin, what they were
// computed for; wrong, why it cannot begin so: a sentence, or {code, ...} of the engine; unfit: the branches were left out.
// Of sampling the state is {at}.

const TYPED = 400; // milliseconds after the last key until Python is told

const percent = (p) => (p >= 0.0995 ? `${(100 * p).toFixed(0)}%` : p >= 0.0005 ? `${(100 * p).toFixed(1)}%` : "< 0.1%");

export class Decoding extends LiveView {
  begun = false; // the reader typed a beginning, whose tokens are not counted yet
  lost = false; // the beginning cost branches

  constructor(parent) {
    super(parent, "decoding", DECODING_TEXTS);
  }

  build() {
    this.says = el("p", { class: "hs-point", "data-testid": "decoding-says" });
    this.notes = el("div", { class: "decoding-notes", role: "status", "data-testid": "decoding-notes" });
    this.lines = el("div", { class: "decoding-lines", role: "group" });
    this.bars = el("div", { class: "decoding-bars", "data-testid": "decoding-bars" });
    this.heads = { cross: new StepHeads(this, "cross"), self: new StepHeads(this, "self") };
    const heads = headsElement(this, this.heads);
    this.picture = el("div", { class: "decoding-step" }, this.bars, heads);
    const pictured = savable(this, "decoding-save", this.picture, () => this.saved());
    this.shown = el("div", { class: "decoding-shown" }, this.lines, pictured);
    return "begin" in this.state ? [this.says, this.buildControls(), this.notes, this.shown] : [this.shown];
  }

  buildControls() {
    const begin = () => {
      this.begun = true;
      this.choose({ begin: this.field.value }, TYPED);
    };
    this.field = el("input", {
      type: "text",
      maxlength: 200,
      placeholder: this.t("begin_empty"),
      "data-testid": "decoding-begin",
      input: begin,
      change: () => this.flush(),
    });
    const undo = { title: this.t("undo_hint"), click: () => this.branch(this.branches.slice(0, -1)) };
    this.undo = buttonEl(undo, this.t("undo"));
    return el("div", { class: "decoding-controls" }, el("label", {}, this.t("begin"), this.field), this.undo);
  }

  get branches() {
    return this.numbers.unfit ? [] : readBranches(this.state.branches ?? "");
  }

  choose(changes, pause = 0) {
    this.lost = false;
    super.choose(changes, pause);
  }

  branch(branches, more = {}) {
    this.choose({ branches: writeBranches(branches), ...more });
  }

  paint() {
    const { numbers } = this;
    if (!numbers) return;
    if ("begin" in this.state) this.paintControls(numbers);
    this.shown.hidden = !numbers.lines;
    if (!numbers.lines) return;
    const focused = this.element.getRootNode().activeElement?.dataset.testid;
    const left = this.lines.scrollLeft;
    this.lines.toggleAttribute("data-samples", numbers.bars.rules.length > 0);
    this.lines.replaceChildren(...numbers.lines.map((line, n) => this.buildLine(line, n)));
    this.lines.scrollLeft = left;
    this.bars.replaceChildren(...this.buildBars());
    for (const kind of ["cross", "self"]) this.heads[kind].draw(numbers[kind]);
    if (focused && focused !== this.field?.dataset.testid)
      this.element.querySelector(`[data-testid="${focused}"]`)?.focus();
    countDrawing(this.element, "decoding");
  }

  paintControls({ lines, begin, wrong, unfit }) {
    if (this.begun && lines && begin === this.state.begin) {
      this.begun = false;
      const kept = afterBeginning(this.branches, lines[0].forced);
      if (kept.length < this.branches.length) {
        this.branch(kept);
        this.lost = true;
      }
    }
    if (this.field.getRootNode().activeElement !== this.field) this.field.value = this.state.begin;
    this.undo.hidden = !lines || lines.length < 2;
    const notes = [
      wrong && (wrong.code ? this.t(wrong.code, wrong) : wrong),
      (unfit || this.lost) && this.t("unfit"),
      lines?.length > MOST && this.t("full", { count: MOST + 1 }),
    ];
    this.notes.replaceChildren(...notes.filter(Boolean).map((note) => el("p", {}, note)));
    this.says.textContent = lines ? this.sentence() : "";
  }

  // What the decoder does at the chosen step.
  sentence() {
    const { lines, at, bars } = this.numbers;
    const { ids, tokens } = lines[at.line];
    const values = { step: at.step + 1, token: printable(bars.tokens[0]), p: `${(100 * bars.p[0]).toFixed(0)}%` };
    if (bars.ids[0] === ids[at.step]) return this.t("says", values);
    return this.t("says_taken", { ...values, taken: printable(tokens[at.step]) });
  }

  buildLine({ tokens, probs, forced, shared, text, score, complete, drops }, n) {
    const { at } = this.numbers;
    const chips = tokens.map((token, step) => {
      const values = { step: step + 1, token: printable(token), p: percent(probs[step]) };
      const chosen = at.line === n && at.step === step;
      return buttonEl(
        {
          class: "decoding-chip",
          "data-testid": `decoding-chip-${n}-${step}`,
          "data-forced": step < forced || null,
          "data-shared": step < shared || null,
          "aria-pressed": String(chosen),
          "aria-label": this.t(step < forced ? "chip_forced" : "chip", values),
          style: `--p: ${(100 * probs[step]).toFixed(1)}%`,
          click: () => this.choose({ at: writePosition({ line: n, step }) }),
        },
        printable(token),
      );
    });
    const written = this.t("score", { score: score.toFixed(3).replace("-", "−") });
    const numbers = el("span", { class: "decoding-score" }, written);
    numbers.append(` · ${this.t("score_length", { count: tokens.length })}${complete ? "" : ` · ${this.t("cut")}`}`);
    this.hint(numbers, () => [this.t("score_hint")]);
    const drop = drops
      ? buttonEl(
          {
            class: "decoding-drop",
            "data-testid": `decoding-drop-${n}`,
            "aria-label": this.t("drop", { n: n + 1 }),
            click: () => this.branch(without(this.branches, n)),
          },
          "✕",
        )
      : null;
    const name = el("span", { class: "decoding-name" }, this.t("line", { n: n + 1 }));
    const spoken = { role: "group", "aria-label": this.t("line_spoken", { n: n + 1, text }) };
    const row = el("span", { class: "decoding-chips" }, ...chips);
    return el("div", { class: "decoding-line", ...spoken }, name, row, numbers, drop);
  }

  buildBars() {
    const { bars, at, lines } = this.numbers;
    const taken = lines[at.line].ids[at.step];
    const grows = "branches" in this.state && lines.length <= MOST;
    const title = bars.before ? this.t("after", { text: bars.before }) : this.t("after_nothing");
    const columns = [bars, ...bars.rules];
    const most = Math.max(...columns.flatMap(({ p, rest }) => [...p, rest]));
    const cell = (column, p) => {
      const bar = el("i", { style: `width: ${(100 * p) / most}%` });
      const number = el("span", { class: "hs-number" }, p || !column ? percent(p) : "0");
      return [el("span", { class: "decoding-bar", "data-rule": column || null }, bar), number];
    };
    const rows = bars.ids.map((id, i) => {
      const values = { token: printable(bars.tokens[i]), p: percent(bars.p[i]) };
      const cells = columns.flatMap(({ p }, column) => cell(column, p[i]));
      const inside = [el("span", { class: "decoding-token" }, values.token), ...cells];
      const about = { "data-id": id, "data-taken": id === taken || null };
      const attributes = { class: "decoding-row", ...about, "data-testid": `decoding-bar-${i}` };
      if (!grows) return el("div", attributes, ...inside);
      const click = () => this.goOn(id);
      return buttonEl({ ...attributes, "aria-label": this.t("bar", values), click }, ...inside);
    });
    const counted = this.t("rest", { count: bars.others.toLocaleString("en") });
    const restCells = columns.flatMap(({ rest }, column) => cell(column, rest));
    const rest = [el("span", { class: "decoding-token" }, counted), ...restCells];
    const others = el("div", { class: "decoding-row", "data-rest": "" }, ...rest);
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

  // Goes on from another token: to the translation that does so already, or to a new one.
  goOn(id) {
    const { lines, at } = this.numbers;
    const same = [...lines[at.line].ids.slice(0, at.step), id];
    const known = lines.findIndex(({ ids }) => same.every((one, step) => ids[step] === one));
    const position = (line) => ({ at: writePosition({ line, step: at.step }) });
    const branches = [...this.branches, { ...at, token: id }];
    if (known >= 0) this.choose(position(known));
    else this.branch(branches, position(branches.length));
  }

  columnNames() {
    const { rules } = this.numbers.bars;
    const of = ({ name, value }) => (value === null ? this.t(`${name}_off`) : this.t(name, { value }));
    return [this.t("model"), ...rules.map(of)];
  }

  saved() {
    const { bars, at, lines, source } = this.numbers;
    const columns = [bars, ...bars.rules];
    const [, ...names] = this.columnNames();
    const head = [...["csv_rank", "csv_token", "csv_probability"].map((name) => this.t(name)), ...names];
    const rows = bars.tokens.map((token, i) => [i + 1, token, ...columns.map(({ p }) => p[i])]);
    const rest = ["", this.t("rest", { count: bars.others }), ...columns.map((column) => column.rest)];
    return {
      stem: [this.data.model, "decoding", `line${at.line + 1}`, `step${at.step + 1}`],
      caption: [`${this.data.model}: ${source}`, lines[at.line].text],
      rows: [head, ...rows, rest],
    };
  }
}

export default plainComponent(Decoding, (view) => liveDecoding(view, appLive()));
