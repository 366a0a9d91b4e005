import { ticks } from "d3-array";
import { el, svgEl } from "../core/dom.js";
import { countText } from "../core/format.js";
import { linePath, plotSvg } from "../core/plot.js";

// Parts of the pictures: numbers, lines, marks, and a histogram with a normal curve.

// Three figures are enough to compare variances from 0.05 to 4,000.
export function numberText(value) {
  if (typeof value !== "number") return "–";
  const digits = Math.abs(value) < 10 ? 2 : Math.abs(value) < 100 ? 1 : 0;
  return value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits }).replace("-", "−");
}

// Text for the page, with every d_k set as in the paper.
export function richText(text) {
  return text
    .split("d_k")
    .flatMap((part, i) => (i ? [el("i", { class: "hs-d" }, "d", el("sub", {}, "k")), part] : [part]))
    .filter((part) => part !== "");
}

function swatch(way, area) {
  const swatch = svgEl("svg", { class: "why-swatch", viewBox: "0 0 26 12", "aria-hidden": "true", "data-way": way });
  swatch.append(
    area
      ? svgEl("rect", { class: "why-bar", x: 7, y: 1, width: 12, height: 10 })
      : svgEl("path", { class: "why-line", d: "M0 6H26" }),
  );
  return swatch;
}

// entries: [[way, whether it is an area instead of a line, text]]; a title stands on its own line above them.
export function legend(box, entries, title) {
  const entry = ([way, area, text]) => el("span", {}, swatch(way, area), el("span", {}, ...richText(text)));
  const above = title ? [el("b", {}, ...richText(title))] : [];
  box.replaceChildren(...above, ...entries.map(entry));
}

// Densities in equal bins from -limit to limit as a stepped area, `unit` wide; its peak is at `height` of the plot.
function tickSteps(plot, bins, limit, unit, peak, way) {
  const points = [[plot.x(-limit * unit), plot.base]];
  bins.forEach((value, i) => {
    const y = plot.base - (value / peak) * plot.height;
    points.push([plot.x((-1 + (2 * i) / bins.length) * limit * unit), y]);
    points.push([plot.x((-1 + (2 * (i + 1)) / bins.length) * limit * unit), y]);
  });
  points.push([plot.x(limit * unit), plot.base]);
  return linePath(points, { class: "why-area", "data-way": way });
}

// areas: [{bins, limit, unit, way, peak}]; the normal curve of standard deviation `sd` has its peak at `top`.
export function histogram(width, em, label, axis, sd, curvePeak, areas) {
  const height = Math.round(10.5 * em);
  const svg = plotSvg(width, height, label);
  const base = height - 1.5 * em;
  const plot = { base, height: base - 0.6 * em, x: (value) => ((value / axis) * 0.5 + 0.5) * (width - 2) + 1 };
  for (const area of areas) {
    const inside = { ...plot, x: (value) => plot.x(Math.max(-axis, Math.min(axis, value))) };
    svg.append(tickSteps(inside, area.bins, area.limit, area.unit, area.peak, area.way));
  }
  const curve = [];
  for (let i = 0; i <= 160; i++) {
    const at = Math.max(-axis, Math.min(axis, (i / 80 - 1) * Math.min(axis, 5 * sd)));
    curve.push([plot.x(at), base - curvePeak * Math.exp(-((at / sd) ** 2) / 2) * plot.height]);
  }
  svg.append(linePath(curve, { class: "why-line", "data-way": "normal" }));
  svg.append(svgEl("path", { class: "why-axis", d: `M0 ${base}H${width}` }));
  for (const tick of ticks(-axis * 0.98, axis * 0.98, 5)) {
    const x = plot.x(tick);
    svg.append(svgEl("path", { class: "why-axis", d: `M${x} ${base}v4` }));
    const anchor = x < 1.5 * em ? "start" : x > width - 1.5 * em ? "end" : "middle";
    svg.append(svgEl("text", { x, y: base + 1.15 * em, "text-anchor": anchor }, countText(tick)));
  }
  return svg;
}
