import { buttonEl, el, svgEl } from "../core/dom.js";
import { makeSaveMenu } from "../core/menu.js";
import { hint } from "../core/tooltip.js";
import { richText } from "./panel/equations.js";
import { isPredicted } from "./panel/facts.js";
import { PLACES } from "../state/generated.js";
import { stepSuffix, stepsOf, zoomsOf, stopsOf, stopIndex, walk, kindOf, stackOf, isAttention } from "./walk.js";

// The bars around the drawing: the breadcrumb, the choice of layer, head and decoding step, and the steps. Each has an
// element and draw(state, data, info); the element is created once and only changed, so that the focus stays and
// nothing jumps.

const SPEEDS = ["slow", "normal", "fast"];
const LAYERS = 8; // side by side; more become a list
const HEADS = 12;
const ICONS = {
  previous: ["M5 4v12", "M16 4L7 10l9 6z"],
  next: ["M15 4v12", "M4 4l9 6-9 6z"],
  play: ["M5 3l12 7-12 7z"],
  pause: ["M6 3v14", "M14 3v14"],
};

export const placeName = (place) => place.replace(".", "_");
const setPressed = (element, name, value) => {
  if (value === null) element.removeAttribute(name);
  else if (element.getAttribute(name) !== String(value)) element.setAttribute(name, String(value));
};

// The key and the values of a text in one string, to see whether the text changed.
function textButton(element, t, key, values) {
  const text = t(key, values);
  if (element.dataset.text === text) return;
  element.dataset.text = text;
  element.replaceChildren(...richText(text));
}

// Scrolls a row of buttons until one is in the middle, without moving the page.
function scrollIntoBar(row, element) {
  if (!element || row.scrollWidth <= row.clientWidth) return;
  const frame = row.getBoundingClientRect();
  const { left, width } = element.getBoundingClientRect();
  const calm = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
  const behind = left + width / 2 - frame.left - frame.width / 2;
  row.scrollTo({ left: row.scrollLeft + behind, behavior: calm ? "auto" : "smooth" });
}

function iconButton(name) {
  const line = name === "pause" ? "hs-an-icon hs-an-icon-thick" : "hs-an-icon";
  const paths = ICONS[name].map((d) => svgEl("path", { d }));
  return svgEl("svg", { class: line, viewBox: "0 0 20 20", "aria-hidden": "true" }, ...paths);
}

// -- breadcrumb ----------------------------------------------------------------------------------------------------

export class Crumbs {
  constructor({ t, hooks, tooltip }) {
    this.t = t;
    this.parts = ["model", "layer", "sub", "head", "number"].map((zoom) => {
      const go = () => hooks.go({ zoom });
      const button = buttonEl({ "data-testid": "zoom-" + zoom, "data-zoom": zoom, click: go });
      hint(button, tooltip, () => [button.dataset.hint]);
      return { zoom, button, element: el("li", null, button) };
    });
    this.list = el("ol", null, ...this.parts.map((part) => part.element));
    const region = { class: "hs-an-crumbs", "aria-label": t("zoom_region"), "data-testid": "anatomy-crumbs" };
    this.element = el("nav", region, this.list);
  }

  name(zoom, state) {
    const { place, row, col } = state;
    if (zoom === "layer") {
      const stack = stackOf(place);
      return ["zoom_layer_" + stack, { layer: state[stack] + 1 }];
    }
    if (zoom === "sub") return ["zoom_sub_" + place.split(".").pop()];
    if (zoom === "head") return ["zoom_head", { head: state.head + 1 }];
    const chosen = zoom === "number" && state.zoom === "number" && col >= 0;
    if (chosen) return ["zoom_number_at", { row: row + 1, column: col + 1 }];
    return ["zoom_" + zoom];
  }

  draw(state) {
    const { t } = this;
    const zooms = zoomsOf(state.place);
    const current = zooms.indexOf(state.zoom);
    for (const { zoom, button, element } of this.parts) {
      const at = zooms.indexOf(zoom);
      element.hidden = at < 0;
      if (at < 0) continue;
      const [key, values] = this.name(zoom, state);
      textButton(button, t, key, values);
      setPressed(button, "aria-current", at === current ? "location" : null);
      element.classList.toggle("hs-an-deeper", at > current);
      const name = t(key, values);
      button.dataset.hint = at === current ? t("zoom_here") : t(at < current ? "zoom_out" : "zoom_in", { name });
      if (at === current) scrollIntoBar(this.list, element);
    }
  }
}

// -- choice of a number --------------------------------------------------------------------------------------------

// Buttons 1 ... count, or a list if there are many or the screen is narrow (anatomy.css shows one of the two).
class NumberTabs {
  /** @type {any} */ choose;
  /** @type {any} */ most;
  /** @type {any} */ testid;
  /** @type {any} */ tip;
  /** @type {any} */ tooltip;
  constructor({ t, tooltip, testid, name, tip, choose, most, kind = undefined }) {
    Object.assign(this, { t, tooltip, testid, tip, choose, most, count: 0 });
    this.buttons = el("div", { class: "hs-seg", role: "group", "aria-label": t(name) });
    this.select = el("select", {
      "aria-label": t(name),
      "data-testid": testid + "-list",
      change: () => choose(Number(this.select.value)),
    });
    this.label = el("span", { class: "hs-an-tabs-name" }, t(name));
    const attributes = { class: "hs-an-tabs", "data-kind": kind, "data-testid": testid };
    this.element = el("div", attributes, this.label, this.buttons, this.select);
  }

  make(count) {
    this.count = count;
    this.element.classList.toggle("hs-an-many", count > this.most);
    const numbers = Array.from({ length: count }, (_, i) => i);
    const button = (i) => {
      const attributes = { type: "button", "data-testid": `${this.testid}-${i + 1}`, click: () => this.choose(i) };
      return hint(el("button", attributes, String(i + 1)), this.tooltip, () => [this.tip(i + 1, count)]);
    };
    this.buttons.replaceChildren(...(count > this.most ? [] : numbers.map(button)));
    this.select.replaceChildren(...numbers.map((i) => el("option", { value: i }, String(i + 1))));
  }

  draw(count, chosen, isCurrent) {
    if (count !== this.count) this.make(count);
    [...this.buttons.children].forEach((button, i) => setPressed(button, "aria-pressed", i === chosen));
    this.select.value = String(chosen);
    this.element.toggleAttribute("data-here", isCurrent);
  }
}

export class LayerTabs {
  constructor({ t, hooks, tooltip }) {
    this.tabs = ["encoder", "decoder"].map((stack) => {
      const tip = (n, count) => t("layers_hint", { n, stack_layers: count });
      const choose = (i) => hooks.go({ [stack]: i });
      const [name, testid] = ["layers_" + stack, "layers-" + stack];
      return new NumberTabs({ t, tooltip, testid, name, tip, choose, most: LAYERS, kind: `${stack}_self` });
    });
    this.element = el("div", { class: "hs-an-layers" }, ...this.tabs.map((tabs) => tabs.element));
  }

  // Only the stack one is in has an open layer.
  draw(state, data) {
    const inLayer = state.place.includes(".");
    ["encoder", "decoder"].forEach((stack, i) => {
      this.tabs[i].element.hidden = stackOf(state.place) !== stack;
      this.tabs[i].draw(data.config[stack + "_layers"], state[stack], inLayer);
    });
  }
}

export class HeadTabs {
  constructor({ t, hooks, tooltip }) {
    const tip = (n, count) => t("heads_hint", { n, count });
    const choose = (head) => hooks.go({ head });
    this.tabs = new NumberTabs({ t, tooltip, testid: "heads", name: "heads_name", tip, choose, most: HEADS });
    this.element = el("div", { class: "hs-an-heads" }, this.tabs.element);
  }

  // Without heads the space stays, so that nothing moves.
  draw(state, data) {
    const { place } = state;
    this.tabs.draw(data.config.heads, state.head, state.zoom === "head");
    this.tabs.element.dataset.kind = kindOf(place);
    this.element.classList.toggle("hs-an-unseen", !isAttention(place));
  }
}

// -- the step of decoding ---------------------------------------------------------------------------------------------

export class StepSlider {
  constructor({ t, hooks }) {
    this.t = t;
    this.range = el("input", {
      type: "range",
      min: 0,
      step: 1,
      "data-testid": "anatomy-t",
      "aria-label": t("slider_name"),
      input: () => hooks.go({ t: Number(this.range.value) }),
    });
    this.text = el("output", { class: "hs-an-slider-text", "data-testid": "anatomy-t-text" });
    this.element = el("label", { class: "hs-an-slider" }, this.text, this.range);
  }

  draw(state, data) {
    const { steps } = data;
    const [fed, predicted] = [data.labels("target_in")[state.t], data.labels("target_out")[state.t]];
    const key = isPredicted(data, state.t) ? "slider_step" : "slider_step_next";
    const text = this.t(key, { n: state.t + 1, count: steps, fed, predicted });
    this.range.max = String(steps - 1);
    this.range.value = String(state.t);
    this.range.disabled = steps < 2;
    setPressed(this.range, "aria-valuetext", text);
    this.element.style.setProperty("--at", steps > 1 ? state.t / (steps - 1) : 0);
    this.text.textContent = text;
    this.text.title = text;
  }
}

// -- the steps of a place ---------------------------------------------------------------------------------------------

export class StepBar {
  /** @type {any} */ hooks;
  /** @type {Translate} */ t;
  /** @type {any} */ tooltip;
  constructor({ t, hooks, tooltip }) {
    Object.assign(this, { t, hooks, tooltip });
    const button = (name, act) => {
      const made = buttonEl({ class: "hs-an-move", "data-testid": "anatomy-" + name, click: act });
      return hint(made, tooltip, () => [made.getAttribute("aria-label")]);
    };
    this.previous = button("previous", () => hooks.move(-1));
    this.play = button("play", () => hooks.play());
    this.next = button("next", () => hooks.move(1));
    this.icon(this.previous, "previous", "steps_previous");
    this.icon(this.next, "next", "steps_next");
    this.position = el("output", { class: "hs-an-position", "data-testid": "anatomy-position" });
    this.chips = el("ol", { class: "hs-an-chips", "data-testid": "anatomy-chips" });
    const speeds = SPEEDS.map((speed) => el("option", { value: speed }, t("speed_" + speed)));
    const choose = () => hooks.speed(this.speed.value);
    this.speed = el("select", { "data-testid": "anatomy-speed", change: choose }, ...speeds);
    this.save = makeSaveMenu(t, "anatomy-save", (format) => hooks.save(format));
    this.element = el(
      "div",
      { class: "hs-an-steps", role: "group", "aria-label": t("steps_region") },
      el("div", { class: "hs-an-moves" }, this.previous, this.play, this.next, this.position),
      this.chips,
      el("label", { class: "hs-an-speed" }, el("span", null, t("steps_speed")), this.speed),
      this.save,
    );
  }

  icon(button, name, label) {
    if (button.dataset.icon === name) return;
    button.dataset.icon = name;
    button.replaceChildren(iconButton(name));
    setPressed(button, "aria-label", this.t(label));
  }

  // What the chips stand for: the steps of a place, or in the whole model its places.
  stops({ zoom, place }, config) {
    const bare = (name) => (name === "decoder.self" && config.causal === false ? "_bare" : "");
    if (zoom === "model" || zoom === "layer")
      return PLACES.filter((name) => zoom === "model" || name.includes(".")).map((name) => ({
        key: name,
        text: "place_chip_" + placeName(name),
        tip: "place_" + placeName(name) + bare(name),
        go: { place: name },
      }));
    const text = (step) => "step_" + step + stepSuffix(step, config);
    return stepsOf(place, config).map((step) => ({ key: step, text: text(step), go: { step } }));
  }

  draw(state, data, info) {
    const { t } = this;
    const { config, steps } = data;
    const stops = this.stops(state, config);
    const key = JSON.stringify(stops.map((stop) => stop.text));
    if (key !== this.key) {
      this.key = key;
      this.make(stops);
    }
    const near = !["model", "layer"].includes(state.zoom);
    const current = near ? state.step : state.place;
    const index = stops.findIndex((stop) => stop.key === current);
    [...this.chips.children].forEach(({ firstChild }, i) => {
      setPressed(firstChild, "aria-current", i === index ? "step" : null);
      firstChild.toggleAttribute("data-done", i < index);
    });
    const all = near ? stops : stopsOf(config, state.zoom);
    const n = (near ? index : stopIndex(config, state, all)) + 1;
    this.position.textContent = t("steps_position", { n, count: all.length });
    this.chips.dataset.kind = kindOf(state.place);
    const after = (delta) => JSON.stringify(walk(config, state, delta, steps));
    const same = (delta) => after(delta) === after(0);
    setPressed(this.previous, "aria-disabled", same(-1) ? true : null);
    setPressed(this.next, "aria-disabled", same(1) ? true : null);
    this.icon(this.play, info.playing ? "pause" : "play", info.playing ? "steps_pause" : "steps_play");
    this.speed.value = info.tempo || "normal";
    scrollIntoBar(this.chips, this.chips.children[index]);
  }

  make(stops) {
    const focused = this.chips.contains(this.chips.getRootNode().activeElement);
    const chip = ({ key, text, tip, go }) => {
      const attributes = { type: "button", "data-testid": "chip-" + key, click: () => this.hooks.go(go) };
      const button = el("button", attributes, ...richText(this.t(text)));
      return el("li", null, tip ? hint(button, this.tooltip, () => [this.t(tip)]) : button);
    };
    this.chips.replaceChildren(...stops.map(chip));
    if (focused) this.chips.querySelector("button").focus({ preventScroll: true });
  }
}
