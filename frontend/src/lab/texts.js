import { SHARED_TEXTS } from "../state/texts.js";

// Notes about switches, also of the anatomy.
export const NOTE_TEXTS = {
  uncausal:
    "This model was trained without the causal mask: its decoder self-attention sees all tokens that are fed, also " +
    "later ones (section 3.2.3). The switch for this mask changes nothing here.",
  silent:
    "Every head is knocked out in {layers}. There the sub-layer returns only the bias of W_O, and the residual " +
    "connection carries x past it (section 3.1).",
  silent_without_residual:
    "Every head is knocked out in {layers}. There the sub-layer returns only the bias of W_O. This model has no " +
    "residual connection to carry x past it (section 3.1 has one), so nothing of x remains.",
};

// Titles and explanations of the cards that are only on or off.
const OFF_TEXTS = Object.fromEntries(Object.entries(SHARED_TEXTS).filter(([name]) => name.startsWith("lab_")));

// The lab's texts.
export const LAB_TEXTS = {
  ...OFF_TEXTS,
  lab: "Masking and scaling lab",
  lab_switches: "Switches",
  lab_on: "on",
  lab_off: "off",
  lab_where: "where",
  lab_everywhere: "everywhere",
  lab_where_kind: "{kind}, all layers",
  lab_where_layer: "{kind}, layer {layer}",
  lab_where_head: "{kind}, layer {layer}, head {head}",
  lab_more: "and {n} more",
  lab_more_title: "{list}. Click to remove them.",
  lab_scaling: "Scaling",
  lab_scaling_title:
    "The scores before the softmax are q·k times this factor. The paper uses 1/√dₖ (equation 1); 1 means no scaling.",
  lab_scaling_factor: "Factor of q·k",
  lab_scaling_mark: "1/√{d}",
  lab_scaling_value: "× {factor}",
  lab_causal_none:
    "This model was made without the causal mask, so there is no mask to switch off: its decoder self-attention also " +
    "sees later tokens (section 3.2.3).",
  lab_pads: "pad tokens after the source",
  lab_weights: "Weights",
  lab_weights_title: "The softmax of the scores, equal weights on all visible keys, or all weight on the best key.",
  lab_softmax: "softmax",
  lab_uniform: "uniform",
  lab_argmax: "argmax",
  lab_zero: "Knock out heads",
  lab_zero_title:
    "A knocked-out head adds nothing: its output is set to 0 before W_O (section 3.2.2). Switch this on and click " +
    "heads, or press X for the chosen head.",
  lab_zero_click: "click heads to switch them",
  lab_zero_none: "no head knocked out",
  lab_zero_one: "1 head knocked out",
  lab_zero_count: "{n} heads knocked out",
  lab_zero_clear: "restore all",
  lab_resample: "Head outputs",
  lab_resample_title:
    "What a head passes on to W_O: its own output; its mean over all tokens of the reference sentences (mean " +
    "ablation); or its output for another sentence, token by token (resample ablation; a shorter sentence starts " +
    "again). Zero removes a head; these remove only what it says about this sentence.",
  lab_own: "own",
  lab_mean: "mean",
  lab_other: "other sentence",
  lab_resample_text: "Sentence to take the output from",
  lab_resample_hint: "a sentence, or draw one",
  lab_resample_seed: "Seed that draws one of the reference sentences",
  lab_resample_number: "seed",
  lab_hide: "Hide tokens",
  lab_hide_title: "No query can attend to a hidden token. The token keeps its own row.",
  lab_hide_add: "choose a token",
  lab_hide_source: "source {n} · {token}",
  lab_hide_target: "fed in {n} · {token}",
  lab_hide_remove: "{token}: show again",
  lab_try: "Try:",
  lab_try_scaling: "Scaling off",
  lab_try_bias: "Position bias off",
  lab_try_causal: "Causal mask off",
  lab_try_padding: "Padding mask off",
  lab_try_uniform: "Uniform weights",
  lab_try_head: "This head out",
  lab_cards: "All switches",
  lab_reset: "Put back",
  lab_says_saturated:
    "The softmax of scores that are not divided by {root} is **saturated**: " +
    "its gradient (1 − Σp²) falls from {gradient_before} to **{gradient}**.",
  lab_says_sharper:
    "The largest weight of a row grows from **{largest_before}** to **{largest}** on average. In this head " +
    "**{saturated}** of the rows are saturated (above 0.99); before **{saturated_before}**.",
  lab_says_training:
    "Models that reverse letters, trained without √dₖ: **{unscaled}%** right; with it, **{scaled}%** ({seeds} seeds).",
  lab_says_causal:
    "**{share}** of this head's weight goes to later tokens. When the model writes a translation, these do not exist " +
    "yet.",
  lab_says_causal_other:
    "The causal mask belongs to the decoder's self-attention: choose it to see its weights. Here, weights change only " +
    "because the decoder's input to this layer changed.",
  lab_says_padding: "**{share}** of this head's weight goes to the {pads} tokens <pad>, which mean nothing.",
  lab_says_padding_other:
    "The decoder's self-attention sees no <pad>: choose encoder self-attention or cross-attention to see the weights " +
    "on <pad>.",
  lab_says_uniform:
    "The largest weight of a row falls from **{largest_before}** to **{largest}** on average: the head selects nothing.",
  lab_says_out:
    "**{title}** is knocked out: its weights are still computed, but its output is 0. The translation shows whether " +
    "the model misses it.",
  lab_says_replaced:
    "The output of **{title}** is replaced: its weights are still computed, but what it passes on does not depend on " +
    "this sentence. The translation shows whether the model misses it.",
  lab_says_changed:
    "In this head, the largest weight of a row goes from **{largest_before}** to **{largest}** on average, and the " +
    "share of saturated rows (above 0.99) from **{saturated_before}** to **{saturated}**.",
  lab_says_trained:
    "As trained: the largest weight of a row is **{largest}** on average, and **{saturated}** of this head's rows are " +
    "saturated (above 0.99). Press a button to switch one part of attention off.",
  lab_says_nothing: "No row of this head sees two tokens, so it has nothing to select.",
  lab_row: "One row: “{token}”",
  lab_row_hint: "click a row of a head to see it here",
  lab_row_earlier:
    "The switch acts in every layer, so what reaches this head has changed, too: its scores do not just grow by √dₖ.",
  lab_row_most: "changes most",
  lab_row_scores: "scores",
  lab_row_weights: "softmax → weights",
  lab_row_before: "before",
  lab_row_after: "after",
  lab_row_change: "{before} → {after}",
  lab_row_left: "and {n} more tokens with smaller weights",
  lab_row_tip_before: "before: score {score}, weight {weight}",
  lab_row_tip_after: "after: score {score}, weight {weight}",
  lab_row_none: "Choose one head, not a mean, to see the scores and weights of one row.",
  lab_row_label:
    "Row “{row}” of {title}, before and after: scores of {n} tokens, and the weights that the softmax makes",
  lab_shown: "Picture shown",
  lab_all_heads: "All heads: {side}",
  lab_wrote_changed: "With {switches}, the translation **changes**:",
  lab_wrote_same: "With {switches}, the translation **stays the same**:",
  // What a button of the row "Try" did; then what the model writes.
  lab_did_scaling:
    "Scaling, a division of the scores by {root}, spreads attention. It is off: in **{saturated}** of the rows, over 99% " +
    "goes to one word (before: {saturated_before}).",
  lab_did_bias: "Without the position bias, self-attention does not know how far apart two words are.",
  lab_did_causal: "Without the causal mask, each output word also sees the words after it.",
  lab_did_padding: "Without the padding mask, words also look at <pad>, a filler without meaning.",
  lab_did_uniform: "With uniform weights, every head looks at all words alike.",
  lab_did_head: "One attention head is switched off.",
  lab_writes_changed: "The translation **changes**:",
  lab_writes_same: "The translation **stays the same**:",
  lab_wrote_trained: "As trained. Press a button: does the translation change?",
  lab_caption: "{kind}, {title}: {switches}",
  lab_csv_before: "before",
  lab_csv_after: "after: {switches}",
  lab_csv_difference: "difference",
  lab_pane: "{pane}: {label}",
  lab_before: "Before",
  lab_before_about: "as trained",
  lab_after: "After",
  lab_after_about: "fed the words of Before",
  lab_after_none: "no switch is set: the same picture",
  lab_difference: "Difference",
  lab_difference_about: "after − before",
  lab_difference_none: "no weight of this kind changed",
  lab_was: "before {value}",
  lab_is: "after {value}",
  lab_changed_gained: "difference +{value}: gained",
  lab_changed_lost: "difference −{value}: lost",
  lab_changed_none: "difference {value}",
  lab_out: "knocked out: its output is 0, whatever its weights are",
  lab_replaced: "its output is replaced, whatever its weights are",
  lab_weight: "One attention head: each row is a word, dark where it looks",
  lab_legend_difference: "Difference: from {low}, with a minus in the cell, to {high}",
  lab_lost: "−1 lost",
  lab_gained: "+1 gained",
  lab_same:
    "No weight of this kind changed. The switches act on other kinds, or only on what follows the weights (a " +
    "knocked-out or replaced head keeps its weights).",
  lab_same_padding: "No weight changed: the source has no <pad>. Add some after the source.",
  lab_masked_pads: "<pad> after the source is hidden by the mask: nothing changes",
  lab_saturated: "rows in which one word takes over 99%:",
  lab_saturated_title:
    "Share of the rows whose largest weight is above 0.99: they are saturated, and pass less than 0.02 of gradient",
  lab_largest_change: "largest change",
  lab_knock: "{title}: {state}",
  lab_state_out: "knocked out",
  lab_state_in: "restored",
};
