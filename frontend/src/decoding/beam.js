import { el, printable, svgEl } from "../core/dom.js";
import { savingMenu } from "../saving/menu.js";
import { PlainView, plainComponent } from "../host/plain_view.js";
import { StepHeads } from "./heads.js";
import { BEAM_TEXTS, DECODING_TEXTS } from "./texts.js";

// Every hypothesis that beam search looked at, as a tree: a column for each step, best first. data = {beams, alpha, steps:
// [[{parent: index of the node in the column before, token, log_prob, total, fate, score, divisor, wins}]], node: {step,
// rank}, cross, self}. `node`, the chosen one, goes to Python.

const [WIDTH, HEIGHT, ACROSS, DOWN] = [92, 34, 122, 42]; // of a node; from node to node

const minus = (text) => String(text).replace("-", "−");

class View extends PlainView {
  constructor(parent) {
    super(parent, "beam", { ...DECODING_TEXTS, ...BEAM_TEXTS });
  }

  build() {
    this.tree = el("figure", {
      class: "beam-scroll",
      "data-saved-by": "beam-save",
      "aria-label": this.t("region"),
      tabindex: 0,
    });
    this.heads = { cross: new StepHeads(this, "cross"), self: new StepHeads(this, "self") };
    this.says = el("p", { class: "beam-says", "data-testid": "beam-says", role: "status" });
    const attention = el("div", { class: "decoding-attention" }, this.heads.cross.element, this.heads.self.element);
    return [this.tree, this.says, attention, savingMenu(this, "beam-save", () => this.saved())];
  }

  paint() {
    const { steps, node } = this.data;
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
          lines.push(svgEl("path", { d, "data-fate": one.fate, "data-wins": one.wins || null }));
        }
        boxes.push(this.box(one, step, rank, x, y, node.step === step && node.rank === rank));
      });
    });
    const left = this.tree.scrollLeft;
    const svg = svgEl("svg", { class: "beam-tree", width, height, viewBox: `0 0 ${width} ${height}` });
    svg.append(svgEl("g", { class: "beam-lines" }, ...lines), ...boxes);
    const focused = this.element.getRootNode().activeElement?.dataset.testid;
    this.tree.replaceChildren(svg);
    this.tree.scrollLeft = left;
    if (focused) this.element.querySelector(`[data-testid="${focused}"]`)?.focus();
    this.says.textContent = this.saysOf(steps[node.step][node.rank]).join(" · ");
    const room = this.element.clientWidth - 16;
    for (const kind of ["cross", "self"]) this.heads[kind].draw(this.data[kind], room / (room > 560 ? 2 : 1));
  }

  saysOf(one) {
    const values = {
      token: printable(one.token),
      log_prob: minus(one.log_prob.toFixed(3)),
      total: minus(one.total.toFixed(3)),
    };
    const fate = this.t(`node_${one.fate}`, { beams: this.data.beams });
    const parts = [one.text, this.t("node", values), one.wins && one.fate === "finished" ? this.t("winner") : fate];
    if (one.fate === "finished") {
      const [score, divisor] = [minus(one.score.toFixed(4)), one.divisor.toFixed(3)];
      parts.push(this.t("normalised", { score, total: values.total, divisor }));
    }
    return parts;
  }

  box(one, step, rank, x, y, chosen) {
    const choose = () => this.component.setStateValue("node", { step, rank });
    const attributes = {
      class: "beam-node",
      "data-fate": one.fate,
      "data-wins": one.wins || null,
      "data-testid": `beam-node-${step}-${rank}`,
      role: "button",
      tabindex: 0,
      "aria-pressed": String(chosen),
      "aria-label": this.saysOf(one).join(". "),
      click: choose,
      keydown: (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        choose();
      },
    };
    const label = printable(one.token);
    const shown = label.length > 11 ? `${label.slice(0, 10)}…` : label;
    const score = minus((one.fate === "finished" ? one.score : one.total).toFixed(2));
    const node = svgEl(
      "g",
      attributes,
      svgEl("rect", { x, y, width: WIDTH, height: HEIGHT, rx: 5 }),
      svgEl("text", { x: x + WIDTH / 2, y: y + 14, "text-anchor": "middle" }, shown),
      svgEl("text", { class: "beam-score", x: x + WIDTH / 2, y: y + 28, "text-anchor": "middle" }, score),
    );
    return this.hint(node, () => this.saysOf(one));
  }

  saved() {
    const { steps, stem, caption } = this.data;
    const head = ["csv_step", "csv_parent", "csv_token", "csv_log_prob", "csv_total", "csv_fate"].map((name) =>
      this.t(name),
    );
    const rows = steps.flatMap((candidates, step) =>
      candidates.map((one) => [step + 1, step ? one.parent + 1 : "", one.token, one.log_prob, one.total, one.fate]),
    );
    return { element: this.tree.firstElementChild, stem, caption: [caption], rows: [head, ...rows] };
  }
}

export default plainComponent(View);
