import { group } from "d3-array";
import { csvText } from "../core/save.js";

// The data of a figure as a table: a heatmap as a matrix with its labels, everything else one point per line.

const ARRAYS = {
  i1: Int8Array,
  u1: Uint8Array,
  i2: Int16Array,
  u2: Uint16Array,
  i4: Int32Array,
  u4: Uint32Array,
  f4: Float32Array,
  f8: Float64Array,
};

// An array in the JSON of a figure: a list, or base64 of a typed array, {dtype, bdata, shape}.
function arrayOf(value) {
  if (!value || !value.bdata) return value;
  const bytes = Uint8Array.from(atob(value.bdata), (character) => character.charCodeAt(0));
  const flat = new ARRAYS[value.dtype](bytes.buffer);
  const shape = String(value.shape || flat.length)
    .split(",")
    .map(Number);
  if (shape.length < 2) return Array.from(flat);
  return Array.from({ length: shape[0] }, (_, i) => Array.from(flat.subarray(i * shape[1], (i + 1) * shape[1])));
}

// A value of a figure as csvText takes it. A label, which is a token, is never markup, even if it looks like markup.
function cell(value) {
  if (typeof value === "number") return Number.isFinite(value) ? value : NaN;
  if (value === null || value === undefined) return "";
  return value instanceof Label ? value.text : plainText(String(value));
}

class Label {
  constructor(text) {
    this.text = String(text);
  }
}

// A text without plotly's markup.
function plainText(text) {
  const bare = text.replace(/<br>/g, " ").replace(/<\/?(?:i|b|sub|sup|extra)>/g, "");
  return bare.replace(/&lt;/g, "<").replace(/&gt;/g, ">").replace(/&amp;/g, "&");
}

function axisName(layout, trace, letter) {
  const id = trace[letter + "axis"] || letter;
  const axis = layout[letter + "axis" + id.slice(1)] || {};
  return { id, title: (axis.title && axis.title.text) || letter, labels: ((layout.meta || {}).labels || {})[id] };
}

function axisLabel(axis, value) {
  return axis.labels && Number.isInteger(value) && value in axis.labels ? new Label(axis.labels[value]) : value;
}

function matrixRows(layout, trace) {
  const z = arrayOf(trace.z);
  const [x, y] = ["x", "y"].map((letter) => axisName(layout, trace, letter));
  const given = { x: arrayOf(trace.x), y: arrayOf(trace.y) };
  const columns = z.length ? Array.from(z[0], (_, i) => axisLabel(x, given.x ? given.x[i] : i)) : [];
  const rows = z.map((row, i) => [axisLabel(y, given.y ? given.y[i] : i), ...row]);
  return [[`${y.title} \\ ${x.title}`, ...columns], ...rows];
}

function pointRows(layout, traces) {
  const [x, y] = ["x", "y"].map((letter) => axisName(layout, traces[0], letter));
  const texts = traces.some((trace) => Array.isArray(trace.text));
  const labelled = { x: Boolean(x.labels), y: Boolean(y.labels) };
  const head = ["series", x.title, ...(labelled.x ? [x.title + " (label)"] : []), y.title];
  const rows = [[...head, ...(labelled.y ? [y.title + " (label)"] : []), ...(texts ? ["text"] : [])]];
  for (const trace of traces) {
    const xs = arrayOf(trace.x);
    const ys = arrayOf(trace.y) || [];
    Array.from(xs || ys).forEach((_, i) => {
      const at = xs ? xs[i] : i;
      const cells = [trace.name || "", at, ...(labelled.x ? [axisLabel(x, at)] : []), ys[i]];
      if (labelled.y) cells.push(axisLabel(y, ys[i]));
      if (texts) cells.push(Array.isArray(trace.text) ? trace.text[i] : "");
      rows.push(cells);
    });
  }
  return rows;
}

export function figureCsv(figure) {
  const { layout } = figure;
  const data = figure.data.filter((trace) => trace.meta !== "guide"); // GUIDE in transformer/figures/style.py
  const matrices = data.filter((trace) => trace.z !== undefined);
  const points = data.filter((trace) => trace.z === undefined && (trace.x !== undefined || trace.y !== undefined));
  const tables = matrices.map((trace) => [
    ...(matrices.length > 1 && trace.name ? [[trace.name]] : []),
    ...matrixRows(layout, trace),
  ]);
  const axes = (trace) => `${trace.xaxis || "x"} ${trace.yaxis || "y"}`;
  for (const traces of group(points, axes).values()) tables.push(pointRows(layout, traces));
  return csvText(tables.flatMap((rows, i) => [...(i ? [[]] : []), ...rows]).map((row) => row.map(cell)));
}
