import { formatFactor } from "../../core/format.js";
import { PALE } from "../stage/sheet.js";
import { RESULT_NAMES, scoresOf } from "./heads.js";
import { clamp, lettersWidth, mathWidth } from "../stage/measure.js";

// The boards of one head of attention, large: Q K^T, divided, masked, softmax, times V (equation 1).

export function headBoard(sheet) {
  const { u, area, line, slim } = sheet;
  const [n, m] = [sheet.q.n, sheet.k.n];
  const gap = slim ? 0.7 * u : 1.5 * u;
  const labels = sheet.columnRoom(0.5 * sheet.w0);
  const low = area.h < 34 * u; // a projector: the result takes the height that the operands leave
  const share = low && !slim ? 0.16 : 0.3;
  const wanted = Math.min(0.2 * sheet.w0, share * (area.h - 2 * line));
  const strip = clamp(wanted, (low ? 2.4 : 3.4) * u, (slim ? 6 : 12) * u);
  const across = slim ? strip : Math.max(strip, 5.8 * u); // of Q, whose name and shape stand above it
  const fixed = labels.h + strip + 0.25 * u + line;
  const values = sheet.state.step === "values";
  const tight = !slim && !values && area.w < 48 * u;
  // At the right, for the effect of the step and for V; where it is tight, the effect stands above the result.
  const aside = slim || tight ? labels.over : Math.max(labels.over, 8.5 * u);
  let wide = Math.min(sheet.w0 - across - gap - aside, 4.8 * u * m);
  let high = Math.min(area.h - fixed, 1.1 * sheet.cap * n, sheet.most);
  high = Math.min(high, ((1.6 * wide) / m) * n);
  wide = Math.min(wide, Math.max(((3.2 * high) / n) * m, 5 * u));
  const yRows = sheet.top(fixed + high) + fixed;
  // A few tokens do not fill the width: center them.
  const shift = slim || values ? 0 : (sheet.w0 - across - gap - wide - aside) / 2;
  const at = { x: sheet.x0 + shift + across + gap, y: yRows, w: wide, h: high };
  const heights = { tight, yTop: yRows - line - 0.25 * u - strip, top: yRows - fixed };
  const plan = { at, shift, strip, across, gap, labels: sheet.columnRoom(wide), ...heights };
  if (values) headValues(sheet, plan);
  else headScores(sheet, plan);
}

// The query tokens, with their title.
function drawQueries(sheet, { at, shift }) {
  const x = sheet.area.x + shift;
  sheet.rowTokens(sheet.q, at.y, at.h, { x });
  sheet.beside("query", sheet.t("attention_query"), { x, y: at.y - sheet.line, w: sheet.tw }, { align: "right" });
}

// The factor of the dot products, with d_k as a letter or a number: the paper's, or a switch's.
function factorText({ data, config, head, dk }, root) {
  const factor = data.about?.scale?.[head] ?? (config.scaling === false ? 1 : 1 / Math.sqrt(dk));
  if (Math.abs(factor - 1) < 1e-6) return "";
  return Math.abs(factor * Math.sqrt(dk) - 1) < 1e-4 ? `÷ √${root}` : `× ${formatFactor(factor)}`;
}

const symbolsOf = (sheet) => ["Q", "K", "V", "head"].map((letter) => `${letter}_{${sheet.head + 1}}`);

// Q at the left, K^T above, the scores in the corner, and at the right the effect of the step on all of them.
function headScores(sheet, { at, shift, strip, across, gap, labels, yTop, tight }) {
  const { u, line, head, dk, slim, q, k } = sheet;
  const { step } = sheet.state;
  const x0 = sheet.x0 + shift;
  const [Q, K] = symbolsOf(sheet);
  const alpha = step === "dot" ? 1 : 1.3 * PALE;
  const more = { head, group: "h" + head, alpha };
  drawQueries(sheet, { at, shift });
  const look = { ...more, ramp: q.side, side: q, colAxis: "d_k", room: across + gap * 0.7 };
  sheet.named("place.queries", Q, [q.n, dk], { ...at, x: x0, w: across }, look);
  const corner = { x: x0, y: yTop + strip / 2 - 0.7 * u, w: across + gap - 0.5 * u };
  sheet.title(sheet.key("keys", head), K + "^T", [dk, k.n], corner, { align: "right", alpha });
  const axes = { rowAxis: "d_k", colAxis: "key", colLabels: k.labels };
  sheet.draw("place.keys", { ...at, y: yTop, h: strip }, { ...more, transposed: true, ramp: k.side, ...axes });
  sheet.columnTokens(k, { x: at.x, y: yTop - labels.h, w: at.w, h: labels.h });
  sheet.beside("key", sheet.t("attention_key"), { ...corner, y: yTop - 1.55 * u }, { align: "right" });
  const mask = sheet.t("attention_mask");
  const product = `${Q} ${K}^T`;
  const scaled = `${product} ${factorText(sheet, "d_k")}`.trim();
  const weights = sheet.t("attention_weights");
  const names = { dot: product, scale: scaled, mask: [`${scaled} ${mask}`, scaled], softmax: weights };
  const [resultName, role] = RESULT_NAMES[step];
  const labelWidth = Math.max(at.w, Math.min(10 * u, sheet.area.x + sheet.area.w - at.x));
  sheet.title(sheet.key(role, head), names[step], [q.n, k.n], { x: at.x, y: at.y - line, w: labelWidth });
  scoresOf(sheet, head, at, { numbers: true, pick: { matrix: resultName } });
  const does = { scale: factorText(sheet, dk), mask, softmax: sheet.t("attention_row_sum") }[step];
  const beside = { x: at.x + at.w + gap, y: at.y + at.h / 2 - 0.7 * u, w: 8.5 * u - gap };
  if (!does || slim) return;
  if (!tight) sheet.beside(step, does, beside, { size: 1.1 });
  else if (step === "softmax") {
    const size = `[${q.n}, ${k.n}]`;
    const used = lettersWidth(weights) * 1.1 + lettersWidth(size) * 0.92 + 1 + mathWidth(does) * 1.05;
    const room = { x: at.x, y: at.y - line, w: at.w };
    if (used * u <= at.w) sheet.beside(step, does, room, { size: 1.05, align: "right" });
  }
}

// Weights at the left, V above at the right, and in the corner the output of the head.
function headValues(sheet, { at, gap, labels, top }) {
  const { u, line, head, dh, q, k, w0 } = sheet;
  const [, , V, outputName] = symbolsOf(sheet);
  const [weights, values] = ["weights", "values"].map((role) => sheet.key(role, head));
  // The values' tokens are the same as above the weights: without space for both they are written once.
  const twice = !sheet.slim;
  const wide = twice ? at.w : Math.min(at.w, 0.55 * w0);
  const between = Math.max(labels.over, gap, twice ? sheet.tw + 2 * sheet.pad : 0);
  const w = Math.min(w0 - wide - between, 32 * u);
  const shift = twice ? (w0 - wide - between - w) / 2 : 0;
  const x0 = sheet.x0 + shift;
  const left = { ...at, x: x0, w: wide };
  const x = x0 + wide + between;
  const yTop = top + line;
  const above = { x, y: yTop, w, h: at.y - line - 0.25 * u - yTop };
  const more = { head, group: "h" + head, colAxis: "d_head", numbers: true };
  drawQueries(sheet, { at, shift });
  sheet.title(weights, sheet.t("attention_weights"), [q.n, k.n], { x: x0, y: at.y - labels.h - line, w: wide });
  sheet.columnTokens(k, { x: x0, y: at.y - labels.h, w: wide, h: labels.h });
  scoresOf(sheet, head, left, { numbers: true });
  if (twice) sheet.rowTokens(k, above.y, above.h, { x: x - sheet.pad - sheet.tw });
  sheet.named("place.values", V, [k.n, dh], above, { ...more, ramp: k.side, side: k });
  const look = { ...more, side: q, pick: true, parent: [weights, values] };
  sheet.named("place.head_outputs", outputName, sheet.off(head) || [q.n, dh], { ...at, x, w }, look);
}
