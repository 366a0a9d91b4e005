"""Texts that Python and the browser both write, by name: `generate` puts those of pictures into
frontend/src/state/texts.js, and those of pages into frontend/src/site/pages/texts.js."""

from transformer.interventions.sets import SWITCHES
from transformer.interventions.switch import OffSwitch
from transformer.texts import N_, translate

# NAME_in: the same for some heads instead of all.
SHARED_TEXTS: dict[str, str] = {
    # -- names of heads
    "encoder_self": N_("encoder self-attention"),
    "decoder_self": N_("decoder self-attention"),
    "cross": N_("cross-attention"),
    "kind_layer": N_("{kind}, layer {layer}"),
    "kind_head": N_("{kind}, head {head} of every layer"),
    "kind_layer_head": N_("{kind}, layer {layer}, head {head}"),
    "layer": N_("layer {layer} of every attention"),
    "head": N_("head {head} of every layer"),
    "layer_head": N_("layer {layer}, head {head} of every attention"),
    "places": N_("{count} places"),
    "list": N_("{first}; {second}"),
    "and": N_("{first} and {last}"),
    # -- switches
    "scaling_off": N_("scaling off"),
    "scaling_off_in": N_("scaling off in {heads}"),
    "scaling": N_("scores × {factor}"),
    "scaling_in": N_("scores × {factor} in {heads}"),
    **{name: text for sort in SWITCHES if issubclass(sort, OffSwitch) for name, text in sort.texts().items()},
    "pad": N_("{count} <pad> after the source"),
    "hide_source_one": N_("token {tokens} of the source hidden"),
    "hide_source_some": N_("tokens {tokens} of the source hidden"),
    "hide_source_many": N_("{count} tokens of the source hidden"),
    "hide_target_one": N_("token {tokens} of the target hidden"),
    "hide_target_some": N_("tokens {tokens} of the target hidden"),
    "hide_target_many": N_("{count} tokens of the target hidden"),
    "hide_in": N_("{hidden} in {heads}"),
    "mean": N_("every head at its mean"),
    "mean_in": N_("heads at their mean in {heads}"),
    "drawn": N_("every head's output from a sentence drawn with seed {seed}"),
    "drawn_in": N_("head outputs from a sentence drawn with seed {seed} in {heads}"),
    "resample": N_("every head's output from another sentence"),
    "resample_in": N_("head outputs from another sentence in {heads}"),
    "zero": N_("every head knocked out"),
    "zero_in": N_("heads knocked out in {heads}"),
    "zero_one": N_("1 head knocked out"),
    "zero_one_in": N_("1 head knocked out: {heads}"),
    "zero_some": N_("{count} heads knocked out"),
    "zero_some_in": N_("{count} heads knocked out: {heads}"),
    "zero_all_in": N_("{count} heads knocked out in {heads}"),
    "uniform": N_("weights uniform"),
    "uniform_in": N_("weights uniform in {heads}"),
    "argmax": N_("weights argmax"),
    "argmax_in": N_("weights argmax in {heads}"),
    "skip_many": N_("{count} sub-layers left out"),
    "skip": N_("left out: {sub_layers}"),
    "encoder_self_part": N_("self-attention, encoder layer {layer}"),
    "encoder_ff_part": N_("feed-forward, encoder layer {layer}"),
    "decoder_self_part": N_("self-attention, decoder layer {layer}"),
    "decoder_cross_part": N_("cross-attention, decoder layer {layer}"),
    "decoder_ff_part": N_("feed-forward, decoder layer {layer}"),
    "neurons_encoder_one": N_("neuron {neurons} of encoder layer {layer} silenced"),
    "neurons_encoder_some": N_("{count} neurons of encoder layer {layer} silenced"),
    "neurons_decoder_one": N_("neuron {neurons} of decoder layer {layer} silenced"),
    "neurons_decoder_some": N_("{count} neurons of decoder layer {layer} silenced"),
    "remove_source": N_("no positions in the source"),
    "remove_target": N_("no positions in the target"),
    "remove_both": N_("no positions"),
    "shuffle_source": N_("positions of the source shuffled"),
    "shuffle_target": N_("positions of the target shuffled"),
    "shuffle_both": N_("positions of both sides shuffled"),
    "reverse_source": N_("positions of the source reversed"),
    "reverse_target": N_("positions of the target reversed"),
    "reverse_both": N_("positions of both sides reversed"),
    "shift_source": N_("positions of the source shifted by {amount}"),
    "shift_target": N_("positions of the target shifted by {amount}"),
    "shift_both": N_("positions of both sides shifted by {amount}"),
    "scale_source": N_("positions of the source × {amount}"),
    "scale_target": N_("positions of the target × {amount}"),
    "scale_both": N_("positions of both sides × {amount}"),
    "more_switches": N_("{count} more switches"),
    "no_switches": N_("no switches"),
    # -- parts of the Lab
    "part_compare": N_("Before and after"),
    "part_measures": N_("Every head in numbers"),
    "part_scaling": N_("Why √dₖ"),
    "part_softmax": N_("Softmax by hand"),
    "part_encoding": N_("The encoding"),
    "part_distance": N_("Distance and shift"),
    # -- what a picture says of its trace
    "no_mask": N_("Decoder self (no mask)"),
    "mask_off": N_("Decoder self (mask off)"),
    "mask_partly_off": N_("Decoder self (mask partly off)"),
    "chip_uncausal": N_("{token}: probability {p}, with the whole target in sight"),
    "sentences": N_("{source} → {target}"),
    "switched": N_("Switched: {switches}"),
}

# Of pages alone: of the app and of the site without a server. **bold** and *italic* words are marked.
PAGE_TEXTS: dict[str, str] = {
    "about": N_("What am I looking at?"),
    "waiting": N_("Switches of the Lab are on. They have no effect here: this part shows the model as it was trained."),
    "waiting_page": N_(
        "Switches of the Lab are on. They have no effect on this page, which shows the model as it was trained."
    ),
    "others": N_("Switches of other pages have no effect here: {switches}."),
    # -- the page Heads
    "heads_lead": N_(
        "Each square is one attention head of the Transformer that reads your sentence. Press one, then a cell."
    ),
    "first_lead": N_(
        "Type a sentence. A Transformer translates it while you type. The lines show where it looks, in "
        "one of its {n} ways (cross-attention heads): the thicker, the more."
    ),
    "first_start": N_("Start the 10-minute lesson"),
    "about_squares": N_(
        "Every small square is one **head**. Each row is a query token, each column a key token. The "
        "stronger the colour of a cell, the more of that key's value flows to the query. A row sums to 1."
    ),
    "about_kinds": N_(
        "*Encoder self*: source tokens attend to source tokens. *Decoder self*: each target token attends to "
        "itself and to earlier target tokens; a mask hides the later ones. *Cross*: target tokens attend to the "
        "source. A decoder row is one step: the decoder is fed one token and predicts the next. **Rows** chooses "
        "which of the two labels the row. Attention Is All You Need, sections 3.2.1 to 3.2.3."
    ),
    "about_kinds_uncausal": N_(
        "*Encoder self*: source tokens attend to source tokens. *Decoder self*: target tokens attend to all "
        "target tokens that are fed, also to later ones: this model was trained without the causal mask of the "
        "paper. *Cross*: target tokens attend to the source. A decoder row is one step: the decoder is fed one "
        "token and predicts the next. **Rows** chooses which of the two labels the row. Attention Is All You "
        "Need, sections 3.2.1 to 3.2.3."
    ),
    "about_formation": N_(
        "**How it learned** shows the same attention at recorded states of the training, from random weights "
        "to the finished model, with BLEU and loss on the validation text. The recorded steps are log-spaced. "
        "The target is the same at every state; *Output* is the translation that the model of that state "
        "makes. *Formed at steps* is computed from these states: the first state at which a head has its "
        "largest weight on a paired word, or on the token before or after, in at least half of the rows, and "
        "in twice as many rows as any untrained head. Nothing was recorded between two states."
    ),
    # -- the page Anatomy
    "about_anatomy": N_(
        "The path of one sentence through the whole model. It enters at the bottom left: every token becomes a "
        "row of numbers, and every sub-layer of the **encoder** reads these rows and adds to them. The "
        "**decoder** does the same with the tokens written so far, attends to the encoder's output through "
        "**cross-attention**, and predicts the next token at the top right. Every number is the one this model "
        "computed for this sentence; strips at the zooms *model* and *layer* are rounded to 8 bits for display."
    ),
    "about_anatomy_without_residual": N_(
        "The path of one sentence through the whole model. It enters at the bottom left: every token becomes a "
        "row of numbers, and every sub-layer of the **encoder** replaces these rows: this model has no "
        "residual connections. The **decoder** does the same with the tokens written so far, attends to the "
        "encoder's output through **cross-attention**, and predicts the next token at the top right. Every number "
        "is the one this model computed for this sentence; strips at the zooms *model* and *layer* are rounded to "
        "8 bits for display."
    ),
    "about_anatomy_use": N_(
        "Click a box to zoom in, and use the arrow keys for the next step. **Switches** below the drawing are "
        "those of the lab; what they change is marked. Attention Is All You Need, sections 3.1 to 3.5."
    ),
    "no_anatomy": N_(
        "The drawing computes the paper's parts, number by number. This model has parts of T5 instead: relative "
        "positions, RMSNorm or a gated feed-forward network. All other pages show it."
    ),
    "no_encodings": N_("{model} has no such encodings: it adds a number for the distance to each score."),
    # -- the page Lab
    "about_lab": N_(
        "**Before** is the model as it was trained. **After** is the same model with your switches. Both read the "
        "same tokens, so you can compare them cell by cell; the **difference** is after minus before. What the "
        "switched model writes by itself stands above the pictures."
    ),
    "about_lab_switches": N_(
        "**Scaling** changes the factor of QKᵀ. **Masks** put −∞ into M: the causal mask where a key lies in the "
        "future, the padding mask where a key is <pad>. **Weights** replaces the result of the softmax. A head "
        "that is **knocked out** puts zeros into the concatenation; **head outputs** puts its mean there, or its "
        "output for another sentence. Attention Is All You Need, sections 3.2.1 to 3.2.3."
    ),
    # -- what switches do to the translation
    "effect": N_("The translation, word by word"),
    "wrote_only": N_("No switches"),
    "wrote_before": N_("Before: no switches"),
    "wrote_after": N_("After: {switches}"),
    "words_only": N_(
        "Bar and number: the probability of each word. Set a switch to see its translation beside this one."
    ),
    "words_differ": N_("Framed and bold: the words that differ. Bar and number: the probability of each word."),
    "words_same": N_("No word differs. Bar and number: the probability of each word."),
    "cut_before": N_("Without switches the translation did not end within {limit} tokens and was cut off."),
    "cut_after": N_("With these switches the translation did not end within {limit} tokens and was cut off."),
    "blind": N_("The first decoding step sees only the start token. To go on, undo this: {hidden}."),
    "blind_causal": N_(
        "The first decoding step sees only the start token, and so does the first row under the causal mask. To "
        "go on, undo this: {hidden}."
    ),
    "before": N_("before"),
    "after": N_("after"),
    "perplexity_own": N_("Perplexity of the original translation"),
    "perplexity_given": N_("Perplexity of your target"),
    "per_token": N_("Probability per generated token"),
    "repetition": N_("Repetition, seq-rep-4"),
    "measured": N_(
        "Perplexity: exp of the mean −ln p per token, </s> included, teacher-forced. Probability per token: "
        "the geometric mean. seq-rep-4: the share of 4-token sequences that appeared before."
    ),
    "rescaled": N_("{changed} of {count} words of this translation differ, and perplexity changed by {perplexity}."),
    "rescaled_off": N_("This model was trained with scaling, so switching it off now only makes its softmax sharper."),
    "rescaled_larger": N_(
        "This model was trained with scaling, so a larger factor now only makes its softmax sharper."
    ),
    "rescaled_smaller": N_(
        "This model was trained with scaling, so a smaller factor now only makes its softmax flatter."
    ),
    "rescaled_mixed": N_(
        "This model was trained with scaling, so other factors now only change how sharp its softmax is."
    ),
    "rescaled_paper": N_("The paper's argument is about training (section 3.2.1); “Why √dₖ” shows the gradient."),
    "exact": N_("Exactly right outputs of small models (task reverse)"),
    "exact_scaled": N_("trained with the division by √dₖ"),
    "exact_unscaled": N_("trained without it"),
    "mean_of_seeds": N_("mean"),
    "seed": N_("seed {seed}"),
}


def say(name: str, **values: object) -> str:
    """One of these texts in the reader's language."""
    return translate(SHARED_TEXTS.get(name) or PAGE_TEXTS[name], **values)
