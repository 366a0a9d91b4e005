import { sideOf } from "../panel/facts.js";
import { formatCount, formatNumber } from "../format.js";
import { operandsOf, matrixOfStep, drawnMatrix, sideOfAxis, sizeOfAxis } from "./operands.js";
import { LINE_HEIGHT, NumberSheet, SMALL_TEXT, linesOfText, widthOfText } from "./sheet.js";
import { equationPieces } from "./equation.js";
import { numberParts } from "./parts.js";

// The last zoom: one number of one step, and how it was computed.

// -- which number ----------------------------------------------------------------------------------------------------

const boundedCell = (value, count) => Math.max(0, Math.min(count - 1, Number.isInteger(value) ? value : 0));

// The cell shown, {row, col}: the cell of the state, limited to the matrix; if none is chosen (col -1), the largest
// cell of a row, in the decoder of the row at its decoding step.
export function cellOf(state, data) {
  const description = matrixOfStep(state, data.config);
  const [rows, cols] = [sizeOfAxis(state, data, description.rows), sizeOfAxis(state, data, description.cols)];
  if (description.rows === "word") {
    const rank = data.outputs.chosen_rank[state.t];
    // Only one word is chosen, so the row of another step does not count.
    const decided = state.step === "choose" || state.step === "back";
    return { row: decided || !(state.col >= 0) ? (rank < rows ? rank : 0) : boundedCell(state.row, rows), col: 0 };
  }
  if (Number.isInteger(state.col) && state.col >= 0)
    return { row: boundedCell(state.row, rows), col: boundedCell(state.col, cols) };
  const decoder = state.place === "output" || sideOfAxis(state, description.rows) === "target_in";
  const row = boundedCell(decoder ? state.t : state.row, rows);
  // From the products to the weights one cell is followed: the largest unmasked one.
  const followed =
    description.file === "scores" || description.name === "weights" ? { ...description, name: "scores" } : description;
  const matrix = drawnMatrix(state, data, followed);
  let col = 0;
  if (matrix) for (let j = 1; j < cols; j++) if (matrix.at(row, j) > matrix.at(row, col)) col = j;
  return { row, col };
}

// The cell dr rows down and dc columns on.
export function moveCell(state, data, dr, dc) {
  const description = matrixOfStep(state, data.config);
  const { row, col } = cellOf(state, data);
  const next = {
    row: boundedCell(row + dr, sizeOfAxis(state, data, description.rows)),
    col: boundedCell(col + dc, sizeOfAxis(state, data, description.cols)),
  };
  return cellOf({ ...state, ...next }, data);
}

// The state to which a click on a cell of a matrix leads. item.pick: true, a partial state, or a function of the cell;
// item.colFrom: where the columns of the item begin in the matrix of the step.
export function pickCell(item, row, col) {
  if (typeof item.pick === "function") return { zoom: "number", ...item.pick(row, col) };
  return { zoom: "number", row, col: col + (item.colFrom || 0), ...(typeof item.pick === "object" ? item.pick : {}) };
}

// The number of a state and its computation, see operandsOf.
export function numberOf({ state, data }) {
  return operandsOf(state, data, cellOf(state, data));
}

// -- the board -------------------------------------------------------------------------------------------------------

const MAP_SIZE = 17; // units of width of the small matrix
const MAP_HIGH = 7.4;
const WORD = 0.9; // units of height that a word beside its cell needs: its text is 0.82 high
const RESULT = 2.7; // size of the result
const EQUATION = [1.15, 1.05, 0.95]; // sizes: the first that needs one line, else the first
const GAP = 1.1;
const WIDE = 46; // units of width from which the matrix stands beside the number
const WIDEST = 84;
const HIGH_AT_1 = 38; // units of height and of width beyond which everything is drawn larger
const WIDE_AT_1 = 54;
const LARGEST = 1.25;
const SCALES = [1.18, 1.1, 1];

export function numberBoard(ctx) {
  return drawnParts(ctx).items;
}

// Height that the board needs where it may grow.
export function numberBoardHeight(ctx) {
  return Math.ceil(drawnParts({ ...ctx, area: { ...ctx.area, h: 1e6 } }).used);
}

function drawnParts(ctx) {
  const { unit, area, narrow } = ctx;
  const computation = numberOf(ctx);
  // On a large screen everything is larger; the part below the number grows only while nothing has to be left out.
  const large = Math.min(area.h / (HIGH_AT_1 * unit), area.w / (WIDE_AT_1 * unit), LARGEST);
  const scale = narrow ? 1 : Math.max(1, large);
  const sheet = new NumberSheet(ctx, computation, sideOf(ctx.state.place, computation.of.name), scale);
  const x = area.x + 0.2 * unit;
  const w = Math.min(area.w - 0.4 * unit, WIDEST * unit);
  const gap = GAP * sheet.unit;
  const head = headPart(sheet, w, !narrow && w >= WIDE * sheet.unit);
  const equation = computation.waiting ? { high: -gap, draw: () => {} } : equationPart(sheet, w);
  const map = narrow && computation.matrix ? mapPart(sheet, w) : { high: -gap, draw: () => {} };
  const freeHeight = area.h - head.high - equation.high - map.high - 3 * gap - 0.4 * unit;
  const body = computation.waiting ? { high: 0, draw: () => {} } : bodyPart(sheet, w, narrow ? Infinity : freeHeight);
  // The remaining height goes between the parts, as long as they still belong together.
  const free = narrow ? 0 : Math.max(0, Math.min(freeHeight - body.high, 6 * unit)) / 3;
  let y = area.y + 0.2 * unit + free;
  for (const part of [head, equation, body, map]) {
    part.draw(x, y, w, part.high);
    y += part.high + gap + (part === body ? 0 : free);
  }
  return { items: sheet.items, used: y - gap - area.y + 0.4 * unit };
}

// The best drawing below the number that fits, as large as possible.
function bodyPart({ ctx, computation, ramp, scale, items }, w, freeHeight) {
  const sizes = [...SCALES.filter((each) => each < scale - 0.04), scale].sort((a, b) => b - a);
  for (const size of sizes) {
    const sheet = new NumberSheet(ctx, computation, ramp, size);
    sheet.items = items;
    const variants = numberParts(sheet, w);
    const part = variants.find(({ least }) => least <= freeHeight) ?? variants.at(-1);
    const high = Math.max(part.least, Math.min(part.best, freeHeight));
    if (size === sizes.at(-1) || (part === variants[0] && part.best <= freeHeight)) return { high, draw: part.draw };
  }
  return null;
}

// -- row and column, the number, the check --------------------------------------------------------------------------

function headPart(sheet, w, wide) {
  const { unit, computation, t } = sheet;
  const map = wide && computation.matrix ? mapPart(sheet, MAP_SIZE * unit) : null;
  const left = map ? map.wide + 2 * unit : 0;
  const lines = axisLines(sheet);
  const line = 1.5 * unit;
  const result = RESULT * LINE_HEIGHT * unit;
  const check = computation.waiting ? t("number_waiting") : checkText(sheet);
  const checks = sheet.paragraphHeight(check, w - left);
  const texts =
    lines.length * line + 0.3 * unit + (computation.stored === undefined ? 0 : result) + 0.3 * unit + checks;
  const draw = (x, y) => {
    if (map) map.draw(x, y);
    x += left;
    if (map) y += Math.max(0, (map.high - texts) / 2);
    for (const axis of lines) {
      drawAxis(sheet, axis, x, y, w - left);
      y += line;
    }
    y += 0.3 * unit;
    if (computation.stored !== undefined) y = drawResult(sheet, x, y, w - left, result);
    const colour = computation.waiting || !computation.checked ? "dim" : computation.agrees ? "good" : "ink";
    sheet.paragraph("check", check, x, y + 0.3 * unit, w - left, { colour, weight: computation.checked ? 600 : 400 });
  };
  return { high: Math.max(map ? map.high : 0, texts), draw };
}

function checkText({ computation, t }) {
  const { stored } = computation;
  if (!computation.checked) return t("number_read", { value: formatNumber(stored) });
  const [computed, saved] = [computation.value, stored].map((value) => formatNumber(value));
  if (computation.agrees) return t("number_same", { computed, stored: saved });
  const exact = [computation.value, stored].map((value) => String(Number(value.toPrecision(9))).replace("-", "−"));
  return t("number_differs", { computed: exact[0], stored: exact[1] });
}

function drawResult(sheet, x, y, w, high) {
  const { unit, computation, ramp } = sheet;
  const { matrix, row, col, key, of, stored: value } = computation;
  const side = high * 0.84;
  const look = { origin: `${matrix.id}|cell|${row},${col}`, label: of.name, top: matrix.top, outline: "strong" };
  const rect = { x: x + 2, y: y + (high - side) / 2, w: side, h: side };
  const item = sheet.matrix("cell", Float64Array.of(value), rect, look);
  Object.assign(item, { key: `${key}:cell`, parent: key, parentCell: { key, row, col }, ramp });
  const text = formatNumber(value, of.name);
  const left = side + unit;
  const size = Math.min(RESULT, (RESULT * (w - left)) / widthOfText(text, RESULT * unit));
  const top = y + (high - size * LINE_HEIGHT * unit) / 2;
  sheet.text("result", text, x + left, top, w - left, { size, weight: 600 });
  return y + high;
}

// Row and column: [label, name, side of the name's colour, what it counts].
function axisLines({ ctx, computation, t }) {
  const { state, data } = ctx;
  const { of: description, row, col } = computation;
  const count = (axis) => formatCount(sizeOfAxis(state, data, axis));
  const line = (name, axis, index) => {
    const side = sideOfAxis(state, axis);
    const values = { n: formatCount(index + 1), count: count(axis) };
    const texts = { query: "number_query", key: "number_key" };
    const plain = description.own && description.cols === "key" ? texts[axis] : "number_token_row";
    const colour = side === "source" ? "source" : "target";
    return { name, text: data.labels(side)[index], colour, note: t(plain, values) };
  };
  if (description.rows === "word") {
    const { labels, ids, chosen_rank } = data.outputs;
    const step = { n: formatCount(state.t + 1), count: formatCount(data.steps) };
    const token = data.labels("target_in")[state.t];
    const fed = { name: t("number_row"), text: token, colour: "target", note: t("number_step", step) };
    const beyond = ["choose", "back"].includes(state.step) && chosen_rank[state.t] >= ids[state.t].length;
    const word = beyond ? data.labels("target_out")[state.t] : labels[state.t][row];
    const rank = t("number_word", { n: (beyond ? chosen_rank[state.t] : row) + 1, count: count("word") });
    return [fed, { name: t("number_word_name"), text: word, colour: "target", note: rank }];
  }
  const first = line(t("number_row"), description.rows, row);
  const lines = description.own
    ? [{ name: t("number_head"), text: String(state.head + 1), colour: "ink", note: "" }, first]
    : [first];
  if (description.cols === "key") return [...lines, line(t("number_column"), "key", col)];
  const [n, all] = [formatCount(col + 1), count(description.cols)];
  const width =
    { heads_d_k: "d_k", heads_d_head: "d_head" }[description.cols] || (description.name === "concat" ? "d_head" : null);
  const wide = width && data.config[width];
  const values = { n, count: all, head: wide ? Math.floor(col / wide) + 1 : 0, at: wide ? (col % wide) + 1 : 0 };
  const key = description.cols === "d_ff" ? "number_neuron" : wide ? "number_feature_head" : "number_feature";
  return [...lines, { name: t("number_column"), text: "", colour: "ink", note: t(key, values) }];
}

function drawAxis(sheet, { name, text, colour, note }, x, y, w) {
  const { unit } = sheet;
  const key = `axis.${name}`;
  const label = 4.6 * unit;
  const line = 1.5 * unit;
  const at = (size) => y + (line - size * LINE_HEIGHT * unit) / 2;
  sheet.text(`${key}.label`, name, x, at(SMALL_TEXT), label - 0.3 * unit, { size: SMALL_TEXT, colour: "dim" });
  const noted = note ? Math.min(widthOfText(note, SMALL_TEXT * unit), (w - label) * (text ? 0.66 : 1)) : 0;
  const named = text ? Math.min(widthOfText(text, 1.1 * unit) + 0.4 * unit, w - label - noted - 0.4 * unit) : 0;
  if (text) sheet.text(`${key}.name`, text, x + label, at(1.05), named, { size: 1.05, weight: 600, colour });
  const left = label + (text ? named + 0.4 * unit : 0);
  const look = { size: SMALL_TEXT, colour: "dim" };
  if (note) sheet.text(`${key}.note`, note, x + left, at(SMALL_TEXT), w - left, look);
}

function equationPart(sheet, w) {
  const { unit } = sheet;
  const pieces = equationPieces(sheet);
  const size = EQUATION.find((factor) => linesOfText(pieces, factor * unit, w).length === 1) || EQUATION[0];
  const lines = linesOfText(pieces, size * unit, w);
  const line = size * LINE_HEIGHT * unit;
  const draw = (x, y) =>
    lines.forEach((text, i) => sheet.text(`equation.${i}`, text, x, y + i * line, w, { size, kind: "math" }));
  return { high: lines.length * line, draw };
}

// The whole matrix, small, with the cell outlined: the position of the number, and a way to other numbers.
function mapPart(sheet, w) {
  const { unit, computation, ctx, t, ramp } = sheet;
  const { state, data } = ctx;
  const { matrix, of: description, row, col, key } = computation;
  const words = description.rows === "word" ? data.outputs.labels[state.t] : null;
  // Words are written beside their cells.
  const most = (words ? Math.max(MAP_HIGH, WORD * words.length) : MAP_HIGH) * unit;
  const cell = Math.min(1.5 * unit, w / matrix.cols, most / matrix.rows);
  const long = matrix.cols > 2 * matrix.rows;
  const wide = long ? w : Math.max(cell * matrix.cols, (words ? 2.2 : 1.2) * unit);
  const high = long ? Math.min(most, 1.2 * unit * matrix.rows) : Math.max(cell * matrix.rows, 1.2 * unit);
  const caption = SMALL_TEXT * LINE_HEIGHT * unit;
  const name = t(`number_name_${description.name}`);
  const sizes = { name, head: state.head + 1, rows: formatCount(matrix.rows), cols: formatCount(matrix.cols) };
  const text = t(description.own ? "number_map_head" : "number_map", sizes);
  const textWidth = Math.min(w, Math.max(wide, widthOfText(text, SMALL_TEXT * unit)));
  const draw = (x, y) => {
    const labels = (axis) =>
      axis === "query" || axis === "key" ? data.labels(sideOfAxis(state, axis)) : axis === "word" ? words : null;
    const decoder = description.rows !== "word" && sideOfAxis(state, description.rows) === "target_in";
    const likely = description.rows === "word" && state.step !== "logits" && state.step !== "probabilities";
    const axes = { rowAxis: description.rows, colAxis: description.cols === "one" ? null : description.cols };
    const named = { rowLabels: labels(description.rows), colLabels: labels(description.cols) };
    const look = {
      ramp,
      pick: !likely,
      chosen: [row, col],
      ...axes,
      ...named,
      ...(decoder ? { dimAfter: state.t } : {}),
    };
    sheet.items.push({ key, kind: "matrix", matrix, x: x + 2, y: y + 2, w: wide - 4, h: high, ...look });
    const beside = { x: x + wide + 0.5 * unit, y: y + 2, w: Math.min(9 * unit, w - wide - unit), h: high };
    if (words) sheet.tokens("words", words, beside, { align: "left", colour: ramp, current: row, axis: "word" });
    sheet.text("map", text, x, y + high + 0.35 * unit, textWidth, { size: SMALL_TEXT, colour: "dim" });
  };
  return { wide: textWidth, high: high + 0.35 * unit + caption, draw };
}
