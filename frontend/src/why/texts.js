import { HEAD_TEXTS } from "../heads/texts.js";

// The texts of this picture.
export const WHY_TEXTS = {
  ...HEAD_TEXTS,
  csv_curve: "curve",
  csv_row: "weights at d_k = {d}",
  csv_histogram: "histogram at d_k = {d}",
  csv_density: "density of q·k ÷ √dₖ",
  csv_mean: "mean of q·k ÷ √dₖ",
  own_caption: "q and k of this model: {name}",
  region: "Why scores are divided by the square root of d_k",
  lead: "Draw every component of q and k at random from N(0, 1), then make q and k longer.",
  footnote:
    "Attention Is All You Need, section 3.2.1, footnote 4: “To illustrate why the dot products get large, assume " +
    "that the components of q and k are independent random variables with mean 0 and variance 1. Then their dot " +
    "product has mean 0 and variance d_k.”",
  footnote_term: "footnote 4",
  slider: "d_k, the length of q and k",
  again: "Draw again",
  again_term: "Draws new random numbers for q and k.",
  depth: "d_k = {d}",
  this_model: "this model: {d}",
  summary:
    "At d_k = {d} without scaling, the largest of {keys} weights is **{unscaled}** on average over {rows} random rows; " +
    "divided by √dₖ, it is **{scaled}**. The unscaled softmax passes **{share}%** of the gradient of the scaled one.",
  summary_saturated:
    "At d_k = {d} without scaling, the largest of {keys} weights is **{unscaled}** on average over {rows} random rows: " +
    "the softmax is **saturated**. Divided by √dₖ, it is **{scaled}**. The unscaled softmax passes **{share}%** of " +
    "the gradient of the scaled one.",
  scaled: "scaled",
  unscaled: "unscaled",
  additive: "additive",
  key_value: "{way} {value}",
  key_at: "at d_k = {d}",
  key_row: "largest weight, mean",
  histogram: "Histogram of q·k",
  histogram_label: "Histogram of {n} dot products at d_k = {d}: variance {variance}, scaled {scaled}",
  histogram_term:
    "{n} products of {rows} random queries and {keys} keys each. All curves are drawn to the same height. The axis is " +
    "the same for every d_k; products beyond its ends are not drawn.",
  key_unscaled: "q·k: variance {variance}, theory d_k = {d}",
  key_scaled: "q·k ÷ √dₖ: variance {variance}, theory 1",
  key_normal: "normal, variance d_k",
  row: "Softmax of a row, mean over rows",
  row_term:
    "The {keys} weights of a row, from the largest to the smallest; mean over {rows} rows. The score of additive " +
    "attention (Bahdanau et al. 2015) is v·tanh(W q + U k).",
  row_label:
    "Weights of a row from the largest to the smallest at d_k = {d}, mean over rows; the largest: {scaled} scaled, " +
    "{unscaled} unscaled, {additive} additive",
  key_axis: "rank",
  key_number: "Weight number {n} of the row, by size",
  key_line: "{way}: score {score}, weight {weight}",
  entropy: "Entropy ÷ ln({keys}), mean over rows",
  entropy_term:
    "−Σ p ln p of a row divided by ln of its {keys} keys, mean over rows. 1: all weights equal; 0: all weight on one " +
    "key.",
  largest: "Largest weight of a row, mean over rows",
  largest_term:
    "The largest of the {keys} weights of a row, mean over rows. It is 1 ÷ {keys} if all weights are equal.",
  room: "Gradient 1 − Σ p², mean over rows",
  room_term:
    "The trace of the softmax's Jacobian diag(p) − p pᵀ, mean over rows: how much gradient can pass. The paper " +
    "suspects that a large d_k pushes “the softmax function into regions where it has extremely small gradients”.",
  curve_spoken:
    "{name} over d_k from 1 to 1,024; at d_k = {d}: {scaled} scaled, {unscaled} unscaled, {additive} additive",
  additive_note:
    "Additive attention, which the paper compares with, is v·tanh(W q + U k). Here W, U and v have Glorot-normal " +
    "weights: W and U of variance 1 ÷ d_k, v of variance 2 ÷ (d_k + 1). Its means use fewer rows, because W q and U " +
    "k cost more than q·k.",
  own: "q and k of this model",
  own_hint: "measured on the sentence; layers down, heads across; choose a head to see its histogram",
  quantity: "Quantity shown",
  query: "variance of q",
  key: "variance of k",
  product: "variance of q·k ÷ d_k",
  query_term: "Variance of all numbers in q around their mean, over tokens and components. Footnote 4 assumes 1.",
  key_term: "Variance of all numbers in k around their mean, over tokens and components. Footnote 4 assumes 1.",
  product_term: "Variance of q·k over the visible pairs of query and key, divided by d_k. By footnote 4 it would be 1.",
  legend_scale: "from 0 to {high} on one logarithmic scale, log(1 + variance)",
  unit: "In {n} of {total} heads, q and k both have a variance between 0.8 and 1.25.",
  spread: "The variance of q·k lies between {low} and {high} times d_k.",
  head_cell: "Layer {layer}, head {head}: {name} {value}",
  head_line: "{name}: {value}",
  head_mean: "mean of q·k ÷ √dₖ: {value}",
  table: "{kind}, {name}: {layers} layers down, {heads} heads across; use the arrow keys to move from head to head",
  key_own: "q·k of this head: variance {variance} = {times} × d_k",
  key_normal_own: "normal curve of variance d_k = {d}, drawn to the same height",
  own_label:
    "Histogram of q·k in layer {layer}, head {head}: variance {variance}, next to a normal curve of variance {d}",
};
