import { readTheme } from "./colour.js";
import { el } from "./dom.js";
import { followLook } from "./look.js";
import { readPack } from "./pack.js";
import { makeTexts } from "./texts.js";

// A picture in an element of its own, drawn anew with every size and theme of it.
export class Picture {
  /** @type {any} */ theme;
  spoken = el("div", { class: "hs-spoken", "aria-live": "polite", role: "status" }); // for screen readers
  // options: of followLook
  constructor(parent, element, options = { fitsWindow: true }) {
    this.root = parent;
    this.element = element;
    const retheme = () => this.theme && readTheme(element).key !== this.theme.key && this.draw();
    this.look = followLook(element, retheme, () => this.resized(), options);
    parent.append(element);
  }

  destroy() {
    this.look.stop();
    cancelAnimationFrame(this.scheduled);
    this.element.remove();
  }

  // A pack; null if it cannot be read: then the element says why. texts: in English, as there are no others.
  read(bytes, texts) {
    try {
      return readPack(bytes);
    } catch (error) {
      const reason = makeTexts(null, texts)("unreadable", { reason: error.message });
      this.element.replaceChildren(el("p", { class: "hs-empty", role: "alert" }, reason));
      return null;
    }
  }

  resized() {
    this.schedule();
  }

  schedule() {
    cancelAnimationFrame(this.scheduled);
    this.scheduled = requestAnimationFrame(() => this.draw());
  }

  /** @abstract */
  draw() {}

  // The size of the text and the theme, before anything is drawn.
  dress(big) {
    this.element.toggleAttribute("data-big", Boolean(big));
    this.theme = readTheme(this.element);
    this.element.dataset.theme = this.theme.dark ? "dark" : "light";
  }
}

// Tells the page what an element shows now.
export function tellDrawn(element, detail) {
  element.dispatchEvent(new CustomEvent("headscope:drawn", { bubbles: true, composed: true, detail }));
}

// The same with the number of the drawing, which the element has too. name: of what is drawn; "": nobody is told.
export function countDrawing(element, name) {
  const count = (Number(element.dataset.drawn) || 0) + 1;
  element.dataset.drawn = String(count);
  if (name) tellDrawn(element, `${name}:${count}`);
}
