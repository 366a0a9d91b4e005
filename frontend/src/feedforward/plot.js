// The pictures of the activity as SVG. Each gives its element, and the marks of its numbers as `makeReadable` takes them.
import { ticks } from "d3-array";
import { cssColour, inkOn, rampIndex } from "../core/colour.js";
import { shorten, svgEl } from "../core/dom.js";
import { percentDigits, percent } from "./words.js";

// At 15 pixels of text: a row of the map and all rows at most, the gap above its last row, the names of layers, a number of
// a cell; of the other plots the height, and what is left of and below them.
const SIZES = { row: 25, rows: 900, gap: 8, layers: 22, cell: 13, plot: 130, axis: 54, below: 40 };
const LEAST = 9; // pixels of a label
const WRITTEN = 32; // up to this many tokens every cell shows its number
const NUMBERED = 26; // up to this many bars each shows its number
const LOWEST = Math.log10(0.6); // of a logarithmic axis of counts, so that 1 has a height

const write = (text, attributes) => svgEl("text", attributes, text);

/** The share of active neurons of every layer and token, and in the last row the mean of each layer.
 * @param {any} view the View, with theme and t
 * @param {{ramp: number[][], shares: number[][], means: number[], tokens: string[], rows: number, width: number,
 *   largest: number, most: {layer: number, at: number} | null}} options
 *   shares: [layer][token]; rows: of the higher map; largest: share at the end of the ramp; most: the cell that is framed
 */
export function activityMap(view, options) {
  const { t, theme } = view;
  const { ramp, shares, means, tokens, rows, width, largest, most } = options;
  const unit = theme.size / 15;
  const row = Math.min(SIZES.row * unit, (SIZES.rows * unit) / rows);
  const size = Math.max(LEAST, Math.min(theme.size, row * 0.9));
  const context = document.createElement("canvas").getContext("2d");
  context.font = `${size}px ${theme.font}`;
  const widest = Math.max(...[...tokens, t("mean")].map((label) => context.measureText(label).width));
  const left = Math.min(widest, width * 0.3) + 8 * unit;
  const column = (width - left) / shares.length;
  const start = SIZES.layers * unit; // of the map
  const last = start + tokens.length * row + SIZES.gap * unit; // its row of means
  const height = last + Math.max(row, size * 1.3);
  const svg = svgEl("svg", { width, height, viewBox: `0 0 ${width} ${height}`, class: "ff-map" });
  const centre = (layer) => left + (layer + 0.5) * column;
  const centred = { "text-anchor": "middle", "font-size": SIZES.cell * unit };
  const label = { x: left - 6 * unit, "text-anchor": "end", "font-size": size };
  const layers = means.map((_, layer) => t("layer", { layer: layer + 1 }));
  layers.forEach((name, layer) =>
    svg.append(write(name, { ...centred, x: centre(layer), y: start - 6 * unit, class: "ff-dim" })),
  );

  const each = Math.ceil(LEAST / row); // labels of rows that are lower than letters
  const line = (name, of, y, { named = true, numbered = true, framed = -1, lines }) => {
    const text = shorten(context, name, left - 8 * unit);
    if (named) svg.append(write(text, { ...label, y: y + row / 2 + size * 0.35, class: "ff-ink" }));
    return of.map((share, layer) => {
      const colour = ramp[rampIndex(share, largest, 0)];
      const cell = { x: left + layer * column + 1, y: y + 1, width: column - 2, height: Math.max(1, row - 2) };
      const css = layer === framed ? "ff-most" : "";
      const mark = svgEl("rect", { ...cell, fill: cssColour(colour), class: css });
      svg.append(mark);
      if (numbered) {
        const place = { x: centre(layer), y: y + row / 2 + SIZES.cell * unit * 0.36 };
        svg.append(write(percentDigits(share), { ...centred, ...place, fill: inkOn(colour) }));
      }
      return { mark, lines: () => lines(layers[layer], percent(share)) };
    });
  };
  const cells = tokens.map((token, at) =>
    line(
      token,
      shares.map((of) => of[at]),
      start + at * row,
      {
        named: at % each === 0,
        numbered: tokens.length <= WRITTEN,
        framed: most?.at === at ? most.layer : -1,
        lines: (layer, share) => [t("row", { row: at + 1, token }), layer, t("layer_share", { share })],
      },
    ),
  );
  const mean = line(t("mean"), means, last, { lines: (layer, share) => [layer, t("layer_mean", { share })] });
  return { svg, rows: [...cells, mean] };
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
  const svg = svgEl("svg", { width, height, viewBox: `0 0 ${width} ${height}`, class: "ff-counts" });
  const last = starts.at(-1);
  const x = (value) => left + ((value - starts[0]) / (last - starts[0])) * (width - left - 4 * unit);
  const small = { "font-size": SIZES.cell * unit };
  if (zero) svg.append(svgEl("path", { d: `M${x(0)} ${20 * unit}V${plots.length * each}`, class: "ff-zero" }));

  const rows = plots.map(({ name, counts, class: named = "" }, plot) => {
    const base = (plot + 1) * each;
    const top = Math.log10(Math.max(2, ...counts)) + (numbered ? 0.35 : 0.1);
    const up = (count) => (count ? ((Math.log10(count) - LOWEST) / (top - LOWEST)) * tall : 0);
    svg.append(write(name, { ...small, x: left, y: base - tall - 8 * unit, class: "ff-dim" }));
    for (let power = 0; power < top; power++) {
      const y = base - up(10 ** power);
      svg.append(svgEl("path", { d: `M${left} ${y}H${width}`, class: "ff-grid" }));
      const text = (10 ** power).toLocaleString("en");
      svg.append(write(text, { ...small, x: left - 5 * unit, y: y + 4 * unit, "text-anchor": "end", class: "ff-dim" }));
    }
    return counts.map((count, bar) => {
      const [from, to] = [x(starts[bar]), x(starts[bar + 1])];
      const gap = numbered ? (to - from) * 0.08 : 0;
      const box = { x: from + gap, y: base - up(count), width: to - from - 2 * gap, height: up(count) };
      svg.append(svgEl("rect", { ...box, class: `ff-bar ff-${kind} ${named}` }));
      if (numbered) {
        const place = { x: (from + to) / 2, y: base - up(count) - 5 * unit, "text-anchor": "middle" };
        svg.append(write(count.toLocaleString("en"), { ...small, ...place, class: "ff-ink" }));
      }
      const mark = svgEl("rect", { x: from, y: base - tall, width: to - from, height: tall, class: "ff-hit" });
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
