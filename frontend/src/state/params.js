// A View as links write it, counted from 1: `View.to_params` and `view_from_params` of transformer/view/state.py.
// params_cases.json holds both to the same answers.
import { CHOICES, START_VIEW } from "./generated.js";

const NUMBER = /^\s*\+?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?\s*$/i;

// Kind, layer and head always, else only what differs from the default; big text never: it belongs to the viewer.
export function viewParams(view) {
  const params = { kind: view.kind };
  for (const [name, usual] of Object.entries(START_VIEW)) {
    const value = view[name];
    if (name === "layer" || name === "head") params[name] = value === "all" ? value : String(value + 1);
    else if (name === "cell") value && (params.cell = value.map((index) => index + 1).join());
    else if (name !== "big" && value !== usual) params[name] = String(value);
  }
  return params;
}

// The view that a link asks for, and the names of what it asks for in vain. layers: of each kind; start: values of missing
// names.
/** @param {Record<string, string>} params @param {Record<string, number>} layers @param {number} heads @param {any} start */
export function readView(params, layers, heads, start = START_VIEW) {
  const view = { ...start };
  const refused = [];
  const read = (name, value) => {
    if (value === null) refused.push(name);
    else view[name] = value;
  };
  for (const [name, allowed] of Object.entries(CHOICES))
    if (name in params) read(name, allowed.find((one) => one === params[name]) ?? null);
  const most = view.kind === "all" ? Math.max(...Object.values(layers)) : layers[view.kind];
  for (const [name, count] of /** @type {[string, number][]} */ (Object.entries({ layer: most, head: heads }))) {
    if (name in params) read(name, params[name] === "all" ? "all" : indexOf(params[name], count));
    if (view[name] !== "all") view[name] = Math.min(view[name], count - 1);
  }
  if ("threshold" in params) {
    const threshold = NUMBER.test(params.threshold) ? Number(params.threshold) : NaN;
    read("threshold", threshold >= 0 && threshold <= 1 ? Math.round(threshold * 1e4) / 1e4 : null);
  }
  if ("cell" in params) {
    const cell = params.cell.split(",").map((part) => indexOf(part, 100_000));
    read("cell", cell.length === 2 && !cell.includes(null) ? cell : null);
  }
  if ("big" in params) read("big", { 0: false, 1: true }[params.big] ?? null);
  return { view, refused };
}

// "3" -> 2; null unless it is a whole number from 1 to most.
function indexOf(text, most) {
  return /^\d{1,6}$/.test(text) && Number(text) >= 1 && Number(text) <= most ? Number(text) - 1 : null;
}
