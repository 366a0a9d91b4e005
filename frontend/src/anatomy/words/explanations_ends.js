// What the panel of the anatomy explains at the ends of the model, embeddings and output; see explanations.js.
export const END_EXPLANATIONS = {
  // -- steps of the embeddings ---------------------------------------------------------------------------------------
  tell_row_source:
    "A token's id picks one row of the embedding table: {vocab} rows of {d_model} learned numbers (section 3.4). The " +
    "same token gets the same row wherever it stands.",
  tell_row_target:
    "The decoder is fed the target shifted right by one, beginning with {start} (section 3.1). Each id picks a row " +
    "of the same table that the source uses, {vocab} rows of {d_model} learned numbers (section 3.4).",
  tell_row_target_own:
    "The decoder is fed the target shifted right by one, beginning with {start} (section 3.1). Each id picks a row " +
    "of the target's own table, {vocab} rows of {d_model} learned numbers; in the paper both sides share one " +
    "(section 3.4).",
  tell_more_row:
    "Picking a row is multiplying a one-hot row with the table. Source and target share one vocabulary, so they can " +
    "share the table, and the output projection shares it too (section 3.4; Press and Wolf 2016).",
  tell_more_row_inputs:
    "Picking a row is multiplying a one-hot row with the table. Source and target share one vocabulary and one " +
    "table; the output projection has a matrix of its own here, where the paper shares it too (section 3.4).",
  tell_more_row_target:
    "Picking a row is multiplying a one-hot row with the table. Source and target have a table each, {vocab_source} " +
    "rows of the source; the output projection shares the target's (Press and Wolf 2016). The paper shares one " +
    "among all three (section 3.4).",
  tell_more_row_apart:
    "Picking a row is multiplying a one-hot row with the table. Source, target and output projection have a table " +
    "each, {vocab_source} rows of the source; the paper shares one among all three (section 3.4).",
  tell_times:
    "Every number is multiplied by √d_model = √{d_model} {root_model_is} {root_model} (section 3.4). The paper gives " +
    "no reason.",
  tell_more_times:
    "One reading: the table is also the output projection, where large numbers would make large logits; here its " +
    "rows stand beside sines and cosines that reach 1. Training in this project starts the table with variance 1 ÷ " +
    "d_model, so that the factor brings it to 1.",
  tell_times_off:
    "The rows stay as they are: this model was made without the factor √d_model = √{d_model} {root_model_is} " +
    "{root_model} that the paper multiplies them by (section 3.4).",
  tell_more_times_off:
    "The paper gives no reason for its factor. A model trained without it can learn rows as long as it needs beside " +
    "sines and cosines that reach 1.",
  tell_plus_sinusoidal:
    "Attention by itself does not see the order of its tokens. So every position adds a vector of its own: sines and " +
    "cosines with wavelengths from 2π to 10000 · 2π (section 3.5).",
  tell_plus_learned:
    "Attention by itself does not see the order of its tokens. So every position adds a vector of its own, here a " +
    "learned one for each of {max_positions} positions (section 3.5; Table 3, row E).",
  tell_plus_none:
    "This model adds no positions. Its encoder cannot see the order of the tokens (section 3.5 is there for that); " +
    "its decoder can tell by its mask how many came before.",
  tell_plus_none_bare:
    "This model adds no positions. Its encoder cannot see the order of the tokens (section 3.5 is there for that), " +
    "nor can its decoder, which has no mask either: to each row all others are alike but for what they hold.",
  tell_more_plus_sinusoidal:
    "For any fixed offset k, PE(pos + k) is a linear function of PE(pos); the authors hoped that this makes it easy " +
    "to attend by relative position. Learned vectors gave nearly the same results; sinusoids may carry over to " +
    "sentences longer than those of training. In training dropout is applied to the sum (section 5.4).",
  tell_more_plus_learned:
    "The paper found “nearly identical results” with learned vectors and chose sinusoids because they may carry over " +
    "to sentences longer than those of training (section 3.5). In training dropout is applied to the sum (section " +
    "5.4).",
  tell_more_plus_none:
    "Without positions, a permutation of the source permutes the encoder's rows and changes nothing else. The page " +
    "“Positions” shows it.",

  // -- steps of the output -------------------------------------------------------------------------------------------
  tell_hidden:
    "Row {t} of the decoder's output: {d_model} numbers, all that the next token is chosen from (Figure 1). It was " +
    "fed “{fed}”, has attended to what came before and to the source.",
  tell_hidden_bare:
    "Row {t} of the decoder's output: {d_model} numbers, all that the next token is chosen from (Figure 1). It was " +
    "fed “{fed}”, has attended to all that is fed, what comes after it too, and to the source.",
  tell_hidden_pre:
    "Row {t} of the decoder's output, after the LayerNorm that ends a pre-norm stack: {d_model} numbers, all that " +
    "the next token is chosen from (Figure 1). It was fed “{fed}”.",
  tell_hidden_pre_bare:
    "Row {t} of the decoder's output, after the LayerNorm that ends a pre-norm stack: {d_model} numbers, all that " +
    "the next token is chosen from (Figure 1). It was fed “{fed}” and has seen all that is fed, what comes after it " +
    "too.",
  tell_more_hidden:
    "In training every row is used at once: row t is to predict the token that row t + 1 is fed. When decoding, only " +
    "the newest row is needed; the keys and values of those before can be kept.",
  tell_more_hidden_bare:
    "In training every row is used at once: row t is to predict the token that row t + 1 is fed, which it can see " +
    "here, without a mask. When decoding it is not there yet. Each token that is fed changes all rows before it, so " +
    "that no keys and values can be kept.",
  tell_logits:
    "The dot product of h_t with every row of the embedding table: {vocab} numbers, the logits, of which the ten " +
    "largest are drawn. The pre-softmax linear transformation is the table of the inputs (section 3.4), without a " +
    "bias.",
  tell_logits_bias:
    "The dot product of h_t with every row of the embedding table, plus a learned bias for each: {vocab} numbers, " +
    "the logits, of which the ten largest are drawn. The table is that of the inputs (section 3.4); the paper adds " +
    "no bias.",
  tell_logits_own:
    "The dot product of h_t with every row of the output matrix W: {vocab} numbers, the logits, of which the ten " +
    "largest are drawn. In the paper the table of the inputs stands in its place (section 3.4).",
  tell_logits_own_bias:
    "The dot product of h_t with every row of the output matrix W, plus a learned bias for each: {vocab} numbers, " +
    "the logits, of which the ten largest are drawn. In the paper the table of the inputs stands in its place " +
    "(section 3.4), and no bias is added.",
  tell_more_logits_inputs:
    "The paper's three tables are one; here the output has its own, {vocab} × {d_model} parameters. A logit means " +
    "nothing alone: only differences between logits change the probabilities.",
  tell_more_logits_target:
    "The output shares the table of the target, which saves {vocab} × {d_model} parameters; the source has its own. " +
    "A logit means nothing alone: only differences between logits change the probabilities.",
  tell_more_logits_apart:
    "Source, target and output have a table each; in the paper all three are one. A logit means nothing alone: only " +
    "differences between logits change the probabilities.",
  tell_more_logits:
    "Sharing the three matrices saves 2 × {vocab} × {d_model} parameters. A logit means nothing alone: only " +
    "differences between logits change the probabilities.",
  tell_probabilities:
    "e to the power of every logit, divided by the sum over all {vocab}: probabilities that sum to 1 (section 3.4). " +
    "The ten drawn hold {share} of them.",
  tell_more_probabilities:
    "In training the paper smooths the labels with ε = 0.1 (section 5.4): the model learns to be less sure than it " +
    "could be, and a model trained so seldom gives even an obvious token all of the probability.",
  tell_choose_own:
    "Greedy decoding takes the likeliest token: “{token}”, with probability {p}. The paper's translations come from " +
    "beam search with a beam of 4, which compares whole sentences (section 6.1).",
  tell_choose_own_rank:
    "The sentence stays what the model translated without the switches: “{token}” comes next. As the model is now, " +
    "it gives it probability {p}, rank {rank} of {vocab}. Decoding freely, the paper uses beam search (section 6.1).",
  tell_choose_own_bare:
    "“{token}” is what the model wrote while nothing after step {t} had been fed yet. Here the whole sentence is " +
    "fed, and without a mask (section 3.2.3) this row sees all of it and gives “{token}” probability {p}, rank " +
    "{rank} of {vocab}: not what it was chosen by.",
  tell_choose_given:
    "The target is given here (teacher forcing): “{token}” comes next, whatever the model prefers. It gives it " +
    "probability {p}, rank {rank} of {vocab}. Decoding freely, the paper uses beam search (section 6.1).",
  tell_more_choose:
    "Greedy decoding cannot take back a token. Beam search keeps the likeliest few beginnings; the paper uses 4 and " +
    "divides their log-probabilities by a power of their length, α = 0.6, lest short sentences win (section 6.1).",
  tell_back:
    "“{token}” becomes the decoder's next input: “consuming the previously generated symbols as additional input " +
    "when generating the next” (section 3). With it step {next} of {steps} begins.",
  tell_back_given:
    "The target is given here (teacher forcing): “{token}” becomes the decoder's next input, whatever the model " +
    "prefers. Decoding freely, it would be fed the token it chose itself (section 3). With it step {next} of {steps} " +
    "begins.",
  tell_back_end: "This is the last step: “{token}” ends the sentence, and nothing is fed back any more (section 3).",
  tell_more_back:
    "This makes the model auto-regressive (section 3). The encoder runs once; its output serves every step. What the " +
    "earlier rows computed does not change either, because the mask hides the new token from them.",
  tell_more_back_off:
    "This makes the model auto-regressive (section 3). The encoder runs once; its output serves every step. A switch " +
    "has taken the causal mask away, so that the earlier rows see the new token and what they computed changes.",
  tell_more_back_bare:
    "This makes the model auto-regressive (section 3). The encoder runs once; its output serves every step. This " +
    "model has no causal mask, so that the earlier rows see the new token and what they computed changes.",
};
