// The texts of this picture.
export const FORMATION_TEXTS = {
  region: "How the heads formed: recorded states of the training",
  csv_step: "training step",
  saved_caption: "How the heads of {model} formed: loss and {measure} at the recorded steps of its training",
  slider: "Step of the training",
  play: "Play",
  pause: "Pause",
  back: "Back to the trained model",
  random: "random",
  trained: "trained",
  step_random: "Step 0, random weights",
  step: "Step {step} of {last}",
  step_trained: "Step {step}, the trained model",
  bleu: "BLEU",
  bleu_term: "BLEU of greedy translations of the validation text, from 0 to 100",
  exact: "exact",
  exact_term: "Validation inputs whose whole output is right, in percent",
  loss: "loss",
  loss_term: "Nats per token on the validation text, with teacher forcing",
  writes: "Output",
  writes_nothing: "nothing",
  spoken: "{step}: {measure} {score}, loss {loss}, output {writes}",
  curves: "{measure} from {score_first} to {score_last}, loss from {loss_first} to {loss_last}",
  steps: "Formed at steps",
  between: "{from}–{to}",
  at_first: "{to}",
  aligned_out: "{head} aligns the token predicted",
  aligned_in: "{head} aligns the token fed in",
  previous: "{head}: previous-token head",
  next: "{head}: next-token head",
  aligned_out_never: "no head aligns the token predicted",
  aligned_in_never: "no head aligns the token fed in",
  previous_never: "{kind}: no previous-token head",
  next_never: "{kind}: no next-token head",
  kind_encoder_self: "Encoder",
  kind_decoder_self: "Decoder",
  kind_cross: "Cross",
  head: "{kind} L{layer} H{head}",
  shares: "{before} → {after}%",
  percent: "{n}%",
  aligned_out_detail:
    "{rows} rows predict a word that our word list pairs with a source word. The share of these rows whose largest " +
    "weight is on such a source word: {before} at step {from}, {after} at step {to}.",
  aligned_in_detail:
    "{rows} rows are fed a word that our word list pairs with a source word. The share of these rows whose largest " +
    "weight is on such a source word: {before} at step {from}, {after} at step {to}.",
  previous_detail:
    "{rows} rows can see such a token. The share of these rows whose largest weight is on it: {before} at step " +
    "{from}, {after} at step {to}.",
  next_detail:
    "{rows} rows can see such a token. The share of these rows whose largest weight is on it: {before} at step " +
    "{from}, {after} at step {to}.",
  needed: "Counted from {needed}: half of the rows, or twice the share of the best untrained head, {first}.",
  stays: "It stays at this level to the end. At the end {count} of {all} heads reach it.",
  leaves: "Later it falls below this level. At the end {count} of {all} heads reach it.",
  never_detail: "The best head at the end, {head}, reaches {after} of {rows} rows.",
  over: "Measured over {n} recorded sentences.",
  not_recorded:
    "This sentence was not recorded during training, so the trained model is shown below. Recorded sentences: {n}.",
  other_tokens:
    "This sentence was recorded with another target or with other subword tokens. Open the recorded version:",
  sentence: "Recorded sentence",
  open: "Show",
  unreadable: "The recorded states cannot be read: {reason}",
};
