import { csvField } from "../core/save.js";

// The data of a figure as a table: a heatmap as a matrix with its labels, everything else one point per line. Numbers
// have the 9 significant digits that float32 holds.

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

function numberText(value) {
  if (typeof value === "number") return Number.isFinite(value) ? String(Number(value.toPrecision(9))) : "";
  if (value === null || value === undefined) return "";
  return csvField(value instanceof LabelText ? value.text : plainText(String(value)));
}

// A token is never markup, even if it looks like markup.
class LabelText {
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
  return axis.labels && Number.isInteger(value) && value in axis.labels ? new LabelText(axis.labels[value]) : value;
}

function matrixRows(layout, trace) {
  const z = arrayOf(trace.z);
  const [x, y] = ["x", "y"].map((letter) => axisName(layout, trace, letter));
  const given = { x: arrayOf(trace.x), y: arrayOf(trace.y) };
  const columns = z.length ? Array.from(z[0], (_, i) => axisLabel(x, given.x ? given.x[i] : i)) : [];
  const lines = [[numberText(`${y.title} \\ ${x.title}`), ...columns.map(numberText)].join(",")];
  z.forEach((row, i) => {
    const label = axisLabel(y, given.y ? given.y[i] : i);
    lines.push([numberText(label), ...Array.from(row, numberText)].join(","));
  });
  return lines;
}

function pointRows(layout, traces) {
  const [x, y] = ["x", "y"].map((letter) => axisName(layout, traces[0], letter));
  const texts = traces.some((trace) => Array.isArray(trace.text));
  const labelled = { x: Boolean(x.labels), y: Boolean(y.labels) };
  const head = ["series", x.title, ...(labelled.x ? [x.title + " (label)"] : []), y.title];
  const lines = [
    [...head, ...(labelled.y ? [y.title + " (label)"] : []), ...(texts ? ["text"] : [])].map(numberText).join(","),
  ];
  for (const trace of traces) {
    const xs = arrayOf(trace.x);
    const ys = arrayOf(trace.y) || [];
    Array.from(xs || ys).forEach((_, i) => {
      const at = xs ? xs[i] : i;
      const cells = [trace.name || "", at, ...(labelled.x ? [axisLabel(x, at)] : []), ys[i]];
      if (labelled.y) cells.push(axisLabel(y, ys[i]));
      if (texts) cells.push(Array.isArray(trace.text) ? trace.text[i] : "");
      lines.push(cells.map(numberText).join(","));
    });
  }
  return lines;
}

export function figureCsv(figure) {
  const { layout } = figure;
  const data = figure.data.filter((trace) => trace.meta !== "guide"); // GUIDE in transformer/figures/style.py
  const matrices = data.filter((trace) => trace.z !== undefined);
  const points = data.filter((trace) => trace.z === undefined && (trace.x !== undefined || trace.y !== undefined));
  const tables = matrices.map((trace) => [
    ...(matrices.length > 1 && trace.name ? [numberText(trace.name)] : []),
    ...matrixRows(layout, trace),
  ]);
  const groups = new Map();
  for (const trace of points) {
    const key = `${trace.xaxis || "x"} ${trace.yaxis || "y"}`;
    groups.set(key, [...(groups.get(key) || []), trace]);
  }
  for (const group of groups.values()) tables.push(pointRows(layout, group));
  // The byte order mark makes spreadsheets read UTF-8.
  return "\ufeff" + tables.map((lines) => lines.join("\r\n")).join("\r\n\r\n") + "\r\n";
}
