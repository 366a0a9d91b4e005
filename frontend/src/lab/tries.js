import { buttonEl, el } from "../core/dom.js";
import { nameOf } from "./params.js";

export const TRIES = ["scaling", "bias", "causal", "padding", "uniform", "head"];
const PADS = "4"; // enough <pad> to see that attention leaks to them

// The switches that a button sets, in place of all others. chosen: the head that "head" knocks out.
/** @param {[kind: string, layer: any, head: any]} chosen */
export function switchesOf(name, empty, chosen) {
  const off = [{ value: "off", where: "all" }];
  return {
    ...empty,
    ...{
      scaling: { scaling: off },
      bias: { bias: off },
      causal: { causal: off },
      padding: { padding: off, pad: [{ value: PADS, where: "all" }] },
      uniform: { weights: [{ value: "uniform", where: "all" }] },
      head: { zero: [{ value: "", where: nameOf(...chosen) }] },
    }[name],
  };
}

// Which button has set these switches; null if none has.
export function tryOf(lists, empty, chosen) {
  const text = JSON.stringify(lists);
  const zero =
    lists.zero?.length === 1 && Object.entries(lists).every(([name, list]) => name === "zero" || !list.length);
  if (zero && lists.zero[0].where.split(".").length === 3) return "head";
  return TRIES.find((name) => JSON.stringify(switchesOf(name, empty, chosen)) === text) ?? null;
}

// The row of buttons. hooks: t, press(name), back(), cards(): folds or unfolds every switch.
export class TryRow {
  constructor(hooks) {
    const { t } = hooks;
    const button = (name, click, text) => buttonEl({ class: "hs-press", "data-testid": name, click }, text);
    this.buttons = TRIES.map((name) => button(`try-${name}`, () => hooks.press(name), t(`lab_try_${name}`)));
    this.back = button("reset", hooks.back, t("lab_reset"));
    this.cards = button("lab-cards", hooks.cards, t("lab_cards"));
    this.title = el("span", { class: "hs-try-title" }, t("lab_try"));
    const tries = el("div", { class: "hs-try-buttons", role: "group", "aria-label": t("lab_try") }, ...this.buttons);
    this.tries = [this.title, tries];
    this.element = el("div", { class: "hs-try" }, ...this.tries, this.back, this.cards);
  }

  // causal, scaling: whether the model has them; biased: whether it has relative positions, as few have.
  draw({ tries, pressed, switched, opened, causal, scaling, biased }) {
    for (const part of this.tries) part.hidden = !tries;
    this.buttons.forEach((button, i) => button.setAttribute("aria-pressed", String(TRIES[i] === pressed)));
    const can = { scaling, causal };
    this.buttons[TRIES.indexOf("bias")].hidden = !biased;
    this.buttons.forEach((button, i) => (button.disabled = can[TRIES[i]] === false));
    this.back.disabled = !switched;
    this.cards.hidden = !tries;
    this.cards.setAttribute("aria-expanded", String(opened));
  }
}
