// The texts of the softmax playground.
export const SOFTMAX_TEXTS = {
  region: "Softmax playground",
  lead: "weights = softmax(scores ÷ T). Move a score and see which weights change, and by how much.",
  formula: "weights = softmax(scores ÷ T), T = {temperature}",
  key: "key {n}",
  csv_key: "key",
  score: "score",
  score_of: "Score of key {n}",
  weight: "weight p",
  weight_of: "Weight of key {n}: {value}",
  temperature: "temperature T",
  temperature_short: "T",
  temperature_term:
    "The temperature: every score is divided by T before the softmax. A small T makes the weights sharper, a large T " +
    "makes them flatter. Dividing scores by √dₖ is a temperature of √dₖ.",
  presets: "Presets",
  preset_equal: "Equal scores",
  preset_ahead: "One high score",
  preset_large: "Large scores, d_k = {d}",
  divide: "Divide by √{d} = {root}",
  jacobian: "Jacobian ∂p ÷ ∂s",
  jacobian_term:
    "∂p_i ÷ ∂s_j = (p_i · [i = j] − p_i · p_j) ÷ T: the derivative with respect to the scores before the " +
    "temperature, the matrix (diag(p) − p pᵀ) ÷ T. Colours go up to ±{most} = 0.25 ÷ T, the largest value that a " +
    "cell can have.",
  column: "∂s{n}",
  row: "∂p{n}",
  cell: "∂p{i} ÷ ∂s{j}",
  cell_none: "≈ 0",
  cell_says: "When score {j} grows, weight {i} changes at the rate {value}.",
  legend_low: "falls by {value}",
  legend_none: "0",
  legend_high: "rises by {value}",
  legend_term:
    "The colours of the Jacobian, from −{most} (the weight falls as the score rises) through 0 to {most} (it rises). " +
    "{most} is 0.25 ÷ T, the largest value that a cell can have.",
  trace: "Trace {value}",
  trace_term: "The sum of the diagonal, (1 − Σ p²) ÷ T: how much gradient can pass from the weights to the scores.",
  says_open:
    "The weights are almost equal, so the gradient, 1 − Σ p² = {room}, is {share}% of the largest possible with {n} keys.",
  says_between:
    "Key {key} has {weight} of the weight. The gradient, 1 − Σ p² = {room}, is {share}% of the largest possible with " +
    "{n} keys.",
  says_closed:
    "Key {key} has {weight} of the weight: the softmax is saturated. The gradient, 1 − Σ p² = {room}, is only {share}% of " +
    "the largest possible with {n} keys, so the scores can hardly learn.",
  says_none:
    "Key {key} has all the weight, and no gradient passes: 1 − Σ p² is 0 in double precision. The scores of this " +
    "softmax cannot learn.",
  less_than: "less than {value}",
};
