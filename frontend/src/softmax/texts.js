// The texts of the softmax playground.
export const SOFTMAX_TEXTS = {
  region: "Softmax playground",
  lead: "weights = softmax(scores ÷ T). Move a score and see which weights move, and by how much.",
  key: "key {n}",
  score: "score",
  score_of: "Score of key {n}",
  weight: "weight p",
  weight_of: "Weight of key {n}: {value}",
  temperature: "temperature T",
  temperature_short: "T",
  temperature_term:
    "The temperature: every score is divided by T before the softmax. A small T sharpens the weights, a large one " +
    "flattens them; dividing scores by √d_k is a temperature of √d_k.",
  presets: "Presets",
  preset_equal: "Equal scores",
  preset_ahead: "One far ahead",
  preset_large: "Large scores, d_k = {d}",
  divide: "Divide by √{d} = {root}",
  jacobian: "Jacobian ∂p ÷ ∂s",
  jacobian_term:
    "∂p_i ÷ ∂s_j = (p_i · [i = j] − p_i · p_j) ÷ T: the derivative by the scores before the temperature, the matrix " +
    "(diag(p) − p pᵀ) ÷ T. Colours run to ±{most}, which is 0.25 ÷ T, the most that a cell can reach.",
  column: "∂s{n}",
  row: "∂p{n}",
  cell: "∂p{i} ÷ ∂s{j}",
  cell_none: "≈ 0",
  cell_says: "One more of score {j} moves weight {i} at the rate {value}.",
  legend_low: "falls by {value}",
  legend_none: "0",
  legend_high: "rises by {value}",
  legend_term:
    "The colours of the Jacobian, from −{most} (the weight falls as the score rises) over 0 to {most} (it rises), " +
    "0.25 ÷ T, the most that a cell can reach.",
  trace: "Trace {value}",
  trace_term: "The sum of the diagonal, (1 − Σ p²) ÷ T: how much gradient can pass from the weights to the scores.",
  says_open: "The weights are close to equal: 1 − Σ p² is {room}, {share}% of what {n} equal weights let through.",
  says_between: "1 − Σ p² is {room}: {share}% of the gradient that {n} equal weights would let through.",
  says_closed:
    "Key {key} takes {weight} of the weight; 1 − Σ p² is {room}: {share}% of what {n} equal weights let through. " +
    "The softmax is saturated and hardly learns from its scores.",
  says_none:
    "Key {key} takes all the weight, and no gradient passes at all: 1 − Σ p² is 0 in double precision. The softmax " +
    "learns nothing from its scores.",
  less_than: "less than {value}",
};
