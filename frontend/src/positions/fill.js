import { posMapped, posShiftMap, posRows, posWavelengthText } from "./numbers.js";

// The figures of transformer/figures/positions.py with the arrays of another d_model, length, k or q. Python made them
// once, with their colours and texts; here their traces, shapes and annotations are filled in, each in its place. A
// test holds both to the same numbers. now: {dModel, length, dims, k, q, most, table, wavelengths, rows, matrix,
// offsets}.

const POS_SHOWN = 32; // dimensions of M_k and positions beside it, SHOWN there
const POS_DOTTED = 32; // positions at most that a curve shows as dots, DOTTED there
const POS_RINGS = 100; // points at most that are drawn as rings, RINGS there
const POS_FEW = 5; // places on an axis that plotly would number by halves, FEW there

function posSay(text, values) {
  return text.replace(/\{(\w+)\}/g, (whole, name) => (name in values ? String(values[name]) : whole));
}

function posTitled(figure, values) {
  const { meta, title } = figure.layout;
  const subtitle = { ...title.subtitle, text: posSay(meta.equation, values) };
  return { ...title, text: posSay(meta.title, values), subtitle };
}

// A copy of the figure with other traces and other parts of its layout.
function posWith(figure, data, layout, values = {}) {
  return { data, layout: { ...figure.layout, title: posTitled(figure, values), ...layout } };
}

function posAxis(figure, name, values) {
  return { [name]: { ...figure.layout[name], ...values } };
}

// Axes with so many places, {name: count}: few have a tick at every step, many where plotly puts them.
function posTicks(figure, counts, step = 1) {
  const ticked = ([name, count]) => {
    const { dtick, ...axis } = figure.layout[name];
    return [name, count <= POS_FEW ? { ...axis, dtick: step } : axis];
  };
  return Object.fromEntries(Object.entries(counts).map(ticked));
}

function posPlaces(count, at = (i) => i) {
  return Int32Array.from({ length: count }, (_, i) => at(i));
}

function posColumn(now, dimension, count) {
  return Float32Array.from({ length: count }, (_, p) => now.table[p * now.dModel + dimension]);
}

function posEncoding(figure, now) {
  const { dims, dModel, length } = now;
  const shapes = figure.layout.shapes.map((shape, i) => {
    const x = i < dims.length ? dims[i] : 0;
    return { ...shape, x0: x, x1: x, visible: i < dims.length };
  });
  const layout = { ...posTicks(figure, { xaxis: dModel, yaxis: length }), shapes };
  return posWith(figure, [{ ...figure.data[0], z: now.rows }], layout, { d_model: dModel });
}

function posCurves(figure, now) {
  const { dims, length, most } = now;
  const { meta } = figure.layout;
  const places = posPlaces(length);
  const lines = figure.data.slice(0, -1).map((trace, i) => {
    const there = i < dims.length;
    const dimension = there ? dims[i] : 0;
    const wavelength = posWavelengthText(now.wavelengths[dimension >> 1]);
    const y = there ? posColumn(now, dimension, length) : new Float32Array(0);
    const name = posSay(meta.curve, { dimension, wavelength });
    const mode = length <= POS_DOTTED || trace.marker.symbol !== "circle" ? "lines+markers" : "lines";
    return { ...trace, x: places, y, visible: there, name, mode };
  });
  const marked = Math.min(meta.ticks.length, length);
  const columns = dims.map((dimension) => posColumn(now, dimension, marked));
  const marks = {
    ...figure.data[figure.data.length - 1],
    x: posPlaces(marked * dims.length, (i) => i % marked),
    y: Float32Array.from({ length: marked * dims.length }, (_, i) => columns[Math.floor(i / marked)][i % marked]),
  };
  const range = [-0.5, length - 0.5];
  const step = Math.ceil(length / most);
  const tickvals = meta.ticks.map((_, i) => i).filter((i) => i % step === 0);
  const tokens = { range, tickvals, ticktext: tickvals.map((i) => meta.ticks[i]) };
  const { xaxis } = posTicks(figure, { xaxis: length });
  const axes = { xaxis: { ...xaxis, range }, ...posAxis(figure, "xaxis2", tokens) };
  return posWith(figure, [...lines, marks], axes);
}

function posLengths(figure, now) {
  const [line, marks] = figure.data;
  const { shapes, annotations, meta } = figure.layout;
  const { length, wavelengths } = now;
  const data = [
    { ...line, x: posPlaces(wavelengths.length, (i) => 2 * i), y: Float32Array.from(wavelengths) },
    {
      ...marks,
      x: Int32Array.from(now.dims, (one) => one - (one % 2)),
      y: Float64Array.from(now.dims, (one) => wavelengths[one >> 1]),
      visible: now.dims.length > 0,
    },
  ];
  const last = 2 * wavelengths.length - 2;
  const pad = Math.max(1, 0.04 * last);
  const { xaxis } = posTicks(figure, { xaxis: last / 2 }, 2);
  const [above, below] = length < 2 * Math.PI ? ["bottom", "top"] : ["top", "bottom"]; // two labels at one side
  const text = posSay(meta.length, { length });
  return posWith(figure, data, {
    xaxis: { ...xaxis, range: [-pad, last + pad] },
    shapes: [shapes[0], shapes[1], { ...shapes[2], y0: length, y1: length }],
    annotations: [
      { ...annotations[0], yanchor: above },
      annotations[1],
      { ...annotations[2], y: Math.log10(length), text, yanchor: below },
    ],
  });
}

function posMatrix(figure, now) {
  const { q, dModel, length, offsets, matrix } = now;
  const { shapes, annotations, meta } = figure.layout;
  const { zmid, ...cells } = figure.data[0];
  const end = dModel / 2;
  const signed = { zmin: -end, zmid: 0, colorscale: meta.scales.signed };
  const scale = Math.min(...offsets.mean) < 0 ? signed : { zmin: 0, colorscale: meta.scales.unsigned };
  return posWith(figure, [{ ...cells, z: matrix, zmax: end, ...scale }], {
    ...posTicks(figure, { xaxis: length, yaxis: length }),
    shapes: [{ ...shapes[0], x0: q - 0.5, x1: q + 0.5 }],
    annotations: [{ ...annotations[0], x: q, text: posSay(meta.row, { q }) }],
  });
}

function posOffsets(figure, now) {
  const { q, length, dModel, offsets } = now;
  const { shapes, annotations, meta } = figure.layout;
  const [line, row] = figure.data;
  const half = dModel / 2;
  const data = [
    { ...line, x: offsets.offsets, y: Float32Array.from(offsets.mean) },
    {
      ...row,
      x: posPlaces(length, (p) => p - q),
      y: Float32Array.from(now.matrix, (products) => products[q]),
      name: posSay(meta.row, { q }),
      mode: length > POS_RINGS ? "lines" : "markers",
    },
  ];
  const { xaxis } = posTicks(figure, { xaxis: 2 * length - 1 });
  return posWith(figure, data, {
    xaxis: { ...xaxis, range: [0.5 - length, length - 0.5] },
    shapes: [{ ...shapes[0], y0: half, y1: half }],
    annotations: [{ ...annotations[0], y: half, text: posSay(meta.half, { half }) }],
  });
}

function posMap(figure, now) {
  const { k, dModel } = now;
  const z = posShiftMap(k, dModel, POS_SHOWN);
  const axes = posTicks(figure, { xaxis: z.length, yaxis: z.length });
  return posWith(figure, [{ ...figure.data[0], z }], axes, { k, last: z.length - 1, d_model: dModel });
}

function posShifted(figure, now) {
  const { k, dModel, length, table } = now;
  const last = Math.min(POS_SHOWN, dModel);
  const count = Math.min(POS_SHOWN, length - k);
  const cut = (rows) => rows.slice(0, count).map((row) => Float32Array.from(row.subarray(0, last)));
  const there = cut(posRows(table.subarray(k * dModel, (k + count) * dModel), dModel));
  const mapped = cut(posRows(posMapped(table.subarray(0, (k + count) * dModel), k + count, dModel, k), dModel));
  const data = [there, mapped].map((z, i) => ({ ...figure.data[i], z }));
  const axes = posTicks(figure, { xaxis: last, xaxis2: last, yaxis: count, yaxis2: count });
  return posWith(figure, data, axes, { k, last: last - 1, d_model: dModel });
}

// Every figure: how it is filled, and which of the values change it.
export const POS_FIGURES = {
  encoding: { fill: posEncoding, needs: ["dModel", "length", "dims"] },
  curves: { fill: posCurves, needs: ["dModel", "length", "dims", "most"] },
  wavelengths: { fill: posLengths, needs: ["dModel", "length", "dims"] },
  products: { fill: posMatrix, needs: ["dModel", "length", "q", "exact"] },
  offsets: { fill: posOffsets, needs: ["dModel", "length", "q", "exact"] },
  map: { fill: posMap, needs: ["dModel", "k"] },
  shifted: { fill: posShifted, needs: ["dModel", "length", "k"] },
};
