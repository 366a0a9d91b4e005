import { el, printable } from "../core/dom.js";
import { PlainView, plainComponent } from "../host/plain_view.js";
import { PAINT_TEXTS } from "./texts.js";

// One row of attention as sliders. data = {keys, weights: of the row, from 0 to 1, plain: the model's own, painted,
// place: another row resets the sliders, colour}. `weights` goes to Python once a slider rests.

const PAUSE = 300; // milliseconds
const STEP = 0.01;

class View extends PlainView {
  constructor(parent) {
    super(parent, "paint", PAINT_TEXTS);
  }

  // The person's own moves count until Python speaks of another row, or takes them back.
  take(before) {
    if (!before || before.place !== this.data.place || (before.painted && !this.data.painted))
      this.weights = [...this.data.weights];
  }

  build() {
    this.rows = el("div", { class: "paint-rows", role: "group" });
    return [el("p", { class: "paint-lead" }, this.t("lead")), this.rows];
  }

  changed() {
    this.drawNumbers();
    clearTimeout(this.timer);
    const weights = [...this.weights];
    this.timer = setTimeout(() => this.component.setStateValue("weights", weights), PAUSE);
  }

  destroy() {
    clearTimeout(this.timer);
    super.destroy();
  }

  paint() {
    this.element.dataset.colour = this.data.colour;
    if (this.rows.children.length !== this.data.keys.length || this.place !== this.data.place) this.buildRows();
    this.drawNumbers();
  }

  buildRows() {
    this.place = this.data.place;
    const rows = this.data.keys.map((key, k) => {
      const token = printable(key);
      const slider = el("input", {
        type: "range",
        class: "hs-slide",
        min: 0,
        max: 1,
        step: STEP,
        "data-testid": `paint-${k}`,
        "aria-label": this.t("weight_of", { token }),
        input: () => {
          this.weights[k] = Number(slider.value);
          this.changed();
        },
      });
      const only = () => {
        this.weights = this.weights.map((_, other) => Number(other === k));
        this.changed();
      };
      const button = el("button", { type: "button", "data-testid": `paint-only-${k}`, click: only }, token);
      this.hint(button, () => [this.t("only", { token })]);
      return el("div", { class: "paint-row" }, button, slider, el("output", { class: "hs-number" }));
    });
    this.rows.replaceChildren(...rows);
  }

  drawNumbers() {
    const sum = this.weights.reduce((a, b) => a + b, 0);
    [...this.rows.children].forEach((row, k) => {
      row.querySelector("input").value = this.weights[k];
      row.querySelector("output").textContent = sum
        ? `${((100 * this.weights[k]) / sum).toFixed(0)} %`
        : this.t("none");
    });
  }
}

export default plainComponent(View);
