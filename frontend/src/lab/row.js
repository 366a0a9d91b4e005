import { shorten } from "../core/dom.js";
import { cssColour, mixColours } from "../core/colour.js";
import { formatScore, formatWeight } from "../core/format.js";
import { HeadCanvas } from "../heads/canvas.js";

const LEAST = 15; // pixels that a token needs, at text of 15 pixels
const MOST = 40;
const WRITTEN = 0.05; // weight from which a token has numbers; pointing at a row tells all

// One row of a head as bars, before and after the switches: the scores of its tokens, and the weights that the softmax
// makes of them. Tokens that do not fit are left out, those of the smallest weights first, and a line counts them.
export class RowPlot extends HeadCanvas {
  /** @type {any} */ data;
  /** @type {Theme} */ theme;
  /** @type {number[]} */ tokens;
  /** @type {number} */ head;
  /** @type {number} */ step;
  /** @type {(i: number) => boolean} */ isWritten;
  constructor(kind, hooks) {
    super(kind, hooks, { class: "hs-canvas hs-row", role: "img", "data-testid": "lab-row-bars" });
  }

  // data: {labels, side, before, after: {scores, weights} or null}, -Infinity as the score of a hidden token
  draw(data, theme, width, height, label) {
    Object.assign(this, { data, theme, width });
    const unit = theme.size / 15;
    const count = data.labels.length;
    this.head = 40 * unit;
    const fits = Math.max(1, Math.floor((height - this.head - 4) / (LEAST * unit)));
    const left = count > fits ? count - fits + 1 : 0;
    const top = (i) => Math.max(...["before", "after"].map((side) => (data[side] ? data[side].weights[i] : 0)));
    const least = Math.min(WRITTEN, Math.max(...data.labels.map((_, i) => top(i))));
    this.isWritten = (i) => top(i) >= least;
    const order = Array.from({ length: count }, (_, i) => i).sort((a, b) => top(b) - top(a) || a - b);
    this.tokens = order.slice(0, count - left).sort((a, b) => a - b);
    this.left = left;
    const lines = this.tokens.length + (left ? 1 : 0);
    this.step = Math.min(MOST * unit, Math.max(LEAST * unit, (height - this.head - 4) / lines));
    this.height = Math.ceil(this.head + this.step * lines + 4);
    this.canvas.setAttribute("aria-label", label);
    this.canvas.dataset.rows = JSON.stringify(this.tokens);
    this.paintBase();
    this.paint();
    this.pointAgain();
  }

  drawBase(context) {
    const { theme, data, hooks, width, head, step } = this;
    const unit = theme.size / 15;
    const size = Math.min(14 * unit, step * 0.78);
    const write = (text, x, y, colour, align = "left", weight = 400, at = size) => {
      Object.assign(context, { font: `${weight} ${at}px ${theme.font}`, fillStyle: cssColour(colour) });
      Object.assign(context, { textAlign: align, textBaseline: "middle" });
      context.fillText(text, x, y);
      return context.measureText(text).width;
    };
    context.font = `400 ${size}px ${theme.font}`;
    const widest = Math.max(...this.tokens.map((i) => context.measureText(data.labels[i]).width));
    const labels = Math.ceil(Math.min(widest, width * 0.24)) + 8 * unit;
    const small = Math.min(12 * unit, size);
    context.font = `400 ${small}px ${theme.font}`;
    // Scores share one axis, so that one sees how far scaling moves them.
    const sides = ["before", "after"].filter((side) => data[side]);
    const text = (name, format, i) => {
      if (!this.isWritten(i)) return "";
      const values = sides.map((side) => format(data[side][name][i]));
      if (values.length < 2) return values[0] ?? "";
      return values[0] === values[1] ? values[0] : hooks.t("lab_row_change", { before: values[0], after: values[1] });
    };
    const texts = { scores: this.tokens.map((i) => text("scores", scoreText, i)) };
    texts.weights = this.tokens.map((i) => text("weights", (weight) => weight.toFixed(2), i));
    context.font = `600 ${small}px ${theme.font}`;
    const wide = (name) => Math.max(...texts[name].map((one) => context.measureText(one).width)) + 7 * unit;
    const numbers = { scores: wide("scores"), weights: wide("weights") };
    const gap = 12 * unit;
    const area = Math.max(20, (width - labels - gap - numbers.scores - numbers.weights - 2) / 2);
    const scoresAt = labels;
    const weightsAt = labels + area + numbers.scores + gap;
    const finite = sides
      .flatMap((side) => this.tokens.map((i) => data[side].scores[i]))
      .filter((score) => Number.isFinite(score));
    const low = Math.min(0, ...finite);
    const high = Math.max(0, ...finite);
    const span = high - low || 1;
    const zero = scoresAt + (area * -low) / span;
    const inks = { before: mixColours(theme.ink, theme.background, 0.55), after: theme.hues[this.kind] };
    const title = 11 * unit;
    write(hooks.t("lab_row_scores"), scoresAt, title, theme.ink, "left", 600, small);
    write(hooks.t("lab_row_weights"), weightsAt, title, theme.ink, "left", 600, small);
    let x = scoresAt;
    for (const side of ["before", "after"]) {
      context.fillStyle = cssColour(inks[side]);
      context.fillRect(x, head - 17 * unit, 10 * unit, 10 * unit);
      x += 14 * unit;
      x += write(hooks.t(`lab_row_${side}`), x, head - 12 * unit, theme.dim, "left", 400, small) + 12 * unit;
    }
    context.strokeStyle = cssColour(theme.line);
    context.lineWidth = 1;
    context.beginPath();
    const bottom = head + step * this.tokens.length;
    for (const at of [zero, weightsAt]) {
      context.moveTo(at - 0.5, head);
      context.lineTo(at - 0.5, bottom);
    }
    context.stroke();
    this.tokens.forEach((i, row) => {
      const top = head + row * step;
      const middle = top + step / 2;
      const bar = Math.max(3, Math.min(11 * unit, step * 0.36));
      context.font = `400 ${size}px ${theme.font}`;
      write(shorten(context, data.labels[i], labels - 8 * unit), labels - 8 * unit, middle, theme.ink, "right");
      sides.forEach((side, n) => {
        const y = middle + (sides.length === 1 ? -bar / 2 : n ? 0.5 : -bar - 0.5);
        const score = data[side].scores[i];
        context.fillStyle = cssColour(inks[side]);
        if (Number.isFinite(score) && score) {
          const end = zero + (area * score) / span;
          context.fillRect(Math.min(zero, end), y, Math.abs(end - zero), bar);
        }
        if (data[side].weights[i]) context.fillRect(weightsAt, y, area * Math.min(1, data[side].weights[i]), bar);
      });
      write(texts.scores[row], scoresAt + area + 5 * unit, middle, theme.dim, "left", 400, small);
      const most = Math.max(...sides.map((side) => data[side].weights[i]));
      const ink = most >= 0.5 ? theme.ink : theme.dim;
      write(texts.weights[row], weightsAt + area + 5 * unit, middle, ink, "left", most >= 0.5 ? 600 : 400, small);
    });
    if (this.left) {
      const text = hooks.t("lab_row_left", { n: this.left });
      write(text, scoresAt, head + step * (this.tokens.length + 0.5), theme.dim, "left", 400, small);
    }
  }

  pointer(event) {
    const frame = this.canvas.getBoundingClientRect();
    const at = Math.floor((event.clientY - frame.top - this.head) / this.step);
    const i = this.tokens[at];
    if (at < 0 || i === undefined) return this.hooks.unhover();
    const { data, hooks } = this;
    const line = (side) =>
      data[side] &&
      hooks.t("lab_row_tip_" + side, {
        score: formatScore(data[side].scores[i]),
        weight: formatWeight(data[side].weights[i], true),
      });
    return hooks.show([data.labels[i], line("before"), line("after")], event);
  }
}

const scoreText = (score) =>
  score === -Infinity
    ? "−∞"
    : score
        .toFixed(1)
        .replace(/^-(?!0\.0)/, "−")
        .replace("-", "");

// The row whose weights change most between two pictures of one head, as its index; without a change, the row with the
// weights that are spread most, which has most to lose.
export function rowOfInterest(before, after, queries, keys) {
  let best = 0;
  let most = -1;
  for (let q = 0; q < queries; q++) {
    let change = 0;
    for (let k = 0; k < keys; k++) change = Math.max(change, Math.abs(after[q * keys + k] - before[q * keys + k]));
    if (change > most + 1e-9) [best, most] = [q, change];
  }
  if (most > 1e-6) return best;
  let least = Infinity;
  for (let q = 0; q < queries; q++) {
    let squares = 0;
    for (let k = 0; k < keys; k++) squares += before[q * keys + k] ** 2;
    if (squares < least - 1e-9) [best, least] = [q, squares];
  }
  return best;
}
