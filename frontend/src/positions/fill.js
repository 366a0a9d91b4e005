import { chooseParticles } from "../core/particles.js";
import { mapByShift, shiftMap, rowsOf, wavelengthText } from "./numbers.js";

// The figures of transformer/figures/positions.py with the arrays of another d_model, length, k or q. Python made them
// once, with their colours and texts; here their traces, shapes and annotations are filled with new numbers. A test
// compares both with each other. values: {dModel, length, dims, k, q, tokens, most, table, wavelengths, rows, matrix,
// offsets}; tokens: of the sentence.

const SHOWN = 32; // dimensions of M_k and positions beside it, SHOWN there
const DOTTED = 64; // positions at most that a curve shows as dots, DOTTED there
const [A_WAVE, A_CURVE] = [32, 64]; // points of a drawn wave, points of a curve at least; the same there
const RINGS = 100; // points at most that are drawn as rings, RINGS there
const FEW = 5; // positions on an axis that plotly would number in halves, FEW there
const MOST_ROWS = 20; // labels of rows, MOST_ROWS there
const LONGEST_LABEL = 18; // letters of a token on an axis, as in transformer/figures/style.py

function sayIn(text, values) {
  return chooseParticles(text.replace(/\{(\w+)\}/g, (match, name) => (name in values ? String(values[name]) : match)));
}

function titled(figure, values) {
  const { meta, title } = figure.layout;
  const subtitle = { ...title.subtitle, text: sayIn(meta.equation, values) };
  return { ...title, text: sayIn(meta.title, values), subtitle };
}

// A copy of the figure with other traces and other parts of its layout.
function withTraces(figure, data, layout, values = {}) {
  return { data, layout: { ...figure.layout, title: titled(figure, values), ...layout } };
}

// Axes with so many positions, {name: count}: few have a tick at every step, many have plotly's ticks.
function axisTicks(figure, counts, step = 1) {
  const ticked = ([name, count]) => {
    const { dtick, ...axis } = figure.layout[name];
    return [name, count <= FEW ? { ...axis, dtick: step } : axis];
  };
  return Object.fromEntries(Object.entries(counts).map(ticked));
}

function positionLabels(count, at = (i) => i) {
  return Int32Array.from({ length: count }, (_, i) => at(i));
}

function columnOf(values, dimension, count) {
  return Float32Array.from({ length: count }, (_, p) => values.table[p * values.dModel + dimension]);
}

// The positions: tokens of the sentence, then numbers.
function placesOf({ length, tokens }) {
  return Array.from({ length }, (_, p) => tokens[p] ?? String(p));
}

function withLabels(figure, axis, values) {
  const { meta } = figure.layout;
  return { ...meta, labels: { ...meta.labels, [axis]: placesOf(values) } };
}

// An axis of positions with at most so many labels.
function named(figure, name, values, most) {
  const places = placesOf(values);
  const tickvals = [...places.keys()].filter((p) => p % Math.ceil(places.length / most) === 0);
  return { ...figure.layout[name], tickvals, ticktext: tickvals.map((p) => tickText(places[p])) };
}

function encodingFigure(figure, values) {
  const { dims, dModel } = values;
  const shapes = figure.layout.shapes.map((shape, i) => {
    const x = i < dims.length ? dims[i] : 0;
    return { ...shape, x0: x, x1: x, visible: i < dims.length };
  });
  const yaxis = named(figure, "yaxis", values, MOST_ROWS);
  const layout = { ...axisTicks(figure, { xaxis: dModel }), yaxis, shapes, meta: withLabels(figure, "y", values) };
  return withTraces(figure, [{ ...figure.data[0], z: values.rows }], layout, { d_model: dModel });
}

// The function that a dimension takes its values from, dense enough to look smooth: [x, y].
function sineOf(length, dimension, wavelength) {
  const steps = Math.max(A_CURVE, Math.ceil(((length - 1) / wavelength) * A_WAVE));
  const places = Float64Array.from({ length: steps + 1 }, (_, i) => i * ((length - 1) / steps));
  const wave = dimension % 2 ? Math.cos : Math.sin;
  return [Float32Array.from(places), Float32Array.from(places, (x) => wave(x * ((2 * Math.PI) / wavelength)))];
}

// A token as plotly shows it letter by letter, cut if it is too long for an axis.
function tickText(token) {
  const letters = Array.from(token);
  const cut = letters.length > LONGEST_LABEL ? `${letters.slice(0, LONGEST_LABEL - 1).join("")}…` : token;
  const plain = cut.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, "·");
  return plain.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

function curvesFigure(figure, values) {
  const { dims, length } = values;
  const { meta } = figure.layout;
  const places = positionLabels(length);
  const none = new Float32Array(0);
  const most = figure.data.length / 2;
  const filled = figure.data.map((trace, at) => {
    const i = at % most;
    const visible = i < dims.length;
    const dimension = visible ? dims[i] : 0;
    const wavelength = values.wavelengths[dimension >> 1];
    const name = sayIn(meta.curve, { dimension, wavelength: wavelengthText(wavelength) });
    const both = { ...trace, name, legendgroup: name, visible };
    if (at < most) {
      const [x, y] = visible ? sineOf(length, dimension, wavelength) : [none, none];
      return { ...both, x, y };
    }
    const marker = { ...trace.marker, opacity: Number(length <= DOTTED) };
    return { ...both, x: places, y: visible ? columnOf(values, dimension, length) : none, marker };
  });
  const xaxis = named(figure, "xaxis", values, values.most);
  const axes = { xaxis: { ...xaxis, range: [-0.5, length - 0.5] }, meta: withLabels(figure, "x", values) };
  return withTraces(figure, filled, axes);
}

function lengthsFigure(figure, values) {
  const [line, marks] = figure.data;
  const { shapes, annotations, meta } = figure.layout;
  const { length, wavelengths } = values;
  const data = [
    { ...line, x: positionLabels(wavelengths.length, (i) => 2 * i), y: Float32Array.from(wavelengths) },
    {
      ...marks,
      x: Int32Array.from(values.dims, (dim) => dim - (dim % 2)),
      y: Float64Array.from(values.dims, (dim) => wavelengths[dim >> 1]),
      visible: values.dims.length > 0,
    },
  ];
  const last = 2 * wavelengths.length - 2;
  const pad = Math.max(1, 0.04 * last);
  const { xaxis } = axisTicks(figure, { xaxis: last / 2 }, 2);
  const [above, below] = length < 2 * Math.PI ? ["bottom", "top"] : ["top", "bottom"]; // two labels on the same side
  const text = sayIn(meta.length, { length });
  return withTraces(figure, data, {
    xaxis: { ...xaxis, range: [-pad, last + pad] },
    shapes: [shapes[0], shapes[1], { ...shapes[2], y0: length, y1: length }],
    annotations: [
      { ...annotations[0], yanchor: above },
      annotations[1],
      { ...annotations[2], y: Math.log10(length), text, yanchor: below },
    ],
  });
}

function matrixFigure(figure, values) {
  const { q, dModel, length, offsets, matrix } = values;
  const { shapes, annotations, meta } = figure.layout;
  const { zmid, ...cells } = figure.data[0];
  const end = dModel / 2;
  const signed = { zmin: -end, zmid: 0, colorscale: meta.scales.signed };
  const scale = Math.min(...offsets.mean) < 0 ? signed : { zmin: 0, colorscale: meta.scales.unsigned };
  return withTraces(figure, [{ ...cells, z: matrix, zmax: end, ...scale }], {
    ...axisTicks(figure, { xaxis: length, yaxis: length }),
    shapes: [{ ...shapes[0], x0: q - 0.5, x1: q + 0.5 }],
    annotations: [{ ...annotations[0], x: q, text: sayIn(meta.row, { q }) }],
  });
}

function offsetsFigure(figure, values) {
  const { q, length, dModel, offsets } = values;
  const { shapes, annotations, meta } = figure.layout;
  const [line, row] = figure.data;
  const half = dModel / 2;
  const data = [
    { ...line, x: offsets.offsets, y: Float32Array.from(offsets.mean) },
    {
      ...row,
      x: positionLabels(length, (p) => p - q),
      y: Float32Array.from(values.matrix, (products) => products[q]),
      name: sayIn(meta.row, { q }),
      mode: length > RINGS ? "lines" : "markers",
    },
  ];
  const { xaxis } = axisTicks(figure, { xaxis: 2 * length - 1 });
  return withTraces(figure, data, {
    xaxis: { ...xaxis, range: [0.5 - length, length - 0.5] },
    shapes: [{ ...shapes[0], y0: half, y1: half }],
    annotations: [{ ...annotations[0], y: half, text: sayIn(meta.half, { half }) }],
  });
}

function mapFigure(figure, values) {
  const { k, dModel } = values;
  const z = shiftMap(k, dModel, SHOWN);
  const axes = axisTicks(figure, { xaxis: z.length, yaxis: z.length });
  return withTraces(figure, [{ ...figure.data[0], z }], axes, { k, last: z.length - 1, d_model: dModel });
}

function shiftedFigure(figure, values) {
  const { k, dModel, length, table } = values;
  const last = Math.min(SHOWN, dModel);
  const count = Math.min(SHOWN, length - k);
  const cut = (rows) => rows.slice(0, count).map((row) => Float32Array.from(row.subarray(0, last)));
  const shifted = cut(rowsOf(table.subarray(k * dModel, (k + count) * dModel), dModel));
  const mapped = cut(rowsOf(mapByShift(table.subarray(0, (k + count) * dModel), k + count, dModel, k), dModel));
  const data = [shifted, mapped].map((z, i) => ({ ...figure.data[i], z }));
  const axes = axisTicks(figure, { xaxis: last, xaxis2: last, yaxis: count, yaxis2: count });
  return withTraces(figure, data, axes, { k, last: last - 1, d_model: dModel });
}

// Every figure: how to fill it, and which of the values change it.
export const FIGURES = {
  encoding: { fill: encodingFigure, needs: ["dModel", "length", "dims", "tokens"] },
  curves: { fill: curvesFigure, needs: ["dModel", "length", "dims", "tokens", "most"] },
  wavelengths: { fill: lengthsFigure, needs: ["dModel", "length", "dims"] },
  products: { fill: matrixFigure, needs: ["dModel", "length", "q", "exact"] },
  offsets: { fill: offsetsFigure, needs: ["dModel", "length", "q", "exact"] },
  map: { fill: mapFigure, needs: ["dModel", "k"] },
  shifted: { fill: shiftedFigure, needs: ["dModel", "length", "k"] },
};
