import { buttonEl, el, printable, sliderEl } from "../core/dom.js";
import { savable } from "../saving/menu.js";
import { PlainView, plainComponent } from "../host/plain_view.js";
import { PAINT_TEXTS } from "./texts.js";

// One row of attention as sliders, and the heads that get it. data = {keys, weights: of the row, from 0 to 1, plain: the
// model's own, painted, place: a list; another row, other keys or heads reset the sliders, colour, layers, heads: how
// many, chosen: ["layer.head"] from 1, said: what comes of it}. `weights` goes to Python once a slider rests, `heads` at
// once: "1.2_4.8", "" for all.

const PAUSE = 300; // milliseconds
const STEP = 0.01;

class View extends PlainView {
  constructor(parent) {
    super(parent, "paint", PAINT_TEXTS);
  }

  // The person's own moves count until Python speaks of another row, or takes them back.
  take(before) {
    const moved = String(before?.place) !== String(this.data.place);
    if (moved || (before.painted && !this.data.painted)) {
      this.due = null; // a move on the row of before
      this.weights = [...this.data.weights];
    }
    this.chosen = new Set(this.data.chosen);
  }

  build() {
    this.heads = el("div", { class: "paint-heads", role: "group", "aria-label": this.t("heads") });
    this.rows = el("div", { class: "paint-rows", role: "group" });
    this.picture = el("div", {}, this.heads, this.rows);
    const lead = el("p", { class: "paint-lead" }, this.t("lead"));
    return [lead, savable(this, "paint-save", this.picture, () => this.saved())];
  }

  changed() {
    this.drawNumbers();
    this.later(PAUSE, () => this.component.setStateValue("weights", [...this.weights]));
  }

  paint() {
    this.element.dataset.colour = this.data.colour;
    this.drawHeads();
    if (this.place !== String(this.data.place)) this.buildRows();
    this.drawNumbers();
  }

  names(layer) {
    return Array.from({ length: this.data.heads }, (_, head) => `${layer + 1}.${head + 1}`);
  }

  drawHeads() {
    const layers = Array.from({ length: this.data.layers }, (_, layer) => this.names(layer));
    const every = layers.flat();
    const button = (id, text, spoken, pressed, choose) => {
      const attributes = { "data-testid": `paint-head-${id}`, "aria-pressed": String(pressed) };
      return buttonEl({ ...attributes, "aria-label": spoken, click: () => this.choose(choose(), every) }, text);
    };
    const all = this.chosen.size === every.length;
    const has = (names) => names.every((name) => this.chosen.has(name));
    const rows = layers.map((names, layer) => {
      const whole = this.t("layer", { layer: layer + 1 });
      const others = [...this.chosen].filter((name) => !names.includes(name));
      const pick = () => (all ? names : has(names) ? others : [...others, ...names]);
      return el(
        "div",
        { class: "paint-layer" },
        button(`layer-${layer + 1}`, `L${layer + 1}`, whole, has(names), pick),
        ...names.map((name, head) => {
          const toggled = () => {
            if (all) return [name];
            return this.chosen.has(name) ? [...this.chosen].filter((one) => one !== name) : [...this.chosen, name];
          };
          const spoken = this.t("head", { layer: layer + 1, head: head + 1 });
          return button(name, String(head + 1), spoken, this.chosen.has(name), toggled);
        }),
      );
    });
    const focused = this.element.getRootNode().activeElement?.dataset.testid;
    const title = el("span", {}, this.t("heads"));
    const lead = el(
      "div",
      { class: "paint-layer" },
      title,
      button("all", this.t("all"), this.t("all_spoken"), all, () => every),
    );
    this.heads.replaceChildren(lead, ...rows);
    if (focused) this.heads.querySelector(`[data-testid="${focused}"]`)?.focus();
  }

  // None is all: a painted row needs a head.
  choose(names, every) {
    this.flush();
    this.chosen = new Set(names.length ? names : every);
    this.drawHeads();
    const all = this.chosen.size === every.length;
    this.component.setStateValue("heads", all ? "" : every.filter((name) => this.chosen.has(name)).join("_"));
  }

  buildRows() {
    this.place = String(this.data.place);
    const rows = this.data.keys.map((key, k) => {
      const token = printable(key);
      const bounds = { min: 0, max: 1, step: STEP };
      const slider = sliderEl(`paint-${k}`, this.t("weight_of", { token }), bounds, (weight) => {
        this.weights[k] = weight;
        this.changed();
      });
      const only = () => {
        this.weights = this.weights.map((_, other) => Number(other === k));
        this.changed();
      };
      const button = buttonEl({ "data-testid": `paint-only-${k}`, click: only }, token);
      this.hint(button, () => [this.t("only", { token })]);
      return el("div", { class: "paint-row" }, button, slider, el("output", { class: "hs-number" }));
    });
    this.rows.replaceChildren(...rows);
  }

  shares() {
    const sum = this.weights.reduce((a, b) => a + b, 0);
    return this.weights.map((weight) => (sum ? weight / sum : NaN));
  }

  drawNumbers() {
    const shares = this.shares();
    [...this.rows.children].forEach((row, k) => {
      row.querySelector("input").value = this.weights[k];
      row.querySelector("output").textContent = Number.isNaN(shares[k])
        ? this.t("none")
        : `${(100 * shares[k]).toFixed(0)}%`;
    });
  }

  saved() {
    const { keys, plain, stem, caption, said } = this.data;
    const head = ["csv_token", "csv_model", "csv_painted"].map((name) => this.t(name));
    const shares = this.shares();
    return { stem, caption: [caption, said], rows: [head, ...keys.map((key, k) => [key, plain[k], shares[k]])] };
  }
}

export default plainComponent(View);
