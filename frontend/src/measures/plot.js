import { nice, range, ticks } from "d3-array";
import { svgEl } from "../core/dom.js";
import { plotSvg, pointMark } from "../core/plot.js";
import { tickText } from "./numbers.js";

// Before (x) against after (y) of every head. Marks differ by shape as well as by colour.

/** @type {Record<string, Parameters<typeof pointMark>[0]>} */
const SHAPES = { encoder_self: "circle", decoder_self: "square", cross: "triangle" };

const headMark = (kind, x, y, r, more) =>
  pointMark(SHAPES[kind], x, y, r, { class: "measures-mark", "data-kind": kind, ...more });

function smallMark(part) {
  return svgEl("svg", { class: "measures-swatch", viewBox: "0 0 14 14", "aria-hidden": "true" }, part);
}

export function swatch(kind) {
  return smallMark(headMark(kind, 7, 7, 5));
}

export function crossMark(x, y, r) {
  const d = `M${x - r} ${y - r}L${x + r} ${y + r}M${x - r} ${y + r}L${x + r} ${y - r}`;
  return svgEl("path", { d, class: "measures-strike" });
}

// The legend: [[swatch, key of a text]].
export function markLegend(zero, chosen) {
  const keys = Object.keys(SHAPES).map((kind) => [swatch(kind), "kind_" + kind]);
  if (zero) keys.push([smallMark(crossMark(7, 7, 5.5)), "key_zero"]);
  if (chosen) keys.push([smallMark(svgEl("circle", { class: "measures-ring", cx: 7, cy: 7, r: 6 })), "key_chosen"]);
  return keys;
}

// The axis of a measure: {low, high, log, ticks, share(value)}. A standard deviation has no upper limit; if the largest
// is 30 times the smallest, a logarithmic axis keeps the small ones apart.
export function axisTicks(name, values) {
  if (name !== "spread") return { low: 0, high: 1, log: false, ticks: [0, 0.2, 0.4, 0.6, 0.8, 1], share: (v) => v };
  const top = Math.max(...values, 0) || 1;
  const least = Math.min(...values.filter((value) => value > 0), top);
  if (top / least > 30) {
    const from = Math.floor(Math.log10(least));
    const to = Math.ceil(Math.log10(top));
    const powers = range(from, to + 1).map((power) => 10 ** power);
    const share = (v) => (v > 0 ? Math.max(0, (Math.log10(v) - from) / (to - from)) : 0);
    return { low: powers[0], high: powers[powers.length - 1], log: true, ticks: powers, share };
  }
  const [, high] = nice(0, top, 4);
  return { low: 0, high, log: false, ticks: ticks(0, high, 4), share: (v) => v / high };
}

// points: [{kind, layer, head, before, after, zero}]. options: {points, axis, size, before, after (names of the axes), label, chosen, unit: of text}.
// Returns {svg, near(x, y), away}: near rings and returns the point close to a position in the picture, or null.
export function scatterPlot(options) {
  const { points, axis, size, chosen, unit } = options;
  const texts = axis.ticks.map(tickText);
  const left = (30 + 8 * Math.max(...texts.map((text) => text.length))) * unit;
  const bottom = 48 * unit;
  const end = 14 * unit;
  const side = size - left - end;
  const height = side + end + bottom;
  const x = (value) => left + axis.share(value) * side;
  const y = (value) => end + (1 - axis.share(value)) * side;
  const svg = plotSvg(size, height, options.label, "measures-scatter");
  const grid = axis.ticks.map((t) => `M${x(t)} ${end}V${end + side}M${left} ${y(t)}H${left + side}`).join("");
  svg.append(svgEl("path", { class: "measures-grid", d: grid }));
  svg.append(svgEl("path", { class: "measures-diagonal", d: `M${left} ${end + side}L${left + side} ${end}` }));
  const write = (name, attributes, text) => svg.append(svgEl("text", { class: name, ...attributes }, text));
  axis.ticks.forEach((tick, i) => {
    const last = i === axis.ticks.length - 1 && texts[i].length > 3; // would reach out of the picture
    const anchor = last ? "end" : "middle";
    const under = { x: x(tick) + (last ? end : 0), y: end + side + 18 * unit, "text-anchor": anchor };
    write("measures-tick", under, texts[i]);
    write("measures-tick", { x: left - 8 * unit, y: y(tick) + 4.5 * unit, "text-anchor": "end" }, texts[i]);
  });
  write("measures-axis", { x: left + side / 2, y: height - 8 * unit, "text-anchor": "middle" }, options.before);
  const turn = `translate(${14 * unit} ${end + side / 2}) rotate(-90)`;
  write("measures-axis", { transform: turn, "text-anchor": "middle" }, options.after);
  const placed = points.map((point) => ({ ...point, x: x(point.before), y: y(point.after) }));
  for (const point of placed) {
    const name = `measures-point-${point.kind}-${point.layer + 1}-${point.head + 1}`;
    svg.append(headMark(point.kind, point.x, point.y, 5 * unit, { "data-testid": name, "data-zero": point.zero }));
    if (point.zero) svg.append(crossMark(point.x, point.y, 6.5 * unit));
  }
  const same = (point) => ["kind", "layer", "head"].every((name) => point[name] === chosen[name]);
  const chosenPoint = chosen && placed.find(same);
  const ring = { class: "measures-ring", "data-testid": "measures-ring", r: 10 * unit };
  if (chosenPoint) svg.append(svgEl("circle", { ...ring, cx: chosenPoint.x, cy: chosenPoint.y }));
  const over = svgEl("circle", { class: "measures-over", r: 9 * unit, visibility: "hidden" });
  svg.append(over);
  const near = (px, py) => {
    const far = (point) => Math.hypot(point.x - px, point.y - py);
    const best = placed.reduce((a, point) => (a && far(a) <= far(point) ? a : point), null);
    const reached = best && far(best) <= 16 * unit ? best : null;
    over.setAttribute("visibility", reached ? "visible" : "hidden");
    if (reached) over.setAttribute("cx", reached.x);
    if (reached) over.setAttribute("cy", reached.y);
    return reached;
  };
  return { svg, near, away: () => over.setAttribute("visibility", "hidden") };
}
