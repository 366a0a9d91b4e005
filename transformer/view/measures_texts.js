// Every text of measures.js; data.texts may bring others. Whole sentences, each with a key of its own.
export const MEASURES_TEXTS = {
  region: "Saturation of every head, before and after",
  title: "How saturated every head is",
  hint: "before and after the switches, mean over rows; click a head to look at it",
  hint_same: "nothing is switched: before and after are the same",
  measures: "Measure shown",
  entropy: "Entropy ÷ ln n",
  largest: "Largest weight",
  gradient: "Gradient, 1 − Σ p²",
  spread: "Standard deviation of scores",
  saturated: "Saturated rows",
  unit_entropy: "0 to 1",
  unit_largest: "0 to 1",
  unit_gradient: "0 to 1",
  unit_spread: "nats",
  unit_saturated: "share of rows",
  formula_entropy: "H(p) ÷ ln n with H(p) = −Σ p ln p",
  formula_largest: "max p",
  formula_gradient: "1 − Σ p² = tr(diag(p) − p pᵀ)",
  formula_spread: "√(Σ (s − s̄)² ÷ n)",
  formula_saturated: "max p > 0.99",
  meaning_entropy: "0: all weight on one key; 1: all n keys that the row sees alike.",
  meaning_largest: "1: all weight on one key.",
  meaning_gradient: "What gradient the softmax can pass: 0 none, 1 − 1 ÷ n at most.",
  meaning_spread: "A score ahead of another by 1 has e = 2.72 times its weight.",
  meaning_saturated: "1: in every row one key has nearly all the weight.",
  definition: "Definition and source",
  term_entropy:
    "Entropy of a row p of weights, −Σ p ln p (Shannon 1948), divided by ln n, the entropy of n equal weights; n: " +
    "the keys that the row sees. Mean over rows. In training, heads whose entropy collapses to 0 go with " +
    "instability: Zhai et al. 2023, “Stabilizing Transformer Training by Preventing Attention Entropy Collapse”.",
  term_largest:
    "The largest weight of a row, mean over rows: 1 where a softmax (equation 1 of Attention Is All You Need) has " +
    "put everything on one key, 1 ÷ n where n keys have equal weights.",
  term_gradient:
    "The trace of the softmax's Jacobian diag(p) − p pᵀ, that is 1 − Σ p², mean over rows. Attention Is All You " +
    "Need, section 3.2.1, suspects that large products push “the softmax function into regions where it has " +
    "extremely small gradients”; there it is near 0.",
  term_spread:
    "Standard deviation of the scores that a row sees about their own mean, because a softmax does not see what " +
    "all scores of a row share; the root of the mean variance over rows. Footnote 4 of Attention Is All You Need: " +
    "q·k has variance d_k, q·k ÷ √d_k has 1, if q and k are random with variance 1.",
  term_saturated:
    "The share of rows whose largest weight is above 0.99. Such a row passes less than 0.02 of gradient, by 1 − Σ " +
    "p²: the region of section 3.2.1 of Attention Is All You Need.",
  term_rows: "Rows that see one key only have no choice, and rows of <pad> stand for nothing: both are left out.",
  mean: "mean {before} → {after}",
  mean_same: "mean {before}",
  card: "{name}: mean of {n} heads {before} before, {after} after",
  card_same: "{name}: mean of {n} heads {before}",
  kind_encoder_self: "Encoder self",
  kind_decoder_self: "Decoder self (masked)",
  kind_cross: "Cross",
  side_before: "before",
  side_after: "after",
  short_layer: "L{n}",
  short_head: "H{n}",
  table_before: "{kind}, {name} before: {layers} layers down, {heads} heads across; arrow keys move from head to head",
  table_after: "{kind}, {name} after: {layers} layers down, {heads} heads across; arrow keys move from head to head",
  cell_before: "Layer {layer}, head {head}, before: {value}",
  cell_after: "Layer {layer}, head {head}, after: {value}",
  cell_zero: "Layer {layer}, head {head}, after: {value}; knocked out",
  none: "–",
  head: "{kind}: layer {layer}, head {head}",
  change: "{name}: {before} → {after}",
  counted: "mean over {n} rows",
  counted_both: "mean over {before} rows before, {after} after",
  nothing: "No row of this head sees two keys or more: it has no choice to measure.",
  zero: "Knocked out: its weights are computed, but its output is set to 0.",
  legend: "Colours, in all tables:",
  legend_common: "from {low} to {high}, the same before and after",
  legend_log: "from {low} to {high} in powers of ten, the same before and after",
  plot: "{n} heads",
  plot_hint: "each a mark; on the diagonal nothing changed",
  plot_label: "{name} of {n} heads, before across and after up: {above} higher after, {below} lower, {same} unchanged",
  plot_says: "Heads higher after: {above}; lower: {below}; unchanged: {same}.",
  plot_same: "Nothing is switched: every head lies on the diagonal.",
  axis_before: "{name}, before ({unit})",
  axis_after: "{name}, after ({unit})",
  key_zero: "knocked out",
  key_chosen: "chosen",
};
