import { stepsOf } from "../walk.js";
import { AttentionSheet, PALE } from "./parts.js";
import { splitBoard, tileBoard, concatBoard } from "./heads.js";
import { headBoard } from "./head.js";

// The boards of an attention sub-layer (sections 3.1 and 3.2): where every matrix of a step stands. A product C = A B is
// drawn with A at the left, B on top and C in the corner: a row of A and a column of B meet in their cell of C.

const BOARDS = {
  x: (sheet) => (sheet.pre ? normBoard(sheet) : projectBoard(sheet)),
  project: projectBoard,
  split: splitBoard,
  concat: concatBoard,
  output: outputBoard,
  add: sumBoard,
  norm: (sheet) => (sheet.pre || !sheet.residual ? normBoard(sheet) : sumBoard(sheet)),
};

export function attentionBoard(ctx) {
  const sheet = new AttentionSheet(ctx);
  const board = BOARDS[ctx.state.step] || (sheet.near ? headBoard : tileBoard);
  board(sheet);
  return sheet.items;
}

// Height that the tallest step of a place needs where the page may scroll: from step to step nothing below jumps.
export function attentionBoardHeight(ctx) {
  const { state, data, unit } = ctx;
  const area = { ...ctx.area, y: 0, h: 1e5 };
  let tallest = 0;
  for (const step of stepsOf(state.place, data.config)) {
    const items = attentionBoard({ ...ctx, area, natural: true, state: { ...state, step } });
    const low = Math.min(...items.map((item) => item.y));
    tallest = Math.max(tallest, Math.max(...items.map((item) => item.y + item.h)) - low);
  }
  return Math.ceil(tallest + unit);
}

const ASIDE = 48; // units of width from which the products of x and of memory stand side by side
// The columns of memory and of x are separate: highlighting one does not highlight the other. The shown text ends at
// the colon.
const OF_MEMORY = "d_model:memory";

const inputBoard = (sheet) => (sheet.pre ? "LN(x)" : "x");

// -- products with the weights ----------------------------------------------------------------------------------------

// Heights of the blocks that stand side by side, in an area of that height.
function productSizes(sheet, blocks, height) {
  const { u, line } = sheet;
  const rows = Math.max(...blocks.map((block) => block.side.n));
  const bias = 0.75 * u;
  const fixed = 2 * line + bias + 0.5 * u;
  const freeHeight = Math.max(4 * u, height - fixed);
  const widest = Math.max(...blocks.map((block) => block.a));
  const most = sheet.slim ? Math.max(widest, (sheet.natural ? 9 : 15) * u) : Math.min(widest * 1.15, freeHeight);
  const high = Math.min(rows * sheet.cap, sheet.most, Math.max(freeHeight * 0.52, freeHeight - most));
  const top = Math.min(most, freeHeight - high);
  return { top, bias, row: high / rows, height: fixed + top + high };
}

// One operand at the left, one or more on top, their products in the corners. coming: the latter two are outlines.
function drawProduct(sheet, block, { x, y, sizes, coming = false }) {
  const { u, line } = sheet;
  const { side, left, products, a, tops, gap } = block;
  const { top, bias, row } = sizes;
  const xs = x + sheet.tw + sheet.pad;
  const wide = a * tops;
  const yBias = y + line + top + 0.25 * u;
  const yRows = yBias + bias + 0.25 * u + line;
  const h = row * side.n;
  sheet.rowTokens(side, yRows, h, { x });
  const leftKey = sheet.key(left.role);
  const operand = { ramp: left.ramp, side, colAxis: left.axis, pick: coming && { matrix: left.matrix } };
  sheet.title(leftKey, left.name, [side.n, sheet.d], { x: xs, y: yRows - line, w: a + 0.75 * gap });
  sheet.matrix("place." + left.role, { x: xs, y: yRows, w: a, h }, operand);
  products.forEach((product, i) => {
    const { head = null, ramp, axis: colAxis, group, from } = product;
    const at = xs + a + gap + i * (wide + gap);
    const above = { x: at, y: y + line, w: wide, h: top };
    const corner = { x: at, y: yRows, w: wide, h };
    const [weight, key] = [sheet.key(product.weight, head), sheet.key(product.role, head)];
    const [weightShape, shape] = [[product.rows, product.cols], product.off || [side.n, product.cols]];
    if (coming) {
      sheet.coming(weight, above, product.weightName, weightShape);
      return sheet.coming(key, corner, product.name, shape);
    }
    const more = { head, ramp, colAxis, group };
    const { top: end } = sheet.data.matrix(product.weight, head === null ? {} : { head }) || {};
    sheet.title(weight, product.weightName, weightShape, { x: at, y, w: wide, top: end });
    sheet.matrix(product.weight, above, { ...more, rowAxis: left.axis });
    sheet.matrix("place.b" + product.weight.slice(1), { x: at, y: yBias, w: wide, h: bias }, { ...more, from });
    sheet.title(key, product.name, shape, { x: at, y: yRows - line, w: wide });
    // Where the next step cuts the heads out of it.
    const { pick, colFrom } = product;
    const parent = [leftKey, weight];
    const first = product.slices ? "x" : undefined; // together with the heads' parts, see slices
    sheet.matrix("place." + product.role, corner, { ...more, side, pick, colFrom, parent, first });
    if (product.slices) sheet.slices(product.role, corner, { ramp, side, top: sheet.whole(product.role), parent });
  });
  // A row of biases is added to every product: it is named once, where there is space.
  const labelRect = { x: xs, y: yBias + bias / 2 - 0.7 * u, w: a + gap - 0.45 * u };
  if (!coming) sheet.note("bias:" + left.role, "+ b", labelRect, { align: "right" });
  return { xs, yRows, h, wide, yTop: y + line, top };
}

// x W^Q, x W^K, x W^V; in cross-attention the latter two of the encoder's output.
function projectBoard(sheet) {
  const { u, cross, near, head, slim, d, dk, dh, heads, area } = sheet;
  const product = (letter, role, width, ramp) => {
    const weight = "W_" + letter.toLowerCase();
    const axis = letter === "V" ? "d_head" : "d_k";
    const about = { role, ramp, weight, rows: d, group: letter, pick: { matrix: role } };
    const all = { weightName: `W^${letter}`, name: letter, cols: heads * width, axis: "head·" + axis, slices: true };
    if (!near) return { ...about, ...all };
    const names = { weightName: `W_{${head + 1}}^${letter}`, name: `${letter}_{${head + 1}}` };
    return { ...about, ...names, head, from: [head * width, width], colFrom: head * width, cols: width, axis };
  };
  const queries = product("Q", "queries", dk, sheet.q.side);
  const memoryProducts = [product("K", "keys", dk, sheet.k.side), product("V", "values", dh, sheet.k.side)];
  const role = sheet.pre ? "normed" : "x";
  const left = { role, matrix: "queries", name: inputBoard(sheet), ramp: sheet.q.side, axis: "d_model" };
  const memory = { role: "memory", matrix: "memory", name: "memory", ramp: sheet.k.side, axis: OF_MEMORY };
  const blocks = cross
    ? [
        { side: sheet.q, left, products: [queries] },
        { side: sheet.k, left: memory, products: memoryProducts },
      ]
    : [{ side: sheet.q, left, products: [queries, ...memoryProducts] }];
  // Side by side if there is space, otherwise below each other.
  const aside = cross && !slim && area.w >= ASIDE * u;
  const tops = near ? 0.62 : 1; // one head's part of the weights is narrower than all of them
  const gap = slim ? 0.5 * u : 1.4 * u;
  const label = sheet.tw + sheet.pad;
  const between = 2.2 * u;
  for (const block of blocks) {
    const mates = aside ? blocks : [block];
    const columns = mates.reduce((sum, mate) => sum + 1 + mate.products.length * tops, 0);
    const used = mates.reduce((sum, mate) => sum + label + mate.products.length * gap, 0) + (aside ? between : 0);
    Object.assign(block, { a: (area.w - used) / columns, tops, gap });
  }
  const coming = sheet.state.step === "x";
  const height = area.h;
  if (aside || !cross) {
    const sizes = productSizes(sheet, blocks, height);
    const y = sheet.top(sizes.height);
    let { x } = area;
    for (const block of blocks) {
      drawProduct(sheet, block, { x, y, sizes, coming });
      x += label + block.a + block.products.length * (block.a * tops + gap) + between;
    }
    return;
  }
  const apart = 1.1 * u;
  const sizes = blocks.map((block) => productSizes(sheet, [block], (height - apart) / 2));
  let y = sheet.top(sizes[0].height + sizes[1].height + apart);
  blocks.forEach((block, i) => {
    drawProduct(sheet, block, { x: area.x, y, sizes: sizes[i], coming });
    y += sizes[i].height + apart;
  });
}

function outputBoard(sheet) {
  const { u, d, dh, heads, near, head, area } = sheet;
  const gap = sheet.slim ? 0.7 * u : 1.8 * u;
  const product = {
    ...{ role: "update", name: "MultiHead", ramp: sheet.own, weight: "W_o", weightName: "W^O", pick: true },
    ...{ rows: heads * dh, cols: d, axis: "d_model", off: sheet.data.about?.skipped && sheet.t("attention_off") },
  };
  const left = { role: "concat", name: "Concat", ramp: sheet.own, axis: "head·d_head" };
  const a = Math.min((sheet.w0 - gap) / 2, Math.max(24 * u, area.h * 0.66));
  const block = { side: sheet.q, left, products: [product], a, tops: 1, gap };
  const sizes = productSizes(sheet, [block], area.h);
  const spare = Math.max(0, sheet.w0 - 2 * a - gap);
  const at = drawProduct(sheet, block, { x: area.x + spare / 2, y: sheet.top(sizes.height), sizes });
  if (!near) return;
  // A head's columns of the concatenation meet only its rows of W^O.
  const part = { w: a / heads, h: at.top / heads };
  sheet.frame("concat", { x: at.xs + head * part.w, y: at.yRows - 1, w: part.w, h: at.h + 2 });
  sheet.frame("W_o", { x: at.xs + a + gap - 1, y: at.yTop + head * part.h, w: at.wide + 2, h: part.h });
}

// -- residual and LayerNorm -------------------------------------------------------------------------------------------

// x + update = sum and, with post-norm, LayerNorm of it.
function sumBoard(sheet) {
  const { u, slim, line, q, post, w0, area, d } = sheet;
  const norm = sheet.state.step === "norm";
  const stats = drawStatistics(sheet);
  const four = !slim && post && w0 >= 48 * u; // all in one line: nothing moves from the sum to LayerNorm
  if (norm && !four) return normBoard(sheet);
  const names = sumNames(sheet);
  const terms = [
    { role: "x", name: "x", ramp: q.side },
    { role: "update", name: "MultiHead", ramp: sheet.own, sign: "+" },
    { role: "sum", name: names.sum, ramp: q.side, sign: "=", pick: true },
  ];
  const gap = slim ? 0.9 * u : 2.2 * u;
  const count = slim ? 3 : 1;
  const fixed = count * line + (count - 1) * gap + (four ? stats.above : 0);
  const row = Math.min(sheet.cap, sheet.most / 2 / q.n, (area.h - fixed) / (count * q.n));
  const h = row * q.n;
  const w = slim ? w0 : (w0 - 2 * gap - (four ? stats.room : 0)) / (four ? 4 : 3);
  const top = sheet.top(fixed + count * h) + (four ? stats.above : 0);
  const rectOf = (i) => {
    const [x, y] = slim ? [0, i * (line + h + gap)] : [i * (w + gap), 0];
    return { x: sheet.x0 + x, y: top + line + y, w, h };
  };
  const tops = terms.map(({ role }) => sheet.data.matrix("place." + role)?.top || 0);
  terms.forEach(({ role, name, ramp, sign, pick }, i) => {
    const at = rectOf(i);
    const key = sheet.key(role);
    const shift = slim && sign ? 1.6 * u : 0;
    const last = i === 2;
    const alpha = norm && !last ? PALE : 1;
    const signWidth = slim ? 0 : last ? (four ? stats.sign * 0.7 : 0) : gap * 0.8;
    sheet.title(key, name, [q.n, d], { x: at.x + shift, y: at.y - line, w: w + signWidth - shift, alpha });
    const parent = last ? [sheet.key("update")] : role === "update" ? [sheet.key("W_o"), sheet.key("concat")] : [];
    const more = { ramp, side: q, colAxis: "d_model", top: Math.max(...tops) || undefined, parent, alpha };
    if (alpha < 1) more.group = "aside";
    sheet.matrix("place." + role, at, { ...more, pick: pick && !norm });
    if (slim || i === 0) sheet.rowTokens(q, at.y, h);
    const spot = slim ? [at.x + 0.7 * u, at.y - line + 0.7 * u] : [at.x - gap / 2, at.y + h / 2];
    if (sign) sheet.sign(role, sign, ...spot, { alpha });
  });
  if (!four) return;
  const sum = rectOf(2);
  const leaves = { ...sum, x: sum.x + w + stats.room };
  if (norm) normedKey(sheet, "sum", "leaves", sum, leaves);
  else sheet.coming(sheet.key("leaves"), leaves, names.leaves, [q.n, d]);
}

// Statistics of the output of the sub-layer before LayerNorm, and after it.
function sumNames({ residual }) {
  const sum = residual ? "x + MultiHead" : "MultiHead";
  return { sum, leaves: [`LayerNorm(${sum})`, "LayerNorm"] };
}

// Widths around mean and deviation; above: space for gamma and beta.
function drawStatistics({ u, slim }) {
  const [wide, sign, strip] = slim ? [1.6 * u, 0.4 * u, 0.9 * u] : [3.2 * u, 1.7 * u, 0.9 * u];
  return { wide, sign, strip, room: 2 * wide + (slim ? 2 : 3) * sign, above: 2 * (strip + 0.35 * u) };
}

// LayerNorm alone: of the sum (of the update if nothing is added), or with pre-norm of x at the beginning.
function normBoard(sheet) {
  const { u, slim, line, q, pre, residual, area, d } = sheet;
  const [from, to] = pre ? ["x", "normed"] : [residual ? "sum" : "update", "leaves"];
  const stats = drawStatistics(sheet);
  const memory = pre && sheet.cross ? sheet.k : null; // an input, too, and drawn where nothing else will be
  const count = slim ? 2 : 1;
  const between = slim ? u : 0;
  const below = memory && (slim || area.w < ASIDE * u);
  const fixed = count * line + stats.above + between + (below ? u + line : 0);
  const rows = below ? count * q.n + memory.n : Math.max(count * q.n, memory ? memory.n : 0);
  const row = Math.min(sheet.cap, sheet.most / 2 / q.n, (area.h - fixed) / rows);
  const h = row * q.n;
  const apart = memory && !below ? 2.2 * u + sheet.tw + sheet.pad : 0;
  const w = slim ? sheet.w0 - stats.room : (sheet.w0 - stats.room - apart) / (apart ? 3 : 2);
  const top = sheet.top(fixed + rows * row);
  const first = { x: sheet.x0, y: top + line + (slim ? 0 : stats.above), w, h };
  const second = slim
    ? { ...first, y: first.y + h + between + line + stats.above }
    : { ...first, x: first.x + w + stats.room };
  const coming = sheet.state.step === "x";
  sheet.rowTokens(q, first.y, h);
  if (slim) sheet.rowTokens(q, second.y, h);
  const name = pre ? "x" : sumNames(sheet).sum;
  sheet.title(sheet.key(from), name, [q.n, d], { x: first.x, y: first.y - line, w });
  const pick = coming && { matrix: "queries" };
  const ramp = from === "update" ? sheet.own : q.side;
  const parent = from === "update" ? [sheet.key("W_o"), sheet.key("concat")] : [];
  sheet.matrix("place." + from, first, { ramp, side: q, colAxis: "d_model", pick, parent });
  if (memory) {
    const at = below ? { ...first, y: second.y + h + u + line } : { ...first, x: second.x + w + apart };
    drawMemory(sheet, { ...at, h: row * memory.n }, coming ? 1 : PALE);
  }
  if (coming) sheet.coming(sheet.key(to), second, ["LayerNorm(x)", "LN(x)"], [q.n, d]);
  else normedKey(sheet, from, to, first, second);
}

// The encoder's output, pale if nothing is computed from it.
function drawMemory(sheet, at, alpha) {
  const { k, line, d } = sheet;
  const more = alpha < 1 ? { alpha, group: "aside" } : { pick: { matrix: "memory" } };
  sheet.rowTokens(k, at.y, at.h, { x: at.x - sheet.pad - sheet.tw });
  sheet.title(sheet.key("memory"), "memory", [k.n, d], { x: at.x, y: at.y - line, w: at.w, alpha });
  sheet.matrix("place.memory", at, { ramp: k.side, side: k, colAxis: OF_MEMORY, ...more });
}

// Mean and deviation of every row, then the normalised rows, times gamma plus beta.
function normedKey(sheet, from, to, first, second) {
  const { u, slim, line, q, d } = sheet;
  const stats = drawStatistics(sheet);
  const parent = [sheet.key(from)];
  const middle = first.y + first.h / 2;
  let x = first.x + first.w;
  [
    ["mean", "μ", "−"],
    ["deviation", "σ", "÷"],
  ].forEach(([role, letter, sign]) => {
    const at = { ...first, x: x + stats.sign, w: stats.wide };
    const key = sheet.key(role);
    if (!slim) sheet.sign(role, sign, x + stats.sign / 2, middle, { parent });
    sheet.title(key, letter, null, { x: at.x, y: at.y - line, w: at.w, align: "center" });
    sheet.matrix("place." + role, at, { transposed: true, ramp: q.side, side: q, numbers: true, parent });
    x = at.x + at.w;
  });
  if (!slim) sheet.sign("norm", "→", x + stats.sign / 2, middle, { parent });
  const name = to === "normed" ? ["LayerNorm(x)", "LN(x)"] : sumNames(sheet).leaves;
  const key = sheet.key(to);
  sheet.title(key, name, [q.n, d], { x: second.x, y: second.y - line, w: second.w });
  sheet.matrix("place." + to, second, { ramp: q.side, side: q, colAxis: "d_model", pick: true, parent });
  ["gamma", "beta"].forEach((role, i) => {
    const strip = { ...second, y: second.y - line - stats.above + i * (stats.strip + 0.35 * u), h: stats.strip };
    const signRect = { x: second.x - 2.6 * u, y: strip.y + strip.h / 2 - 0.7 * u, w: 2.25 * u };
    sheet.note(role, ["· γ", "+ β"][i], signRect, { align: "right", parent: [key] });
    sheet.matrix("place." + role, strip, { ramp: q.side, colAxis: "d_model", parent: [key] });
  });
}
