import { formatCell, formatCount } from "../format.js";
import { clamp, lettersWidth } from "../stage/measure.js";

// The axis of the bars of logits and probabilities, and all logits of the vocabulary on it.

const BINS = 44;

// Lengths of bars: a logit from 0 on an axis over all logits, a probability on one from 0 to 1.
export function logitScale({ bar, step, get, ctx, t, many }) {
  if (step !== "logits") return { low: 0, high: 1, toX: (value) => bar.x + bar.w * value };
  const matrix = get("logits");
  const logits = ctx.data.outputs.logit.subarray(t * many, (t + 1) * many);
  let [low, high] = [0, 0];
  for (const values of matrix ? [matrix.data, logits] : [logits])
    for (const value of values) {
      low = Math.min(low, value);
      high = Math.max(high, value);
    }
  const span = high - low || 1;
  return { low, high, toX: (value) => bar.x + (bar.w * (value - low)) / span };
}

// All logits of the vocabulary as a histogram, on the axis of the bars; the most likely are marked below it.
export function allLogits(board) {
  const { pen, ctx, all, get, ids, t, many, unit, vocab } = board;
  if (!all.h) return;
  const matrix = get("logits");
  const head = { size: 0.9, colour: "dim" };
  const top = all.y + 0.5 * unit;
  pen.text("out:all", ctx.t("ends_all_logits", { n: formatCount(vocab) }), { x: all.x, y: top, w: all.w }, head);
  const base = all.y + all.h - 1.5 * unit;
  const plotRect = { x: all.x, y: top + 1.2 * unit, w: all.w, h: base - top - 1.2 * unit };
  if (!matrix) return void pen.matrix("out:bins", null, plotRect);
  const { low, high } = logitScale(board);
  const span = high - low || 1;
  const toX = (value) => all.x + (all.w * (value - low)) / span;
  const counts = new Array(BINS).fill(0);
  for (const value of matrix.data) counts[clamp(Math.floor(((value - low) / span) * BINS), 0, BINS - 1)]++;
  const most = Math.max(...counts);
  counts.forEach((count, i) => {
    if (!count) return;
    const h = Math.max(1, (plotRect.h * count) / most);
    const ends = [low + (i * span) / BINS, low + ((i + 1) * span) / BINS].map((value) => formatCell(value, "logit"));
    const tip = [ctx.t("ends_bin_tip", { n: formatCount(count), low: ends[0], high: ends[1] })];
    const bin = { x: all.x + (i * all.w) / BINS, y: base - h, w: all.w / BINS - 0.5, h };
    pen.box(`out:bin:${i}`, bin, { fill: "dim", strength: 0.35, radius: 0, tip });
  });
  pen.path("out:axis", [all.x, base, all.x + all.w, base], { colour: "line" });
  const logits = ctx.data.outputs.logit.subarray(t * many, (t + 1) * many);
  ids.forEach((id, i) => {
    const x = toX(logits[i]);
    pen.path(`out:mark:${id}`, [x, base, x, base + 0.45 * unit], { colour: "target", weight: 1.5, parent: `bar:${i}` });
  });
  const y = base + 0.4 * unit;
  const third = all.w / 3;
  const range = [formatCell(low, "logit"), formatCell(high, "logit")];
  const wide = Math.max(...range.map((text) => lettersWidth(text) * 0.9 * unit));
  if (low < 0 && wide < third) pen.text("out:low", range[0], { x: all.x, y, w: third }, head);
  if (wide < third) pen.text("out:high", range[1], { x: all.x + 2 * third, y, w: third }, { ...head, align: "right" });
  const zero = toX(0);
  const clear = zero - wide - unit > all.x && zero + wide + unit < all.x + all.w;
  if (low === 0) pen.text("out:nought", "0", { x: all.x, y, w: unit }, head);
  else if (clear) pen.text("out:nought", "0", { x: zero - 0.5 * unit, y, w: unit }, { ...head, align: "center" });
}
