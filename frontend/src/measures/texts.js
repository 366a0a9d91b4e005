import { HEAD_TEXTS } from "../heads/texts.js";

// The texts of the measures: whole sentences, each with a key.
export const MEASURES_TEXTS = {
  ...HEAD_TEXTS,
  csv_before: "{name}, before",
  csv_after: "{name}, after: {switches}",
  csv_rows: "rows counted",
  region: "Saturation of every head, before and after",
  says_switched:
    "{name}, mean of {n} heads: **{before}** as trained, **{after}** with {switches}. It is higher in **{above}** heads, " +
    "lower in {below}, the same in {same}.",
  says_same: "{name}, mean of {n} heads: **{before}**. No switch is set: press one above to compare.",
  measures: "Measure shown",
  entropy: "Entropy ÷ ln n",
  largest: "Largest weight",
  gradient: "Gradient, 1 − Σ p²",
  spread: "Spread of scores",
  saturated: "Saturated rows",
  full_entropy: "Entropy ÷ ln n, mean over rows",
  full_largest: "Largest weight of a row, mean over rows",
  full_gradient: "Gradient, 1 − Σ p² of a row, mean over rows",
  full_spread: "Standard deviation of a row's scores, root of the mean variance over rows",
  full_saturated: "Share of saturated rows (largest weight above 0.99)",
  formula_entropy: "H(p) ÷ ln n with H(p) = −Σ p ln p",
  formula_largest: "max p",
  formula_gradient: "1 − Σ p² = tr(diag(p) − p pᵀ)",
  formula_spread: "√(Σ (s − s̄)² ÷ n)",
  formula_saturated: "max p > 0.99",
  meaning_entropy: "0: all weight on one key; 1: equal weights on all n visible keys.",
  meaning_largest: "1: all weight on one key.",
  meaning_gradient: "How much gradient the softmax can pass: from 0 (none) to 1 − 1 ÷ n.",
  meaning_spread: "A score that is higher by 1 gets e = 2.72 times the weight.",
  meaning_saturated: "1: in every row, one key has nearly all the weight.",
  definition: "Definition and source",
  term_entropy:
    "Entropy of a row p of weights, −Σ p ln p (Shannon 1948), divided by ln n, the entropy of n equal weights; n is " +
    "the number of keys that the row sees. Mean over rows. In training, an entropy that collapses to 0 comes with " +
    "instability: Zhai et al. 2023, “Stabilizing Transformer Training by Preventing Attention Entropy Collapse”.",
  term_largest:
    "The largest weight of a row, mean over rows. It is 1 if the softmax (equation 1 of Attention Is All You Need) " +
    "has put everything on one key, and 1 ÷ n if n keys have equal weights.",
  term_gradient:
    "The trace of the softmax's Jacobian diag(p) − p pᵀ, that is 1 − Σ p², mean over rows. Attention Is All You " +
    "Need, section 3.2.1, suspects that large products push “the softmax function into regions where it has " +
    "extremely small gradients”; there it is near 0.",
  term_spread:
    "Standard deviation of the visible scores of a row around their mean (a softmax ignores what all scores of a row " +
    "share); the root of the mean variance over rows. Footnote 4 of Attention Is All You Need: q·k has variance d_k " +
    "and q·k ÷ √dₖ has variance 1, if q and k are random with variance 1.",
  term_saturated:
    "The share of rows whose largest weight is above 0.99. By 1 − Σ p², such a row passes less than 0.02 of " +
    "gradient: the region of section 3.2.1 of Attention Is All You Need.",
  term_rows:
    "Two kinds of rows are left out: rows that see only one key have no choice, and rows of <pad> have no meaning.",
  mean: "{before}\u00a0→\u00a0{after}",
  mean_same: "{before}",
  card: "{name}: mean of {n} heads {before} before, {after} after",
  card_same: "{name}: mean of {n} heads {before}",
  side_before: "before",
  side_after: "after",
  table_before:
    "{kind}, {name} before: {layers} layers down, {heads} heads across; use the arrow keys to move from head to head",
  table_after:
    "{kind}, {name} after: {layers} layers down, {heads} heads across; use the arrow keys to move from head to head",
  cell_before: "Layer {layer}, head {head}, before: {value}",
  cell_after: "Layer {layer}, head {head}, after: {value}",
  cell_zero: "Layer {layer}, head {head}, after: {value}; knocked out",
  none: "–",
  change: "{name}: {before} → {after}",
  counted: "over {n} rows",
  counted_both: "over {before} rows before, {after} after",
  nothing: "No row of this head sees two keys or more, so there is nothing to measure.",
  zero: "Knocked out: its weights are computed, but its output is set to 0.",
  legend_common: "from {low} to {high}, the same before and after",
  legend_log: "from {low} to {high} in powers of ten, the same before and after",
  plot: "{n} heads",
  plot_hint: "click a head to see it",
  plot_label: "{name} of {n} heads, before across and after up: {above} higher after, {below} lower, {same} unchanged",
  axis_before: "before",
  axis_after: "after",
  key_zero: "knocked out",
  key_chosen: "chosen",
};
