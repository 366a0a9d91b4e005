import { BoardPen, NAME_SIZE, PALE, insideOf, labelRoom, rimOf, rowRects } from "../ends/pen.js";
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

// Sizes in pixels that all steps share.
function boardPlan(ctx) {
  const { data, state, unit, area } = ctx;
  const { d_model: d, d_ff: ff, norm, residual, activation } = data.config;
  const side = state.place.startsWith("encoder") ? "source" : "target_in";
  const labels = data.labels(side);
  const small = ctx.narrow || area.w < LEAST * unit;
  const inside = insideOf(ctx);
  const label = labelRoom(labels, unit, small ? Math.min(5.2 * unit, inside.w * 0.2) : 7.5 * unit);
  const left = inside.x + label + 0.6 * unit;
  const room = inside.x + inside.w - left;
  const stat = (small && room < 24 * unit ? 1 : 3.3) * unit;
  const signs = (small ? 1.2 : 1.8) * unit;
  const plan = {
    ...{ ctx, unit, inside, side, labels, small, label, left, room, d, ff, n: labels.length, stat, signs },
    ...{ pre: norm === "pre", post: norm === "post", residual: residual !== false },
    ...{ activation, relu: activation === "relu", gap: (small ? 0.8 : 2) * unit },
    stats: 2 * stat + 3 * signs, // from one matrix to the next, with mean and deviation between
  };
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

// The names of the matrices, the longest that a space may have first.
function namesOf({ pre, residual, activation, ctx }) {
  const operand = pre ? "LN(x)" : "x";
  const product = [`${operand} W_1 + b_1`, "· W_1 + b_1"];
  const sign = { relu: "max(0, ", gelu: "GELU(", swish: "swish(" }[activation];
  const update = [`FFN(${operand})`, "FFN"];
  return {
    ...{ x: "x", normed: "LN(x)", W_1: "W_1", W_2: "W_2", pre: product, update, leaves: ["LayerNorm", "LN"] },
    activation: [...product, "·"].map((name) => `${sign}${name})`),
    sum: residual ? [`x + FFN(${operand})`, "x + FFN", ctx.t("ends_sum")] : update,
  };
}

export function feedForwardBoard(ctx) {
  const plan = boardPlan(ctx);
  const { state, data } = ctx;
  const { n, d, ff } = plan;
  const at = traceName(state);
  const decoder = plan.side === "target_in";
  const pen = new BoardPen(ctx, decoder ? "target" : "source");
  const strips = { x: `${at}.enters`, activation: `${at}.activation`, update: `${at}.update` };
  const key = (role) => `m:${at}.${role}`;
  // Until the exact numbers have arrived, the data of the model's picture replaces them.
  const get = (role, options) =>
    data.matrix(`place.${role}`, options) || (strips[role] && !options ? data.matrix(strips[role]) : null);
  const late = decoder ? { current: state.t, dimAfter: state.t } : {};
  const line = { rowAxis: "token", rowLabels: plan.labels, ...late };
  const names = namesOf(plan);
  const shapes = { W_1: [d, ff], W_2: [ff, d], pre: [n, ff], activation: [n, ff] };
  const shapeOf = (role) => shapes[role] || [n, d];
  const axisOf = (size) => (size === ff ? "d_ff" : "d_model");
  /** @type {any} */
  const board = { ...plan, pen, frame: `box:${state.place}`, key, get, line };
  // A matrix with its name and shape.
  board.show = (role, rect, { shape = shapeOf(role), ...look } = /** @type {any} */ ({})) => {
    const weights = role.startsWith("W_");
    const [rows, columns] = shapeOf(role).map(axisOf);
    const axes = weights ? { rowAxis: rows, colAxis: columns, scale: true } : { ...line, colAxis: columns };
    pen.full(key(role), weights ? data.matrix(role) : get(role), rect, names[role], shape, { ...axes, ...look });
  };
  // The outline of the result of a later step.
  board.coming = (role, rect, width = rect.w) => pen.coming(key(role), rect, names[role], shapeOf(role), width);
  const sums = state.step === "add" || (state.step === "norm" && !plan.pre);
  const [y, h] = sums ? [plan.sumsTop, plan.tall] : [plan.rowsTop, plan.rows];
  const labels = { x: plan.inside.x, y, w: plan.label, h };
  pen.tokens(`tokens:${decoder ? "target" : "source"}`, plan.labels, labels, { axis: "token", ...late });
  if (sums) drawSums(board, state.step);
  else drawProducts(board, state.step);
  return pen.items;
}

const pale = (idle) => (idle ? { alpha: PALE, group: "aside" } : {});

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
  drawInputs(board, step, x, z);
  drawInner(board, step, middle);
  if (step === "activation") drawActivation(board, x, middle, end);
  if (end) drawOuter(board, step, middle, end);
}

// x, and with pre-norm its LayerNorm, which is the input of the product.
function drawInputs(board, step, x, z) {
  const { show, coming, pre, small, gap, frame } = board;
  const normed = pre && step !== "x";
  const idle = step === "activation" || step === "outer";
  const room = x.w + gap * 0.9;
  if (small && step === "norm") return drawNorm(board, "x", "normed", { x: board.left, w: widthOfNorm(board) });
  if (small && idle) return undefined;
  if (!small || !normed)
    show("x", x, { room, parent: frame, pick: step === "x", ...pale(idle || (normed && step !== "norm")) });
  if (!pre) return undefined;
  if (step === "norm") return drawNorm(board, "x", "normed", x);
  if (step === "x") return small ? undefined : coming("normed", z, room);
  return show("normed", z, { room, parent: frame, ...pale(idle) });
}

const widthOfNorm = ({ room, stats }) => (room - stats) / 2;

// W_1 and its product.
function drawInner(board, step, middle) {
  const { show, coming, key, frame, weights, unit, d, ff, small, rowsTop } = board;
  if (step === "activation" || (small && (step === "outer" || step === "norm"))) return;
  const high = clamp((middle.w * d) / ff, 4 * unit, weights);
  const top = { ...middle, y: rowsTop - (NAME_SIZE + BIAS) * unit - high, h: high };
  if (step !== "inner") {
    coming("W_1", top);
    if (step !== "outer") coming("pre", middle);
    return;
  }
  show("W_1", top, { parent: [key("pre"), frame] });
  drawBias(board, "b_1", middle, "d_ff");
  show("pre", middle, { pick: true, parent: [frame, key("x")] });
}

// A row of biases right above the rows it is added to.
function drawBias(board, name, rect, axis) {
  const { pen, key, get, unit, rowsTop } = board;
  const matrix = get(name);
  if (!matrix) return;
  const y = rowsTop - (NAME_SIZE + BIAS * 0.62) * unit;
  pen.matrix(key(name), matrix, { x: rect.x, y, w: rect.w, h: 0.6 * unit }, { colAxis: axis });
  const w = 2.6 * unit;
  const x = rect.x - w - 0.3 * unit;
  if (x > board.inside.x) drawSide(board, name, `+ ${name}`, { x, y: y - 0.35 * unit, w });
}

const drawSide = ({ pen, key }, name, symbol, rect) =>
  pen.math(`name:${key(name)}`, symbol, rect, { align: "right", colour: "dim" });

// pre moves up, and the output of the non-linearity takes its position; beside it the number of active neurons.
function drawActivation(board, x, middle, end) {
  const { pen, show, key, get, unit, weights, rowsTop, rows, inside } = board;
  const high = Math.min(rows, weights);
  const above = { ...middle, y: rowsTop - (NAME_SIZE + BIAS) * unit - high, h: high };
  show("pre", above);
  show("activation", middle, { pick: true, parent: key("pre") });
  const mid = middle.x + middle.w / 2;
  const down = [mid, above.y + high + 0.25 * unit, mid, rowsTop - (NAME_SIZE + 0.05) * unit];
  pen.path("ff:down", down, { tip: true, weight: 1.5, parent: key("pre") });
  activationCurve(board, { x: inside.x, w: x.x + x.w - inside.x }, get("pre"));
  activeNeurons(board, end || x, get("activation"));
}

// W_2 and its product.
function drawOuter(board, step, middle, end) {
  const { show, coming, key, frame, ctx, unit, weights, rowsTop, gap } = board;
  const top = { ...end, y: rowsTop - (NAME_SIZE + BIAS) * unit - weights, h: weights };
  if (step !== "outer") {
    coming("W_2", top);
    if (step !== "activation") coming("update", end);
    return;
  }
  show("activation", middle, { parent: key("pre") });
  show("W_2", top, { before: gap + 3 * unit, parent: [key("update"), frame] });
  drawBias(board, "b_2", end, "d_model");
  const off = ctx.data.about?.skipped ? { shape: ctx.t("ends_skipped") } : {};
  show("update", end, { ...off, before: gap * 0.9, pick: true, parent: [key("activation"), frame] });
}

// -- x + update = sum, and LayerNorm ----------------------------------------------------------------------------------

function drawSums(board, step) {
  const { pen, show, coming, key, get, left, even, unit, stats, small, post, sumsTop, tall } = board;
  const norm = step === "norm";
  const half = widthOfNorm(board);
  if (!board.residual) {
    const w = Math.min(half, small ? Infinity : 1.6 * even);
    return drawNorm(board, "update", "leaves", { x: left, w }, true);
  }
  if (small && norm) return drawNorm(board, "sum", "leaves", { x: left, w: half }, true);
  const sign = SIGN * (small ? 0.7 : 1) * unit;
  const rect = (i) => ({ x: left + i * (even + sign), y: sumsTop, w: even, h: tall });
  const gap = (i) => ({ ...rect(i), x: rect(i).x + even, w: sign });
  const [x, update, sum] = ["x", "update", "sum"].map((role) => get(role));
  const top = x && update && sum ? Math.max(x.top, update.top, sum.top) : undefined;
  const look = { room: even + sign * 0.9, top, ...pale(norm) };
  show("x", rect(0), look);
  pen.sign("ff:plus", "+", gap(0), { alpha: look.alpha });
  show("update", rect(1), { ...look, parent: key("W_2") });
  pen.sign("ff:equals", "=", gap(1), { alpha: look.alpha });
  if (norm) return drawNorm(board, "sum", "leaves", { x: rect(2).x, w: even }, true);
  const room = even + (small ? 0 : stats * 0.9);
  show("sum", rect(2), { room, top, pick: true, parent: [key("update"), key("x")] });
  if (!small && post) coming("leaves", { ...rect(2), x: rect(2).x + even + stats });
  return undefined;
}

// LayerNorm of each row: its input, minus its mean, divided by its deviation, then times gamma plus beta.
function drawNorm(board, from, to, { x, w }, sums = false) {
  const { pen, show, key, get, line, unit, stat, signs, n, rowsTop, rows, sumsTop, tall, small } = board;
  const [y, h] = sums ? [sumsTop, tall] : [rowsTop, rows];
  const parent = key(from);
  if (sums || small) show(from, { x, y, w, h }, { room: w + signs * 0.9, parent: [key("update"), key("x")] });
  let at = x + w;
  const sign = (name, text) => {
    pen.sign(`ff:${name}:sign`, text, { x: at, y, w: signs, h });
    at += signs;
  };
  const look = { ...line, top: get(from)?.top, numbers: h / n >= 1.15 * unit && stat > 2.6 * unit, parent };
  for (const [name, symbol, text] of [
    ["mean", "μ", "−"],
    ["deviation", "σ", "÷"],
  ]) {
    sign(name, text);
    pen.matrix(key(name), get(name, { transposed: true }), { x: at, y, w: stat, h }, look);
    const above = { x: at, y: y - NAME_SIZE * unit, w: stat };
    pen.math(`name:${key(name)}`, symbol, above, { align: "center", parent });
    at += stat;
  }
  sign("norm", "→");
  show(to, { x: at, y, w, h }, { pick: true, parent });
  ["gamma", "beta"].forEach((name, i) => {
    const row = { x: at, y: y - (NAME_SIZE + HEAD - 0.2 - i * 1.6) * unit, w, h: 0.9 * unit };
    pen.matrix(key(name), get(name), row, { colAxis: "d_model", parent: key(to) });
    const side = { x: at - 2.5 * unit, y: row.y - 0.2 * unit, w: 2.2 * unit };
    drawSide(board, name, ["· γ", "+ β"][i], side);
  });
}
