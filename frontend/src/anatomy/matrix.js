// Tensors, {data, shape}, and the tables of numbers that boards and panel show.

const QUANTILE = 0.999; // of the absolute values: the end of a colour scale, so that one outlier does not make the others pale
const SAMPLE = 20000; // numbers used to compute it

/** The part of a tensor at an index of its first axis. @returns {{data: any, shape: any}} */
export function partOf({ data, shape: [, ...shape] }, index) {
  const size = shape.reduce((product, length) => product * length, 1);
  return { data: data.subarray(index * size, (index + 1) * size), shape };
}

/** [head, token, width] -> [token, heads x width]: heads side by side. @returns {{data: any, shape: any}} */
export function sideBySide({ data, shape: [heads, tokens, width] }) {
  const joined = new Float32Array(data.length);
  for (let head = 0; head < heads; head++)
    for (let token = 0; token < tokens; token++) {
      const from = (head * tokens + token) * width;
      joined.set(data.subarray(from, from + width), (token * heads + head) * width);
    }
  return { data: joined, shape: [tokens, heads * width] };
}

/** @returns {{data: any, shape: any}} */
export function transposed({ data, shape: [rows, columns] }) {
  const turned = new Float32Array(data.length);
  for (let row = 0; row < rows; row++)
    for (let column = 0; column < columns; column++) turned[column * rows + row] = data[row * columns + column];
  return { data: turned, shape: [columns, rows] };
}

/**
 * A table of numbers. id: identifies them; top: the end of a good colour scale; range: smallest and largest number,
 * without masked cells; shape and axes: of the whole tensor; exact: the trace's numbers, not 8 bits of them.
 * @returns {any}
 */
export function matrixOf({ top = undefined, range = undefined, masked = undefined, ...about }) {
  const { data, rows, cols } = about;
  return {
    ...{ shape: [rows, cols], axes: ["", ""], exact: true, ...about },
    at: (row, col) => data[row * cols + col],
    get top() {
      return (top ??= quantileOf(data) || 1);
    },
    get range() {
      return (range ??= rangeOf(data));
    },
    get masked() {
      return (masked ??= data.some((value) => !Number.isFinite(value)));
    },
  };
}

// Numbers computed here, on a scale that ends at the largest of them if `top` is not given.
export function tableOf(id, name, data, rows, cols, { top = 0, axes = ["", ""] } = {}) {
  const range = rangeOf(data);
  return matrixOf({ id, name, data, rows, cols, axes, range, top: top || Math.max(-range[0], range[1]) || 1 });
}

function quantileOf(data) {
  const stride = Math.max(1, Math.floor(data.length / SAMPLE));
  const seen = [];
  for (let i = 0; i < data.length; i += stride) if (Number.isFinite(data[i])) seen.push(Math.abs(data[i]));
  seen.sort((a, b) => a - b);
  return seen.length ? seen[Math.min(seen.length - 1, Math.ceil(seen.length * QUANTILE))] : 0;
}

// Smallest and largest number, without masked cells.
export function rangeOf(data) {
  let [low, high] = [Infinity, -Infinity];
  for (const value of data) {
    if (!Number.isFinite(value)) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return low > high ? [0, 0] : [low, high];
}
