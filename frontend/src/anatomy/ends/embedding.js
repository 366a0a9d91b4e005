import {
  Sheet,
  NAME_SIZE,
  PALE,
  insideOf,
  labelRoom,
  rimOf,
  rowPart,
  rowRects,
  numbersFit,
  sideBySide,
  tableRows,
} from "../stage/sheet.js";
import { formatCount } from "../format.js";
import { clamp, fittingText, lettersWidth } from "../stage/measure.js";

// The ends of the model at the zoom "sub": embedding (sections 3.4 and 3.5); output has its own file.

const SIGN = 2.2; // units for a sign between two matrices
const TIMES = 4.6; // units for "x 16" and its root
const LEAST = 46; // units of width from which all matrices stand side by side
const SLIM = 4.5; // units of width of a matrix that leaves space for another

function boardPlan(ctx) {
  const { data, state, unit, area } = ctx;
  const { d_model: d, positions, embedding_scale: scaled } = data.config;
  const vocab = data.config[state.place === "source" ? "vocab_size" : "output_size"];
  const side = state.place === "source" ? "source" : "target_in";
  const labels = data.labels(side);
  const small = ctx.narrow || area.w < LEAST * unit;
  const inside = insideOf(ctx);
  const label = labelRoom(labels, unit, small ? Math.min(5.2 * unit, inside.w * 0.2) : 7 * unit);
  const id = (lettersWidth(formatCount(vocab - 1)) * 0.9 + 0.3) * unit;
  const note = 1.7 * unit; // the last line
  const factor = data.about?.factor ?? (scaled ? Math.sqrt(d) : 1);
  const sizes = { d, vocab, positions, scaled, factor, n: labels.length };
  const plan = { note, ctx, unit, inside, side, labels, small, label, id, ...sizes };
  return { ...plan, ...(small ? narrowLayout(plan) : wideLayout(plan)) };
}

// Everything in one line: tokens, ids, table, rows, times, embedding, plus, positions, equals, x.
function wideLayout({ unit, inside, label, id, n, d, note, positions }) {
  const number = positions === "none" ? 0 : 2.2 * unit;
  const free = inside.w - label - 0.9 * unit - id - (TIMES + 2 * SIGN) * unit - number;
  const { wide, pe, x, table, lines } = widthsOf(free, unit, d, positions);
  const high = inside.h - NAME_SIZE * unit - note;
  const rows = Math.min(high, n * 2 * unit);
  const top = inside.y + NAME_SIZE * unit;
  const line = { x: inside.x, y: top + (high - rows) / 2, h: rows, unit };
  const template = "tokens 0.5 ids 0.4 lines table lines rows times embedding plus numbers positionsRect equals sum";
  const at = sideBySide(line, template, {
    ...{ tokens: label, ids: id, lines, table, rows: wide, times: TIMES * unit, embedding: wide, numbers: number },
    ...{ plus: SIGN * unit, positionsRect: pe, equals: SIGN * unit, sum: x },
  });
  return { ...at, table: { ...at.table, y: top, h: high } };
}

// Widths in a line. The waves of the positions need one pixel per column, x comes next, and the others shrink.
function widthsOf(free, unit, d, positions) {
  const roomy = { lines: 3.4 * unit, table: clamp((free - 6.8 * unit) * 0.1, 4 * unit, 7 * unit) };
  const even = Math.min((free - 2 * roomy.lines - roomy.table) / 4, 22 * unit);
  if (even >= d || positions === "none") return { ...roomy, wide: even, pe: even, x: even };
  const tight = { lines: 2.9 * unit, table: 4 * unit };
  const rest = free - 2 * tight.lines - tight.table;
  const slim = Math.min(even, SLIM * unit);
  const pe = Math.max(even, Math.min(d, rest - 3 * slim));
  const wide = Math.min(even, Math.max(slim, (rest - pe - d) / 2));
  return { ...tight, wide, pe, x: Math.min(rest - pe - 2 * wide, Math.max(d, even)) };
}

// Table and rows above; below them embedding + positions = x.
function narrowLayout({ unit, inside, label, id, n, note, positions }) {
  const number = positions === "none" ? 0 : 1.7 * unit;
  const sign = 1.3 * unit;
  const free = inside.w - label - id - 0.7 * unit;
  // Very narrow: the rows keep the larger half; lines and table get thinner.
  const fit = clamp((0.62 * free) / (7 * unit), 0.1, 1);
  const [lines, table] = [2 * unit * fit, 3 * unit * fit];
  const between = 2 * NAME_SIZE * unit + 0.6 * unit;
  const high = (inside.h - NAME_SIZE * unit - between - note) / 2;
  const rows = Math.max(1, Math.min(high, rowRects(n, unit)));
  const top = inside.y + NAME_SIZE * unit;
  const tableLine = { x: inside.x, y: top, h: rows, unit };
  const widths = { tokens: label, again: label, ids: id, lines, table, rows: free - 2 * lines - table };
  const above = sideBySide(tableLine, "tokens 0.4 ids 0.3 lines table lines rows", widths);
  const wide = (inside.w - label - 0.6 * unit - 2 * sign - number) / 3;
  const sums = { embedding: wide, plus: sign, numbers: number, positionsRect: wide, equals: sign, sum: wide };
  const sumLine = { ...tableLine, y: top + rows + between };
  const template = "again 0.6 embedding plus numbers positionsRect equals sum";
  const below = sideBySide(sumLine, template, { ...widths, ...sums });
  const times = { ...above.rows, y: top + rows + 0.15 * unit, h: NAME_SIZE * unit };
  return { ...above, ...below, times };
}

// The height needed if items stand below each other; the same for all steps.
export function embeddingBoardHeight(ctx) {
  const { unit, data, state } = ctx;
  const n = data.labels(state.place === "source" ? "source" : "target_in").length;
  return Math.ceil(2 * rowRects(n, unit) + (3 * NAME_SIZE + 0.6 + 1.7) * unit + rimOf(unit));
}

export function embeddingBoard(ctx) {
  const plan = boardPlan(ctx);
  const { state, data } = ctx;
  const target = state.place === "target";
  const pen = new Sheet(ctx, target ? "target" : "source");
  /** @type {any} */
  const board = { ...plan, pen, key: (name) => `m:${state.place}.${name}`, step: state.step };
  const strips = { embedding: `${state.place}.embedding`, positions: `${state.place}.positions` };
  board.get = (name) => data.matrix(`place.${name}`) || (strips[name] ? data.matrix(strips[name]) : null);
  board.line = { rowAxis: "token", rowLabels: plan.labels, ...(target ? { current: state.t, dimAfter: state.t } : {}) };
  drawTokens(board);
  drawTable(board);
  drawRows(board);
  drawTimes(board);
  drawPlus(board);
  return pen.items;
}

const paleFrom = ({ line }, i) => (i > (line.dimAfter ?? Infinity) ? PALE : 1);

function drawTokens(board) {
  const { pen, ctx, tokens, again, labels, line, small, step } = board;
  const { current, dimAfter } = line;
  pen.tokens(`tokens:${ctx.state.place}`, labels, tokens, { axis: "token", current, dimAfter });
  if (small && step !== "row")
    pen.tokens(`tokens:${ctx.state.place}:again`, labels, again, { axis: "token", current, dimAfter });
}

// A column of whole numbers beside rows.
function drawNumbers(board, key, numbers, { x, w }, rect, more = {}) {
  const { pen, unit, line } = board;
  const space = rect.h / numbers.length;
  const size = 0.9;
  for (const i of numbersFit(numbers.length, space, 1.02 * unit, line.current)) {
    const y = rect.y + (i + 0.5) * space - 0.65 * size * unit;
    const alpha = paleFrom(board, i) * (more.alpha ?? 1);
    const look = { size, align: "right", colour: "dim", ...more, alpha };
    pen.text(`${key}:${i}`, formatCount(numbers[i]), { x, y, w }, look);
  }
}

// The table, and a thin line from every token to its row at its true height, and on to the copy of that row.
function drawTable(board) {
  const { pen, ctx, get, ids, table, rows, side, labels, n, d, vocab, unit, step, note, inside, line, positions } =
    board;
  const numbers = ctx.data.ids(side);
  const idle = step === "row" ? 1 : PALE;
  const count = formatCount(vocab);
  const parent = `box:${ctx.state.place}.table`;
  const tableTip = [ctx.t("ends_table_tip", { rows: count })];
  pen.box(parent, table, { fill: "panel", stroke: "line", tip: tableTip, z: -1 });
  pen.titleAbove(`m:${ctx.state.place}.E`, "E", [vocab, d], { ...table, w: rows.x - table.x - 0.2 * unit });
  drawNumbers(board, `id:${side}`, numbers, ids, rows);
  const matrix = get("rows");
  const stripOf = tableRows(table, vocab, unit);
  const space = rows.h / n;
  const drawnRows = new Set();
  for (let i = 0; i < n; i++) {
    const strip = stripOf(numbers[i]);
    const y = strip.y + strip.h / 2;
    const row = rows.y + (i + 0.5) * space;
    const current = i === line.current;
    const alpha = paleFrom(board, i) * idle * (current || n < 24 ? 0.85 : 0.5);
    const more = { colour: pen.colour, weight: current ? 2 : 1, alpha };
    pen.path(`to:${side}:${i}`, [ids.x + ids.w + 0.3 * unit, row, table.x, y], more);
    pen.path(`from:${side}:${i}`, [table.x + table.w, y, rows.x - 0.15 * unit, row], more);
    if (drawnRows.has(numbers[i])) continue;
    drawnRows.add(numbers[i]);
    const tip = [ctx.t("ends_row_tip", { token: labels[i], id: formatCount(numbers[i]), rows: count })];
    const key = `row:${side}:${numbers[i]}`;
    if (matrix)
      pen.matrix(key, rowPart(matrix, i * matrix.cols), strip, { outline: null, parent, top: matrix.top, tip });
    else pen.box(`${key}:wait`, strip, { fill: "dim", strength: 0.5, radius: 0, parent });
  }
  const shared = ctx.data.header.boxes?.[`${ctx.state.place}.embedding`]?.shared_with;
  const texts = shared?.length > 1 ? ["ends_one_table", "ends_one_table_short"] : [];
  if (step === "plus" && positions === "none") texts.splice(0, 2, "ends_no_positions", "ends_no_positions_short");
  const noteRect = { x: inside.x, y: inside.y + inside.h - note + 0.3 * unit, w: inside.w };
  if (texts.length) pen.note(`note:${side}`, texts, { rows: count }, noteRect);
}

function drawRows(board) {
  const { pen, key, get, rows, line, n, d, step, small, unit } = board;
  const [matrix, scaled] = [get("rows"), get("embedding")];
  // After the multiplication, on one scale with its result, so that the growth is visible.
  const top = step !== "row" && scaled ? scaled.top : undefined;
  const aside = step === "plus" ? { alpha: 0.55, group: "aside" } : {};
  const room = rows.w + (small ? 0 : 2 * unit);
  const look = { ...line, colAxis: "d_model", top, ...aside, pick: step === "row", room };
  pen.full(key("rows"), matrix, rows, "E[id]", [n, d], { ...look, parent: `box:${board.ctx.state.place}.table` });
}

function drawTimes(board) {
  const { pen, key, get, embedding, times, line, n, d, step, factor, scaled, small, unit } = board;
  const root = `√${formatCount(d)}`;
  const name = scaled ? [`${root} E[id]`, `${root} E`] : ["E[id]", "E"];
  if (step === "row") {
    // An empty outline alone, below the rows, looked as if it had not loaded.
    if (!small) pen.coming(key("embedding"), embedding, name, [n, d], embedding.w + 3.4 * unit);
    return;
  }
  const number = `× ${drawFactor(factor)}`;
  const same = scaled && Math.abs(factor - Math.sqrt(d)) < 1e-6;
  const { x, y, w, h } = times;
  const look = { align: "center", alpha: step === "plus" ? PALE : 1 };
  if (small) {
    const text = fittingText(same ? [`${number}, ${root}`, number] : number, w, unit);
    pen.math("emb:times", text, { x, y: y + 0.2 * unit, w }, { ...look, parent: key("rows") });
  } else {
    const middle = y + h / 2;
    pen.math("emb:times", number, { x, y: middle - (same ? 1.4 : 0.7) * unit, w }, { size: 1.15, ...look });
    const below = { x, y: middle + 0.1 * unit, w };
    if (same) pen.math("emb:root", `= ${root}`, below, { size: 0.9, colour: "dim", ...look });
  }
  const room = embedding.w + (small ? 1 : 3.4) * unit;
  const more = { ...line, colAxis: "d_model", pick: step === "times", parent: key("rows"), room };
  pen.full(key("embedding"), get("embedding"), embedding, name, [n, d], more);
}

const drawFactor = (factor) => String(Number(factor.toFixed(2)));

function drawPlus(board) {
  const { pen, key, get, ctx, positionsRect, sum, plus, equals, numbers, line, n, d, step, unit, positions, small } =
    board;
  const symbol = positions === "learned" ? "P" : "PE";
  const none = positions === "none";
  const titleWidth = positionsRect.w + (small ? 0.5 : 1.5) * unit;
  if (step !== "plus") {
    if (small && step === "row") return;
    if (!none) pen.coming(key("positions"), positionsRect, symbol, [n, d], titleWidth);
    pen.coming(key("x"), sum, "x", [n, d]);
    return;
  }
  const [embedding, added, x] = ["embedding", "positions", "x"].map(get);
  const top = embedding ? embedding.top : undefined;
  const more = { ...line, colAxis: "d_model", top };
  if (!none) {
    pen.sign("emb:plus", "+", plus);
    const ids = ctx.data.about?.position_ids || Array.from({ length: n }, (_, i) => i);
    const beside = { ...numbers, w: numbers.w - (small ? 0.25 : 0.3) * unit };
    if (numbers.w > unit) drawNumbers(board, "pos", ids, beside, positionsRect, { parent: key("positions") });
    pen.full(key("positions"), added, positionsRect, symbol, [n, d], { ...more, room: titleWidth });
  }
  pen.sign("emb:equals", "=", equals);
  pen.full(key("x"), x, sum, "x", [n, d], { ...more, pick: true, parent: [key("embedding"), key("positions")] });
}
