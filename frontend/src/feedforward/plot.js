// The pictures of the activity as SVG. Each gives its element, and the marks of its numbers as `makeReadable` takes them.
import { ticks } from "d3-array";
import { cssColour, inkOn, rampIndex } from "../core/colour.js";
import { shorten, svgEl } from "../core/dom.js";
import { percentDigits, percent } from "./words.js";

// At 15 pixels of text: a row of the map and all rows at most, the bars above it with the space for their numbers, the
// names of layers, a number of a cell; of the other plots the height, and what is left of and below them.
const SIZES = { row: 25, rows: 900, bars: 110, number: 20, layers: 22, cell: 13, plot: 130, axis: 54, below: 40 };
const LEAST = 9; // pixels of a label
const WRITTEN = 32; // up to this many tokens every cell shows its number
const NUMBERED = 26; // up to this many bars each shows its number
const LOWEST = Math.log10(0.6); // of a logarithmic axis of counts, so that 1 has a height

const round = (value) => Math.round(value * 100) / 100;
const shape = (name, attributes) => {
  const rounded = Object.entries(attributes).map(([key, value]) => [
    key,
    typeof value === "number" ? round(value) : value,
  ]);
  return /** @type {any} */ (svgEl(name, Object.fromEntries(rounded)));
};
const write = (text, attributes) => {
  const element = shape("text", attributes);
  element.textContent = text;
  return element;
};

/** The share of active neurons of every layer and token, under bars with the mean of each layer.
 * @param {any} view the View, with theme and t
 * @param {{kind: string, ramp: number[][], shares: number[][], means: number[], tokens: string[], rows: number,
 *   width: number, top: number, largest: number, line: number | null, most: {layer: number, at: number} | null}} options
 *   kind: "encoder_self" or "decoder_self", for its colours; shares: [layer][token]; rows: of the higher map; top: end
 *   of the bars' axis; largest: share at the end of the ramp; line: a share to compare with; most: the cell that is framed
 */
export function activityMap(view, options) {
  const { t, theme } = view;
  const { kind, ramp, shares, means, tokens, rows, width, top, largest, line, most } = options;
  const unit = theme.size / 15;
  const row = Math.min(SIZES.row * unit, (SIZES.rows * unit) / rows);
  const size = Math.max(LEAST, Math.min(theme.size, row * 0.9));
  const context = document.createElement("canvas").getContext("2d");
  context.font = `${size}px ${theme.font}`;
  const widest = Math.max(...[...tokens, t("mean")].map((label) => context.measureText(label).width));
  const left = Math.min(widest, width * 0.3) + 8 * unit;
  const column = (width - left) / shares.length;
  const bottom = (SIZES.number + SIZES.bars) * unit; // of the bars
  const start = bottom + SIZES.layers * unit; // of the map
  const height = start + tokens.length * row;
  const svg = shape("svg", { width, height, viewBox: `0 0 ${round(width)} ${round(height)}`, class: "ff-map" });
  const x = (layer) => left + layer * column;
  const middle = (layer) => x(layer) + column / 2;
  const up = (share) => (share / top) * SIZES.bars * unit;
  const centred = { "text-anchor": "middle", "font-size": SIZES.cell * unit };
  const label = { x: left - 6 * unit, "text-anchor": "end", class: "ff-dim", "font-size": size };

  svg.append(write(t("mean"), { ...label, y: bottom - 4 * unit }));
  const bars = means.map((mean, layer) => {
    const mark = shape("rect", { x: x(layer), y: 0, width: column, height: bottom, class: "ff-hit" });
    const bar = { x: x(layer) + column * 0.17, y: bottom - up(mean), width: column * 0.66, height: up(mean) };
    // A number that the dashed line would cross stands above it.
    const crossed = line !== null && mean < line && up(line - mean) < SIZES.number * unit;
    const y = bottom - up(crossed ? line : mean) - 5 * unit;
    const number = write(percentDigits(mean), { ...centred, x: middle(layer), y, class: "ff-ink" });
    svg.append(shape("rect", { ...bar, class: `ff-bar ff-${kind}` }), number, mark);
    svg.append(write(String(layer + 1), { ...centred, x: middle(layer), y: start - 6 * unit, class: "ff-dim" }));
    return { mark, lines: () => [t("layer", { layer: layer + 1 }), t("layer_mean", { share: percent(mean) })] };
  });
  if (line !== null)
    svg.append(shape("path", { d: `M${left} ${round(bottom - up(line))}H${round(width)}`, class: "ff-line" }));

  const each = Math.ceil(LEAST / row); // labels of rows that are lower than letters
  const cells = tokens.map((token, at) => {
    const y = start + at * row;
    const text = shorten(context, token, left - 8 * unit);
    if (at % each === 0) svg.append(write(text, { ...label, y: y + row / 2 + size * 0.35, class: "ff-ink" }));
    return shares.map((of, layer) => {
      const colour = ramp[rampIndex(of[at], largest, 0)];
      const cell = { x: x(layer) + 1, y: y + 1, width: column - 2, height: Math.max(1, row - 2) };
      const framed = most?.layer === layer && most.at === at ? "ff-most" : "";
      const mark = shape("rect", { ...cell, fill: cssColour(colour), class: framed });
      svg.append(mark);
      if (tokens.length <= WRITTEN) {
        const place = { x: middle(layer), y: y + row / 2 + SIZES.cell * unit * 0.36 };
        svg.append(write(percentDigits(of[at]), { ...centred, ...place, fill: inkOn(colour) }));
      }
      const lines = () => [
        t("row", { row: at + 1, token }),
        t("layer", { layer: layer + 1 }),
        t("layer_share", { share: percent(of[at]) }),
      ];
      return { mark, lines };
    });
  });
  return { svg, rows: [bars, ...cells] };
}

/** Bars of counts on a logarithmic axis, one plot under the other over the same axis.
 * @param {any} view
 * @param {{kind: string, width: number, plots: {name: string, class?: string, counts: number[]}[], starts: number[],
 *   marks: [number, string][], axis: string, zero?: boolean, said: (plot: number, bar: number) => string[]}} options
 *   starts: where each bar begins, and where the last one ends; marks: values of the axis and what is written there; zero:
 *   a line there; said: of a bar
 */
export function countBars(view, { kind, width, plots, starts, marks, axis, zero = false, said }) {
  const { theme } = view;
  const unit = theme.size / 15;
  const numbered = starts.length <= NUMBERED && plots.length === 1;
  const left = SIZES.axis * unit;
  const tall = SIZES.plot * unit * (plots.length === 1 ? 1.9 : 1);
  const each = tall + 30 * unit; // with its name
  const height = plots.length * each + SIZES.below * unit;
  const svg = shape("svg", { width, height, viewBox: `0 0 ${round(width)} ${round(height)}`, class: "ff-counts" });
  const last = starts.at(-1);
  const x = (value) => left + ((value - starts[0]) / (last - starts[0])) * (width - left - 4 * unit);
  const small = { "font-size": SIZES.cell * unit };
  if (zero)
    svg.append(shape("path", { d: `M${round(x(0))} ${20 * unit}V${round(plots.length * each)}`, class: "ff-zero" }));

  const rows = plots.map(({ name, counts, class: named = "" }, plot) => {
    const base = (plot + 1) * each;
    const top = Math.log10(Math.max(2, ...counts)) + (numbered ? 0.35 : 0.1);
    const up = (count) => (count ? ((Math.log10(count) - LOWEST) / (top - LOWEST)) * tall : 0);
    svg.append(write(name, { ...small, x: left, y: base - tall - 8 * unit, class: "ff-dim" }));
    for (let power = 0; power < top; power++) {
      const y = round(base - up(10 ** power));
      svg.append(shape("path", { d: `M${left} ${y}H${round(width)}`, class: "ff-grid" }));
      const text = (10 ** power).toLocaleString("en");
      svg.append(write(text, { ...small, x: left - 5 * unit, y: y + 4 * unit, "text-anchor": "end", class: "ff-dim" }));
    }
    return counts.map((count, bar) => {
      const [from, to] = [x(starts[bar]), x(starts[bar + 1])];
      const gap = numbered ? (to - from) * 0.08 : 0;
      const box = { x: from + gap, y: base - up(count), width: to - from - 2 * gap, height: up(count) };
      svg.append(shape("rect", { ...box, class: `ff-bar ff-${kind} ${named}` }));
      if (numbered) {
        const place = { x: (from + to) / 2, y: base - up(count) - 5 * unit, "text-anchor": "middle" };
        svg.append(write(count.toLocaleString("en"), { ...small, ...place, class: "ff-ink" }));
      }
      const mark = shape("rect", { x: from, y: base - tall, width: to - from, height: tall, class: "ff-hit" });
      svg.append(mark);
      return { mark, lines: () => said(plot, bar) };
    });
  });

  const foot = plots.length * each;
  for (const [value, text] of marks)
    svg.append(write(text, { ...small, x: x(value), y: foot + 16 * unit, "text-anchor": "middle", class: "ff-dim" }));
  const place = { x: (left + width) / 2, y: foot + 34 * unit, "text-anchor": "middle" };
  svg.append(write(axis, { ...small, ...place, class: "ff-dim" }));
  return { svg, rows };
}

// Values of an axis from low to high, with their texts.
export const axisMarks = (low, high, count) =>
  /** @type {[number, string][]} */ (ticks(low, high, count).map((value) => [value, String(value).replace("-", "−")]));
