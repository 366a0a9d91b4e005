import { el, documentTop } from "../core/dom.js";
import { scaleLegend } from "../heads/legend.js";
import { makeRamp, rampGradient, cssColour } from "../core/colour.js";
import { differencePalette } from "./difference.js";

const GAP = 22; // between two columns, at text of 15 pixels; as in lab.css
const LABEL = 11.5; // pixels of a row whose label is as small as heads/head.js makes it
const ROW = 1.2; // width of the bars, in widths of a head

// The two colour scales of the lab: weights from 0 to 1, and the difference from -1 to 1.
export function labLegend(t, theme, kind) {
  const palette = differencePalette(theme, kind);
  const stops = Array.from({ length: 33 }, (_, i) => cssColour(palette[Math.round((i / 32) * 510)]));
  const change = {
    gradient: `linear-gradient(to right, ${stops.join(", ")})`,
    low: t("lab_lost"),
    high: t("lab_gained"),
  };
  const weights = { gradient: rampGradient(makeRamp(theme, kind), 1, 0), low: "0", high: "1" };
  const [weight, difference] = [t("legend", weights), t("lab_legend_difference", change)];
  return [
    scaleLegend(weights, weight, weight, el("span", null, t("lab_weight"))),
    scaleLegend(change, difference, difference),
  ];
}

// Sizes of the canvases: the heads and the row fit into the window if it is high enough; the grids stand below.
export function measureLabRoom(lab) {
  const { element, theme, state, models, root, work } = lab;
  const unit = theme.size / 15;
  const narrow = element.classList.contains("hs-narrow");
  const gap = GAP * unit;
  const third = (lab.width - 2 * gap) / 3;
  const part = (lab.width - 2 * gap) / (2 + ROW);
  const width = Math.floor(narrow ? lab.width : part);
  const { layers, heads, queries } = models.after.kinds[state.kind];
  const above = Math.min(documentTop(root.host || root), window.innerHeight * 0.4) + work.offsetTop;
  const left = window.innerHeight - above - 72 * unit; // titles and numbers
  const least = Math.min(queries, 40) * 12 * unit + 92 * unit;
  const labels = Math.min(queries, 40) * LABEL + 100 * unit; // with less, labels of rows would be left out
  const head = Math.max(225 * unit, labels, Math.min(left, Math.max(least, (queries * 24 + 100) * unit)));
  return {
    width,
    head,
    rowWidth: Math.floor(narrow ? lab.width : part * ROW),
    rowHeight: head + 20 * unit,
    gridWidth: Math.floor(narrow ? lab.width : third),
    grid: Math.max(136, Math.min(window.innerHeight * 0.4, (third / heads) * layers * 1.1 + 60)),
  };
}
