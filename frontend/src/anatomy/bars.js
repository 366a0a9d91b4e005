import { buttonEl, el, svgEl } from "../core/dom.js";
import { makeSaveMenu } from "../core/menu.js";
import { hint } from "../core/tooltip.js";
import { richText } from "./panel/equations.js";
import { isPredicted } from "./panel/facts.js";
import { PLACES } from "../state/generated.js";
import {
  isAttention,
  kindOf,
  placeName,
  stackOf,
  stepSuffix,
  stepsOf,
  stopIndex,
  stopsOf,
  walk,
  zoomsOf,
} from "./walk.js";

// The bars around the drawing: the breadcrumb, the choice of layer, head and decoding step, and the steps. Each is
// {element, draw(state, data, info)}; the element is created once and only changed, so that the focus stays and nothing
// jumps.

const SPEEDS = ["slow", "normal", "fast"];
const LAYERS = 8; // side by side; more become a list
const HEADS = 12;
const ICONS = {
  previous: ["M5 4v12", "M16 4L7 10l9 6z"],
  next: ["M15 4v12", "M4 4l9 6-9 6z"],
  play: ["M5 3l12 7-12 7z"],
  pause: ["M6 3v14", "M14 3v14"],
};

// Sets an attribute; null: takes it away.
const setAttribute = (element, name, value) =>
  value === null ? element.removeAttribute(name) : element.setAttribute(name, String(value));

// Scrolls a row of buttons until one is in the middle, without moving the page.
function scrollIntoBar(row, element) {
  if (!element || row.scrollWidth <= row.clientWidth) return;
  const frame = row.getBoundingClientRect();
  const { left, width } = element.getBoundingClientRect();
  const calm = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
  const behind = left + width / 2 - frame.left - frame.width / 2;
  row.scrollTo({ left: row.scrollLeft + behind, behavior: calm ? "auto" : "smooth" });
}

// -- breadcrumb ----------------------------------------------------------------------------------------------------

// The key of a zoom's name, and its values.
function zoomName(zoom, state) {
  const { place, row, col } = state;
  if (zoom === "layer") return ["zoom_layer_" + stackOf(place), { layer: state[stackOf(place)] + 1 }];
  if (zoom === "sub") return [place.includes(".") ? "zoom_sub_" + place.split(".")[1] : "place_" + place];
  if (zoom === "head") return ["zoom_head", { head: state.head + 1 }];
  const chosen = zoom === "number" && state.zoom === "number" && col >= 0;
  return chosen ? ["zoom_number_at", { row: row + 1, column: col + 1 }] : ["zoom_" + zoom];
}

export function makeCrumbs({ t, hooks, tooltip }) {
  const parts = ["model", "layer", "sub", "head", "number"].map((zoom) => {
    const go = () => hooks.go({ zoom });
    const button = buttonEl({ "data-testid": "zoom-" + zoom, "data-zoom": zoom, click: go });
    hint(button, tooltip, () => [button.dataset.hint]);
    return { zoom, button, element: el("li", null, button) };
  });
  const list = el("ol", null, ...parts.map((part) => part.element));
  const region = { class: "hs-an-crumbs", "aria-label": t("zoom_region"), "data-testid": "anatomy-crumbs" };
  const draw = (state) => {
    const zooms = zoomsOf(state.place);
    const current = zooms.indexOf(state.zoom);
    for (const { zoom, button, element } of parts) {
      const at = zooms.indexOf(zoom);
      element.hidden = at < 0;
      if (at < 0) continue;
      const name = t(...zoomName(zoom, state));
      if (button.dataset.text !== name) button.replaceChildren(...richText(name));
      button.dataset.text = name;
      setAttribute(button, "aria-current", at === current ? "location" : null);
      element.classList.toggle("hs-an-deeper", at > current);
      button.dataset.hint = at === current ? t("zoom_here") : t(at < current ? "zoom_out" : "zoom_in", { name });
      if (at === current) scrollIntoBar(list, element);
    }
  };
  return { element: el("nav", region, list), draw };
}

// -- choice of a number --------------------------------------------------------------------------------------------

// Buttons 1 ... count, or a list if there are many or the screen is narrow (anatomy.css shows one of the two).
function makeTabs({ t, tooltip }, { testid, name, tip, choose, most, kind = undefined }) {
  const buttons = el("div", { class: "hs-seg", role: "group", "aria-label": t(name) });
  const select = el("select", {
    "aria-label": t(name),
    "data-testid": testid + "-list",
    change: () => choose(Number(select.value)),
  });
  const attributes = { class: "hs-an-tabs", "data-kind": kind, "data-testid": testid };
  const element = el("div", attributes, el("span", { class: "hs-an-tabs-name" }, t(name)), buttons, select);
  let made = 0;
  const make = (count) => {
    made = count;
    element.classList.toggle("hs-an-many", count > most);
    const numbers = Array.from({ length: count }, (_, i) => i);
    const button = (i) => {
      const about = { "data-testid": `${testid}-${i + 1}`, click: () => choose(i) };
      return hint(buttonEl(about, String(i + 1)), tooltip, () => [tip(i + 1, count)]);
    };
    buttons.replaceChildren(...(count > most ? [] : numbers.map(button)));
    select.replaceChildren(...numbers.map((i) => el("option", { value: i }, String(i + 1))));
  };
  const draw = (count, chosen, isCurrent) => {
    if (count !== made) make(count);
    [...buttons.children].forEach((button, i) => setAttribute(button, "aria-pressed", i === chosen));
    select.value = String(chosen);
    element.toggleAttribute("data-here", isCurrent);
  };
  return { element, draw };
}

export function makeLayerTabs({ t, hooks, tooltip }) {
  const stacks = ["encoder", "decoder"].map((stack) => {
    const tip = (n, count) => t("layers_hint", { n, stack_layers: count });
    const choose = (i) => hooks.go({ [stack]: i });
    const names = { name: "layers_" + stack, testid: "layers-" + stack, kind: `${stack}_self` };
    return { stack, tabs: makeTabs({ t, tooltip }, { ...names, tip, choose, most: LAYERS }) };
  });
  // Only the stack one is in has an open layer.
  const draw = (state, data) => {
    for (const { stack, tabs } of stacks) {
      tabs.element.hidden = stackOf(state.place) !== stack;
      tabs.draw(data.config[stack + "_layers"], state[stack], state.place.includes("."));
    }
  };
  return { element: el("div", { class: "hs-an-layers" }, ...stacks.map(({ tabs }) => tabs.element)), draw };
}

export function makeHeadTabs({ t, hooks, tooltip }) {
  const tip = (n, count) => t("heads_hint", { n, count });
  const choose = (head) => hooks.go({ head });
  const tabs = makeTabs({ t, tooltip }, { testid: "heads", name: "heads_name", tip, choose, most: HEADS });
  const element = el("div", { class: "hs-an-heads" }, tabs.element);
  // Without heads the space stays, so that nothing moves.
  const draw = ({ place, head, zoom }, data) => {
    tabs.draw(data.config.heads, head, zoom === "head");
    tabs.element.dataset.kind = kindOf(place);
    element.classList.toggle("hs-an-unseen", !isAttention(place));
  };
  return { element, draw };
}

// -- the step of decoding ---------------------------------------------------------------------------------------------

export function makeStepSlider({ t, hooks }) {
  const range = el("input", {
    type: "range",
    min: 0,
    step: 1,
    "data-testid": "anatomy-t",
    "aria-label": t("slider_name"),
    input: () => hooks.go({ t: Number(range.value) }),
  });
  const output = el("output", { class: "hs-an-slider-text", "data-testid": "anatomy-t-text" });
  const element = el("label", { class: "hs-an-slider" }, output, range);
  const draw = (state, data) => {
    const { steps } = data;
    const [fed, predicted] = [data.labels("target_in")[state.t], data.labels("target_out")[state.t]];
    const key = isPredicted(data, state.t) ? "slider_step" : "slider_step_next";
    const text = t(key, { n: state.t + 1, count: steps, fed, predicted });
    range.max = String(steps - 1);
    range.value = String(state.t);
    range.disabled = steps < 2;
    range.setAttribute("aria-valuetext", text);
    element.style.setProperty("--at", steps > 1 ? state.t / (steps - 1) : 0);
    output.textContent = text;
    output.title = text;
  };
  return { element, draw };
}

// -- the steps of a place ---------------------------------------------------------------------------------------------

// What the chips stand for: the steps of a place, or in the whole model its places.
function chipsOf({ zoom, place }, config) {
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

export function makeStepBar({ t, hooks, tooltip }) {
  const setIcon = (button, name, label) => {
    if (button.dataset.icon === name) return;
    button.dataset.icon = name;
    const thick = name === "pause" ? "hs-an-icon hs-an-icon-thick" : "hs-an-icon";
    const paths = ICONS[name].map((d) => svgEl("path", { d }));
    button.replaceChildren(svgEl("svg", { class: thick, viewBox: "0 0 20 20", "aria-hidden": "true" }, ...paths));
    button.setAttribute("aria-label", t(label));
  };
  const button = (name, act) => {
    const made = buttonEl({ class: "hs-an-move", "data-testid": "anatomy-" + name, click: act });
    return hint(made, tooltip, () => [made.getAttribute("aria-label")]);
  };
  const previous = button("previous", () => hooks.move(-1));
  const play = button("play", () => hooks.play());
  const next = button("next", () => hooks.move(1));
  setIcon(previous, "previous", "steps_previous");
  setIcon(next, "next", "steps_next");
  const position = el("output", { class: "hs-an-position", "data-testid": "anatomy-position" });
  const list = el("ol", { class: "hs-an-chips", "data-testid": "anatomy-chips" });
  const speeds = SPEEDS.map((speed) => el("option", { value: speed }, t("speed_" + speed)));
  const choose = () => hooks.speed(speed.value);
  const speed = el("select", { "data-testid": "anatomy-speed", change: choose }, ...speeds);
  const element = el(
    "div",
    { class: "hs-an-steps", role: "group", "aria-label": t("steps_region") },
    el("div", { class: "hs-an-moves" }, previous, play, next, position),
    list,
    el("label", { class: "hs-an-speed" }, el("span", null, t("steps_speed")), speed),
    makeSaveMenu(t, "anatomy-save", (format) => hooks.save(format)),
  );

  const make = (chips) => {
    const focused = list.contains(list.getRootNode().activeElement);
    const chip = ({ key, text, tip, go }) => {
      const made = buttonEl({ "data-testid": "chip-" + key, click: () => hooks.go(go) }, ...richText(t(text)));
      return el("li", null, tip ? hint(made, tooltip, () => [t(tip)]) : made);
    };
    list.replaceChildren(...chips.map(chip));
    if (focused) list.querySelector("button").focus({ preventScroll: true });
  };

  let shown = "";
  const draw = (state, data, info) => {
    const { config, steps } = data;
    const chips = chipsOf(state, config);
    const texts = JSON.stringify(chips.map((chip) => chip.text));
    if (texts !== shown) make(chips);
    shown = texts;
    const near = !["model", "layer"].includes(state.zoom);
    const index = chips.findIndex((chip) => chip.key === (near ? state.step : state.place));
    [...list.children].forEach(({ firstChild }, i) => {
      setAttribute(firstChild, "aria-current", i === index ? "step" : null);
      firstChild.toggleAttribute("data-done", i < index);
    });
    const all = near ? chips : stopsOf(config, state.zoom);
    const n = (near ? index : stopIndex(state, all)) + 1;
    position.textContent = t("steps_position", { n, count: all.length });
    list.dataset.kind = kindOf(state.place);
    const after = (delta) => JSON.stringify(walk(config, state, delta, steps));
    const same = (delta) => after(delta) === after(0);
    setAttribute(previous, "aria-disabled", same(-1) ? true : null);
    setAttribute(next, "aria-disabled", same(1) ? true : null);
    setIcon(play, info.playing ? "pause" : "play", info.playing ? "steps_pause" : "steps_play");
    speed.value = info.tempo || "normal";
    scrollIntoBar(list, list.children[index]);
  };
  return { element, draw };
}
