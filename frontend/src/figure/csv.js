import { csvField } from "../core/save.js";

// What a figure draws as a table: a heatmap as a matrix with its labels, everything else one line a point. Numbers have
// the 9 significant digits that float32 holds.

const FIGURE_ARRAYS = {
  i1: Int8Array,
  u1: Uint8Array,
  i2: Int16Array,
  u2: Uint16Array,
  i4: Int32Array,
  u4: Uint32Array,
  f4: Float32Array,
  f8: Float64Array,
};

// An array of a figure as JSON has it: a list, or base64 of a typed array, {dtype, bdata, shape}.
function figureArray(value) {
  if (!value || !value.bdata) return value;
  const bytes = Uint8Array.from(atob(value.bdata), (one) => one.charCodeAt(0));
  const flat = new FIGURE_ARRAYS[value.dtype](bytes.buffer);
  const shape = String(value.shape || flat.length).split(",").map(Number);
  if (shape.length < 2) return Array.from(flat);
  return Array.from({ length: shape[0] }, (_, i) => Array.from(flat.subarray(i * shape[1], (i + 1) * shape[1])));
}

function figureNumber(value) {
  if (typeof value === "number") return Number.isFinite(value) ? String(Number(value.toPrecision(9))) : "";
  if (value === null || value === undefined) return "";
  return csvField(value instanceof FigureLabel ? value.text : figurePlain(String(value)));
}

// A token, which is no markup whatever it looks like.
class FigureLabel {
  constructor(text) {
    this.text = String(text);
  }
}

// A text without plotly's markup.
function figurePlain(text) {
  const bare = text.replace(/<br>/g, " ").replace(/<\/?(?:i|b|sub|sup|extra)>/g, "");
  return bare.replace(/&lt;/g, "<").replace(/&gt;/g, ">").replace(/&amp;/g, "&");
}

function figureAxisName(layout, trace, letter) {
  const id = trace[letter + "axis"] || letter;
  const axis = layout[letter + "axis" + id.slice(1)] || {};
  return { id, title: (axis.title && axis.title.text) || letter, labels: ((layout.meta || {}).labels || {})[id] };
}

function figureLabel(axis, value) {
  return axis.labels && Number.isInteger(value) && value in axis.labels ? new FigureLabel(axis.labels[value]) : value;
}

function figureMatrix(layout, trace) {
  const z = figureArray(trace.z);
  const [x, y] = ["x", "y"].map((letter) => figureAxisName(layout, trace, letter));
  const given = { x: figureArray(trace.x), y: figureArray(trace.y) };
  const columns = z.length ? Array.from(z[0], (_, i) => figureLabel(x, given.x ? given.x[i] : i)) : [];
  const lines = [[figureNumber(`${y.title} \\ ${x.title}`), ...columns.map(figureNumber)].join(",")];
  z.forEach((row, i) => {
    const label = figureLabel(y, given.y ? given.y[i] : i);
    lines.push([figureNumber(label), ...Array.from(row, figureNumber)].join(","));
  });
  return lines;
}

function figurePoints(layout, traces) {
  const [x, y] = ["x", "y"].map((letter) => figureAxisName(layout, traces[0], letter));
  const texts = traces.some((trace) => Array.isArray(trace.text));
  const labelled = { x: Boolean(x.labels), y: Boolean(y.labels) };
  const head = ["series", x.title, ...(labelled.x ? [x.title + " (label)"] : []), y.title];
  const lines = [[...head, ...(labelled.y ? [y.title + " (label)"] : []), ...(texts ? ["text"] : [])].map(figureNumber).join(",")];
  for (const trace of traces) {
    const xs = figureArray(trace.x);
    const ys = figureArray(trace.y) || [];
    Array.from(xs || ys).forEach((_, i) => {
      const at = xs ? xs[i] : i;
      const cells = [trace.name || "", at, ...(labelled.x ? [figureLabel(x, at)] : []), ys[i]];
      if (labelled.y) cells.push(figureLabel(y, ys[i]));
      if (texts) cells.push(Array.isArray(trace.text) ? trace.text[i] : "");
      lines.push(cells.map(figureNumber).join(","));
    });
  }
  return lines;
}

export function figureCsv(figure) {
  const { data, layout } = figure;
  const matrices = data.filter((trace) => trace.z !== undefined);
  const points = data.filter((trace) => trace.z === undefined && (trace.x !== undefined || trace.y !== undefined));
  const tables = matrices.map((trace) => [...(matrices.length > 1 && trace.name ? [figureNumber(trace.name)] : []), ...figureMatrix(layout, trace)]);
  const groups = new Map();
  for (const trace of points) {
    const key = `${trace.xaxis || "x"} ${trace.yaxis || "y"}`;
    groups.set(key, [...(groups.get(key) || []), trace]);
  }
  for (const group of groups.values()) tables.push(figurePoints(layout, group));
  // The mark at the start makes spreadsheets read UTF-8.
  return "\ufeff" + tables.map((lines) => lines.join("\r\n")).join("\r\n\r\n") + "\r\n";
}
