import { PALE } from "../stage/sheet.js";
import { clamp, mathWidth } from "../stage/measure.js";

// The boards of attention that show all heads: split into heads, Q K^T to V of every head as tiles, concatenated.

// The result of a step in one head: its name in the pack, and its key in the drawing. Scores keep one key until
// softmax.
export const RESULT_NAMES = {
  dot: ["dot", "scores"],
  scale: ["scaled", "scores"],
  mask: ["scores", "scores"],
  softmax: ["weights", "weights"],
  values: ["weights", "weights"],
};

const IN_SIGHT = 20; // units of height that a projector in big text and a phone show of a page that scrolls
const LOWEST_ROW = 0.45; // units
const LABEL_SPACE = 2.9; // units of height in which a slanted label is still legible

const headsOf = (sheet) => Array.from({ length: sheet.heads }, (_, head) => head);

// The end of the colour scale of all heads. Dot products before and after the division share it: the division makes
// them paler. Masked scores have a scale that shows them well.
function scoreTop({ data, heads, state }) {
  const name = state.step === "mask" ? "place.scaled" : "place.dot";
  let top = 0;
  for (let head = 0; head < heads; head++) top = Math.max(top, data.matrix(name, { head })?.top || 0);
  return top || undefined;
}

// The scores or weights of a head.
export function scoresOf(sheet, head, rect, more = {}) {
  const [name, role] = RESULT_NAMES[sheet.state.step];
  const weights = role === "weights";
  const parent = [sheet.key(weights ? "scores" : "weights", head), sheet.key("keys", head), sheet.headKey(head)];
  const look = weights ? { top: 1 } : { top: scoreTop(sheet) };
  const axes = { side: sheet.q, colAxis: "key", colLabels: sheet.k.labels, group: "h" + head };
  return sheet.draw("place." + name, rect, { head, role, ...axes, ...look, parent, ...more });
}

// "head 3", or only the number, or nothing, as space allows; off: the note after it, within `most`.
function headLabel(sheet, head, rect, { off = "", most = 0, ...more } = /** @type {any} */ ({})) {
  const { u } = sheet;
  const chosen = head === sheet.head;
  const labels = [sheet.t("attention_head", { n: head + 1 }), String(head + 1)];
  const wide = (text) => mathWidth(text, true) * u;
  const rest = off ? (mathWidth(off) + 0.5) * u : 0;
  const short = wide(labels[1]) + rest <= most ? labels[1] : undefined;
  const both = labels.find((label) => wide(label) + rest <= rect.w) ?? short;
  const text = both ?? labels.find((label) => wide(label) <= rect.w);
  if (!text) return;
  if (off && both) {
    const at = { ...rect, x: rect.x + wide(text) + 0.45 * u, w: rest - 0.45 * u };
    sheet.text(`off:${sheet.headKey(head)}`, off, at, { colour: "dim" });
    rect = { ...rect, w: wide(text) };
  }
  const look = chosen ? { weight: 600 } : { colour: "dim" };
  sheet.text(`name:${sheet.headKey(head)}`, text, rect, { ...look, ...more });
}

// Numbers above narrow columns of heads: all, or every second, third, ...
function headRow(sheet, y, { x, width, step }) {
  const { u, heads } = sheet;
  const numberWidth = mathWidth(String(heads), true) * u;
  const every = Math.max(1, Math.ceil((numberWidth + 0.3 * u) / step));
  for (let head = 0; head < heads; head += every) {
    const textWidth = Math.max(width, numberWidth);
    const right = sheet.area.x + sheet.area.w - textWidth;
    const left = clamp(x + head * step + (width - textWidth) / 2, sheet.area.x, right);
    headLabel(sheet, head, { x: left, y, w: textWidth }, { align: "center" });
  }
  // What the numbers count, where there is no space for "head 1" in each column.
  const named = mathWidth(sheet.t("attention_head", { n: heads }), true) * u <= width;
  const word = sheet.t("attention_heads");
  if (named || mathWidth(word) * u > sheet.tw) return;
  sheet.text("name:heads", word, { x: sheet.area.x, y, w: sheet.tw }, { align: "right", colour: "dim" });
}

// Widths of h parts of a row with gaps between them.
function headColumns({ heads, u }, fullWidth) {
  const part = fullWidth / heads;
  const gap = heads > 1 ? clamp(0.14 * part, 2, 0.9 * u) : 0;
  const width = (fullWidth - gap * (heads - 1)) / heads;
  return { gap, width, step: width + gap };
}

// -- split ------------------------------------------------------------------------------------------------------------

export function splitBoard(sheet) {
  const { u, near, area, line } = sheet;
  const bands = [
    { letter: "Q", role: "queries", side: sheet.q, cols: sheet.dk, axis: "d_k" },
    { letter: "K", role: "keys", side: sheet.k, cols: sheet.dk, axis: "d_k" },
    { letter: "V", role: "values", side: sheet.k, cols: sheet.dh, axis: "d_head" },
  ];
  const apart = 0.7 * u;
  const labels = near ? 0 : 1.5 * u;
  const fixed = labels + 3 * line + 2 * apart;
  const rows = bands.reduce((sum, band) => sum + band.side.n, 0);
  const longest = Math.max(sheet.q.n, sheet.k.n);
  // Where the page scrolls, all three should be in sight at once.
  const low = sheet.slim ? Math.max(LOWEST_ROW * u, (IN_SIGHT * u - fixed) / rows) : Infinity;
  const row = Math.min(low, sheet.cap, (0.66 * sheet.most) / longest, (area.h - fixed) / rows);
  const top = sheet.top(fixed + row * rows);
  let y = top + labels;
  for (const band of bands) {
    const h = row * band.side.n;
    sheet.rowTokens(band.side, y + line, h);
    if (near) splitOne(sheet, band, y, h);
    else splitAll(sheet, band, y, h);
    y += line + h + apart;
  }
  if (near) return;
  const columns = headColumns(sheet, sheet.w0);
  headRow(sheet, top + 0.1 * u, { x: sheet.x0, ...columns });
  const column = { y: top, w: columns.width, h: y - apart - top };
  for (const head of headsOf(sheet))
    sheet.opens(head, { x: sheet.x0 + head * columns.step, ...column }, { stroke: null });
}

function splitAll(sheet, { letter, role, side, cols, axis }, y, h) {
  const { width, step } = headColumns(sheet, sheet.w0);
  const wholeKey = sheet.key(role);
  const band = { x: sheet.x0, y: y + sheet.line, w: sheet.w0, h };
  sheet.title(wholeKey, letter, [1, sheet.heads, side.n, cols], { ...band, y });
  sheet.box(wholeKey + ":band", band); // unseen: the blocks of the heads grow from it
  for (const head of headsOf(sheet)) {
    const at = { ...band, x: sheet.x0 + head * step, w: width };
    const more = { ramp: side.side, side, colAxis: axis, group: "h" + head, top: sheet.whole(role) };
    // Down to its band first, then along it: no block crosses one of another matrix.
    sheet.draw("place." + role, at, { ...more, head, go: { zoom: "head", head }, first: "y" });
    const around = { x: at.x - 1, y: at.y - 1, w: width + 2, h: h + 2 };
    if (head === sheet.head) sheet.frame(role, around, { first: "y" });
  }
}

// One head: all columns at the left, the head's among them framed, and those alone at the right.
function splitOne(sheet, { letter, role, side, cols, axis }, y, h) {
  const { u, head, heads } = sheet;
  const gap = sheet.slim ? 2 * u : 4 * u;
  const wide = (sheet.w0 - gap) * 0.62;
  const all = { x: sheet.x0, y: y + sheet.line, w: wide, h };
  const part = { ...all, x: all.x + wide + gap, w: sheet.w0 - gap - wide };
  const more = { ramp: side.side, side };
  const options = { head, colAxis: axis, group: "h" + letter, pick: { matrix: role } };
  const joined = { ...more, colAxis: "head·" + axis, group: "all" + letter };
  sheet.named("place." + role, letter, [side.n, heads * cols], all, joined);
  sheet.frame(role, { x: all.x + (head * wide) / heads, y: all.y - 1, w: wide / heads, h: h + 2 });
  const middle = all.y + h / 2;
  sheet.arrow(role, [all.x + wide + 0.4 * u, middle, part.x - 0.4 * u, middle]);
  const parent = [`frame:${sheet.name}.${role}`, sheet.key(role)];
  sheet.named("place." + role, `${letter}_{${head + 1}}`, [side.n, cols], part, { ...more, ...options, parent });
}

// -- tiles ------------------------------------------------------------------------------------------------------------

// The size of a tile for this number of columns. Beside the scores there is a strip for one operand, above them a strip
// for the other. labels: height for the keys' labels, between the title and the strip: above every row of tiles, or, with
// little height, only above the first. null: not enough space.
function tileSize(sheet, columns, labels) {
  const { u, heads, slim, area } = sheet;
  const [n, m] = [sheet.q.n, sheet.k.n];
  const rows = Math.ceil(heads / columns);
  const gap = clamp((0.1 * sheet.w0) / columns, 5, 1.3 * u);
  const gapY = clamp((0.06 * area.h) / rows, 5, slim ? 0.8 * u : 1.1 * u);
  const w = (sheet.w0 - labels.over - gap * (columns - 1)) / columns;
  const every = slim || area.h / rows >= 15 * u;
  const h = (area.h - labels.h * (every ? rows : 1) - 6 - gapY * (rows - 1)) / rows;
  const title = w >= 1.5 * u && h >= 4 * u ? 1.45 * u : 0;
  const strip = clamp(0.17 * Math.min(w, h - title), 3, slim ? 1.7 * u : 2.6 * u);
  const space = clamp(0.03 * Math.min(w, h), 2, 0.35 * u);
  let wide = Math.min(w - strip - space, 3.6 * u * m);
  let high = Math.min(h - title - strip - space, 2.4 * u * n, slim && sheet.natural ? 8 * u : Infinity);
  if (wide < 2 || high < 2) return null;
  // Cells may be stretched, within limits.
  wide = Math.min(wide, ((2.1 * high) / n) * m);
  high = Math.min(high, ((1.5 * wide) / m) * n);
  const cell = { w: wide + strip + space, h: high + title + strip + space };
  return { columns, rows, every, gap, gapY, title, strip, space, wide, high, cell, labels };
}

// The number of columns that makes the scores largest; a few on a phone, where there is height.
function tileSizes(sheet, labels) {
  const { u, heads, slim } = sheet;
  const few = Math.min(heads, heads <= 8 ? 2 : heads <= 18 ? 3 : 4);
  const narrow = slim && tileSize(sheet, few, labels);
  if (narrow && narrow.high >= 3 * u) return narrow;
  let best = null;
  // Better without a gap in the last row, and better in the shape of the area.
  const worth = ({ wide, high, columns, rows, cell }) => {
    const off = Math.log((columns * cell.w * sheet.area.h) / (rows * cell.h * sheet.w0));
    return wide * high * (columns * rows === heads ? 1.15 : 1) * (1 - 0.05 * Math.min(1, Math.abs(off)));
  };
  for (let columns = 1; columns <= heads; columns++) {
    const size = tileSize(sheet, columns, labels);
    if (size && (!best || worth(size) > worth(best))) best = size;
  }
  return best;
}

export function tileBoard(sheet) {
  // With little height the labels are cut short; without height they are left out.
  const low = Math.max(0.12 * sheet.area.h, LABEL_SPACE * sheet.u);
  const size = tileSizes(sheet, sheet.columnRoom(1, low)) || tileSizes(sheet, { h: 0, over: 0 });
  if (!size) return;
  const { columns, rows, cell, gapY, labels } = size;
  // Remaining space goes between the tiles, up to a limit, and around them.
  const spare = Math.max(0, sheet.w0 - labels.over - columns * cell.w - (columns - 1) * size.gap);
  const gap = size.gap + (columns > 1 ? Math.min(spare / (columns - 1), 1.6 * sheet.u) : 0);
  const used = columns * cell.w + (columns - 1) * gap;
  const left = sheet.x0 + Math.max(0, sheet.w0 - labels.over - used) / 2;
  const labelled = (row) => (size.every || row === 0 ? labels.h : 0);
  const heights = Array.from({ length: rows }, (_, row) => cell.h + labelled(row));
  const top = sheet.top(heights.reduce((sum, height) => sum + height, 0) + (rows - 1) * gapY + 6) + 3;
  for (const head of headsOf(sheet)) {
    const [row, column] = [Math.floor(head / columns), head % columns];
    const x = left + column * (cell.w + gap);
    const y = top + heights.slice(0, row).reduce((sum, height) => sum + height + gapY, 0);
    sheet.opens(head, { x: x - 3, y: y - 3, w: cell.w + 6, h: heights[row] + 6 });
    const most = Math.min(cell.w + 0.8 * gap, sheet.area.x + sheet.area.w - x);
    if (size.title) headLabel(sheet, head, { x, y, w: cell.w }, { off: sheet.off(head), most });
    const at = { x, y: y + size.title + labelled(row), size };
    const values = sheet.state.step === "values";
    const inside = (values ? valuesTile : scoresTile)(sheet, head, at);
    if (column === 0) sheet.rowTokens(sheet.q, inside.y, inside.h, { x: left - sheet.pad - sheet.tw });
    // Tiles of a few pixels have no labels of their own: the first tile's labels stand for all.
    if (!labelled(row) || (column > 0 && size.wide < 2 * sheet.u)) continue;
    const foot = values ? inside.y : at.y; // on the keys' strip, or on the weights
    sheet.columnTokens(sheet.k, { x: inside.x, y: foot - labels.h - 1, w: inside.w, h: labels.h });
  }
}

// Q at the left, K^T above, and the scores; pale once the product is there.
function scoresTile(sheet, head, { x, y, size }) {
  const { strip, space, wide, high } = size;
  const at = { x: x + strip + space, y: y + strip + space, w: wide, h: high };
  const more = { head, group: "h" + head, go: { zoom: "head", head }, parent: [sheet.headKey(head)] };
  const [q, k] = [sheet.q, sheet.k];
  more.alpha = sheet.state.step === "dot" ? 1 : PALE;
  const axes = { rowAxis: "d_k", colAxis: "key", colLabels: k.labels };
  sheet.draw("place.queries", { ...at, x, w: strip }, { ...more, ramp: q.side, side: q, colAxis: "d_k" });
  sheet.draw("place.keys", { ...at, y, h: strip }, { ...more, transposed: true, ramp: k.side, ...axes });
  scoresOf(sheet, head, at, { go: more.go });
  return at;
}

// Weights at the left, V above at the right, and in the corner the output of the head.
function valuesTile(sheet, head, { x, y, size }) {
  const { strip, space, wide, high } = size;
  const at = { x, y: y + strip + space, w: wide, h: high };
  const side = { x: x + wide + space, w: strip };
  const more = { head, group: "h" + head, go: { zoom: "head", head }, colAxis: "d_head" };
  scoresOf(sheet, head, at, { go: more.go });
  const values = { ...more, ramp: sheet.k.side, side: sheet.k, parent: [sheet.headKey(head)] };
  sheet.draw("place.values", { ...side, y, h: strip }, values);
  const parent = [sheet.key("weights", head), sheet.key("values", head)];
  sheet.draw("place.head_outputs", { ...side, y: at.y, h: high }, { ...more, side: sheet.q, parent });
  return at;
}

// -- concat -----------------------------------------------------------------------------------------------------------

export function concatBoard(sheet) {
  const { u, line, q, near, head, heads, dh, area } = sheet;
  const labels = 1.6 * u;
  const apart = 2.4 * u;
  const fixed = labels + apart + line;
  const row = Math.min(sheet.cap, (0.75 * sheet.most) / q.n, (area.h - fixed) / (2 * q.n));
  const h = row * q.n;
  const top = sheet.top(fixed + 2 * h);
  const columns = headColumns(sheet, sheet.w0);
  const { width, step } = columns;
  const wide = width * heads;
  const start = sheet.x0 + (sheet.w0 - wide) / 2;
  const yTop = top + labels;
  const yRows = yTop + h + apart + line;
  sheet.rowTokens(q, yTop, h);
  sheet.rowTokens(q, yRows, h, { x: start - sheet.pad - sheet.tw });
  headRow(sheet, top + 0.1 * u, { x: sheet.x0, ...columns });
  for (const index of headsOf(sheet)) {
    const at = { x: sheet.x0 + index * step, y: yTop, w: width, h };
    const alpha = near && index !== head ? PALE : 1;
    const go = near && index === head ? {} : { go: { zoom: "head", head: index } };
    const parent = [sheet.headKey(index)];
    const more = { head: index, side: q, colAxis: "d_head", group: "h" + index, alpha, parent, ...go };
    sheet.draw("place.head_outputs", at, { ...more, top: sheet.whole("concat") });
    if (!near) sheet.opens(index, { x: at.x - 2, y: top, w: width + 4, h: labels + h + 3 });
    const points = [at.x + width / 2, yTop + h + 0.4 * u, start + (index + 0.5) * width, yRows - line - 0.1 * u];
    const look = { colour: index === head ? "ink" : "dim", weight: index === head ? 1.8 : 1, tip: width > u, alpha };
    sheet.arrow(`concat.h${index}`, points, { ...look, parent: [sheet.key("head_outputs", index)] });
  }
  const joined = { side: q, colAxis: "head·d_head", pick: true, parent: [sheet.key("head_outputs", head)] };
  sheet.named("place.concat", "Concat", [q.n, heads * dh], { x: start, y: yRows, w: wide, h }, joined);
  if (near) sheet.frame("concat", { x: start + head * width, y: yRows - 1, w: width, h: h + 2 });
}
