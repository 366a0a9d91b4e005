// The sinusoidal encoding (section 3.5) in numbers, as in transformer/model/positions.py and
// transformer/analysis/positions.py: computed in float64, tables rounded to float32. Tables are flat, [position,
// d_model] row by row.

const BASE = 10000;

// Angle per position of each pair of dimensions, [d_model / 2].
export function frequencies(dModel) {
  return Float64Array.from({ length: dModel / 2 }, (_, i) => 1 / BASE ** ((2 * i) / dModel));
}

// Positions until the sine of each pair repeats, [d_model / 2].
export function wavelengths(dModel) {
  return frequencies(dModel).map((frequency) => (2 * Math.PI) / frequency);
}

// PE(p, 2i) = sin(p / 10000^(2i/d_model)), PE(p, 2i + 1) = cos(the same angle); a Float32Array rounds as Math.fround.
export function encodingTable(length, dModel) {
  const table = new Float32Array(length * dModel);
  for (let i = 0; i < dModel; i += 2) {
    const divisor = BASE ** (i / dModel);
    for (let p = 0; p < length; p++) {
      const angle = p / divisor;
      table[p * dModel + i] = Math.sin(angle);
      table[p * dModel + i + 1] = Math.cos(angle);
    }
  }
  return table;
}

// A flat table as rows, which plotly draws; views, no copies.
export function rowsOf(table, width) {
  return Array.from({ length: table.length / width }, (_, p) => table.subarray(p * width, (p + 1) * width));
}

// PE(p).PE(q), flat [position, position], summed in float64. Two rows by two columns at once, each pair once.
export function dotProducts(table, length, dModel) {
  const rows = new Float64Array((length + 1) * dModel); // a row of zeros after the last row of an odd number of rows
  rows.set(table);
  const products = new Float64Array(length * length);
  const put = (p, q, value) => {
    if (p < length && q < length) products[p * length + q] = products[q * length + p] = value;
  };
  for (let p = 0; p < length; p += 2) {
    for (let q = p; q < length; q += 2) {
      const a = p * dModel;
      const b = q * dModel;
      let first = 0;
      let second = 0;
      let third = 0;
      let fourth = 0;
      for (let i = 0; i < dModel; i++) {
        const x = rows[a + i];
        const y = rows[a + dModel + i];
        const u = rows[b + i];
        const v = rows[b + dModel + i];
        first += x * u;
        second += x * v;
        third += y * u;
        fourth += y * v;
      }
      put(p, q, first);
      put(p, q + 1, second);
      put(p + 1, q, third);
      put(p + 1, q + 1, fourth);
    }
  }
  return products;
}

// The same from the products with position 0 only: in this table a product depends only on |p - q|, up to rounding.
export function sameProducts(table, length, dModel) {
  const products = new Float64Array(length * length);
  for (let distance = 0; distance < length; distance++) {
    let sum = 0;
    for (let i = 0; i < dModel; i++) sum += table[i] * table[distance * dModel + i];
    for (let p = 0; p + distance < length; p++)
      products[p * length + p + distance] = products[(p + distance) * length + p] = sum;
  }
  return products;
}

// Products by p - q, from -(length - 1) on: {offsets, mean, largestSpread}, the largest minus the smallest of one p - q.
export function byOffset(products, length) {
  const offsets = Int32Array.from({ length: 2 * length - 1 }, (_, i) => i - length + 1);
  const mean = new Float64Array(2 * length - 1);
  let largestSpread = 0;
  offsets.forEach((offset, i) => {
    let sum = 0;
    let low = Infinity;
    let high = -Infinity;
    const count = length - Math.abs(offset);
    const first = offset > 0 ? offset * length : -offset; // of p = max(0, offset), q = p - offset
    for (let n = 0, at = first; n < count; n++, at += length + 1) {
      const value = products[at];
      sum += value;
      if (value < low) low = value;
      if (value > high) high = value;
    }
    mean[i] = sum / count;
    largestSpread = Math.max(largestSpread, high - low);
  });
  return { offsets, mean, largestSpread };
}

// The first `most` rows and columns of M_k, PE(p + k) = M_k PE(p) with PE(p) a column: one rotation per pair.
export function shiftMap(k, dModel, most) {
  const size = Math.min(most, dModel);
  const rows = Array.from({ length: size }, () => new Float32Array(size));
  frequencies(dModel).forEach((frequency, i) => {
    const at = 2 * i;
    if (at + 1 >= size) return;
    const [cos, sin] = [Math.cos(k * frequency), Math.sin(k * frequency)];
    rows[at][at] = rows[at + 1][at + 1] = cos;
    rows[at][at + 1] = sin;
    rows[at + 1][at] = -sin;
  });
  return rows;
}

// M_k PE(p) for p = 0 .. length - 1 - k, flat, float64; k from 0 to length - 1.
export function mapByShift(table, length, dModel, k) {
  const mapped = new Float64Array((length - k) * dModel);
  frequencies(dModel).forEach((frequency, i) => {
    const [cos, sin] = [Math.cos(k * frequency), Math.sin(k * frequency)];
    for (let at = 2 * i; at < mapped.length; at += dModel) {
      mapped[at] = cos * table[at] + sin * table[at + 1];
      mapped[at + 1] = -sin * table[at] + cos * table[at + 1];
    }
  });
  return mapped;
}

// The largest |PE(p + k) - M_k PE(p)| over all p and dimensions.
export function shiftError(table, mapped, dModel, k) {
  let worst = 0;
  for (let at = 0; at < mapped.length; at++) worst = Math.max(worst, Math.abs(table[at + k * dModel] - mapped[at]));
  return worst;
}

// A number of positions with three digits: "6.28", "19.9", "62,300".
export function wavelengthText(value) {
  if (value < 99.95) return value.toFixed(value < 9.995 ? 2 : 1);
  const step = 10 ** Math.max(0, Math.floor(Math.log10(value)) - 2);
  return (Math.floor(value / step + 0.5) * step).toLocaleString("en");
}

// Four sines that are easy to tell apart: the dimensions drawn until the user chooses others.
export function defaultDims(dModel) {
  return Array.from(new Set([0, 1, 2, 3].map((n) => 2 * Math.floor((n * dModel) / 16))));
}

// Dimensions that the user typed: {found, at most `most`, each once; wrong: not dimensions; many: those too many}.
export function readDims(text, dModel, most) {
  const parts = text.split(/[\s,;]+/).filter(Boolean);
  const isOne = (part) => /^\d{1,4}$/.test(part) && Number(part) < dModel;
  const all = Array.from(new Set(parts.filter(isOne).map(Number)));
  return { found: all.slice(0, most), many: all.slice(most), wrong: parts.filter((part) => !isOne(part)) };
}
