import { meanShare, rowMeasures } from "../core/matrix.js";

// What the switches do to the chosen head, in sentences computed from its weights.

const percent = (share) => `${Math.round(100 * share)}%`;
const two = (value) => value.toFixed(2);

// The measures of one side. pads: how many rows at the end are <pad>.
function measuresOf(model, view, pads) {
  const { queries, keys } = model.kinds[view.kind];
  const rows = queries - (view.kind === "encoder_self" ? pads : 0);
  const hidden = model.hidden(view.kind, view.layer, view.head);
  return { ...rowMeasures(view.raw, hidden, queries, keys, rows), counted: rows, keys };
}

// before, after: {model, view} of the chosen head; pressed: the button of the row "Try" whose switches are on, or null;
// switched: whether any switch is on; root: what scores are divided by. Returns {sentence, measures: {before, after}, values:
// of a sentence}.
export function labSentence({ t, before, after, pressed, switched, pads, title, root, out, replaced }) {
  const was = measuresOf(before.model, before.view, pads);
  const is = measuresOf(after.model, after.view, pads);
  const measures = { before: was, after: is };
  const values = {
    title,
    root,
    saturated_before: percent(was.saturated),
    saturated: percent(is.saturated),
    largest_before: two(was.largest),
    largest: two(is.largest),
    gradient_before: two(was.gradient),
    gradient: two(is.gradient),
  };
  const say = (key, more) => ({ sentence: t(key, { ...values, ...more }), measures, values });
  if (!was.rows || !is.rows) return say("lab_says_nothing");
  if (!switched) return say("lab_says_trained");
  const { kind } = after.view;
  if (pressed === "scaling") {
    return say(is.saturated >= 0.2 && is.saturated > was.saturated ? "lab_says_saturated" : "lab_says_sharper");
  }
  if (pressed === "causal") {
    if (kind !== "decoder_self") return say("lab_says_causal_other");
    return say("lab_says_causal", { share: percent(meanShare(after.view.raw, is.keys, is.counted, (q, k) => k > q)) });
  }
  if (pressed === "padding") {
    if (kind === "decoder_self") return say("lab_says_padding_other");
    const first = is.keys - pads;
    const share = meanShare(after.view.raw, is.keys, is.counted, (q, k) => k >= first);
    return say("lab_says_padding", { share: percent(share), pads });
  }
  if (pressed === "uniform") return say("lab_says_uniform");
  if (out) return say("lab_says_out");
  if (replaced) return say("lab_says_replaced");
  return say("lab_says_changed");
}
