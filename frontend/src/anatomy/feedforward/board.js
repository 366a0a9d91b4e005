import { Pen, NAME_SIZE, PALE, insideOf, labelRoom, rimOf, rowRects } from "../ends/pen.js";
import { BIAS, activationCurve, activeNeurons } from "./neurons.js";
import { clamp } from "../stage/measure.js";
import { traceName } from "../walk.js";

// Feed-forward at the zoom "sub" (section 3.3). Two products in one scheme, left operand at the left, right one on top:
//
//             W_1        W_2
//    x        pre        update        pre becomes activation in its place
//
// and for the steps behind them a row of its own: x + update = sum, (sum - mean) / deviation = leaves; where nothing is
// added (update - mean) / deviation = leaves.

const HEAD = 3.5; // units for gamma and beta above what LayerNorm leaves
const SIGN = 2.4; // units for a sign between two matrices
const LEAST = 44; // units of width from which both products stand side by side

// Sizes in pixels that all steps share, and the items to draw.
function boardPlan(ctx) {
  const { data, state, unit, area } = ctx;
  const { d_model: d, d_ff: ff, norm, residual, activation } = data.config;
  const side = state.place.startsWith("encoder") ? "source" : "target_in";
  const labels = data.labels(side);
  const small = ctx.narrow || area.w < LEAST * unit;
  const inside = insideOf(ctx);
  const label = labelRoom(labels, unit, small ? Math.min(5.2 * unit, inside.w * 0.2) : 7.5 * unit);
  const left = inside.x + label + 0.6 * unit;
  const width = inside.x + inside.w - left;
  /** @type {any} */
  const plan = {
    ctx,
    unit,
    inside,
    side,
    labels,
    small,
    label,
    left,
    room: width,
    d,
    ff,
    n: labels.length,
    pre: norm === "pre",
    post: norm === "post",
    residual: residual !== false,
  };
  plan.activation = activation;
  plan.relu = activation === "relu";
  plan.gap = (small ? 0.8 : 2) * unit;
  plan.stat = (small && width < 24 * unit ? 1 : 3.3) * unit;
  plan.signs = (small ? 1.2 : 1.8) * unit;
  plan.stats = 2 * plan.stat + 3 * plan.signs; // from one matrix to the next, with mean and deviation between
  return { ...plan, ...columnsOf(plan), ...heightsOf(plan) };
}

// Widths. wide: of what has d_model columns, in the products; even: in the sums; hidden: of what has d_ff columns.
function columnsOf({ small, room, gap, stats, unit, d, ff, pre }) {
  if (small) {
    const wide = room * 0.27;
    return { wide, hidden: room - wide - gap, even: (room - 2 * SIGN * 0.7 * unit) / 3 };
  }
  const ratio = clamp(ff / d, 1.5, pre ? 3 : 4);
  const even = Math.min((room - stats - 2 * SIGN * unit) / 4, 22 * unit);
  if (pre) {
    const wide = Math.min(even, (room - stats - 2 * gap) / (3 + ratio));
    return { wide, even, hidden: room - 3 * wide - stats - 2 * gap };
  }
  const wide = Math.min(even, (room - 2 * gap) / (2 + ratio));
  return { wide, even: wide, hidden: room - 2 * wide - 2 * gap };
}

function weightsHeight({ small, wide, unit, d, ff }) {
  const honest = (wide * ff) / d; // a feature has the same pixels down and across
  return small ? clamp(honest, 7 * unit, 12 * unit) : Math.max(honest, 6 * unit);
}

function heightsOf(plan) {
  const { ctx, inside, unit, n, small } = plan;
  const around = (2 * NAME_SIZE + BIAS) * unit;
  const columns = columnsOf(plan);
  const high = weightsHeight({ ...plan, ...columns });
  const free = inside.h - around;
  const rowsHeight = small ? rowRects(n, unit) : n * (n < 4 ? 2.2 : 1.7) * unit;
  const rows = Math.min(rowsHeight, Math.max(free * 0.5, free - high));
  const weights = Math.min(free - rows, high);
  const top = inside.y + (ctx.narrow ? 0 : Math.max(0, (inside.h - around - weights - rows) / 2));
  const head = (NAME_SIZE + HEAD) * unit;
  const tall = Math.min(small ? rowsHeight : n * 2.2 * unit, inside.h - head);
  const sumsTop = inside.y + head + (ctx.narrow ? 0 : Math.max(0, (inside.h - head - tall) * 0.42));
  return { rows, weights, rowsTop: top + around + weights, tall: Math.max(tall, 1), sumsTop };
}

// The height needed if items stand below each other; the same for all steps.
export function feedForwardBoardHeight(ctx) {
  const plan = boardPlan({ ...ctx, area: { ...ctx.area, h: 4000 } });
  return Math.ceil(
    (2 * NAME_SIZE + BIAS) * plan.unit + weightsHeight(plan) + rowRects(plan.n, plan.unit) + rimOf(plan.unit),
  );
}

export function feedForwardBoard(ctx) {
  const plan = boardPlan(ctx);
  const { state, data } = ctx;
  const at = traceName(state);
  const decoder = plan.side === "target_in";
  const pen = new Pen(ctx, decoder ? "target" : "source");
  const strips = { x: `${at}.enters`, activation: `${at}.activation`, update: `${at}.update` };
  /** @type {any} */
  const board = { ...plan, pen, frame: `box:${state.place}`, key: (name) => `m:${at}.${name}` };
  // Until the exact numbers have arrived, the data of the model's picture replaces them.
  board.get = (name, options) =>
    data.matrix(`place.${name}`, options) || (strips[name] && !options ? data.matrix(strips[name]) : null);
  board.line = {
    rowAxis: "token",
    rowLabels: plan.labels,
    ...(decoder ? { current: state.t, dimAfter: state.t } : {}),
  };
  const sums = state.step === "add" || (state.step === "norm" && !plan.pre);
  const [top, high] = sums ? [plan.sumsTop, plan.tall] : [plan.rowsTop, plan.rows];
  const { current, dimAfter } = board.line;
  const labelRect = { x: plan.inside.x, y: top, w: plan.label, h: high };
  pen.tokens(`tokens:${decoder ? "target" : "source"}`, plan.labels, labelRect, { axis: "token", current, dimAfter });
  if (sums) drawSums(board, state.step);
  else drawProducts(board, state.step);
  return pen.items;
}

// -- the two products -------------------------------------------------------------------------------------------------

function drawProducts(board, step) {
  const { left, wide, gap, hidden, stats, small, pre, rowsTop, rows, room } = board;
  const line = (x, w) => ({ x, y: rowsTop, w, h: rows });
  const x = line(left, wide);
  const z = pre && !small ? line(left + wide + stats, wide) : x; // the first operand of W_1
  let middle = line(z.x + wide + gap, hidden);
  let end = small ? null : line(left + room - wide, wide);
  if (small && step === "outer") {
    const act = (room - gap) * 0.6;
    middle = line(left, act);
    end = line(left + act + gap, room - gap - act);
  }
  const columns = { x, z, middle, end };
  drawInputs(board, step, columns);
  drawInner(board, step, columns);
  if (step === "activation") drawActivation(board, columns);
  if (end) drawOuter(board, step, columns);
}

// x, and with pre-norm its LayerNorm, which is the input of the product.
function drawInputs(board, step, { x, z }) {
  const { pen, key, get, line, n, d, pre, small, gap } = board;
  const normed = pre && step !== "x";
  const idle = step === "activation" || step === "outer";
  const more = { ...line, colAxis: "d_model", room: x.w + gap * 0.9, parent: board.frame };
  if (small && step === "norm") return drawNorm(board, "x", "normed", { x: board.left, w: drawSmallNorm(board) });
  if (small && (step === "outer" || step === "activation")) return undefined;
  if (!small || !normed) {
    const alpha = idle || (normed && step !== "norm") ? PALE : 1;
    pen.full(key("x"), get("x"), x, "x", [n, d], {
      ...more,
      pick: step === "x",
      alpha,
      ...(alpha < 1 ? { group: "aside" } : {}),
    });
  }
  if (!pre) return undefined;
  if (step === "norm") return drawNorm(board, "x", "normed", { x: x.x, w: x.w });
  if (step === "x") return small ? undefined : pen.coming(key("normed"), z, "LN(x)", [n, d], z.w + gap * 0.9);
  const alpha = idle ? PALE : 1;
  return pen.full(key("normed"), get("normed"), z, "LN(x)", [n, d], {
    ...more,
    alpha,
    ...(idle ? { group: "aside" } : {}),
  });
}

const drawSmallNorm = ({ room, stats }) => (room - stats) / 2;

const drawOperand = ({ pre }) => (pre ? "LN(x)" : "x");

const preNames = (board) => [`${drawOperand(board)} W_1 + b_1`, "· W_1 + b_1"];

function activationNames({ activation, ...board }) {
  const sign = { relu: "max(0, ", gelu: "GELU(", swish: "swish(" }[activation];
  return [...preNames(board), "·"].map((name) => `${sign}${name})`);
}

const updateNames = (board) => [`FFN(${drawOperand(board)})`, "FFN"];

// W_1 and its product.
function drawInner(board, step, { middle }) {
  const { pen, key, get, line, ctx, weights, unit, n, d, ff, small, rowsTop } = board;
  if (small && (step === "outer" || step === "norm")) return;
  const high = clamp((middle.w * d) / ff, 4 * unit, weights);
  const foot = rowsTop - (NAME_SIZE + BIAS) * unit;
  const top = { x: middle.x, y: foot - high, w: middle.w, h: high };
  const isInner = step === "inner";
  const symbol = preNames(board);
  if (!isInner && step !== "activation") {
    pen.coming(key("W_1"), top, "W_1", [d, ff]);
    if (step !== "outer") pen.coming(key("pre"), middle, symbol, [n, ff]);
  }
  if (!isInner) return;
  const parent = [key("pre"), board.frame];
  pen.full(key("W_1"), ctx.data.matrix("W_1"), top, "W_1", [d, ff], {
    scale: true,
    rowAxis: "d_model",
    colAxis: "d_ff",
    parent,
  });
  drawBias(board, "b_1", middle, "d_ff");
  pen.full(key("pre"), get("pre"), middle, symbol, [n, ff], {
    ...line,
    colAxis: "d_ff",
    pick: true,
    parent: [board.frame, key("x")],
  });
}

// A row of biases right above the rows it is added to.
function drawBias(board, name, rect, axis) {
  const { pen, key, get, unit, rowsTop } = board;
  const matrix = get(name);
  if (!matrix) return;
  const y = rowsTop - (NAME_SIZE + BIAS * 0.62) * unit;
  pen.matrix(key(name), matrix, { x: rect.x, y, w: rect.w, h: 0.6 * unit }, { colAxis: axis });
  const wide = 2.6 * unit;
  const x = rect.x - wide - 0.3 * unit;
  if (x > board.inside.x)
    pen.math(`name:${key(name)}`, `+ ${name}`, { x, y: y - 0.35 * unit, w: wide }, { align: "right", colour: "dim" });
}

// pre moves up, and the output of the non-linearity takes its position; beside it the number of active neurons.
function drawActivation(board, { x, middle, end }) {
  const { pen, key, get, line, unit, weights, n, ff, rowsTop, rows } = board;
  const [before, after] = [get("pre"), get("activation")];
  const high = Math.min(rows, weights);
  const above = { x: middle.x, y: rowsTop - (NAME_SIZE + BIAS) * unit - high, w: middle.w, h: high };
  pen.full(key("pre"), before, above, preNames(board), [n, ff], { ...line, colAxis: "d_ff" });
  pen.full(key("activation"), after, middle, activationNames(board), [n, ff], {
    ...line,
    colAxis: "d_ff",
    pick: true,
    parent: key("pre"),
  });
  const mid = middle.x + middle.w / 2;
  const foot = rowsTop - NAME_SIZE * unit;
  pen.line("ff:down", [mid, above.y + high + 0.25 * unit, mid, foot - 0.05 * unit], {
    tip: true,
    weight: 1.5,
    parent: key("pre"),
  });
  activationCurve(board, { x: board.inside.x, w: x.x + x.w - board.inside.x }, before);
  activeNeurons(board, end || x, after);
}

// W_2 and its product.
function drawOuter(board, step, { middle, end }) {
  const { pen, key, get, line, ctx, unit, weights, n, d, ff, rowsTop, gap } = board;
  const foot = rowsTop - (NAME_SIZE + BIAS) * unit;
  const top = { x: end.x, y: foot - weights, w: end.w, h: weights };
  const result = updateNames(board);
  if (step !== "outer") {
    pen.coming(key("W_2"), top, "W_2", [ff, d]);
    if (step !== "activation") pen.coming(key("update"), end, result, [n, d]);
    return;
  }
  pen.full(key("activation"), get("activation"), middle, activationNames(board), [n, ff], {
    ...line,
    colAxis: "d_ff",
    parent: key("pre"),
  });
  pen.full(key("W_2"), ctx.data.matrix("W_2"), top, "W_2", [ff, d], {
    scale: true,
    before: gap + 3 * unit,
    rowAxis: "d_ff",
    colAxis: "d_model",
    parent: [key("update"), board.frame],
  });
  drawBias(board, "b_2", end, "d_model");
  const shape = ctx.data.about && ctx.data.about.skipped ? ctx.t("ends_skipped") : [n, d];
  pen.full(key("update"), get("update"), end, result, shape, {
    ...line,
    before: gap * 0.9,
    colAxis: "d_model",
    pick: true,
    parent: [key("activation"), board.frame],
  });
}

// -- x + update = sum, and LayerNorm ----------------------------------------------------------------------------------

// Of what leaves the sub-layer before LayerNorm.
const sumNames = (board) =>
  board.residual ? [`x + FFN(${drawOperand(board)})`, "x + FFN", board.ctx.t("ends_sum")] : updateNames(board);

function drawSums(board, step) {
  const { pen, key, get, line, left, even, unit, stats, small, post, n, d, sumsTop, tall } = board;
  if (!board.residual) {
    const w = Math.min(drawSmallNorm(board), small ? Infinity : 1.6 * even);
    return drawNorm(board, "update", "leaves", { x: left, w }, true);
  }
  const sign = SIGN * (small ? 0.7 : 1) * unit;
  const rect = (i) => ({ x: left + i * (even + sign), y: sumsTop, w: even, h: tall });
  const gap = (i) => ({ x: rect(i).x + even, y: sumsTop, w: sign, h: tall });
  if (small && step === "norm") return drawNorm(board, "sum", "leaves", { x: left, w: drawSmallNorm(board) }, true);
  const idle = step === "norm";
  const [x, update, sum] = ["x", "update", "sum"].map(get);
  const top = x && update && sum ? Math.max(x.top, update.top, sum.top) : undefined;
  const more = { ...line, colAxis: "d_model", top, alpha: idle ? PALE : 1, ...(idle ? { group: "aside" } : {}) };
  const titleWidth = even + sign * 0.9;
  pen.full(key("x"), x, rect(0), "x", [n, d], { ...more, room: titleWidth });
  pen.sign("ff:plus", "+", gap(0), { alpha: more.alpha });
  pen.full(key("update"), update, rect(1), updateNames(board), [n, d], {
    ...more,
    room: titleWidth,
    parent: key("W_2"),
  });
  pen.sign("ff:equals", "=", gap(1), { alpha: more.alpha });
  if (step === "norm") return drawNorm(board, "sum", "leaves", { x: rect(2).x, w: even }, true);
  pen.full(key("sum"), sum, rect(2), sumNames(board), [n, d], {
    ...more,
    pick: true,
    parent: [key("update"), key("x")],
    room: even + (small ? 0 : stats * 0.9),
  });
  if (small || !post) return undefined;
  return pen.coming(key("leaves"), { ...rect(2), x: rect(2).x + even + stats }, ["LayerNorm", "LN"], [n, d]);
}

// LayerNorm of each row: its input, minus its mean, divided by its deviation, then times gamma plus beta.
function drawNorm(board, from, to, { x, w }, sums) {
  const { pen, key, get, line, unit, stat, signs, n, d, rowsTop, rows, sumsTop, tall, small } = board;
  const [y, h] = sums ? [sumsTop, tall] : [rowsTop, rows];
  const name = sums ? sumNames(board) : "x";
  const more = { ...line, colAxis: "d_model" };
  const source = { x, y, w, h };
  if (sums || small)
    pen.full(key(from), get(from), source, name, [n, d], {
      ...more,
      room: w + signs * 0.9,
      parent: [key("update"), key("x")],
    });
  let at = x + w;
  const scale = get(from);
  for (const [name, symbol, sign] of [
    ["mean", "μ", "−"],
    ["deviation", "σ", "÷"],
  ]) {
    pen.sign(`ff:${name}:sign`, sign, { x: at, y, w: signs, h });
    at += signs;
    const matrix = get(name, { transposed: true });
    const numbers = h / n >= 1.15 * unit && stat > 2.6 * unit;
    pen.matrix(
      key(name),
      matrix,
      { x: at, y, w: stat, h },
      { ...line, top: scale ? scale.top : undefined, numbers, parent: key(from) },
    );
    pen.math(
      `name:${key(name)}`,
      symbol,
      { x: at, y: y - NAME_SIZE * unit, w: stat },
      { align: "center", parent: key(from) },
    );
    at += stat;
  }
  pen.sign("ff:norm:sign", "→", { x: at, y, w: signs, h });
  const end = { x: at + signs, y, w, h };
  pen.full(key(to), get(to), end, sums ? ["LayerNorm", "LN"] : "LN(x)", [n, d], {
    ...more,
    pick: true,
    parent: key(from),
  });
  for (const [i, [name, symbol]] of [
    ["gamma", "· γ"],
    ["beta", "+ β"],
  ].entries()) {
    const high = 0.9 * unit;
    const row = { x: end.x, y: y - (NAME_SIZE + HEAD - 0.2 - i * 1.6) * unit, w, h: high };
    pen.matrix(key(name), get(name), row, { colAxis: "d_model", parent: key(to) });
    const wide = 2.2 * unit;
    pen.math(
      `name:${key(name)}`,
      symbol,
      { x: row.x - wide - 0.3 * unit, y: row.y - 0.2 * unit, w: wide },
      { align: "right", colour: "dim" },
    );
  }
}
