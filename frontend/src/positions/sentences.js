import { el } from "../core/dom.js";
import { formatDeviation } from "../core/format.js";
import { figureMarkup } from "../figure/markup.js";
import { mapByShift, shiftError } from "./numbers.js";

// The sentences below the sliders. t: the texts; now: the values that fill the figures.

const LIMIT = 1e-5; // of |PE(p + k) - M_k PE(p)|
const SPREAD = 1e-6; // of products, for each unit of d_model: rounding of float32, generously

export const encodingSentences = (t) => figureMarkup(t("encoding_says"));

export function distanceSentences(t, { dModel, length, offsets }) {
  const most = length - 1; // 1 at least
  const [next, far] = [1, most].map((distance) => offsets.mean[most + distance].toFixed(1).replace("-", "−"));
  return figureMarkup(t("distance_says", { half: dModel / 2, next, far, most }));
}

function checkLine(holds, text) {
  const mark = el("b", { "aria-hidden": "true" }, holds ? "✓" : "✗");
  return el("li", { "data-state": holds ? "holds" : "fails" }, mark, " ", ...figureMarkup(text));
}

// Both checks; the second waits until every product has been summed.
export function checkSentences(t, { dModel, length, k, table, offsets, exact }) {
  const error = shiftError(table, mapByShift(table, length, dModel, k), dModel, k);
  const count = length - k;
  const words = { k, error: formatDeviation(error), count, d_model: dModel, limit: "10⁻⁵" };
  const shift = error < LIMIT;
  const [holds, fails] = count > 1 ? ["shift_holds", "shift_fails"] : ["shift_holds_one", "shift_fails_one"];
  const first = checkLine(shift, t(shift ? holds : fails, words));
  if (!exact) return [first, el("li", { "data-state": "waiting" }, t("spread_waiting"))];
  const spread = offsets.largestSpread <= SPREAD * dModel;
  const largest = { spread: formatDeviation(offsets.largestSpread) };
  return [first, checkLine(spread, t(spread ? "spread_holds" : "spread_fails", largest))];
}
