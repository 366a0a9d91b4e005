// The texts of this picture.
export const WHY_TEXTS = {
  region: "Why scores are divided by the square root of d_k",
  lead: "Draw q and k at random, component by component from N(0, 1), and let them grow longer.",
  footnote:
    "Attention Is All You Need, section 3.2.1, footnote 4: “To illustrate why the dot products get large, assume " +
    "that the components of q and k are independent random variables with mean 0 and variance 1. Then their dot " +
    "product has mean 0 and variance d_k.”",
  footnote_term: "footnote 4",
  slider: "d_k, the length of q and k",
  depth: "d_k = {d}",
  this_model: "this model: {d}",
  summary:
    "At d_k = {d} the largest of {keys} weights is, on average over {rows} rows, {unscaled} unscaled and {scaled} " +
    "scaled; the unscaled softmax lets {share}% as much gradient through as the scaled one.",
  scaled: "scaled",
  unscaled: "unscaled",
  additive: "additive",
  key_value: "{way} {value}",
  key_at: "at d_k = {d}",
  key_row: "this row's largest weight",
  histogram: "Histogram of q·k",
  histogram_label: "Histogram of {n} dot products at d_k = {d}: variance {variance}, scaled {scaled}",
  histogram_term: "{n} products of {rows} random queries and {keys} keys each; curves are drawn to one height.",
  key_unscaled: "q·k: variance {variance}, theory d_k = {d}",
  key_scaled: "q·k ÷ √d_k: variance {variance}, theory 1",
  key_normal: "normal, variance d_k",
  hold: "keep the axis of d_k = {d}",
  row: "Softmax of one row",
  row_term:
    "One query over {keys} keys, the first of the {rows} rows. Additive attention (Bahdanau et al. 2015) scores " +
    "v·tanh(W q + U k).",
  row_label:
    "Weights of {keys} keys at d_k = {d}; this row's largest: {scaled} scaled, {unscaled} unscaled, {additive} " +
    "additive",
  key_axis: "key",
  key_number: "Key {n}",
  key_line: "{way}: score {score}, weight {weight}",
  entropy: "Entropy ÷ ln({keys}), mean over rows",
  entropy_term: "−Σ p ln p of a row divided by ln of its {keys} keys, mean over rows: 1 flat, 0 all on one key.",
  largest: "Largest weight of a row, mean over rows",
  largest_term: "The largest of the {keys} weights of a row, mean over rows; 1 ÷ {keys} where all are equal.",
  room: "Gradient 1 − Σ p², mean over rows",
  room_term:
    "The trace of the softmax's Jacobian diag(p) − p pᵀ, mean over rows: how much gradient can pass. The paper " +
    "suspects that large d_k push “the softmax function into regions where it has extremely small gradients”.",
  curve_spoken:
    "{name} over d_k from 1 to 1,024; at d_k = {d}: {scaled} scaled, {unscaled} unscaled, {additive} additive",
  additive_note:
    "Additive attention, the comparison the paper makes, is v·tanh(W q + U k) with Glorot-normal weights: W and U of " +
    "variance 1 ÷ d_k, v of variance 2 ÷ (d_k + 1). Its means are over fewer rows: W q and U k cost more than q·k.",
  own: "The model's own q and k",
  own_hint: "measured from the sentence, layer down, head across; choose a head to see its histogram",
  quantity: "Quantity shown",
  query: "variance of q",
  key: "variance of k",
  product: "variance of q·k ÷ d_k",
  query_term: "Variance of all numbers in q about their mean, over tokens and components. Footnote 4 assumes 1.",
  key_term: "Variance of all numbers in k about their mean, over tokens and components. Footnote 4 assumes 1.",
  product_term: "Variance of q·k over the visible pairs of query and key, divided by d_k. 1 if footnote 4 held.",
  kind_encoder_self: "Encoder self",
  kind_decoder_self: "Decoder self (masked)",
  kind_cross: "Cross",
  legend: "Colours, in all tables:",
  legend_scale: "from 0 to {high} on one logarithmic scale, log(1 + variance)",
  more_heads: "Scroll sideways to see all {heads} heads →",
  unit: "{n} of {total} heads have q and k both of variance between 0.8 and 1.25.",
  spread: "The variance of q·k lies between {low} and {high} times d_k.",
  short_layer: "L{n}",
  short_head: "H{n}",
  head: "{kind}: layer {layer}, head {head}",
  head_cell: "Layer {layer}, head {head}: {name} {value}",
  head_line: "{name}: {value}",
  head_mean: "mean of q·k ÷ √d_k: {value}",
  table: "{kind}, {name}: {layers} layers down, {heads} heads across; the arrow keys move from head to head",
  key_own: "q·k of this head: variance {variance} = {times} × d_k",
  key_normal_own: "normal curve of variance d_k = {d}, drawn to the same height",
  own_label: "Histogram of q·k in layer {layer}, head {head}: variance {variance}, the normal curve beside it {d}",
};
