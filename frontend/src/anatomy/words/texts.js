import { EXPLANATIONS } from "./explanations.js";

// The texts around the drawing of the anatomy.
// What is explained stands in explanations.js. In both, d_k, W^Q, W_i^Q and the like are set as the paper sets them;
// {names} are filled in.
export const ANATOMY_TEXTS = {
  ...EXPLANATIONS,

  // the way through the model
  place_source: "Source embedding",
  place_encoder_self: "Encoder self-attention",
  place_encoder_ff: "Encoder feed-forward",
  place_target: "Target embedding",
  place_decoder_self: "Decoder self-attention (masked)",
  place_decoder_self_off: "Decoder self-attention (mask off)",
  place_decoder_self_bare: "Decoder self-attention (no mask)",
  place_decoder_cross: "Cross-attention",
  place_decoder_ff: "Decoder feed-forward",
  place_output: "Output",
  place_chip_source: "Source",
  place_chip_encoder_self: "Encoder self",
  place_chip_encoder_ff: "Feed-forward",
  place_chip_target: "Target",
  place_chip_decoder_self: "Decoder self",
  place_chip_decoder_cross: "Cross",
  place_chip_decoder_ff: "Feed-forward",
  place_chip_output: "Output",
  place_at_source: "source embedding",
  place_at_encoder_self: "self-attention of encoder layer {layer}",
  place_at_encoder_ff: "feed-forward of encoder layer {layer}",
  place_at_target: "target embedding",
  place_at_decoder_self: "masked self-attention of decoder layer {layer}",
  place_at_decoder_self_off: "self-attention of decoder layer {layer}, with its mask off",
  place_at_decoder_self_bare: "self-attention of decoder layer {layer}, which has no mask",
  place_at_decoder_cross: "cross-attention of decoder layer {layer}",
  place_at_decoder_ff: "feed-forward of decoder layer {layer}",
  place_at_output: "output",

  // zooms, as the breadcrumb names them
  zoom_region: "Where you are in the model",
  zoom_model: "Model",
  zoom_layer_encoder: "Encoder layer {layer}",
  zoom_layer_decoder: "Decoder layer {layer}",
  zoom_sub_self: "Self-attention",
  zoom_sub_cross: "Cross-attention",
  zoom_sub_ff: "Feed-forward",
  zoom_head: "Head {head}",
  zoom_number: "Number",
  zoom_number_at: "Number [{row}, {column}]",
  zoom_out: "Zoom out to: {name}",
  zoom_in: "Zoom in to: {name}",
  zoom_here: "You are here",

  // steps, as the bar names them
  step_x: "x",
  step_norm: "LayerNorm",
  step_project: "Q, K, V",
  step_split: "heads",
  step_dot: "Q K^T",
  step_scale: "÷ √d_k",
  step_scale_off: "÷ 1",
  step_mask: "mask",
  step_softmax: "softmax",
  step_values: "× V",
  step_concat: "concat",
  step_output: "× W^O",
  step_add: "+ x",
  step_inner: "× W_1",
  step_activation_relu: "ReLU",
  step_activation_gelu: "GELU",
  step_activation_swish: "swish",
  step_outer: "× W_2",
  step_row: "E[id]",
  step_times: "× √d_model",
  step_times_off: "× 1",
  step_plus: "+ position",
  step_plus_none: "+ 0",
  step_hidden: "h_t",
  step_logits: "logits",
  step_probabilities: "softmax",
  step_choose: "choice",
  step_back: "fed back",
  steps_region: "Steps",
  steps_previous: "Previous step (←)",
  steps_play: "Play (space)",
  steps_pause: "Pause (space)",
  steps_next: "Next step (→)",
  steps_position: "step {n} of {count}",
  steps_speed: "Speed",
  speed_slow: "slow",
  speed_normal: "normal",
  speed_fast: "fast",

  // which layer, head and step of decoding
  layers_encoder: "Encoder layer",
  layers_decoder: "Decoder layer",
  layers_hint: "Open layer {n} of {stack_layers} in this stack",
  heads_name: "Head",
  heads_hint: "Head {n} of {count}",
  slider_name: "Decoding step",
  slider_step: "Token {n} of {count}: fed “{fed}”, predicts “{predicted}”",
  slider_step_next: "Token {n} of {count}: fed “{fed}”, next: “{predicted}”",

  // the first view
  start_lead: "How the model finds its next word: press ▶ below",
  start_strip:
    "Each row of colours: the first {count} of the {d_model} numbers of one token. Strong colour: far from 0. Grey: below 0.",

  // saved files
  save_csv: "The numbers of this step (CSV)",
  save_sentence: "{source} → {target}",
  save_switched: "Switched: {switches}",
  save_rounded: "Strips are rounded to 8 bits.",
  save_csv_corner: "{name}",
  save_csv_corner_rounded: "{name}, rounded to 8 bits",

  // the panel
  tell_region: "What is computed here",
  tell_legend: "Colours from {low} to {high}",
  tell_legend_top: "Full colour from {top} up: 99.9% of the numbers are smaller.",
  tell_legend_top_shared: "Full colour from {top} up: the heads or matrices compared here share one scale.",
  tell_legend_hidden: "masked, −∞",
  tell_nothing: "This step has no table of numbers.",
  tell_waiting: "Loading the numbers …",
  tell_parameters: "Parameters: {count} ({share} of the model)",
  tell_parameters_none: "Parameters: none",
  tell_parameters_fixed: "Parameters: none; the table is computed",
  tell_parameters_shared: "Parameters: {count} ({share} of the model), shared with {boxes}",
  tell_parameters_shared_but: "Parameters: {count} ({share} of the model), all but {own} shared with {boxes}",
  tell_parameters_not: "This step has no parameters. The sub-layer has {count} ({share} of the model).",
  tell_tensor: "{shape} = {count}",
  tell_total: "The model has {count} parameters, each counted once.",
  tell_more_open: "More",
  tell_changed: "Largest change here: {value}",
  tell_changed_cells: "{n} cells shown or hidden",
  tell_changed_both: "Largest change here: {value}; {n} cells shown or hidden",
  tell_changed_none: "The switches change nothing here.",
  tell_switched: "Lab switches that are set:",
  tell_fact_hidden: "{hidden} of {total} cells hidden",
  tell_fact_alive: "{alive} of {total} numbers are above 0 ({share})",
  tell_fact_row: "row “{row}”: largest weight on “{column}”, {value}",
  tell_fact_row_fed: "row of “{row}” (the token fed in): largest weight on “{column}”, {value}",
  tell_fact_top: "most likely: “{token}”, {value}",
  tell_fact_logit: "largest logit: “{token}”, {value}",
  box_source_embedding: "the encoder's input",
  box_target_embedding: "the decoder's input",
  box_output: "the output projection",
  box_target_positions: "the decoder's positions",
  box_source_positions: "the encoder's positions",
  box_two: "{first} and {second}",

  // axes: names in the shape, and what hovering says
  axis_batch: "batch: number of sentences; here 1",
  axis_head: "head: {n} heads, each with its own W_i^Q, W_i^K and W_i^V",
  axis_query: "query: {n} tokens that attend, one per row",
  axis_key: "key: {n} tokens that are attended to",
  axis_token: "token: {n}, one per row",
  axis_step: "step: {n} decoding steps, one per row",
  axis_word: "word: the {n} most likely tokens",
  axis_d_model: "d_model: {n} numbers per token, the width of every sub-layer's input and output",
  axis_d_k: "d_k: {n} numbers of a query or key in one head",
  axis_d_head: "d_head, the paper's d_v: {n} numbers of a value in one head",
  axis_d_ff: "d_ff: {n} neurons",
  axis_vocabulary: "vocabulary: the {n} tokens of the model",
  axis_heads_d_k: "h · d_k: the queries or keys of all heads side by side, {n} numbers",
  axis_heads_d_head: "h · d_v: the values of all heads side by side, {n} numbers",

  // matrices by name, as a sentence has them
  matrix_x: "x",
  matrix_memory: "memory",
  matrix_normed: "normalised rows",
  matrix_queries: "queries",
  matrix_keys: "keys",
  matrix_values: "values",
  matrix_dot: "dot products",
  matrix_scaled: "scaled scores",
  matrix_scores: "scores",
  matrix_weights: "weights",
  matrix_head_outputs: "outputs of the heads",
  matrix_concat: "outputs of the heads, side by side",
  matrix_update: "updates",
  matrix_sum: "sums",
  matrix_enters: "input rows",
  matrix_leaves: "output rows",
  matrix_pre: "results of W_1",
  matrix_activation: "activations",
  matrix_rows: "rows of the table",
  matrix_embedding: "embeddings",
  matrix_positions: "position vectors",
  matrix_hidden: "the decoder's output",
  matrix_logits: "logits",
  matrix_probabilities: "probabilities",

  // what is said of a picture, for those who do not see it
  said_head:
    "Step {n} of {count}, {step}, {place}: head {head} of {heads}, {what} of {rows} queries by {columns} keys, from " +
    "{low} to {high}, largest in row “{row}”, column “{column}”.",
  said_head_hidden:
    "Step {n} of {count}, {step}, {place}: head {head} of {heads}, {what} of {rows} queries by {columns} keys, " +
    "hidden cells: {hidden}, the others from {low} to {high}, largest in row “{row}”, column “{column}”.",
  said_head_rows:
    "Step {n} of {count}, {step}, {place}: head {head} of {heads}, {what}, {rows} rows by {columns} numbers, from " +
    "{low} to {high}, largest in row “{row}”, number {number}.",
  said_rows:
    "Step {n} of {count}, {step}, {place}: {what}, {rows} rows by {columns} numbers, from {low} to {high}, largest " +
    "in row “{row}”, number {number}.",
  said_vector:
    "Step {n} of {count}, {step}, {place}: {what}, {columns} numbers, from {low} to {high}. Decoding step {t}: most " +
    "likely next token “{token}”, probability {p}.",
  said_word:
    "Step {n} of {count}, {step}, {place}. Decoding step {t}, fed “{fed}”: “{token}”, probability {p}, rank {rank} " +
    "of {vocab}.",
  said_number: "{text} Chosen: row “{row}”, column {column}, {value}.",
  said_waiting: "Step {n} of {count}, {step}, {place}: loading the numbers.",
  said_place:
    "Stop {n} of {count} on the way through the model, {place}. {source} source tokens go in; decoding step {t} of " +
    "{steps} is fed “{fed}” and predicts “{predicted}”, probability {p}.",
  said_place_next:
    "Stop {n} of {count} on the way through the model, {place}. {source} source tokens go in; decoding step {t} of " +
    "{steps} is fed “{fed}”; next comes “{predicted}”, probability {p}.",
  // of the steps that the bar writes with signs
  said_step_project: "queries, keys and values",
  said_step_split: "split into heads",
  said_step_dot: "dot products",
  said_step_scale: "scaling",
  said_step_scale_off: "not scaled",
  said_step_values: "weights times values",
  said_step_concat: "concatenate",
  said_step_output: "times W O",
  said_step_add: "plus x",
  said_step_inner: "times W 1",
  said_step_outer: "times W 2",
  said_step_row: "rows of the embedding table",
  said_step_times: "times the square root of d model",
  said_step_times_off: "not multiplied",
  said_step_plus: "plus the position",
  said_step_plus_none: "no position added",
  said_step_hidden: "the decoder's output",
  said_step_choose: "the chosen token",
  said_quiet: "Step {n} of {count}, {step}, {place}.",

  // equations as they are read out
  eq_normed: "z is LayerNorm of x.",
  eq_inputs: "Q, K and V are {input} times W Q, W K and W V, each plus a bias.",
  eq_inputs_cross: "Q is {input} times W Q, K and V are memory times W K and W V, each plus a bias.",
  eq_scores:
    "Attention of Q, K and V is the softmax of Q times K transposed, divided by the square root of {d_k}, plus the " +
    "mask M, times V.",
  eq_scores_unscaled:
    "Attention of Q, K and V is the softmax of Q times K transposed, not divided by the square root of {d_k}, plus " +
    "the mask M, times V.",
  eq_scores_factor:
    "Attention of Q, K and V is the softmax of {factor} times Q times K transposed, plus the mask M, times V.",
  eq_scores_uniform:
    "A switch replaces the softmax: Attention of Q, K and V is equal weights on all visible keys, times V.",
  eq_scores_argmax: "A switch replaces the softmax: Attention of Q, K and V is all weight on the best key, times V.",
  heads_one: "1 head",
  heads_many: "{heads} heads",
  eq_heads: "MultiHead is the concatenation of {heads_named} times W O, plus a bias.",
  eq_ff_relu: "FFN of {input} is the larger of 0 and {input} times W 1 plus b 1, times W 2, plus b 2.",
  eq_ff_gelu: "FFN of {input} is GELU of {input} times W 1 plus b 1, times W 2, plus b 2.",
  eq_ff_swish: "FFN of {input} is swish of {input} times W 1 plus b 1, times W 2, plus b 2.",
  eq_row_sinusoidal:
    "x is the row of the embedding table times the square root of {d_model}, plus the position's sines and cosines.",
  eq_row_learned:
    "x is the row of the embedding table times the square root of {d_model}, plus the row of the position table.",
  eq_row_none: "x is the row of the embedding table times the square root of {d_model}; no position is added.",
  eq_row_unscaled_sinusoidal: "x is the row of the embedding table, plus the position's sines and cosines.",
  eq_row_unscaled_learned: "x is the row of the embedding table, plus the row of the position table.",
  eq_row_unscaled_none: "x is the row of the embedding table; no position is added.",
  eq_output_tied:
    "The probability of y t, given the tokens before it and the source x, is the softmax of h t times the embedding " +
    "table transposed.",
  eq_output_tied_bias:
    "The probability of y t, given the tokens before it and the source x, is the softmax of h t times the embedding " +
    "table transposed, plus a bias.",
  eq_output_own:
    "The probability of y t, given the tokens before it and the source x, is the softmax of h t times the output " +
    "matrix transposed.",
  eq_output_own_bias:
    "The probability of y t, given the tokens before it and the source x, is the softmax of h t times the output " +
    "matrix transposed, plus a bias.",
  eq_place_post: "LayerNorm of x plus the sub-layer's result for x.",
  eq_place_pre: "x plus the sub-layer's result for LayerNorm of x.",
  eq_place_none: "x plus the sub-layer's result for x.",
  eq_place_post_alone: "LayerNorm of the sub-layer's result for x.",
  eq_place_pre_alone: "The sub-layer's result for LayerNorm of x.",
  eq_place_none_alone: "The sub-layer's result for x.",
  eq_cell: "Row {row}, column {column}: {value}",
};
