import { drawProduct } from "../sublayer/product.js";
import { SubLayerSheet } from "../sublayer/sheet.js";
import { normBoard, sumBoard, tallestStep } from "../sublayer/sums.js";
import { activationCurve, activeNeurons } from "./neurons.js";
import { clamp } from "../stage/measure.js";
import { PALE, rowRects } from "../stage/sheet.js";
import { stepsOf } from "../walk.js";

// Feed-forward at the zoom "sub" (section 3.3). Two products in one scheme, left operand at the left, right one on top:
//
//             W_1        W_2
//    x        pre        update        pre becomes activation in its place
//
// and for the steps behind them x + update = sum, and LayerNorm, as around every sub-layer.

export function feedForwardBoard(ctx) {
  const sheet = new SubLayerSheet(ctx);
  const { step } = ctx.state;
  const operand = sheet.pre ? "LN(x)" : "x";
  const update = [`FFN(${operand})`, "FFN"];
  const sum = sheet.residual ? [`x + FFN(${operand})`, "x + FFN", ctx.t("ends_sum")] : update;
  const product = [`${operand} W_1 + b_1`, "· W_1 + b_1"];
  const sign = { relu: "max(0, ", gelu: "GELU(", swish: "swish(" }[sheet.config.activation];
  const activated = [...product, "·"].map((name) => `${sign}${name})`);
  sheet.names = { operand, product, activated, update, sum, leaves: ["LayerNorm", "LN"] };
  sheet.origin = [sheet.key("W_2"), sheet.key("activation")];
  if (step === "norm" && (sheet.pre || !sheet.residual)) normBoard(sheet);
  else if (step === "add" || step === "norm") sumBoard(sheet);
  else if (step === "x" && sheet.pre) normBoard(sheet);
  else productsBoard(sheet, step);
  return sheet.items;
}

export const feedForwardBoardHeight = (ctx) =>
  tallestStep(ctx, stepsOf(ctx.state.place, ctx.data.config), feedForwardBoard);

// Where the rows of the three matrices stand, and how high the weights above them may be: the same for all steps.
function placesOf(sheet) {
  const { u, slim, q, d, config, w0, x0, area, line } = sheet;
  const gap = (slim ? 0.8 : 2) * u;
  const columns = 2 + clamp(config.d_ff / d, 1.5, 4);
  const even = Math.min(22 * u, (w0 - 16 * u) / 4); // as in the sum
  const wide = slim ? w0 * 0.27 : Math.min((w0 - 2 * gap) / columns, even);
  const hidden = w0 - (slim ? 1 : 2) * (wide + gap);
  const around = 2 * line + 1.25 * u; // names and biases
  const free = area.h - around;
  const honest = (wide * config.d_ff) / d; // a feature has the same pixels down and across
  const wanted = slim ? clamp(honest, 7 * u, 12 * u) : Math.max(honest, 6 * u);
  const rowsWanted = slim ? rowRects(q.n, u) : q.n * (q.n < 4 ? 2.2 : 1.7) * u;
  const h = Math.min(rowsWanted, Math.max(free * 0.5, free - wanted));
  const weights = Math.min(free - h, wanted);
  const y = sheet.top(around + weights + h) + around + weights;
  const at = (x, w) => ({ x, y, w, h });
  return { gap, weights, first: at(x0, wide), middle: at(x0 + wide + gap, hidden), end: at(x0 + w0 - wide, wide) };
}

const aboveRows = ({ line, u }, rect, h) => ({ ...rect, y: rect.y - line - 1.25 * u - h, h });

// One of the two products. left: its operand, at x; w: the width of the operand and of the product.
function drawOne(sheet, { left, product, bias, x, w, high, ...more }, { first, gap }, coming = false) {
  const { q, x0, area, line, u } = sheet;
  const ramp = q.side;
  const products = [{ ...product, ramp, weightName: product.weight, pick: true }];
  const block = { side: q, left: { ...left, ramp }, products, bias, a: w[0], tops: w[1] / w[0], gap, ...more };
  const y = first.y - 2 * line - 1.25 * u - high;
  const sizes = { top: high, bias: 0.75 * u, row: first.h / q.n };
  drawProduct(sheet, block, { x: x - x0 + area.x, y, sizes, coming });
}

function productsBoard(sheet, step) {
  const { u, slim, q, d, config, w0, names } = sheet;
  const ff = config.d_ff;
  const places = placesOf(sheet);
  const { gap, weights, first, middle, end } = places;
  const high = clamp((middle.w * d) / ff, 4 * u, weights); // of W_1
  const input = { role: sheet.pre ? "normed" : "x", name: names.operand, matrix: "queries", axis: "d_model" };
  if (step === "x" || step === "inner") {
    const product = { role: "pre", name: names.product, weight: "W_1", rows: d, cols: ff, axis: "d_ff" };
    const inner = { left: input, product, bias: "+ b_1", x: first.x, w: [first.w, middle.w], high };
    drawOne(sheet, inner, places, step === "x");
  } else {
    const pale = { ramp: q.side, side: q, colAxis: "d_model", alpha: PALE, group: "aside", room: first.w + 0.75 * gap };
    if (!slim) sheet.named(`place.${input.role}`, names.operand, [q.n, d], first, pale);
    if (!slim || step === "activation") sheet.rowTokens(q, first.y, first.h);
  }
  if (step === "outer") {
    if (!slim) sheet.coming(sheet.key("W_1"), aboveRows(sheet, middle, high), "W_1", [d, ff]);
    const off = sheet.data.about?.skipped && sheet.t("ends_skipped");
    const product = { role: "update", name: names.update, weight: "W_2", rows: ff, cols: d, axis: "d_model", off };
    const left = { role: "activation", name: names.activated, axis: "d_ff", shape: [q.n, ff] };
    const w = slim ? [(w0 - gap) * 0.6, (w0 - gap) * 0.4] : [middle.w, end.w];
    const outer = { left, product, bias: "+ b_2", x: slim ? first.x : middle.x, w, high: weights };
    drawOne(sheet, { ...outer, narrow: true, bare: !slim }, places);
    return;
  }
  if (!slim) sheet.coming(sheet.key("W_2"), aboveRows(sheet, end, weights), "W_2", [ff, d]);
  if (!slim && step !== "activation") sheet.coming(sheet.key("update"), end, names.update, [q.n, d]);
  if (step === "activation") drawActivation(sheet, places);
}

// pre moves up, and the output of the non-linearity takes its position; beside it the number of active neurons.
function drawActivation(sheet, { weights, first, middle, end }) {
  const { u, q, config, area, names, slim, line } = sheet;
  const above = aboveRows(sheet, middle, Math.min(middle.h, weights));
  const look = { ramp: q.side, side: q, colAxis: "d_ff" };
  const shape = [q.n, config.d_ff];
  sheet.named("place.pre", names.product, shape, above, look);
  sheet.named("place.activation", names.activated, shape, middle, { ...look, pick: true, parent: sheet.key("pre") });
  const x = middle.x + middle.w / 2;
  const down = [x, above.y + above.h + 0.25 * u, x, middle.y - line - 0.05 * u];
  sheet.path("ff:down", down, { tip: true, weight: 1.5, parent: sheet.key("pre") });
  const left = { x: area.x, w: first.x + first.w - area.x };
  activationCurve(sheet, left, { base: above.y + above.h - 1.2 * u, most: weights }, sheet.read("place.pre"));
  activeNeurons(sheet, slim ? first : end, sheet.read("place.activation"));
}
