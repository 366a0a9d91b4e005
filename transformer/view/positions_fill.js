import { posMapped, posShiftMap, posRows, posWavelengthText } from "./positions_numbers.js";

// The figures of transformer/figures/positions.py with the arrays of another d_model, length, k or q. Python made them
// once, with their colours and texts; here their traces, shapes and annotations are filled in, each in its place. A
// test holds both to the same numbers. now: {dModel, length, dims, k, q, most, table, wavelengths, rows, matrix,
// offsets}.

const POS_SHOWN = 32; // dimensions of M_k and positions beside it, SHOWN there

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

function posPlaces(count, at = (i) => i) {
  return Int32Array.from({ length: count }, (_, i) => at(i));
}

function posColumn(now, dimension, count) {
  return Float32Array.from({ length: count }, (_, p) => now.table[p * now.dModel + dimension]);
}

function posEncoding(figure, now) {
  return posWith(figure, [{ ...figure.data[0], z: now.rows }], {}, { d_model: now.dModel });
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
    return { ...trace, x: places, y, visible: there, name: posSay(meta.curve, { dimension, wavelength }) };
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
  const axes = { ...posAxis(figure, "xaxis", { range }), ...posAxis(figure, "xaxis2", tokens) };
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
  return posWith(figure, data, {
    shapes: [shapes[0], shapes[1], { ...shapes[2], y0: length, y1: length }],
    annotations: [
      annotations[0],
      annotations[1],
      { ...annotations[2], y: Math.log10(length), text: posSay(meta.length, { length }) },
    ],
  });
}

function posMatrix(figure, now) {
  const { q, dModel } = now;
  const { shapes, annotations, meta } = figure.layout;
  const end = dModel / 2;
  return posWith(figure, [{ ...figure.data[0], z: now.matrix, zmin: -end, zmax: end }], {
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
    },
  ];
  return posWith(figure, data, {
    ...posAxis(figure, "xaxis", { range: [0.5 - length, length - 0.5] }),
    shapes: [{ ...shapes[0], y0: half, y1: half }],
    annotations: [{ ...annotations[0], y: half, text: posSay(meta.half, { half }) }],
  });
}

function posMap(figure, now) {
  const { k, dModel } = now;
  const z = posShiftMap(k, dModel, POS_SHOWN);
  return posWith(figure, [{ ...figure.data[0], z }], {}, { k, last: z.length - 1, d_model: dModel });
}

function posShifted(figure, now) {
  const { k, dModel, length, table } = now;
  const last = Math.min(POS_SHOWN, dModel);
  const count = Math.min(POS_SHOWN, length - k);
  const cut = (rows) => rows.slice(0, count).map((row) => Float32Array.from(row.subarray(0, last)));
  const there = cut(posRows(table.subarray(k * dModel, (k + count) * dModel), dModel));
  const mapped = cut(posRows(posMapped(table.subarray(0, (k + count) * dModel), k + count, dModel, k), dModel));
  const data = [there, mapped].map((z, i) => ({ ...figure.data[i], z }));
  return posWith(figure, data, {}, { k, last: last - 1, d_model: dModel });
}

// Every figure: how it is filled, and which of the values change it.
export const POS_FIGURES = {
  encoding: { fill: posEncoding, needs: ["dModel", "length"] },
  curves: { fill: posCurves, needs: ["dModel", "length", "dims", "most"] },
  wavelengths: { fill: posLengths, needs: ["dModel", "length", "dims"] },
  products: { fill: posMatrix, needs: ["dModel", "length", "q", "exact"] },
  offsets: { fill: posOffsets, needs: ["dModel", "length", "q", "exact"] },
  map: { fill: posMap, needs: ["dModel", "k"] },
  shifted: { fill: posShifted, needs: ["dModel", "length", "k"] },
};
