import { PALE } from "../stage/sheet.js";

// What surrounds a sub-layer (section 3.1): x + update = sum, and LayerNorm. sheet.names: how the board calls
// {update, sum, leaves}.

const ASIDE = 48; // units of width from which everything stands in one line
// The columns of memory and of x are separate: highlighting one does not highlight the other. The shown text ends at
// the colon.
export const OF_MEMORY = "d_model:memory";

export const fitsAside = ({ slim, area, u }) => !slim && area.w >= ASIDE * u;

// x + update = sum and, with post-norm, LayerNorm of it.
export function sumBoard(sheet) {
  const { u, stacked, line, q, post, w0, area, d, names } = sheet;
  const norm = sheet.state.step === "norm";
  const stats = statisticsOf(sheet);
  const four = !sheet.slim && post && w0 >= ASIDE * u; // all in one line: nothing moves from the sum to LayerNorm
  if (norm && !four) return normBoard(sheet);
  const terms = [
    { role: "x", name: "x", ramp: q.side },
    { role: "update", name: names.update, ramp: sheet.colour, sign: "+" },
    { role: "sum", name: names.sum, ramp: q.side, sign: "=", pick: true },
  ];
  const gap = (stacked ? 0.9 : sheet.slim ? 1.7 : 2.2) * u;
  const count = stacked ? 3 : 1;
  const fixed = count * line + (count - 1) * gap + (four ? stats.above : 0);
  const row = Math.min(sheet.cap, sheet.most / 2 / q.n, (area.h - fixed) / (count * q.n));
  const h = row * q.n;
  const w = stacked ? w0 : (w0 - 2 * gap - (four ? stats.room : 0)) / (four ? 4 : 3);
  const top = sheet.top(fixed + count * h) + (four ? stats.above : 0);
  const rectOf = (i) => {
    const [x, y] = stacked ? [0, i * (line + h + gap)] : [i * (w + gap), 0];
    return { x: sheet.x0 + x, y: top + line + y, w, h };
  };
  const tops = terms.map(({ role }) => sheet.read("place." + role)?.top || 0);
  terms.forEach(({ role, name, ramp, sign, pick }, i) => {
    const at = rectOf(i);
    const shift = stacked && sign ? 1.6 * u : 0;
    const last = i === 2;
    const alpha = norm && !last ? PALE : 1;
    const signWidth = stacked ? 0 : last ? (four ? stats.sign * 0.7 : 0) : gap * 0.8;
    const nameRect = { x: at.x + shift, y: at.y - line, w: w + signWidth - shift };
    sheet.title(sheet.key(role), name, [q.n, d], nameRect, { alpha });
    const parent = last ? [sheet.key("update")] : role === "update" ? sheet.origin : [];
    const more = { ramp, side: q, colAxis: "d_model", top: Math.max(...tops) || undefined, parent, alpha };
    if (alpha < 1) more.group = "aside";
    sheet.draw("place." + role, at, { ...more, pick: pick && !norm });
    if (stacked || i === 0) sheet.rowTokens(q, at.y, h);
    const spot = stacked ? [at.x + 0.7 * u, at.y - line + 0.7 * u] : [at.x - gap / 2, at.y + h / 2];
    if (sign) sheet.signAt(role, sign, ...spot, { alpha });
  });
  if (!four) return;
  const sum = rectOf(2);
  const leaves = { ...sum, x: sum.x + w + stats.room };
  if (norm) drawNorm(sheet, "sum", "leaves", sum, leaves);
  else sheet.coming(sheet.key("leaves"), leaves, names.leaves, [q.n, d]);
}

// Widths around mean and deviation; above: space for gamma and beta.
function statisticsOf({ u, slim, stacked, w0 }) {
  const narrow = stacked ? [1.6, 0.4] : [w0 < 24 * u ? 1 : 3.3, 1.2];
  const [wide, sign, strip] = [...(slim ? narrow : [3.2, 1.7]), 0.9].map((size) => size * u);
  return { wide, sign, strip, room: 2 * wide + (stacked ? 2 : 3) * sign, above: 2 * (strip + 0.35 * u) };
}

// LayerNorm alone: of the sum (of the update if nothing is added), or with pre-norm of x at the beginning.
export function normBoard(sheet) {
  const { u, stacked, line, q, pre, residual, area, d, names } = sheet;
  const [from, to] = pre ? ["x", "normed"] : [residual ? "sum" : "update", "leaves"];
  const stats = statisticsOf(sheet);
  const memory = pre && sheet.cross ? sheet.k : null; // an input, too, and drawn where nothing else will be
  const count = stacked ? 2 : 1;
  const between = stacked ? u : 0;
  const below = memory && !fitsAside(sheet);
  const fixed = count * line + stats.above + between + (below ? u + line : 0);
  const rows = below ? count * q.n + memory.n : Math.max(count * q.n, memory ? memory.n : 0);
  const row = Math.min(sheet.cap, sheet.most / 2 / q.n, (area.h - fixed) / rows);
  const h = row * q.n;
  const apart = memory && !below ? 2.2 * u + sheet.tw + sheet.pad : 0;
  const w = stacked ? sheet.w0 - stats.room : (sheet.w0 - stats.room - apart) / (apart ? 3 : 2);
  const top = sheet.top(fixed + rows * row);
  const first = { x: sheet.x0, y: top + line + (stacked ? 0 : stats.above), w, h };
  const second = stacked
    ? { ...first, y: first.y + h + between + line + stats.above }
    : { ...first, x: first.x + w + stats.room };
  const coming = sheet.state.step === "x";
  sheet.rowTokens(q, first.y, h);
  if (stacked) sheet.rowTokens(q, second.y, h);
  const pick = coming && { matrix: "queries" };
  const [ramp, parent] = from === "update" ? [sheet.colour, sheet.origin] : [q.side, []];
  const look = { ramp, side: q, colAxis: "d_model", pick, parent };
  sheet.named("place." + from, pre ? "x" : names.sum, [q.n, d], first, look);
  if (memory) {
    const at = below ? { ...first, y: second.y + h + u + line } : { ...first, x: second.x + w + apart };
    drawMemory(sheet, { ...at, h: row * memory.n }, coming ? 1 : PALE);
  }
  if (coming) sheet.coming(sheet.key(to), second, ["LayerNorm(x)", "LN(x)"], [q.n, d]);
  else drawNorm(sheet, from, to, first, second);
}

// The encoder's output, pale if nothing is computed from it.
function drawMemory(sheet, at, alpha) {
  const { k, d } = sheet;
  const more = alpha < 1 ? { group: "aside" } : { pick: { matrix: "memory" } };
  sheet.rowTokens(k, at.y, at.h, { x: at.x - sheet.pad - sheet.tw });
  sheet.named("place.memory", "memory", [k.n, d], at, { ramp: k.side, side: k, colAxis: OF_MEMORY, alpha, ...more });
}

// Mean and deviation of every row, then the normalised rows, times gamma plus beta.
function drawNorm(sheet, from, to, first, second) {
  const { u, stacked, q, d } = sheet;
  const stats = statisticsOf(sheet);
  const parent = [sheet.key(from)];
  const middle = first.y + first.h / 2;
  let x = first.x + first.w;
  for (const [role, letter, sign] of [
    ["mean", "μ", "−"],
    ["deviation", "σ", "÷"],
  ]) {
    const at = { ...first, x: x + stats.sign, w: stats.wide };
    if (!stacked) sheet.signAt(role, sign, x + stats.sign / 2, middle, { parent });
    sheet.title(sheet.key(role), letter, null, { ...at, y: at.y - sheet.line }, { align: "center" });
    const top = sheet.forward ? sheet.read("place." + from)?.top : undefined; // feed-forward: on the scale of the rows
    sheet.draw("place." + role, at, { transposed: true, ramp: q.side, side: q, numbers: true, parent, top });
    x = at.x + at.w;
  }
  if (!stacked) sheet.signAt("norm", "→", x + stats.sign / 2, middle, { parent });
  const name = to === "normed" ? ["LayerNorm(x)", "LN(x)"] : sheet.names.leaves;
  sheet.named("place." + to, name, [q.n, d], second, { ramp: q.side, side: q, colAxis: "d_model", pick: true, parent });
  ["gamma", "beta"].forEach((role, i) => {
    const strip = { ...second, y: second.y - sheet.line - stats.above + i * (stats.strip + 0.35 * u), h: stats.strip };
    const signRect = { x: second.x - 2.6 * u, y: strip.y + strip.h / 2 - 0.7 * u, w: 2.25 * u };
    sheet.beside(role, ["· γ", "+ β"][i], signRect, { align: "right", parent: [sheet.key(to)] });
    sheet.draw("place." + role, strip, { ramp: q.side, colAxis: "d_model", parent: [sheet.key(to)] });
  });
}

// Height that the tallest step of a place needs where the page may scroll: from step to step nothing below jumps.
export function tallestStep(ctx, steps, board) {
  const { state, unit } = ctx;
  const area = { ...ctx.area, y: 0, h: 1e5 };
  const heights = steps.map((step) => {
    const items = board({ ...ctx, area, natural: true, state: { ...state, step } });
    return Math.max(...items.map((item) => item.y + item.h)) - Math.min(...items.map((item) => item.y));
  });
  return Math.ceil(Math.max(...heights) + unit);
}
