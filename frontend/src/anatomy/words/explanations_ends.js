// What the panel of the anatomy explains at the ends of the model, embeddings and output; see explanations.js.
export const END_EXPLANATIONS = {
  // -- steps of the embeddings ---------------------------------------------------------------------------------------
  tell_row_source:
    "A token's id selects one row of the embedding table: {vocab} rows of {d_model} learned numbers (section 3.4). " +
    "The same token always gets the same row, at every position.",
  tell_row_target:
    "The decoder is fed the target shifted right by one, beginning with {start} (section 3.1). Each id selects a row " +
    "of the table that the source also uses, {vocab} rows of {d_model} learned numbers (section 3.4).",
  tell_row_target_own:
    "The decoder is fed the target shifted right by one, beginning with {start} (section 3.1). Each id selects a row " +
    "of the target's own table, {vocab} rows of {d_model} learned numbers; in the paper both sides share one table " +
    "(section 3.4).",
  tell_more_row:
    "Selecting a row is the same as multiplying a one-hot row by the table. Source and target share one vocabulary, " +
    "so they can share the table, and the output projection shares it, too (section 3.4; Press and Wolf 2016).",
  tell_more_row_inputs:
    "Selecting a row is the same as multiplying a one-hot row by the table. Source and target share one vocabulary " +
    "and one table. Here the output projection has its own matrix; in the paper it shares the table, too (section " +
    "3.4).",
  tell_more_row_target:
    "Selecting a row is the same as multiplying a one-hot row by the table. Source and target have one table each, " +
    "the source's with {vocab_source} rows; the output projection shares the target's table (Press and Wolf 2016). " +
    "In the paper all three share one table (section 3.4).",
  tell_more_row_apart:
    "Selecting a row is the same as multiplying a one-hot row by the table. Source, target and output projection " +
    "have one table each, the source's with {vocab_source} rows; in the paper all three share one table (section " +
    "3.4).",
  tell_times:
    "Every number is multiplied by √d_model = √{d_model} {root_model_is} {root_model} (section 3.4). The paper gives " +
    "no reason.",
  tell_more_times:
    "One explanation: the table is also the output projection, where large numbers would make large logits; here its " +
    "rows are added to sines and cosines that reach 1. Training in this project starts the table with variance 1 ÷ " +
    "d_model, so the factor makes it 1.",
  tell_times_off:
    "The rows do not change: this model was made without the factor √d_model = √{d_model} {root_model_is} " +
    "{root_model}, by which the paper multiplies them (section 3.4).",
  tell_more_times_off:
    "The paper gives no reason for its factor. A model trained without it can learn rows that are long enough to be " +
    "added to sines and cosines that reach 1.",
  tell_plus_sinusoidal:
    "Attention by itself does not see the order of its tokens. So each position adds its own vector: sines and " +
    "cosines with wavelengths from 2π to 10000 · 2π (section 3.5).",
  tell_plus_learned:
    "Attention by itself does not see the order of its tokens. So each position adds its own vector, here a learned " +
    "one for each of {max_positions} positions (section 3.5; Table 3, row E).",
  tell_plus_none:
    "This model adds no positions, so its encoder cannot see the order of the tokens (the paper adds positions in " +
    "section 3.5). Its decoder can tell from its mask how many tokens came before.",
  tell_plus_none_bare:
    "This model adds no positions, so its encoder cannot see the order of the tokens (the paper adds positions in " +
    "section 3.5). Its decoder cannot see it either, because it has no mask: to each row, other rows differ only in " +
    "their content.",
  tell_more_plus_sinusoidal:
    "For any fixed offset k, PE(pos + k) is a linear function of PE(pos); the authors hoped that this makes it easy " +
    "to attend by relative position. Learned vectors gave nearly the same results; sinusoids may also work for " +
    "sentences longer than those in training. In training, dropout is applied to the sum (section 5.4).",
  tell_more_plus_learned:
    "The paper found “nearly identical results” with learned vectors and chose sinusoids because they may also work " +
    "for sentences longer than those in training (section 3.5). In training, dropout is applied to the sum (section " +
    "5.4).",
  tell_more_plus_learned_norm:
    "Before the first layer this model applies LayerNorm to the sum, which the paper does not: LayerNorm(x) enters the " +
    "layer. Encoder and decoder each have a table of positions.",
  tell_more_plus_none:
    "Without positions, a permutation of the source permutes the encoder's rows and changes nothing else. The page " +
    "“Positions” shows this.",

  // -- steps of the output -------------------------------------------------------------------------------------------
  tell_hidden:
    "Row {t} of the decoder's output: the {d_model} numbers from which the next token is chosen (Figure 1). This row " +
    "was fed “{fed}” and has attended to the tokens before it and to the source.",
  tell_hidden_bare:
    "Row {t} of the decoder's output: the {d_model} numbers from which the next token is chosen (Figure 1). This row " +
    "was fed “{fed}” and has attended to all tokens that are fed, including later ones, and to the source.",
  tell_hidden_pre:
    "Row {t} of the decoder's output, after the LayerNorm at the end of a pre-norm stack: the {d_model} numbers from " +
    "which the next token is chosen (Figure 1). This row was fed “{fed}”.",
  tell_hidden_pre_bare:
    "Row {t} of the decoder's output, after the LayerNorm at the end of a pre-norm stack: the {d_model} numbers from " +
    "which the next token is chosen (Figure 1). This row was fed “{fed}” and has seen all tokens that are fed, " +
    "including later ones.",
  tell_more_hidden:
    "Training uses every row at once: row t should predict the token that row t + 1 is fed. Decoding needs only the " +
    "newest row; the keys and values of the rows before can be cached.",
  tell_more_hidden_bare:
    "Training uses every row at once: row t should predict the token that row t + 1 is fed, which it can see here, " +
    "without a mask. During decoding that token does not exist yet. Each new token changes all rows before it, so no " +
    "keys and values can be cached.",
  tell_logits:
    "The dot product of h_t with every row of the embedding table: {vocab} numbers, the logits. The ten largest are " +
    "drawn. The pre-softmax linear transformation uses the embedding table of the inputs (section 3.4), without a " +
    "bias.",
  tell_logits_bias:
    "The dot product of h_t with every row of the embedding table, plus a learned bias for each: {vocab} numbers, " +
    "the logits. The ten largest are drawn. The table is the embedding table of the inputs (section 3.4); the paper " +
    "adds no bias.",
  tell_logits_own:
    "The dot product of h_t with every row of the output matrix W: {vocab} numbers, the logits. The ten largest are " +
    "drawn. The paper uses the embedding table of the inputs instead of W (section 3.4).",
  tell_logits_own_bias:
    "The dot product of h_t with every row of the output matrix W, plus a learned bias for each: {vocab} numbers, " +
    "the logits. The ten largest are drawn. The paper uses the embedding table of the inputs instead of W (section " +
    "3.4) and adds no bias.",
  tell_more_logits_inputs:
    "In the paper the three tables are one; here the output has its own table, {vocab} × {d_model} parameters. A " +
    "single logit means nothing: only differences between logits change the probabilities.",
  tell_more_logits_target:
    "The output shares the target's table, which saves {vocab} × {d_model} parameters; the source has its own table. " +
    "A single logit means nothing: only differences between logits change the probabilities.",
  tell_more_logits_apart:
    "Source, target and output have one table each; in the paper all three are one. A single logit means nothing: " +
    "only differences between logits change the probabilities.",
  tell_more_logits:
    "Sharing the three matrices saves 2 × {vocab} × {d_model} parameters. A single logit means nothing: only " +
    "differences between logits change the probabilities.",
  tell_probabilities:
    "e to the power of every logit, divided by the sum over all {vocab}: probabilities that sum to 1 (section 3.4). " +
    "The ten that are drawn have {share} of the total.",
  tell_more_probabilities:
    "In training the paper smooths the labels with ε = 0.1 (section 5.4): the model learns to be less sure than it " +
    "could be. A model trained like this seldom gives all of the probability to one token, even if that token is " +
    "obvious.",
  tell_choose_own:
    "Greedy decoding takes the most likely token: “{token}”, with probability {p}. The paper's translations come " +
    "from beam search with a beam of 4, which compares whole sentences (section 6.1).",
  tell_choose_own_rank:
    "The sentence is still the model's translation without the switches: “{token}” comes next. With the switches, " +
    "the model gives it probability {p}, rank {rank} of {vocab}. For free decoding, the paper uses beam search " +
    "(section 6.1).",
  tell_choose_own_bare:
    "The model wrote “{token}” when no token after step {t} had been fed yet. Here the whole sentence is fed, and " +
    "without a mask (section 3.2.3) this row sees all of it and gives “{token}” probability {p}, rank {rank} of " +
    "{vocab}. This is not the probability by which it was chosen.",
  tell_choose_given:
    "The target is given here (teacher forcing): “{token}” comes next, whatever the model prefers. The model gives " +
    "it probability {p}, rank {rank} of {vocab}. For free decoding, the paper uses beam search (section 6.1).",
  tell_more_choose:
    "Greedy decoding cannot take back a token. Beam search keeps the few most likely beginnings; the paper keeps 4 " +
    "and divides their log-probabilities by a power of their length, α = 0.6, so that short sentences do not win too " +
    "easily (section 6.1).",
  tell_back:
    "“{token}” becomes the decoder's next input: “consuming the previously generated symbols as additional input " +
    "when generating the next” (section 3). Step {next} of {steps} begins with it.",
  tell_back_given:
    "The target is given here (teacher forcing): “{token}” becomes the decoder's next input, whatever the model " +
    "prefers. In free decoding, the model would be fed the token it chose itself (section 3). Step {next} of {steps} " +
    "begins with it.",
  tell_back_end: "This is the last step: “{token}” ends the sentence, and nothing more is fed back (section 3).",
  tell_more_back:
    "This makes the model auto-regressive (section 3). The encoder runs once; every step uses its output. The " +
    "results of the earlier rows do not change either, because the mask hides the new token from them.",
  tell_more_back_off:
    "This makes the model auto-regressive (section 3). The encoder runs once; every step uses its output. A switch " +
    "has removed the causal mask, so the earlier rows see the new token and their results change.",
  tell_more_back_bare:
    "This makes the model auto-regressive (section 3). The encoder runs once; every step uses its output. This model " +
    "has no causal mask, so the earlier rows see the new token and their results change.",
};
