import { el } from "../core/dom.js";

// A scale of colours between the texts of its ends. label: for screen readers; says: what stands before it.
export function scaleLegend({ gradient, low, high }, label, title, ...says) {
  const number = (text) => el("span", { class: "hs-number" }, text);
  const ramp = el("span", { class: "hs-ramp", style: `background:${gradient}` });
  const about = { class: "hs-legend-one", role: "img", "aria-label": label, title };
  return el("span", about, ...says, number(low), ramp, number(high));
}
