// The numbers of an SVG for pointer, keyboard and screen reader: one stop of the Tab key; arrow keys move from one to the
// next. Each is shown beside its mark, and spoken.
import { el, setAttributes, svgEl } from "../core/dom.js";
import { arrowStep, stepIndex } from "../core/keys.js";

// rows: marks, and what is said of each; label: of the whole picture. Returns what speaks, to be put beside the SVG.
/** @param {SVGElement} svg @param {{mark: SVGGraphicsElement, lines: () => string[]}[][]} rows */
export function makeReadable(svg, rows, view, label) {
  const cells = new Map(rows.flat().map((cell) => [cell.mark, cell]));
  const spoken = el("div", { class: "hs-spoken", role: "status", "aria-live": "polite" });
  const ring = svgEl("rect", { class: "ff-ring", visibility: "hidden" });
  let at = null; // [row, column] of the keyboard
  svg.append(ring);
  setAttributes(svg, { tabindex: 0, role: "application", "aria-label": label });

  const show = ({ mark, lines }, x, y) => {
    const { x: left, y: top, width, height } = mark.getBBox();
    setAttributes(ring, { x: left, y: top, width, height, visibility: "visible" });
    view.tooltip.show(lines(), x, y);
  };
  const hide = () => {
    at = null;
    ring.setAttribute("visibility", "hidden");
    view.tooltip.hide();
  };

  svg.addEventListener("pointermove", (event) => {
    const cell = cells.get(/** @type {any} */ (event.target));
    if (cell) show(cell, event.clientX, event.clientY);
    else hide();
  });
  svg.addEventListener("pointerleave", hide);
  svg.addEventListener("blur", hide);
  svg.addEventListener("keydown", (event) => {
    const step = arrowStep(event);
    if (event.key === "Escape") hide();
    if (!step) return;
    event.preventDefault();
    const row = at ? stepIndex(at[0], step[0], rows.length) : 0;
    at = [row, at ? stepIndex(at[1], step[1], rows[row].length) : 0];
    const cell = rows[row][at[1]];
    const { left, bottom } = cell.mark.getBoundingClientRect();
    show(cell, left, bottom);
    spoken.textContent = cell.lines().join(", ");
  });
  return spoken;
}
