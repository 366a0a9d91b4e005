import { END_EXPLANATIONS } from "./explanations_ends.js";

// What the panel of the anatomy explains, with the sections of "Attention Is All You Need" (Vaswani et al. 2017).
// tell_title_*: headings; tell_*: two or three sentences; tell_more_*: what folds. Used by panel/panel.js through
// ANATOMY_TEXTS (texts.js).
export const EXPLANATIONS = {
  ...END_EXPLANATIONS,

  tell_title_x: "Input: x",
  tell_title_x_cross: "Input: x and memory",
  tell_title_norm: "LayerNorm",
  tell_title_project: "Queries, keys and values",
  tell_title_split: "Split into {heads_named}",
  tell_title_dot: "Every query times every key",
  tell_title_scale: "Divided by √{d_k}",
  tell_title_scale_off: "Not divided by √{d_k}",
  tell_title_scale_switched: "Times {factor}",
  tell_title_mask: "The mask",
  tell_title_softmax: "Softmax makes weights",
  tell_title_softmax_switched: "Weights replaced by a switch",
  tell_title_values: "Weights times values",
  tell_title_concat: "Heads side by side",
  tell_title_output: "Times W^O",
  tell_title_add: "Plus x",
  tell_title_inner: "Out to {d_ff} neurons",
  tell_title_activation_relu: "ReLU: which neurons are active",
  tell_title_activation_gelu: "GELU: which neurons are active",
  tell_title_activation_swish: "Swish: which neurons are active",
  tell_title_outer: "Back to {d_model} numbers",
  tell_title_row: "A row of the table for each token",
  tell_title_times: "Times √{d_model}",
  tell_title_times_off: "Not multiplied by √d_model",
  tell_title_plus: "Plus the position",
  tell_title_plus_none: "No position is added",
  tell_title_hidden: "The decoder's output: h_t",
  tell_title_logits: "A logit for every token",
  tell_title_probabilities: "Softmax makes probabilities",
  tell_title_choose: "One token is chosen",
  tell_title_back: "Back in as the next input",

  // -- steps of attention --------------------------------------------------------------------------------------------
  tell_x:
    "One row of {d_model} numbers for each of {n} tokens, the output of the sub-layer before. Every sub-layer takes " +
    "and returns rows of this width, so that they can be added (section 3.1).",
  tell_x_first:
    "One row of {d_model} numbers for each of {n} source tokens: its embedding plus its position (sections 3.4 and " +
    "3.5). Every sub-layer takes and returns rows of this width, so that they can be added (section 3.1).",
  tell_x_alone:
    "One row of {d_model} numbers for each of {n} tokens, the output of the sub-layer before. Nothing else comes " +
    "through: this model has no residual connections around its sub-layers (section 3.1 has them).",
  tell_x_first_alone:
    "One row of {d_model} numbers for each of {n} source tokens: its embedding plus its position (sections 3.4 and " +
    "3.5). The sub-layer replaces these rows with its own output: this model has no residual connections (section " +
    "3.1 has them).",
  tell_x_fed:
    "One row of {d_model} numbers for each token that the decoder is fed: the target shifted right by one, beginning " +
    "with {start} (section 3.1). Row {t} belongs to the step shown; the rows below it belong to later steps.",
  tell_x_cross:
    "There are two inputs: x, the {n} rows of the decoder, and memory, the {m} rows of the encoder's output. Queries " +
    "are computed from x, keys and values from memory (section 3.2.3).",
  tell_x_ff:
    "One row of {d_model} numbers for each of {n} tokens, the output of attention. From here no row sees another " +
    "row: the network works on “each position separately and identically” (section 3.3).",
  tell_more_x:
    "Figure 1 of the paper draws one arrow for {n} rows that run side by side. These rows are also called the " +
    "residual stream: each sub-layer reads the stream and adds to it. The page shows one sentence, so batch is 1.",
  tell_more_x_alone:
    "Figure 1 of the paper draws one arrow for {n} rows that run side by side, and a second arrow around each " +
    "sub-layer, which this model does not have. The page shows one sentence, so batch is 1.",

  tell_norm:
    "Each row by itself: subtract its mean, divide by its standard deviation, multiply by γ, add β. γ and β are " +
    "learned, one number for each of the {d_model} columns. The output of the sub-layer is LayerNorm(x + " +
    "Sublayer(x)) (section 3.1).",
  tell_norm_pre:
    "Each row by itself: subtract its mean, divide by its standard deviation, multiply by γ, add β. The sub-layer " +
    "works on the result, z; x goes around it unchanged. The paper normalises after the sum (section 3.1), this " +
    "model before the sub-layer (pre-norm, Xiong et al. 2020).",
  tell_norm_alone:
    "Each row by itself: subtract its mean, divide by its standard deviation, multiply by γ, add β. γ and β are " +
    "learned, one number for each of the {d_model} columns. The output of the sub-layer is LayerNorm(Sublayer(x)); " +
    "in the paper x is added first, LayerNorm(x + Sublayer(x)) (section 3.1).",
  tell_norm_pre_alone:
    "Each row by itself: subtract its mean, divide by its standard deviation, multiply by γ, add β. The sub-layer " +
    "works on the result, z, and nothing goes around it: Sublayer(LayerNorm(x)). The paper has LayerNorm(x + " +
    "Sublayer(x)) (section 3.1).",
  tell_more_norm:
    "The standard deviation is √(variance + ε) with ε = {eps}; the variance is the mean squared deviation of the " +
    "row's {d_model} numbers (Ba et al. 2016). Before γ and β every row has mean 0 and, apart from ε, length " +
    "√{d_model} {root_model_is} {root_model}: LayerNorm removes the mean and the length of a row.",

  tell_project:
    "Three learned matrices turn every row into three vectors: a query (what the token looks for), a key (what it is " +
    "found by) and a value (what it passes on) (section 3.2.2). W^Q holds the W_i^Q of all heads side by side, and " +
    "so do W^K and W^V. This model adds biases; the paper's formula has none.",
  tell_project_cross:
    "Queries are computed from x, the decoder's rows; keys and values from memory (m), the encoder's output, so that " +
    "every position of the decoder can attend to the whole source (section 3.2.3). W^Q holds the W_i^Q of all heads " +
    "side by side. This model adds biases; the paper's formula has none (section 3.2.2).",
  tell_project_pre:
    "Three learned matrices turn every row of z = LayerNorm(x) into three vectors: a query (what the token looks " +
    "for), a key (what it is found by) and a value (what it passes on) (section 3.2.2). W^Q holds the W_i^Q of all " +
    "heads side by side, and so do W^K and W^V. This model adds biases; the paper's formula has none.",
  tell_project_cross_pre:
    "Queries are computed from z = LayerNorm(x), the decoder's rows; keys and values from memory (m), the encoder's " +
    "output, so that every position of the decoder can attend to the whole source (section 3.2.3). W^Q holds the " +
    "W_i^Q of all heads side by side. This model adds biases; the paper's formula has none (section 3.2.2).",
  tell_more_project:
    "Every number is a row times a column of the matrix: the sum of {d_model} products, plus the column's bias. Q " +
    "and K have {heads} × {d_k} columns, V has {heads} × {d_head}. The bias of K adds the same amount to all scores " +
    "of a query, so it does not change the softmax; the bias of Q does.",

  tell_split:
    "No number changes: the columns are divided among {heads_named}, {d_k} each. Every head attends by itself. All " +
    "heads together cost about as much as one head of full width (section 3.2.2).",
  tell_split_own:
    "No number changes: the columns are divided among {heads_named}, {d_k} each for queries and keys, {d_head} each " +
    "for values. The paper has d_k = d_v = d_model ÷ h (section 3.2.2); this model has a different d_k (Table 3, " +
    "rows B).",
  tell_more_split:
    "“Multi-head attention allows the model to jointly attend to information from different representation subspaces " +
    "at different positions. With a single attention head, averaging inhibits this” (section 3.2.2). In Table 3, " +
    "rows A, one head is 0.9 BLEU worse than the best number of heads, and too many heads are worse, too (section " +
    "6.2).",

  tell_dot:
    "The score of a query and a key is their dot product q·k: the sum of {d_k} products. Q K^T holds all scores, one " +
    "row per query, one column per key (section 3.2.1). A score is large when both vectors are long and point in the " +
    "same direction.",
  tell_dot_cross:
    "The score of a query and a key is their dot product q·k: the sum of {d_k} products. Q K^T holds all scores, one " +
    "row for each of {n} decoder tokens, one column for each of {m} source tokens (sections 3.2.1 and 3.2.3).",
  tell_more_dot:
    "The paper compares this with additive attention, which computes the score with a small network. In theory both " +
    "are similar, but the dot product is “much faster and more space-efficient in practice”, because it is a matrix " +
    "multiplication (section 3.2.1). Here it takes {n} × {m} × {d_k} = {products} multiplications per head.",

  tell_scale:
    "Every score is divided by √d_k = √{d_k} {root_is} {root}. The authors suspect that for a large d_k the dot " +
    "products grow large and push the softmax into regions with extremely small gradients (section 3.2.1).",
  tell_scale_off:
    "This model was made without the scaling of section 3.2.1, so the scores do not change. The paper divides them " +
    "by √d_k, here √{d_k} {root_is} {root}.",
  tell_scale_removed:
    "A switch of the lab removes the division, so the scores do not change. The model was trained with a factor of " +
    "{trained}; the paper's factor is 1 ÷ √d_k = 1 ÷ √{d_k} (section 3.2.1).",
  tell_scale_switched:
    "A switch of the lab multiplies q·k by {factor}. The model was trained with a factor of {trained}; the paper's " +
    "factor is 1 ÷ √d_k = 1 ÷ √{d_k} (section 3.2.1).",
  tell_more_scale:
    "Footnote 4: if the components of q and k are independent, with mean 0 and variance 1, then q·k has mean 0 and " +
    "variance d_k. Divided by √d_k it has variance 1 for every d_k. Trained queries and keys can be different; the " +
    "lab measures those of this model (Why scores are scaled).",

  tell_mask_encoder:
    "Every source token may attend to every other (section 3.2.3): in this sentence nothing is hidden, and M is 0. " +
    "Only <pad>, which fills up the shorter sentences of a batch, would get −∞.",
  tell_mask_encoder_some:
    "Every source token may attend to every other (section 3.2.3), except to hidden tokens: <pad>, which fills up " +
    "the shorter sentences of a batch, and tokens that a switch hides. There M is −∞, and the weight will be exactly " +
    "0.",
  tell_mask_decoder:
    "Tokens after the query are hidden: there M is −∞, and the weight will be exactly 0. Together with the shift by " +
    "one position, this makes each prediction depend only on the outputs before it (sections 3.1 and 3.2.3).",
  tell_mask_off:
    "A switch has removed the causal mask: queries see the keys after them, which the paper prevents with −∞ " +
    "(section 3.2.3). The model was not trained for this: it can see the token that it should predict.",
  tell_mask_bare:
    "This model was made without the causal mask: each query sees all {m} tokens that the decoder is fed, including " +
    "those after it, where the paper has −∞ in M (section 3.2.3). It can see the token that it should predict.",
  tell_mask_cross:
    "Every step of the decoder may attend to the whole source (section 3.2.3): here nothing is hidden, and M is 0. " +
    "Only <pad>, which fills up the shorter sentences of a batch, would get −∞.",
  tell_mask_cross_some:
    "Every step of the decoder may attend to the whole source (section 3.2.3), except to hidden tokens: <pad>, which " +
    "fills up the shorter sentences of a batch, and tokens that a switch hides. There M is −∞, and the weight will " +
    "be 0.",
  tell_more_mask:
    "A batch is one tensor, so its shorter sentences are filled up with <pad>; the padding mask keeps <pad> out of " +
    "every sum. Equation 1 has no M: the paper describes masking in words (section 3.2.3). Adding −∞ is the same as " +
    "setting to −∞: e to the power of −∞ is 0.",
  tell_more_mask_decoder:
    "The paper: “We implement this inside of scaled dot-product attention by masking out (setting to −∞) all values " +
    "in the input of the softmax which correspond to illegal connections” (section 3.2.3). So training predicts all " +
    "{n} positions in one pass, each as if the later tokens did not exist yet.",
  tell_more_mask_bare:
    "The paper masks “to preserve the auto-regressive property” (section 3.2.3). Without the mask, training shows " +
    "each row the token that it should predict, and the model learns to copy it. During decoding that token does not " +
    "exist yet, so the copying does not help.",

  tell_softmax:
    "Row by row: e to the power of every score, divided by the sum of the row. Weights lie between 0 and 1, every " +
    "row sums to 1, and hidden cells get exactly 0 (equation 1, section 3.2.1).",
  tell_softmax_uniform:
    "A switch of the lab replaces the softmax with equal weights: 1 ÷ (visible keys) for each visible key. As " +
    "trained, the head uses the softmax of its scores (equation 1, section 3.2.1).",
  tell_softmax_argmax:
    "A switch of the lab puts all the weight of a row on its largest score. As trained, the head uses the softmax of " +
    "its scores (equation 1, section 3.2.1).",
  tell_more_softmax:
    "Only differences count: adding the same number to a whole row of scores changes nothing, and a key whose score " +
    "is higher by 1 gets e ≈ 2.72 times the weight. Code first subtracts the largest score of the row, so that no " +
    "power overflows.",

  tell_values:
    "The output for a query is a weighted sum of the rows of V: {d_head} numbers in this head (equation 1, section " +
    "3.2.1). Here content passes from token to token; the steps before only decide how much.",
  tell_values_cross:
    "The output for a query is a weighted sum of the rows of V, which are computed from the source: {d_head} numbers " +
    "in this head (equation 1, section 3.2.1). Here the content of the source passes to the target.",
  tell_values_zero:
    "A switch of the lab has knocked out this head: its output is 0, whatever its weights are. Without the switch it " +
    "would be the weighted sum of the rows of V (equation 1, section 3.2.1).",
  tell_values_replaced:
    "A switch has replaced this head's output: with its mean over reference sentences, or with its output for " +
    "another sentence. It does not depend on these weights. Without the switch it would be the weighted sum of the " +
    "rows of V (equation 1, section 3.2.1).",
  tell_more_values:
    "If almost all the weight is on one key, its value is passed on nearly unchanged; equal weights average the " +
    "values. A large weight on a short value passes on little: weights alone do not tell what a head contributes.",

  tell_concat:
    "No number changes: the outputs of {heads_named}, {d_head} numbers each, are placed side by side, head 1 first: " +
    "{d_model} numbers per token (section 3.2.2).",
  tell_more_concat:
    "In code this is a transpose and a reshape: [batch, head, query, d_v] becomes [batch, query, h · d_v]. Because h " +
    "· d_v = d_model, W^O is square.",

  tell_output:
    "Times W^O, plus b^O: every column of the result combines all {heads_named} (section 3.2.2). This is " +
    "Sublayer(x), which is then added to x.",
  tell_output_alone:
    "Times W^O, plus b^O: every column of the result combines all {heads_named} (section 3.2.2). This is " +
    "Sublayer(x). It replaces x: there is no residual connection that adds the two, as in section 3.1.",
  tell_more_output:
    "W^O can be cut into {heads} blocks of {d_head} rows. Then Concat(head_1, …, head_h) W^O is the sum of every " +
    "head's output times its block: the heads add up, and the contribution of each head can be studied alone.",

  tell_add:
    "The residual connection (section 3.1): the output of the sub-layer is added to its input x, number by number. " +
    "In training, dropout is applied to that output first (section 5.4).",
  tell_add_pre:
    "The residual connection (section 3.1): the output of the sub-layer is added to its input x, number by number. " +
    "With pre-norm this sum is the result; nothing normalises x before the end of the stack.",
  tell_add_none:
    "The residual connection (section 3.1): the output of the sub-layer is added to its input x, number by number. " +
    "This sum is the result: the model has no LayerNorm, where the paper has LayerNorm(x + Sublayer(x)).",
  tell_add_skipped:
    "A switch of the lab removes this sub-layer: its output is set to 0, so the sum is x itself, which the residual " +
    "connection carries past the sub-layer (section 3.1).",
  tell_more_add:
    "A sum needs equal widths: therefore all sub-layers and the embeddings return d_model = {d_model} numbers " +
    "(section 3.1). The connection comes from residual networks (He et al. 2016): gradients flow around the " +
    "sub-layer as well as through it, and a sub-layer with a small output changes little.",

  // -- steps of feed-forward -----------------------------------------------------------------------------------------
  tell_inner:
    "Each row times W_1, plus b_1: from d_model = {d_model} to d_ff = {d_ff} numbers, the neurons (equation 2, " +
    "section 3.3). The same matrices serve every position; every layer has its own.",
  tell_inner_pre:
    "Each row of z = LayerNorm(x) times W_1, plus b_1: from d_model = {d_model} to d_ff = {d_ff} numbers, the " +
    "neurons (equation 2, section 3.3). The same matrices serve every position; every layer has its own.",
  tell_more_inner:
    "“Another way of describing this is as two convolutions with kernel size 1” (section 3.3). In the paper's base " +
    "and big models d_ff is 4 times d_model; here it is {ratio} times d_model.",
  tell_activation_relu:
    "max(0, ·): negative numbers become 0, the others do not change (equation 2, section 3.3). A neuron that is 0 " +
    "adds nothing to its token.",
  tell_activation_gelu:
    "GELU, z · Φ(z), where Φ is the distribution function of the normal distribution (Hendrycks and Gimpel 2016), " +
    "replaces the paper's max(0, ·) (equation 2, section 3.3): large numbers hardly change, very negative numbers " +
    "become 0, and the curve has no kink.",
  tell_activation_swish:
    "Swish, z · σ(z), where σ(z) = 1 ÷ (1 + e to the power of −z) is the logistic function (Ramachandran et al. " +
    "2017), replaces the paper's max(0, ·) (equation 2, section 3.3): large numbers hardly change, very negative " +
    "numbers become 0, and the curve has no kink.",
  tell_more_activation:
    "Without a non-linear function between them, W_1 and W_2 would act as one matrix. The page “Feed-forward” shows " +
    "which neurons of this model are active on which tokens.",
  tell_outer:
    "Times W_2, plus b_2: back from {d_ff} to {d_model} numbers (equation 2, section 3.3). Each neuron adds its row " +
    "of W_2, times its activation. This is Sublayer(x), which is then added to x.",
  tell_outer_alone:
    "Times W_2, plus b_2: back from {d_ff} to {d_model} numbers (equation 2, section 3.3). Each neuron adds its row " +
    "of W_2, times its activation. This is Sublayer(x). It replaces x: there is no residual connection that adds the " +
    "two, as in section 3.1.",
  tell_update_skipped:
    "A switch of the lab removes this sub-layer: its output is set to 0. This model has no residual connection that " +
    "carries x past it (section 3.1 has one), so nothing of x goes on.",
  tell_more_outer:
    "In this reading, a column of W_1 is what a neuron responds to, and its row of W_2 is what it then adds. Geva et " +
    "al. (2021) call them the keys and values of a memory.",

  // -- from afar -----------------------------------------------------------------------------------------------------
  tell_model_source:
    "Here the sentence goes in, as {n} tokens. Each token becomes a row of {d_model} numbers, its embedding, and its " +
    "position is added (sections 3.4 and 3.5).",
  tell_model_encoder_self:
    "Layer {layer} of {layers}. Each source token attends to all source tokens, in {heads_named} at once, and adds " +
    "the result to its row (sections 3.1 and 3.2.3).",
  tell_model_ff:
    "Layer {layer} of {layers}. Each row passes through {d_ff} neurons by itself and adds the result (sections 3.1 " +
    "and 3.3).",
  tell_model_encoder_self_alone:
    "Layer {layer} of {layers}. Each source token attends to all source tokens, in {heads_named} at once, and the " +
    "result replaces its row: this model has no residual connections (sections 3.1 and 3.2.3).",
  tell_model_ff_alone:
    "Layer {layer} of {layers}. Each row passes through {d_ff} neurons by itself, and the result replaces it: this " +
    "model has no residual connections (sections 3.1 and 3.3).",
  tell_model_target:
    "The decoder is fed the target so far: the target shifted right by one, beginning with {start} (section 3.1).",
  tell_model_decoder_self:
    "Layer {layer} of {layers}. Each token attends to itself and to the tokens before it; the mask hides the tokens " +
    "after it (section 3.2.3).",
  tell_model_decoder_self_off:
    "Layer {layer} of {layers}. A switch has removed the causal mask: each token attends to all tokens, including " +
    "those after it, which the paper's mask hides (section 3.2.3).",
  tell_model_decoder_self_bare:
    "Layer {layer} of {layers}. Each token attends to all tokens that the decoder is fed, including those after it: " +
    "this model was made without the mask that hides them in the paper (section 3.2.3).",
  tell_model_decoder_cross:
    "Layer {layer} of {layers}. Each target token attends to the encoder's output, {m} rows: here the decoder reads " +
    "the source sentence (section 3.2.3).",
  tell_model_output:
    "The row of the step shown is compared with every row of the embedding table. A softmax turns the results into a " +
    "probability for each of the {vocab} tokens (section 3.4). The chosen token is the next input.",
  tell_model_output_own:
    "The row of the step shown is compared with every row of the output matrix. A softmax turns the results into a " +
    "probability for each of the {vocab} tokens; the paper uses the embedding table here (section 3.4). The chosen " +
    "token is the next input.",
  tell_more_model:
    "How to read it: a strip has one row per token, {d_model} numbers wide, coloured by value; bands carry the rows " +
    "from box to box. The encoder runs along the bottom, the decoder along the top. The layers behind the open one " +
    "have the same shape and their own weights; the paper has N = 6 of each (section 3.1).",
  tell_more_model_alone:
    "How to read it: a strip has one row per token, {d_model} numbers wide, coloured by value; bands carry the rows " +
    "from box to box. No line goes around a box: this model has no residual connections (section 3.1 has them). The " +
    "encoder runs along the bottom, the decoder along the top. The layers behind the open one have the same shape " +
    "and their own weights.",
  tell_layer_encoder_self:
    "The first of the two sub-layers of an encoder layer: self-attention with {heads_named}. Queries, keys and " +
    "values are all computed from the output of the layer before (sections 3.1 and 3.2.3).",
  tell_layer_encoder_ff:
    "The second of the two sub-layers of an encoder layer: a network of {d_ff} neurons, the same for every token " +
    "(sections 3.1 and 3.3).",
  tell_layer_decoder_self:
    "The first of the three sub-layers of a decoder layer: self-attention with {heads_named}, masked so that no " +
    "token sees a later one (sections 3.1 and 3.2.3).",
  tell_layer_decoder_self_off:
    "The first of the three sub-layers of a decoder layer: self-attention with {heads_named}. A switch has removed " +
    "its causal mask: tokens see later tokens (sections 3.1 and 3.2.3).",
  tell_layer_decoder_self_bare:
    "The first of the three sub-layers of a decoder layer: self-attention with {heads_named}. This model was made " +
    "without the causal mask: tokens see later tokens (sections 3.1 and 3.2.3).",
  tell_layer_decoder_cross:
    "The second of the three sub-layers of a decoder layer: queries are computed from the decoder's rows, keys and " +
    "values from the encoder's output (sections 3.1 and 3.2.3). The encoder has no such sub-layer.",
  tell_layer_decoder_ff:
    "The last of the three sub-layers of a decoder layer: a network of {d_ff} neurons, the same for every token " +
    "(sections 3.1 and 3.3).",
  tell_more_layer:
    "Around each sub-layer there is a residual connection with LayerNorm: LayerNorm(x + Sublayer(x)) (section 3.1). " +
    "All layers of a stack have the same structure but share no weights.",
  tell_more_layer_pre:
    "Around each sub-layer there is a residual connection. Here LayerNorm comes before the sub-layer, x + " +
    "Sublayer(LayerNorm(x)); the paper has LayerNorm(x + Sublayer(x)) (section 3.1). All layers of a stack have the " +
    "same structure but share no weights.",
  tell_more_layer_none:
    "Around each sub-layer there is a residual connection, x + Sublayer(x). The paper normalises that sum, " +
    "LayerNorm(x + Sublayer(x)) (section 3.1); this model has no LayerNorm. All layers of a stack have the same " +
    "structure but share no weights.",
  tell_more_layer_alone:
    "Nothing goes around the sub-layers here: each returns LayerNorm(Sublayer(x)), where the paper has LayerNorm(x + " +
    "Sublayer(x)) (section 3.1). All layers of a stack have the same structure but share no weights.",
  tell_more_layer_pre_alone:
    "Nothing goes around the sub-layers here: each returns Sublayer(LayerNorm(x)), where the paper has LayerNorm(x + " +
    "Sublayer(x)) (section 3.1). All layers of a stack have the same structure but share no weights.",
  tell_more_layer_none_alone:
    "Here the sub-layers simply follow one another: each returns Sublayer(x), where the paper has LayerNorm(x + " +
    "Sublayer(x)) (section 3.1). All layers of a stack have the same structure but share no weights.",
};
