import { svgEl } from "./dom.js";

// Parts of plots drawn as SVG.

export function plotSvg(width, height, label, name = null) {
  const size = { viewBox: `0 0 ${width} ${height}`, width, height };
  return svgEl("svg", { class: name, ...size, role: "img", "aria-label": label });
}

export function linePath(points, attributes) {
  const d = points.map(([x, y], i) => `${i ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");
  return svgEl("path", { d, ...attributes });
}

// A mark around x, y; the areas of the shapes are about equal.
/** @param {"circle" | "square" | "diamond" | "triangle"} shape */
export function pointMark(shape, x, y, r, attributes) {
  if (shape === "circle") return svgEl("circle", { ...attributes, cx: x, cy: y, r });
  if (shape === "triangle") {
    const d = `M${x} ${y - 1.3 * r}L${x + 1.15 * r} ${y + 0.8 * r}H${x - 1.15 * r}Z`;
    return svgEl("path", { ...attributes, d });
  }
  const half = 0.9 * r;
  const transform = shape === "diamond" ? `rotate(45 ${x} ${y})` : null;
  return svgEl("rect", { ...attributes, x: x - half, y: y - half, width: 2 * half, height: 2 * half, transform });
}
