// The texts of the page Feed-forward, part Activity.
export const FEEDFORWARD_TEXTS = {
  region: "Active neurons of the feed-forward sub-layers",
  says: "Most neurons stay silent: at most {share} of a layer's neurons are active (at the token “{token}”).",
  says_many: "Up to {share} of a layer's neurons are active (at the token “{token}”).",
  few: "Why so few?",
  few_relu_about:
    "max(0, ·) sets every negative number to exactly 0, so a neuron without a positive pre-activation adds nothing to the " +
    "output: activation sparsity. Li et al., “The Lazy Neuron Phenomenon” (ICLR 2023), report {share} non-zero activations " +
    "for T5-Base, a larger model, on other data.",
  few_about:
    "This model has {name} instead of max(0, ·). Its activations are small rather than 0, so a threshold above 0, here " +
    "{threshold} at first, decides which of them count as active.",
  not_finite: "Not every activation of this layer is a finite number, so there is nothing to count.",
  // -- the map
  active:
    "A neuron is one of {count} numbers in the middle of a layer. Each cell: how many % of them are active at a token.",
  active_equation: "{equation}; active: activation &gt; threshold; section 3.3: every token goes through it by itself",
  equation: "{formula}, equation 2",
  equation_gelu: "{formula}, equation 2 with GELU instead of max(0, ·)",
  equation_swish: "{formula}, equation 2 with swish instead of max(0, ·)",
  threshold: "Active: above {value}",
  threshold_name: "Threshold",
  map_encoder: "Encoder: source tokens, in %",
  map_decoder: "Decoder: tokens fed in, in %",
  map_label: "{title}. Use the arrow keys to read the numbers one by one.",
  mean: "mean",
  layer: "layer {layer}",
  layer_share: "active {share}",
  layer_mean: "active {share}, mean over tokens",
  row: "{row} · {token}",
  // -- one layer
  stack: "Stack",
  encoder: "encoder",
  decoder: "decoder",
  layer_choice: "Layer",
  layer_name: "{stack} layer {layer}",
  histogram: "Before and after the non-linearity: {layer}",
  histogram_equation: "<i>z</i> = {inner}, <i>a</i> = {function}; {equation}; counts on log axes",
  before: "before: z",
  after: "after: a",
  value: "z, a",
  bin: "from {from} to {to}",
  bin_count: "{count} numbers",
  histogram_says: "{negative} of the {total} pre-activations are negative; {zero} of the activations are exactly 0.",
  spread: "On how many tokens a neuron is active: {layer}",
  spread_equation: "active: activation &gt; {threshold}; {equation}",
  spread_axis: "tokens of the sentence, {count} in all",
  neurons_log: "neurons, log",
  spread_tokens: "active on {tokens} tokens",
  spread_count: "{count} neurons",
  spread_says:
    "Of {neurons} neurons, {never} are active on no token of this sentence, {once} on exactly one token and {always} on " +
    "all {tokens}.",
  // -- saved
  sentences: "{source} → {target}",
  csv_stack: "stack",
  csv_layer: "layer",
  csv_row: "row",
  csv_token: "token",
  csv_share: "active above {threshold}, %",
  csv_mean: "mean over tokens",
  csv_from: "from",
  csv_to: "to",
  csv_tokens: "tokens",
  csv_neurons: "neurons",
};
