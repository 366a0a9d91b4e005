import { END_EXPLANATIONS } from "./explanations_ends.js";

// What the panel of the anatomy explains, with the sections of "Attention Is All You Need" (Vaswani et al. 2017).
// tell_title_*: headings; tell_*: two or three sentences; tell_more_*: what folds. Used by panel/panel.js through
// ANATOMY_TEXTS (texts.js).
export const EXPLANATIONS = {
  ...END_EXPLANATIONS,

  tell_title_x: "What comes in: x",
  tell_title_x_cross: "What comes in: x and memory",
  tell_title_norm: "LayerNorm",
  tell_title_project: "Queries, keys and values",
  tell_title_split: "Dealt out to {heads_named}",
  tell_title_dot: "Every query times every key",
  tell_title_scale: "Divided by √{d_k}",
  tell_title_scale_off: "Not divided by √{d_k}",
  tell_title_scale_switched: "Times {factor}",
  tell_title_mask: "The mask",
  tell_title_softmax: "Softmax makes weights",
  tell_title_softmax_switched: "Weights, replaced",
  tell_title_values: "Weights times values",
  tell_title_concat: "Heads side by side",
  tell_title_output: "Times W^O",
  tell_title_add: "Plus x",
  tell_title_inner: "Out to {d_ff} neurons",
  tell_title_activation_relu: "ReLU: which neurons stay",
  tell_title_activation_gelu: "GELU: which neurons stay",
  tell_title_activation_swish: "Swish: which neurons stay",
  tell_title_outer: "Back to {d_model} numbers",
  tell_title_row: "A row of the table for each token",
  tell_title_times: "Times √{d_model}",
  tell_title_times_off: "Not multiplied",
  tell_title_plus: "Plus the position",
  tell_title_plus_none: "No position is added",
  tell_title_hidden: "The decoder's output: h_t",
  tell_title_logits: "A logit for every token",
  tell_title_probabilities: "Softmax makes probabilities",
  tell_title_choose: "One token is chosen",
  tell_title_back: "Back in as the next input",

  // -- steps of attention --------------------------------------------------------------------------------------------
  tell_x:
    "One row of {d_model} numbers for each of {n} tokens, as the sub-layer before left them. Every sub-layer takes " +
    "and gives rows of this width, so that they can be added (section 3.1).",
  tell_x_first:
    "One row of {d_model} numbers for each of {n} source tokens: its embedding plus its position (sections 3.4 and " +
    "3.5). Every sub-layer takes and gives rows of this width, so that they can be added (section 3.1).",
  tell_x_alone:
    "One row of {d_model} numbers for each of {n} tokens, as the sub-layer before left them: nothing else comes " +
    "through, for this model has no residual connections around its sub-layers (section 3.1 has them).",
  tell_x_first_alone:
    "One row of {d_model} numbers for each of {n} source tokens: its embedding plus its position (sections 3.4 and " +
    "3.5). The sub-layer takes these rows and gives others in their place: this model has no residual connections " +
    "(section 3.1 has them).",
  tell_x_fed:
    "One row of {d_model} numbers for each token the decoder is fed: the target shifted right by one, beginning with " +
    "{start} (section 3.1). Row {t} belongs to the step shown; rows below it belong to later steps.",
  tell_x_cross:
    "Two things come in: x, the decoder's {n} rows, and memory, the encoder's output of {m} rows. Queries will be " +
    "made of x, keys and values of memory (section 3.2.3).",
  tell_x_ff:
    "One row of {d_model} numbers for each of {n} tokens, as attention left them. From here no row sees another: the " +
    "network works on “each position separately and identically” (section 3.3).",
  tell_more_x:
    "The paper's Figure 1 draws one arrow where {n} rows run side by side. What runs along these arrows is also " +
    "called the residual stream: each sub-layer reads it and adds to it. The page shows one sentence, so batch is 1.",
  tell_more_x_alone:
    "The paper's Figure 1 draws one arrow where {n} rows run side by side, and around each sub-layer another, which " +
    "this model has not. The page shows one sentence, so batch is 1.",

  tell_norm:
    "Each row on its own: minus its mean, divided by its standard deviation, times γ, plus β. γ and β are learned, " +
    "one number for each of the {d_model} columns. What leaves the sub-layer is LayerNorm(x + Sublayer(x)) (section " +
    "3.1).",
  tell_norm_pre:
    "Each row on its own: minus its mean, divided by its standard deviation, times γ, plus β. The sub-layer works on " +
    "the result, z; x goes around it unchanged. The paper normalises after the sum (section 3.1), this model before " +
    "the sub-layer (pre-norm, Xiong et al. 2020).",
  tell_norm_alone:
    "Each row on its own: minus its mean, divided by its standard deviation, times γ, plus β. γ and β are learned, " +
    "one number for each of the {d_model} columns. What leaves the sub-layer is LayerNorm(Sublayer(x)); in the paper " +
    "x is added first, LayerNorm(x + Sublayer(x)) (section 3.1).",
  tell_norm_pre_alone:
    "Each row on its own: minus its mean, divided by its standard deviation, times γ, plus β. The sub-layer works on " +
    "the result, z, and nothing goes around it: Sublayer(LayerNorm(x)). The paper has LayerNorm(x + Sublayer(x)) " +
    "(section 3.1).",
  tell_more_norm:
    "The standard deviation is √(variance + ε) with ε = {eps}; the variance is the mean of squares over the row's " +
    "{d_model} numbers (Ba et al. 2016). Before γ and β every row has mean 0 and, but for ε, length √{d_model} " +
    "{root_model_is} {root_model}: LayerNorm takes away a row's mean and its length.",

  tell_project:
    "Three learned matrices make three vectors of every row: a query, what the token looks for; a key, what it is " +
    "found by; a value, what it hands over (section 3.2.2). W^Q holds the W_i^Q of all heads side by side, W^K and " +
    "W^V likewise. This model adds biases; the paper's formula has none.",
  tell_project_cross:
    "Queries are made of x, the decoder's rows; keys and values of memory (m), the encoder's output, so that every " +
    "position of the decoder can attend to the whole source (section 3.2.3). W^Q holds the W_i^Q of all heads side " +
    "by side. This model adds biases; the paper's formula has none (section 3.2.2).",
  tell_project_pre:
    "Three learned matrices make three vectors of every row of z = LayerNorm(x): a query, what the token looks for; " +
    "a key, what it is found by; a value, what it hands over (section 3.2.2). W^Q holds the W_i^Q of all heads side " +
    "by side, W^K and W^V likewise. This model adds biases; the paper's formula has none.",
  tell_project_cross_pre:
    "Queries are made of z = LayerNorm(x), the decoder's rows; keys and values of memory (m), the encoder's output, " +
    "so that every position of the decoder can attend to the whole source (section 3.2.3). W^Q holds the W_i^Q of " +
    "all heads side by side. This model adds biases; the paper's formula has none (section 3.2.2).",
  tell_more_project:
    "Every number is a row times a column of the matrix, {d_model} products added up, plus the column's bias. Q and " +
    "K have {heads} × {d_k} columns, V has {heads} × {d_head}. The bias of K adds the same to all scores of a query, " +
    "which leaves the softmax as it was; that of Q does not.",

  tell_split:
    "No number changes: the columns are dealt out to {heads_named}, {d_k} each. Every head attends by itself, and " +
    "all together cost about as much as one head of full width would (section 3.2.2).",
  tell_split_own:
    "No number changes: the columns are dealt out to {heads_named}, of queries and keys {d_k} each, of values " +
    "{d_head}. The paper has d_k = d_v = d_model ÷ h (section 3.2.2); this model was given a d_k of its own (Table " +
    "3, rows B).",
  tell_more_split:
    "“Multi-head attention allows the model to jointly attend to information from different representation subspaces " +
    "at different positions. With a single attention head, averaging inhibits this” (section 3.2.2). In Table 3, " +
    "rows A, one head is 0.9 BLEU worse than the best number of heads, and too many are worse again (section 6.2).",

  tell_dot:
    "The score of a query and a key is their dot product q·k: {d_k} products, added up. Q K^T holds all of them, a " +
    "row for every query, a column for every key (section 3.2.1). A score is large where both vectors are long and " +
    "point the same way.",
  tell_dot_cross:
    "The score of a query and a key is their dot product q·k: {d_k} products, added up. Q K^T holds all of them, a " +
    "row for each of {n} decoder tokens, a column for each of {m} source tokens (sections 3.2.1 and 3.2.3).",
  tell_more_dot:
    "The paper weighs this against additive attention, a small network as the score: alike in theory, but the dot " +
    "product is “much faster and more space-efficient in practice”, being matrix multiplication (section 3.2.1). " +
    "Here it takes {n} × {m} × {d_k} = {products} multiplications a head.",

  tell_scale:
    "Every score is divided by √d_k = √{d_k} {root_is} {root}. The authors suspect that for large d_k dot " +
    "products grow large and push the softmax into regions of extremely small gradients (section 3.2.1).",
  tell_scale_off:
    "This model was made without the scaling of section 3.2.1: the scores stay as they are. The paper divides them " +
    "by √d_k, here √{d_k} {root_is} {root}.",
  tell_scale_removed:
    "A switch of the lab takes the division away: the scores stay as they are. The model was trained with a factor " +
    "of {trained}; the paper's is 1 ÷ √d_k = 1 ÷ √{d_k} (section 3.2.1).",
  tell_scale_switched:
    "A switch of the lab is set: q·k is multiplied by {factor}. The model was trained with a factor of {trained}; " +
    "the paper's is 1 ÷ √d_k = 1 ÷ √{d_k} (section 3.2.1).",
  tell_more_scale:
    "Footnote 4: if the components of q and k are independent, with mean 0 and variance 1, then q·k has mean 0 and " +
    "variance d_k. Divided by √d_k it has variance 1, whatever d_k is. Trained queries and keys need not be of that " +
    "kind; the lab measures this model's (Why scores are scaled).",

  tell_mask_encoder:
    "Every source token may attend to every other (section 3.2.3): in this sentence nothing is hidden, and M is 0. " +
    "Only <pad>, which fills up the shorter sentences of a batch, would get −∞.",
  tell_mask_encoder_some:
    "Every source token may attend to every other (section 3.2.3), except to those that are hidden: <pad>, which " +
    "fills up the shorter sentences of a batch, and what a switch hides. There M is −∞, and the weight will be " +
    "exactly 0.",
  tell_mask_decoder:
    "What comes after the query is hidden: there M is −∞, and the weight will be exactly 0. Together with the shift " +
    "by one position, the prediction at a position can depend only on the outputs before it (sections 3.1 and 3.2.3).",
  tell_mask_off:
    "A switch has taken the causal mask away: queries see the keys after them, which the paper prevents by −∞ " +
    "(section 3.2.3). The model was not trained for this: what it should predict is among what it sees.",
  tell_mask_bare:
    "This model was made without the causal mask: each query sees all {m} tokens that the decoder is fed, also those " +
    "after it, where the paper has −∞ in M (section 3.2.3). What it is to predict is among what it sees.",
  tell_mask_cross:
    "Every step of the decoder may attend to the whole source (section 3.2.3): here nothing is hidden, and M is 0. " +
    "Only <pad>, which fills up the shorter sentences of a batch, would get −∞.",
  tell_mask_cross_some:
    "Every step of the decoder may attend to the whole source (section 3.2.3), except to what is hidden: <pad>, " +
    "which fills up the shorter sentences of a batch, and what a switch hides. There M is −∞, and the weight will be " +
    "0.",
  tell_more_mask:
    "A batch is one tensor, so its shorter sentences are filled up with <pad>; the padding mask keeps them out of " +
    "every sum. Equation 1 has no M: the paper describes masking in words (section 3.2.3). Adding −∞ and setting to " +
    "−∞ is the same, since e to the power of −∞ is 0.",
  tell_more_mask_decoder:
    "The paper: “We implement this inside of scaled dot-product attention by masking out (setting to −∞) all values " +
    "in the input of the softmax which correspond to illegal connections” (section 3.2.3). So training predicts all " +
    "{n} positions in one pass, each as if what follows did not exist yet.",
  tell_more_mask_bare:
    "The paper masks “to preserve the auto-regressive property” (section 3.2.3). Without the mask training " +
    "shows each row the very token that it is to predict. While decoding, that token is not there yet, and what was " +
    "learned by copying it does not help.",

  tell_softmax:
    "Row by row: e to the power of every score, divided by the row's sum. Weights lie between 0 and 1, every row " +
    "sums to 1, and hidden cells get exactly 0 (equation 1, section 3.2.1).",
  tell_softmax_uniform:
    "A switch of the lab puts equal weights in the softmax's place: 1 ÷ (visible keys) for each of them. Trained, " +
    "the head takes the softmax of its scores (equation 1, section 3.2.1).",
  tell_softmax_argmax:
    "A switch of the lab puts all the weight of a row on its largest score. Trained, the head takes the softmax of " +
    "its scores (equation 1, section 3.2.1).",
  tell_more_softmax:
    "Only differences count: the same number added to a whole row of scores changes nothing, and a key whose score " +
    "is 1 higher gets e ≈ 2.72 times the weight. Code subtracts the row's largest score first, so that no power " +
    "overflows.",

  tell_values:
    "The output for a query is a weighted sum of the rows of V: {d_head} numbers in this head (equation 1, section " +
    "3.2.1). Here content passes from token to token; the steps before only settled how much of it.",
  tell_values_cross:
    "The output for a query is a weighted sum of the rows of V, which were made of the source: {d_head} numbers in " +
    "this head (equation 1, section 3.2.1). Here the source's content passes over to the target.",
  tell_values_zero:
    "A switch of the lab has knocked this head out: its output is 0, whatever its weights are. Else it would be the " +
    "weighted sum of the rows of V (equation 1, section 3.2.1).",
  tell_more_values:
    "With almost all the weight on one key its value is handed over nearly unchanged; with equal weights the values " +
    "are averaged. A large weight on a short value hands over little: weights alone do not say what a head " +
    "contributes.",

  tell_concat:
    "No number changes: the outputs of {heads_named}, {d_head} numbers each, stand side by side again, head 1 first: " +
    "{d_model} numbers a token (section 3.2.2).",
  tell_more_concat:
    "In code this is a transpose and a reshape: [batch, head, query, d_v] becomes [batch, query, h · d_v]. Since h · " +
    "d_v = d_model, W^O is square.",

  tell_output:
    "Times W^O, plus b^O: every column of the result draws on all {heads_named} (section 3.2.2). This is " +
    "Sublayer(x), what the sub-layer will add to x.",
  tell_output_alone:
    "Times W^O, plus b^O: every column of the result draws on all {heads_named} (section 3.2.2). This is " +
    "Sublayer(x). It takes the place of x: no residual connection adds the two, as section 3.1 has it.",
  tell_output_skipped:
    "A switch of the lab leaves this sub-layer out: what it returns is set to 0. No residual connection carries x " +
    "past it in this model (section 3.1 has one), so that nothing of x goes on.",
  tell_more_output:
    "W^O can be cut into {heads} blocks of {d_head} rows. Concat(head_1, …, head_h) W^O is then the sum of every " +
    "head's output times its block: the heads add up, and each contributes a share that can be looked at alone.",

  tell_add:
    "The residual connection (section 3.1): what the sub-layer computed is added to the x that came in, number by " +
    "number. In training dropout is applied to it first (section 5.4).",
  tell_add_pre:
    "The residual connection (section 3.1): what the sub-layer computed is added to the x that came in, number by " +
    "number. With pre-norm this sum is what leaves; nothing normalises x before the end of the stack.",
  tell_add_none:
    "The residual connection (section 3.1): what the sub-layer computed is added to the x that came in, number by " +
    "number. This sum is what leaves: the model has no LayerNorm, where the paper has LayerNorm(x + Sublayer(x)).",
  tell_add_skipped:
    "A switch of the lab leaves this sub-layer out: what it returns is set to 0, so the sum is x itself, carried " +
    "past by the residual connection (section 3.1).",
  tell_more_add:
    "Sums need equal widths: that is why all sub-layers and the embeddings give d_model = {d_model} numbers (section " +
    "3.1). The connection is that of residual networks (He et al. 2016): gradients pass by the sub-layer as well as " +
    "through it, and a sub-layer that returns little changes little.",

  // -- steps of feed-forward -----------------------------------------------------------------------------------------
  tell_inner:
    "Each row times W_1, plus b_1: from d_model = {d_model} to d_ff = {d_ff} numbers, the neurons (equation 2, " +
    "section 3.3). The same matrices serve every position; every layer has its own.",
  tell_inner_pre:
    "Each row of z = LayerNorm(x) times W_1, plus b_1: from d_model = {d_model} to d_ff = {d_ff} numbers, the " +
    "neurons (equation 2, section 3.3). The same matrices serve every position; every layer has its own.",
  tell_more_inner:
    "“Another way of describing this is as two convolutions with kernel size 1” (section 3.3). In the paper's base " +
    "and big models d_ff is 4 times d_model; here it is {ratio} times.",
  tell_activation_relu:
    "max(0, ·): what is negative becomes 0, the rest stays as it is (equation 2, section 3.3). A neuron that is 0 " +
    "adds nothing to its token.",
  tell_activation_gelu:
    "GELU, z · Φ(z), with Φ the distribution function of the normal distribution (Hendrycks and Gimpel 2016), in the " +
    "place of the paper's max(0, ·) (equation 2, section 3.3): large numbers stay, very negative ones become 0, and " +
    "there is no kink between.",
  tell_activation_swish:
    "Swish, z · σ(z), with σ(z) = 1 ÷ (1 + e to the power of −z), the logistic function (Ramachandran et al. 2017), " +
    "in the place of the paper's max(0, ·) (equation 2, section 3.3): large numbers stay, very negative ones become " +
    "0, and there is no kink between.",
  tell_more_activation:
    "Without something non-linear between them W_1 and W_2 would be one matrix. The page “Feed-forward” shows which " +
    "neurons of this model are active on which tokens.",
  tell_outer:
    "Times W_2, plus b_2: back from {d_ff} to {d_model} numbers (equation 2, section 3.3). Each neuron adds its row " +
    "of W_2, times its activation. This is Sublayer(x), what the sub-layer will add to x.",
  tell_outer_alone:
    "Times W_2, plus b_2: back from {d_ff} to {d_model} numbers (equation 2, section 3.3). Each neuron adds its row " +
    "of W_2, times its activation. This is Sublayer(x). It takes the place of x: no residual connection adds the " +
    "two, as section 3.1 has it.",
  tell_outer_skipped:
    "A switch of the lab leaves this sub-layer out: what it returns is set to 0. No residual connection carries x " +
    "past it in this model (section 3.1 has one), so that nothing of x goes on.",
  tell_more_outer:
    "Read this way, a column of W_1 is what a neuron responds to and its row of W_2 what it adds when it does: Geva " +
    "et al. (2021) call them keys and values of a memory.",

  // -- from afar -----------------------------------------------------------------------------------------------------
  tell_model_source:
    "Here the sentence goes in, as {n} tokens. Each becomes a row of {d_model} numbers, its embedding, and its " +
    "position is added (sections 3.4 and 3.5).",
  tell_model_encoder_self:
    "Layer {layer} of {layers}. Each source token attends to all of them, in {heads_named} at once, and adds what it " +
    "finds to its row (sections 3.1 and 3.2.3).",
  tell_model_encoder_ff:
    "Layer {layer} of {layers}. Each row passes through {d_ff} neurons by itself and adds the result (sections 3.1 " +
    "and 3.3).",
  tell_model_encoder_self_alone:
    "Layer {layer} of {layers}. Each source token attends to all of them, in {heads_named} at once, and what it " +
    "finds takes the place of its row: this model has no residual connections (sections 3.1 and 3.2.3).",
  tell_model_encoder_ff_alone:
    "Layer {layer} of {layers}. Each row passes through {d_ff} neurons by itself, and the result takes its place: " +
    "this model has no residual connections (sections 3.1 and 3.3).",
  tell_model_target:
    "The decoder is fed what has been said so far: the target shifted right by one, beginning with {start} (section " +
    "3.1).",
  tell_model_decoder_self:
    "Layer {layer} of {layers}. Each token attends to itself and to those before it; the mask hides the ones after " +
    "it (section 3.2.3).",
  tell_model_decoder_self_off:
    "Layer {layer} of {layers}. A switch has taken the causal mask away: each token attends to all of them, also to " +
    "those after it, which the paper's mask hides (section 3.2.3).",
  tell_model_decoder_self_bare:
    "Layer {layer} of {layers}. Each token attends to all that the decoder is fed, also to those after it: this " +
    "model was made without the mask that hides them in the paper (section 3.2.3).",
  tell_model_decoder_cross:
    "Layer {layer} of {layers}. Each target token attends to the encoder's output, {m} rows: here the source " +
    "sentence comes over (section 3.2.3).",
  tell_model_decoder_ff:
    "Layer {layer} of {layers}. Each row passes through {d_ff} neurons by itself and adds the result (sections 3.1 " +
    "and 3.3).",
  tell_model_decoder_ff_alone:
    "Layer {layer} of {layers}. Each row passes through {d_ff} neurons by itself, and the result takes its place: " +
    "this model has no residual connections (sections 3.1 and 3.3).",
  tell_model_output:
    "The row of the step shown is compared with every row of the embedding table, and a softmax makes a probability " +
    "of each of the {vocab} tokens (section 3.4). The one chosen goes back in as the next input.",
  tell_model_output_own:
    "The row of the step shown is compared with every row of the output matrix, and a softmax makes a probability " +
    "of each of the {vocab} tokens; the paper compares with the embedding table (section 3.4). The one chosen goes " +
    "back in as the next input.",
  tell_more_model:
    "How to read it: a strip holds a row for each token, {d_model} numbers wide, coloured by value; bands carry the " +
    "rows from box to box. The encoder runs along the bottom, the decoder along the top. The layers behind the open " +
    "one have the same shape and weights of their own; the paper has N = 6 of each (section 3.1).",
  tell_more_model_alone:
    "How to read it: a strip holds a row for each token, {d_model} numbers wide, coloured by value; bands carry the " +
    "rows from box to box. No line runs around a box: this model has no residual connections (section 3.1 has them). " +
    "The encoder runs along the bottom, the decoder along the top. The layers behind the open one have the same " +
    "shape and weights of their own.",
  tell_layer_encoder_self:
    "The first of the two sub-layers of an encoder layer: self-attention with {heads_named}, in which queries, keys " +
    "and values all come from the layer before (sections 3.1 and 3.2.3).",
  tell_layer_encoder_ff:
    "The second of the two sub-layers of an encoder layer: a network of {d_ff} neurons, the same for every token " +
    "(sections 3.1 and 3.3).",
  tell_layer_decoder_self:
    "The first of the three sub-layers of a decoder layer: self-attention with {heads_named}, masked so that no " +
    "token sees a later one (sections 3.1 and 3.2.3).",
  tell_layer_decoder_self_off:
    "The first of the three sub-layers of a decoder layer: self-attention with {heads_named}. A switch has taken its " +
    "causal mask away: tokens see later ones (sections 3.1 and 3.2.3).",
  tell_layer_decoder_self_bare:
    "The first of the three sub-layers of a decoder layer: self-attention with {heads_named}. This model was made " +
    "without the causal mask: tokens see later ones (sections 3.1 and 3.2.3).",
  tell_layer_decoder_cross:
    "The second of the three sub-layers of a decoder layer: queries come from the decoder, keys and values from the " +
    "encoder's output (sections 3.1 and 3.2.3). The encoder has no such sub-layer.",
  tell_layer_decoder_ff:
    "The last of the three sub-layers of a decoder layer: a network of {d_ff} neurons, the same for every token " +
    "(sections 3.1 and 3.3).",
  tell_more_layer:
    "Around each sub-layer goes a residual connection with LayerNorm: LayerNorm(x + Sublayer(x)) (section 3.1). All " +
    "layers of a stack are built alike and share nothing.",
  tell_more_layer_pre:
    "Around each sub-layer goes a residual connection; LayerNorm comes before the sub-layer here, x + " +
    "Sublayer(LayerNorm(x)), where the paper has LayerNorm(x + Sublayer(x)) (section 3.1). All layers of a stack are " +
    "built alike and share nothing.",
  tell_more_layer_none:
    "Around each sub-layer goes a residual connection, x + Sublayer(x); the paper normalises that sum, LayerNorm(x + " +
    "Sublayer(x)) (section 3.1), and this model has no LayerNorm. All layers of a stack are built alike and share " +
    "nothing.",
  tell_more_layer_alone:
    "Nothing goes around the sub-layers here: each gives LayerNorm(Sublayer(x)), where the paper has LayerNorm(x + " +
    "Sublayer(x)) (section 3.1). All layers of a stack are built alike and share nothing.",
  tell_more_layer_pre_alone:
    "Nothing goes around the sub-layers here: each gives Sublayer(LayerNorm(x)), where the paper has LayerNorm(x + " +
    "Sublayer(x)) (section 3.1). All layers of a stack are built alike and share nothing.",
  tell_more_layer_none_alone:
    "The sub-layers follow one another here, each Sublayer(x), where the paper has LayerNorm(x + Sublayer(x)) " +
    "(section 3.1). All layers of a stack are built alike and share nothing.",
};
