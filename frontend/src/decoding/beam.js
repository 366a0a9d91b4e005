import { el, printable, svgEl } from "../core/dom.js";
import { savingMenu } from "../saving/menu.js";
import { PlainView, plainComponent } from "../host/plain_view.js";
import { StepHeads } from "./heads.js";
import { divisor, nBest, rankAt, treeRows } from "./ranking.js";
import { BEAM_TEXTS, DECODING_TEXTS } from "./texts.js";

// Every hypothesis that beam search looked at, as a tree: a column for each step, best first; above it the length penalty,
// which ranks again at once, and below it the n-best list. data = {steps: [[{parent: index of the node in the column
// before, token, text, log_prob, total, fate, ranked}]], greedy: {text, total, length, cut}, limit, picked: whether a
// person chose the node, node: {step, rank}, cross, self, and what ranking.js needs}. `node` and `alpha` go to Python.

const [WIDTH, HEIGHT, ACROSS, DOWN] = [104, 34, 132, 42]; // of a node; from node to node
const PAUSE = 200; // milliseconds after which a slider that rests is reported

const minus = (number, digits) => number.toFixed(digits).replace("-", "−");

class View extends PlainView {
  constructor(parent) {
    super(parent, "beam", { ...DECODING_TEXTS, ...BEAM_TEXTS });
  }

  // An answer to an older position of the slider does not move it.
  take(before) {
    if (this.timer || (this.reported !== undefined && this.reported !== this.data.alpha && before)) return;
    this.reported = undefined;
    this.alpha = this.data.alpha;
  }

  destroy() {
    clearTimeout(this.timer);
    super.destroy();
  }

  build() {
    this.slider = el("input", {
      type: "range",
      class: "hs-slide",
      min: 0,
      max: (this.data.ends.length - 1) / this.data.positions,
      step: 1 / this.data.positions,
      "data-testid": "beam-alpha",
      "aria-label": this.t("penalty"),
      input: () => this.slide(Number(this.slider.value)),
    });
    this.number = el("output", { class: "hs-number" });
    const formula = this.t(this.data.penalty === "length" ? "formula_length" : "formula_wu");
    const penalty = el(
      "label",
      { class: "beam-penalty" },
      el("span", {}, this.t("penalty")),
      this.slider,
      this.number,
      el("small", {}, formula),
    );
    this.hint(penalty, () => [this.t("penalty_hint")]);
    this.tree = el("figure", {
      class: "beam-scroll",
      "data-saved-by": "beam-save",
      "aria-label": this.t("region"),
      tabindex: 0,
    });
    this.heads = { cross: new StepHeads(this, "cross"), self: new StepHeads(this, "self") };
    this.says = el("p", { class: "beam-says", "data-testid": "beam-says", role: "status" });
    this.list = el("div", {
      class: "beam-list",
      "data-saved-by": "beam-list-save",
      "data-testid": "beam-list",
      role: "group",
      "aria-label": this.t("list"),
      tabindex: 0,
    });
    this.attention = el("div", { class: "decoding-attention" }, this.heads.cross.element, this.heads.self.element);
    return [
      penalty,
      this.tree,
      savingMenu(this, "beam-save", () => this.savedTree()),
      this.says,
      this.list,
      savingMenu(this, "beam-list-save", () => this.savedList()),
      this.attention,
    ];
  }

  slide(alpha) {
    this.alpha = alpha;
    this.draw();
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.timer = undefined;
      this.reported = alpha;
      this.component.setStateValue("alpha", alpha);
    }, PAUSE);
  }

  paint() {
    this.ranked = rankAt(this.data, this.alpha);
    const { found, end, exact } = this.ranked;
    this.slider.value = this.alpha;
    this.number.textContent = this.alpha.toFixed(2);
    const { node, picked } = this.data;
    this.node = picked && node.step < end ? node : found[0];
    const focused = this.element.getRootNode().activeElement?.dataset.testid;
    const left = this.tree.scrollLeft;
    this.tree.replaceChildren(this.drawTree());
    this.tree.scrollLeft = left;
    if (focused) this.element.querySelector(`[data-testid="${focused}"]`)?.focus();
    this.says.textContent = this.saysOf(this.node.step, this.node.rank).join(" · ");
    this.list.replaceChildren(...this.drawList());
    this.list.toggleAttribute("data-stale", !exact);
    const room = this.element.clientWidth - 16;
    for (const kind of ["cross", "self"]) this.heads[kind].draw(this.data[kind], room / (room > 560 ? 2 : 1));
    const same = this.node.step === node.step && this.node.rank === node.rank;
    this.attention.toggleAttribute("data-stale", !same);
  }

  wins(step, rank) {
    return this.ranked.wins[step] === rank;
  }

  score(step, rank) {
    return this.data.steps[step][rank].total / divisor(this.data.penalty, step + 1, this.alpha);
  }

  drawTree() {
    const steps = this.data.steps.slice(0, this.ranked.end);
    const place = (step, rank) => [8 + step * ACROSS, 22 + rank * DOWN];
    const width = 16 + steps.length * ACROSS;
    const height = 26 + Math.max(...steps.map((step) => step.length)) * DOWN;
    const lines = [];
    const boxes = [];
    steps.forEach((candidates, step) => {
      const number = svgEl("text", {
        class: "beam-step",
        x: 8 + step * ACROSS + WIDTH / 2,
        y: 12,
        "text-anchor": "middle",
      });
      number.textContent = this.t("step", { n: step + 1 });
      boxes.push(number);
      candidates.forEach((one, rank) => {
        const [x, y] = place(step, rank);
        if (step) {
          const [fromX, fromY] = place(step - 1, one.parent);
          const [a, b, middle] = [fromY + HEIGHT / 2, y + HEIGHT / 2, (fromX + WIDTH + x) / 2];
          const d = `M${fromX + WIDTH} ${a}C${middle} ${a} ${middle} ${b} ${x} ${b}`;
          lines.push(svgEl("path", { d, "data-fate": one.fate, "data-wins": this.wins(step, rank) || null }));
        }
        boxes.push(this.box(one, step, rank, x, y));
      });
    });
    const svg = svgEl("svg", { class: "beam-tree", width, height, viewBox: `0 0 ${width} ${height}` });
    svg.append(svgEl("g", { class: "beam-lines" }, ...lines), ...boxes);
    return svg;
  }

  saysOf(step, rank) {
    const one = this.data.steps[step][rank];
    const total = minus(one.total, 3);
    const values = { token: printable(one.token), log_prob: minus(one.log_prob, 3), total };
    const [first] = this.ranked.found;
    const winner = first.step === step && first.rank === rank;
    const fate = this.t(`node_${one.fate}`, { beams: this.data.beams, limit: this.data.limit });
    const by = divisor(this.data.penalty, step + 1, this.alpha).toFixed(3);
    const score = this.t("normalised", { score: minus(this.score(step, rank), 4), total, divisor: by });
    return [one.text, this.t("node", values), ...(winner ? [this.t("winner")] : []), fate, score].filter(Boolean);
  }

  box(one, step, rank, x, y) {
    const choose = () => this.component.setStateValue("node", { step, rank });
    const attributes = {
      class: "beam-node",
      "data-fate": one.fate,
      "data-wins": this.wins(step, rank) || null,
      "data-testid": `beam-node-${step}-${rank}`,
      role: "button",
      tabindex: 0,
      "aria-pressed": String(this.node.step === step && this.node.rank === rank),
      "aria-label": this.saysOf(step, rank).join(". "),
      click: choose,
      keydown: (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        choose();
      },
    };
    const label = printable(one.token);
    const shown = label.length > 12 ? `${label.slice(0, 11)}…` : label;
    const number = (name, value, at, anchor) =>
      svgEl("text", { class: name, x: x + at, y: y + 28, "text-anchor": anchor }, minus(value, 2));
    const node = svgEl(
      "g",
      attributes,
      svgEl("rect", { x, y, width: WIDTH, height: HEIGHT, rx: 5 }),
      svgEl("text", { x: x + WIDTH / 2, y: y + 14, "text-anchor": "middle" }, shown),
      number("beam-total", one.total, 7, "start"),
      number("beam-score", this.score(step, rank), WIDTH - 7, "end"),
    );
    return this.hint(node, () => this.saysOf(step, rank));
  }

  // The n-best list and greedy's row, each with its name.
  ranking() {
    const { found, greedy } = nBest(this.data, this.alpha);
    return [...found.map((one, n) => ({ name: String(n + 1), ...one })), { name: this.t("greedy"), ...greedy }];
  }

  drawList() {
    const rows = this.ranking();
    const head = ["translation", "log_p", "tokens", "divisor", "score"].map((name) =>
      el("th", { scope: "col" }, this.t(`list_${name}`)),
    );
    const body = rows.map(({ name, text, total, length, by, score, cut }, n) =>
      el(
        "tr",
        { "data-testid": n < rows.length - 1 ? `beam-found-${n}` : "beam-greedy" },
        el("th", { scope: "row" }, name),
        el("td", {}, printable(text), cut ? el("small", {}, ` ${this.t("cut")}`) : null),
        ...[minus(total, 4), length, by.toFixed(4), minus(score, 4)].map((number) =>
          el("td", { class: "hs-number" }, String(number)),
        ),
      ),
    );
    const table = el(
      "table",
      { class: "beam-found" },
      el("thead", {}, el("tr", {}, el("td", {}), ...head)),
      el("tbody", {}, ...body),
    );
    return [table, el("p", { class: "beam-why", "data-testid": "beam-why" }, this.why(rows.slice(0, -1)))];
  }

  // Why the first of the list is the first.
  why(rows) {
    if (!this.ranked.exact) return this.t("searching");
    const likeliest = rows.reduce((best, one) => (one.total > best.total ? one : best));
    if (likeliest !== rows[0])
      return this.t("why_penalty", {
        text: likeliest.text,
        total: minus(likeliest.total, 3),
        divisor: likeliest.by.toFixed(3),
      });
    if (rows[0].cut) return this.t("why_cut");
    return rows.length > 1 ? this.t("why_both") : this.t("why_only");
  }

  savedTree() {
    const { stem, caption } = this.data;
    const head = ["step", "parent", "token", "log_prob", "total", "score", "fate"].map((name) => this.t(`csv_${name}`));
    const rows = treeRows(this.data, this.alpha);
    return { element: this.tree.firstElementChild, ...this.named(stem, caption), rows: [head, ...rows] };
  }

  savedList() {
    const { stem, caption } = this.data;
    const head = ["rank", "translation", "log_p", "tokens", "divisor", "score"].map((name) => this.t(`list_${name}`));
    const rows = this.ranking().map(({ name, text, total, length, by, score }) => [
      name,
      text,
      total,
      length,
      by,
      score,
    ]);
    return { element: this.list, ...this.named([...stem, "n-best"], caption), rows: [head, ...rows] };
  }

  named(stem, caption) {
    const { beams } = this.data;
    const alpha = this.alpha.toFixed(2);
    return {
      stem: [...stem, `beam${beams}`, `alpha${alpha}`],
      caption: [caption, this.t("caption", { beams, alpha })],
    };
  }
}

export default plainComponent(View);
