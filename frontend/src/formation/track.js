import { el, svgEl } from "../core/dom.js";
import { countText } from "../core/format.js";
import { linePath, plotSvg } from "../core/plot.js";

// What surrounds the slider: loss and score above it, a label below every stop, and where heads formed. The stops are at
// equal distances: their steps are log-spaced.

const HEIGHT = 30; // pixels of the curves, at the ordinary size of text
const LABEL_WIDTH = 2.9; // em that a number needs as a label
const TICK_SIZE = 13 / 15; // em of a label's text, as in formation.css

// The position of stop `at` along the track: the slider's thumb stays within its track.
function positionOf(at, count) {
  return `calc(var(--thumb) / 2 + (100% - var(--thumb)) * ${(at / Math.max(1, count - 1)).toFixed(5)})`;
}

export function formationCurves(view, width) {
  const { data, t, theme } = view;
  const unit = theme.size / 15;
  const thumb = parseFloat(getComputedStyle(view.range).getPropertyValue("--thumb")) || 18;
  const high = HEIGHT * unit;
  const count = data.steps.length;
  const x = (at) => thumb / 2 + ((width - thumb) * at) / Math.max(1, count - 1);
  const series = { loss: data.scores.map((one) => one.loss), score: data.scores.map((one) => one.score) };
  const ends = { measure: t(data.measure) };
  for (const [name, values] of Object.entries(series)) {
    const digits = name === "loss" ? 2 : 1;
    ends[name + "_first"] = values[0].toFixed(digits);
    ends[name + "_last"] = values[count - 1].toFixed(digits);
  }
  const svg = plotSvg(width, high, t("curves", ends));
  for (const [name, values] of Object.entries(series)) {
    const top = Math.max(...values) || 1;
    const points = values.map((value, at) => [x(at), high - 3 - ((high - 7) * Math.max(0, value)) / top]);
    svg.append(linePath(points, { class: "fm-curve fm-" + name }));
    points.forEach(([cx, cy], at) =>
      svg.append(svgEl("circle", { cx, cy, r: 2.6 * unit, class: "fm-dot fm-" + name, "data-at": at })),
    );
    // Each curve has its name where it is highest: loss at the start, the score at the end.
    const [nameX, nameY] = points[name === "loss" ? 0 : count - 1];
    const beside = name === "loss" ? 7 * unit : -9 * unit;
    const anchor = name === "loss" ? "start" : "end";
    const position = { x: nameX + beside, y: nameY + 8 * unit, "text-anchor": anchor };
    svg.append(svgEl("text", { ...position, class: "fm-name fm-" + name }, t(name === "loss" ? name : data.measure)));
  }
  return svg;
}

// Em that a word takes: of letters, or of Korean.
const widthOf = (word) => TICK_SIZE * [...word].reduce((sum, sign) => sum + (sign > "\u1100" ? 1 : 0.6), 0);

// A label below every stop, or below as many as fit; the current stop always has one.
export function stopLabels(view, width) {
  const { data, t, theme, at } = view;
  const count = data.steps.length;
  const apart = width / Math.max(1, count - 1);
  const stops = (wide) => Math.max(1, Math.ceil((wide * theme.size) / apart));
  const every = stops(LABEL_WIDTH);
  const last = count - 1;
  const words = data.steps.map((step, i) =>
    i === 0 && step === 0 ? t("random") : i === last ? t("trained") : countText(step),
  );
  // Those at the ends lie within the track, with all their width on one side of their stop.
  const ends = { 0: stops(LABEL_WIDTH / 2 + widthOf(words[0])), [last]: stops(LABEL_WIDTH / 2 + widthOf(words[last])) };
  const clear = (one, other) => Math.abs(one - other) >= Math.max(ends[one] ?? every, ends[other] ?? every);
  const ticks = data.steps.map((_, i) => {
    const regular = i in ends || (i % every === 0 && clear(i, 0) && clear(i, last));
    const text = i === at || (clear(i, at) && regular) ? words[i] : "";
    const tick = el("span", { class: i === at ? "fm-tick fm-here" : "fm-tick" }, text);
    // The words at both ends end with the track.
    tick.style.left = i === 0 ? "0" : i === count - 1 ? "100%" : positionOf(i, count);
    tick.classList.toggle("fm-last", i === count - 1);
    return tick;
  });
  const spans = data.formings
    .filter((forming) => forming.state !== null)
    .map((forming) => {
      const span = el("span", { class: "fm-span", "data-kind": forming.kind });
      span.style.left = positionOf(Math.max(0, forming.state - 1), count);
      span.style.width = `calc((100% - var(--thumb)) / ${Math.max(1, count - 1)})`;
      return span;
    });
  return [...ticks, ...spans];
}
