import { el } from "../core/dom.js";
import { makeTexts } from "../core/texts.js";
import { Picture } from "../core/picture.js";
import { hint, makeTooltip } from "../core/tooltip.js";
import { keepMounted, memoryOf } from "./streamlit.js";

// A view of plain data from Streamlit: {big, texts, wording, ...}; wording: texts for this data alone. A kind of view
// creates its elements in build(), once and when its texts change, takes new data over in take(before), and draws in
// paint().
export class PlainView extends Picture {
  /** @type {any} */ component;
  /** @type {any} */ driver;
  /** @type {(() => void) | null} */ due = null; // what waits for a pause
  // name: of the section's class, its data-testid and its memory; look: options of followLook
  constructor(parent, name, texts, look = { fitsWindow: false }) {
    super(parent, el("section", { class: `hs ${name}`, "data-testid": name }), look);
    this.name = name;
    this.ownTexts = texts;
  }

  destroy() {
    clearTimeout(this.timer);
    this.driver?.stop();
    super.destroy();
  }

  resized() {
    this.draw();
  }

  get memory() {
    return memoryOf(this.name);
  }

  show(data) {
    const text = JSON.stringify(data);
    if (!data || text === this.text) return; // the same data comes again on every rerun
    const before = this.data;
    this.data = data;
    this.text = text;
    this.take(before);
    const texts = JSON.stringify([data.texts, data.wording]);
    if (texts !== this.textsKey) {
      this.textsKey = texts;
      this.t = makeTexts(data.texts, { ...this.ownTexts, ...data.wording });
      this.tooltip = makeTooltip(this.element);
      this.element.setAttribute("aria-label", this.t("region"));
      this.element.replaceChildren(this.look.sentinel, ...this.build(), this.tooltip.box);
    }
    this.draw();
  }

  /** @abstract @returns {Node[]} */
  build() {
    return [];
  }

  take(_before) {}

  /** @abstract */
  paint() {}

  hint(element, lines) {
    return hint(element, this.tooltip, lines);
  }

  // Calls act() if it is not replaced within `pause` milliseconds, as while a slider moves.
  later(pause, act) {
    clearTimeout(this.timer);
    this.due = act;
    this.timer = setTimeout(() => this.flush(), pause);
  }

  // Does at once what waits for its pause.
  flush() {
    const { due } = this;
    this.due = null;
    due?.();
  }

  draw() {
    if (!this.data || !this.element.clientWidth) return; // in a closed tab: drawn once it has a width
    this.dress(this.data.big);
    this.paint();
  }
}

// The Streamlit component of a kind of view. follow(view): a driver that shows the data in its own way, {show(data), stop()}.
export function plainComponent(View, follow = (view) => ({ show: (data) => view.show(data), stop() {} })) {
  return (component) => {
    const { kept, leave } = keepMounted(component, (parent) => {
      const view = new View(parent);
      view.driver = follow(view);
      return view;
    });
    kept.driver.show(component.data);
    return leave;
  };
}
