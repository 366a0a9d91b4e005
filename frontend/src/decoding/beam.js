import { el, printable, sliderEl, svgEl } from "../core/dom.js";
import { savable } from "../saving/menu.js";
import { PlainView, plainComponent } from "../host/plain_view.js";
import { StepHeads, headsElement } from "./heads.js";
import { differences, divisor, leavesGreedy, nBest, rankAt, treeRows } from "./ranking.js";
import { BEAM_TEXTS, DECODING_TEXTS } from "./texts.js";

// Every hypothesis that beam search looked at, as a tree: a column for each step, best first; below it the attention of
// the chosen node, the length penalty, which ranks again at once, and the n-best list. data = {steps: [[{parent: index
// of the node in the column before, token, text, log_prob, total, fate, ranked}]], greedy: {text, tokens, total, cut},
// limit, picked: whether a person chose the node, node: {step, rank}, cross, self, and what ranking.js needs}. `node`
// and `alpha` go to Python.

// Of a node; from node to node; above them. Five steps fit beside a lesson on a projector, with big text.
const SIZES = { width: 96, height: 34, across: 116, down: 42, top: 22 };
const SIZE = 15; // CSS pixels of the text that these are made for
const PAUSE = 200; // milliseconds after which a slider that rests is reported

const minus = (number, digits) => number.toFixed(digits).replace("-", "−");

// The probability of a node's token; log_prob: its logarithm.
const probability = (logProb) => (Math.exp(logProb) < 0.005 ? "< 0.01" : Math.exp(logProb).toFixed(2));

class View extends PlainView {
  constructor(parent) {
    super(parent, "beam", { ...DECODING_TEXTS, ...BEAM_TEXTS });
  }

  // An answer to an older position of the slider does not move it.
  take(before) {
    if (this.due || (this.reported !== undefined && this.reported !== this.data.alpha && before)) return;
    this.reported = undefined;
    this.alpha = this.data.alpha;
  }

  build() {
    const { ends, positions } = this.data;
    const bounds = { min: 0, max: (ends.length - 1) / positions, step: 1 / positions };
    this.slider = sliderEl("beam-alpha", this.t("penalty"), bounds, (alpha) => this.slide(alpha));
    this.number = el("output", { class: "hs-number" });
    const formula = this.t(this.data.penalty === "length" ? "formula_length" : "formula_wu");
    const penalty = el("label", { class: "beam-penalty" }, el("span", {}, this.t("penalty")), this.slider, this.number);
    this.hint(penalty, () => [this.t("penalty_hint")]);
    this.differs = el("p", { "data-testid": "beam-differs" });
    const region = { "aria-label": this.t("region"), tabindex: 0 };
    this.tree = el("figure", { class: "beam-scroll", ...region });
    this.heads = { cross: new StepHeads(this, "cross"), self: new StepHeads(this, "self") };
    this.says = el("p", { class: "beam-says", "data-testid": "beam-says", role: "status" });
    const list = { class: "beam-list", "data-testid": "beam-list" };
    this.list = el("div", { ...list, role: "group", "aria-label": this.t("list"), tabindex: 0 });
    this.attention = headsElement(this, this.heads);
    const about = el("p", {}, this.t("penalty_about"), " ", el("small", {}, formula));
    const pictured = savable(this, "beam-list-save", this.list, () => this.savedList());
    return [
      el("p", { class: "beam-legend" }, this.t("legend")),
      this.differs,
      savable(this, "beam-save", this.tree, () => this.savedTree()),
      this.says,
      el("div", { class: "beam-below" }, this.attention, el("div", {}, about, penalty, pictured)),
    ];
  }

  slide(alpha) {
    this.alpha = alpha;
    this.draw();
    this.later(PAUSE, () => {
      this.reported = alpha;
      this.component.setStateValue("alpha", alpha);
    });
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
    this.showDifference();
    if (focused) this.element.querySelector(`[data-testid="${focused}"]`)?.focus();
    this.says.textContent = this.saysOf(this.node.step, this.node.rank).join(" · ");
    this.list.replaceChildren(...this.drawList());
    this.list.toggleAttribute("data-stale", !exact);
    for (const kind of ["cross", "self"]) this.heads[kind].draw(this.data[kind]);
    const same = this.node.step === node.step && this.node.rank === node.rank;
    this.attention.toggleAttribute("data-stale", !same);
    this.reveal();
  }

  // Says where the winner leaves greedy search's path, and scrolls a new tree to there.
  showDifference() {
    const step = leavesGreedy(this.data, this.alpha);
    const token = (text) => printable(text ?? "");
    const { steps, greedy } = this.data;
    const values = step === null ? {} : { n: step + 1, token: token(steps[step][this.ranked.wins[step]].token) };
    const said = step === null ? "" : this.t("differs", { ...values, greedy: token(greedy.tokens[step]) });
    this.differs.textContent = said;
    this.differs.hidden = !said;
    const key = [step, this.data.beams, ...greedy.tokens].join(" ");
    if (key === this.scrolled) return;
    this.scrolled = key;
    const across = Math.round(SIZES.across * this.grown);
    const hidden = step !== null && (step + 2) * across > this.tree.clientWidth;
    this.tree.scrollLeft = hidden ? (step - 0.5) * across : 0;
  }

  choose(step, rank) {
    this.asked = `${step}.${rank}`;
    this.component.setStateValue("node", { step, rank });
    this.reveal(); // the same node again brings no answer
  }

  // The attention of a node that was just chosen often lies below the screen.
  reveal() {
    const { step, rank } = this.data.node;
    if (this.asked !== `${step}.${rank}`) return;
    this.asked = undefined;
    const still = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
    this.heads.cross.element.scrollIntoView({ block: "nearest", behavior: still ? "auto" : "smooth" });
  }

  wins(step, rank) {
    return this.ranked.wins[step] === rank;
  }

  score(step, rank) {
    return this.data.steps[step][rank].total / divisor(this.data.penalty, step + 1, this.alpha);
  }

  drawTree() {
    const steps = this.data.steps.slice(0, this.ranked.end);
    this.grown = this.theme.size / SIZE;
    const sizes = Object.values(SIZES).map((size) => Math.round(size * this.grown));
    const [wide, high, across, down, top] = sizes;
    const place = (step, rank) => [8 + step * across, top + rank * down];
    const width = 16 + steps.length * across;
    const height = top + 4 + Math.max(...steps.map((step) => step.length)) * down;
    const lines = [];
    const boxes = [];
    steps.forEach((candidates, step) => {
      const at = { x: 8 + step * across + wide / 2, y: 12 * this.grown, "text-anchor": "middle" };
      boxes.push(svgEl("text", { class: "beam-step", ...at }, this.t("step", { n: step + 1 })));
      candidates.forEach((one, rank) => {
        const [x, y] = place(step, rank);
        if (step) {
          const [fromX, fromY] = place(step - 1, one.parent);
          const [a, b, middle] = [fromY + high / 2, y + high / 2, (fromX + wide + x) / 2];
          const d = `M${fromX + wide} ${a}C${middle} ${a} ${middle} ${b} ${x} ${b}`;
          lines.push(svgEl("path", { d, "data-fate": one.fate, "data-wins": this.wins(step, rank) || null }));
        }
        boxes.push(this.box(one, step, rank, { x, y, width: wide, height: high }));
      });
    });
    const svg = svgEl("svg", { class: "beam-tree", width, height, viewBox: `0 0 ${width} ${height}` });
    svg.append(svgEl("g", { class: "beam-lines" }, ...lines), ...boxes);
    return svg;
  }

  saysOf(step, rank) {
    const one = this.data.steps[step][rank];
    const total = minus(one.total, 3);
    const values = { token: printable(one.token), p: probability(one.log_prob), total };
    const [first] = this.ranked.found;
    const winner = first.step === step && first.rank === rank;
    const fate = this.t(`node_${one.fate}`, { beams: this.data.beams, limit: this.data.limit });
    const by = divisor(this.data.penalty, step + 1, this.alpha).toFixed(3);
    const score = this.t("normalised", { score: minus(this.score(step, rank), 4), total, divisor: by });
    return [one.text, this.t("node", values), ...(winner ? [this.t("winner")] : []), fate, score].filter(Boolean);
  }

  box(one, step, rank, place) {
    const { x, y, width } = place;
    const choose = () => this.choose(step, rank);
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
    const shown = label.length > 11 ? `${label.slice(0, 10)}…` : label;
    const number = (name, value, at, anchor) =>
      svgEl("text", { class: name, x: x + at, y: y + 28 * this.grown, "text-anchor": anchor }, value);
    const node = svgEl(
      "g",
      attributes,
      svgEl("rect", { ...place, rx: 5 }),
      svgEl("text", { x: x + width / 2, y: y + 14 * this.grown, "text-anchor": "middle" }, shown),
      number("beam-p", probability(one.log_prob), 7, "start"),
      number("beam-total", minus(one.total, 2), width - 7, "end"),
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
    const differ = differences(rows);
    const names = ["translation", "log_p", "tokens", "divisor", "score"];
    const head = names.map((name) => el("th", { scope: "col" }, this.t(`list_${name}`)));
    const body = rows.map(({ name, text, tokens, total, length, by, score, cut }, n) => {
      const notes = [
        cut ? el("small", {}, ` ${this.t("cut")}`) : null,
        differ[n] ? this.pieces(tokens, differ[n]) : null,
      ];
      const numbers = [minus(total, 4), length, by.toFixed(4), minus(score, 4)];
      const cells = numbers.map((number) => el("td", { class: "hs-number" }, String(number)));
      const words = el("td", {}, el("span", {}, printable(text)), ...notes);
      const testid = n < rows.length - 1 ? `beam-found-${n}` : "beam-greedy";
      return el("tr", { "data-testid": testid }, el("th", { scope: "row" }, name), words, ...cells);
    });
    const heading = el("thead", {}, el("tr", {}, el("td", {}), ...head));
    const table = el("table", { class: "beam-found" }, heading, el("tbody", {}, ...body));
    return [table, el("p", { class: "beam-why", "data-testid": "beam-why" }, this.why(rows.slice(0, -1)))];
  }

  // The tokens of a text that other tokens write too, those that differ in bold.
  pieces(tokens, [from, to]) {
    const inside = tokens.flatMap((token, n) => {
      const label = printable(token);
      return [n ? " " : "", n >= from && n < to ? el("b", {}, label) : label];
    });
    return el("small", { class: "beam-pieces" }, ...inside);
  }

  // Why the first of the list is the first.
  why(rows) {
    if (!this.ranked.exact) return this.t("searching");
    const likeliest = rows.reduce((best, one) => (one.total > best.total ? one : best));
    const { text, total, by } = likeliest;
    if (likeliest !== rows[0]) return this.t("why_penalty", { text, total: minus(total, 3), divisor: by.toFixed(3) });
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
    const names = ["rank", "translation", "pieces", "log_p", "tokens", "divisor", "score"];
    const head = names.map((name) => this.t(`list_${name}`));
    const rowOf = ({ name, text, tokens, ...one }) => [
      name,
      text,
      tokens.join(" "),
      ...[one.total, one.length, one.by, one.score],
    ];
    const rows = this.ranking().map(rowOf);
    return { element: this.list, ...this.named([...stem, "n-best"], caption), rows: [head, ...rows] };
  }

  named(stem, caption) {
    const { beams } = this.data;
    const alpha = this.alpha.toFixed(2);
    const about = this.t("caption", { beams, alpha });
    return { stem: [...stem, `beam${beams}`, `alpha${alpha}`], caption: [caption, about] };
  }
}

export default plainComponent(View);
