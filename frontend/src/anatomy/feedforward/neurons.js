import { PALE, numbersFit } from "../stage/sheet.js";
import { formatCell, formatCount } from "../format.js";
import { activate } from "../arithmetic.js";
import { clamp, fittingText, lettersWidth } from "../stage/measure.js";

// The effect of the non-linearity of feed-forward: its curve over its inputs, and the number of active neurons.

const BINS = 30;

// The non-linearity over the numbers it is applied to. base: the y of its axis; most: its height, at most.
export function activationCurve(sheet, { x, w }, { base, most: room }, matrix) {
  if (!matrix) return;
  const { ctx, unit, config, colour } = sheet;
  const { activation } = config;
  const high = clamp(w * 0.8, 4 * unit, Math.min(room, 11 * unit));
  const head = base + 1.2 * unit - high;
  const top = head + 1.6 * unit;
  const wide = Math.min(w, 13 * unit);
  const start = x + w - wide;
  const reach = matrix.top * 1.1 || 1;
  const toX = (value) => start + (wide * (value + reach)) / (2 * reach);
  const counts = new Array(BINS).fill(0);
  for (const value of matrix.data) counts[clamp(Math.floor(((value + reach) / (2 * reach)) * BINS), 0, BINS - 1)]++;
  const most = Math.max(...counts);
  const [low, far] = matrix.range;
  const [lowest, highest] = [low, far].map((value) => formatCell(value, "pre"));
  const about = { n: formatCount(matrix.data.length), low: lowest, high: highest };
  const tip = [ctx.t("ends_curve_tip", about)];
  counts.forEach((count, i) => {
    const h = ((base - top) * 0.92 * count) / most;
    const positive = i >= BINS / 2;
    const fill = positive ? { fill: colour, strength: 0.35 } : { fill: "dim", strength: 0.22 };
    const bin = { x: start + (i * wide) / BINS, y: base - h, w: wide / BINS - 0.5, h };
    sheet.box(`ff:bin:${i}`, bin, { ...fill, radius: 0, tip });
  });
  sheet.path("ff:axis", [start, base, start + wide, base], { colour: "line" });
  sheet.path("ff:zero", [toX(0), top, toX(0), base], { colour: "line" });
  const f = (value) => activate(value, activation);
  const values =
    activation === "relu" ? [-reach, 0, reach] : Array.from({ length: 41 }, (_, i) => (reach * (i - 20)) / 20);
  const points = values.flatMap((value) => [toX(value), base - ((base - top) * f(value)) / reach]);
  sheet.path("ff:curve", points, { colour: colour, weight: 2.5, z: 1 });
  const name = { relu: "max(0, ·)", gelu: "GELU", swish: "swish" }[activation];
  sheet.math("ff:curve:name", name, { x: start, y: head, w: wide }, { parent: "ff:curve" });
  const third = wide / 3;
  const look = { size: 0.9, colour: "dim", parent: "ff:axis" };
  ["left", "center", "right"].forEach((align, i) => {
    const text = [`−${reach.toFixed(1)}`, "0", reach.toFixed(1)][i];
    sheet.text(`ff:axis:${align}`, text, { x: start + i * third, y: base + 0.1 * unit, w: third }, { ...look, align });
  });
}

// The neurons of a token that are above 0.
function activeCount(matrix, row) {
  let count = 0;
  for (let col = 0; col < matrix.cols; col++) if (matrix.at(row, col) > 0) count++;
  return count;
}

export function activeNeurons(sheet, { x, y: rowsTop, w, h: rows }, matrix) {
  if (!matrix) return;
  const { ctx, unit, config, colour, slim, q } = sheet;
  const { labels, n, late: line } = q;
  const ff = config.d_ff;
  const sort = config.activation === "relu" ? "kept" : "above";
  const space = rows / n;
  const head = { x, y: rowsTop - sheet.line, w: w + (slim ? 0.6 * unit : 0) };
  sheet.note("ff:kept:head", [`ends_${sort}_head`, `ends_${sort}_short`], {}, head, { size: 0.9 });
  const size = Math.min(0.9, Math.max(ctx.big ? 0.6 : 0.9, (0.88 * space) / unit)); // large text: small before any goes
  const written = new Set(numbersFit(n, space, (1.02 / 0.9) * size * unit, line.current));
  const counts = labels.map((_, i) => activeCount(matrix, i));
  const most = Math.max(1, ...counts); // the longest bar fills the space
  // A bar is below its number, or beside it if rows are low.
  const under = space >= 1.4 * unit;
  const thick = under ? 0.32 * unit : Math.min(space * 0.78, 0.9 * unit);
  const number = under ? 0 : (lettersWidth(formatCount(most)) * size + 0.5) * unit;
  for (let i = 0; i < n; i++) {
    const count = counts[i];
    const middle = rowsTop + (i + 0.5) * space;
    const pale = i > (line.dimAfter ?? Infinity) ? PALE : 1;
    const share = ((100 * count) / ff).toFixed(1);
    const about = { n: formatCount(count), total: formatCount(ff), token: labels[i], share };
    const tip = [ctx.t(`ends_${sort}_tip`, about)];
    const bar = { x, y: middle + (under ? 0.36 * unit : -thick / 2), w: ((w - number) * count) / most, h: thick };
    sheet.box(`ff:kept:${i}`, bar, { fill: colour, strength: 0.65, radius: 1, alpha: pale, tip });
    if (!written.has(i)) continue;
    const rect = { x, y: middle - (under ? 0.78 : 0.65 * size) * unit, w };
    const text = under ? fittingText([ctx.t(`ends_${sort}`, about), about.n], w, size * unit) : about.n;
    const look = { size, align: under ? "left" : "right", alpha: pale, parent: `ff:kept:${i}` };
    sheet.text(`ff:kept:${i}:n`, text, rect, look);
  }
}
