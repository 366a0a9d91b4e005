"""The paper, section by section, and where the app shows each of its points. Nothing else lists this."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from transformer.texts import _


@dataclass(frozen=True)
class View:
    """A link to what the app shows.

    page: its folder. params: as in links. label: what one sees there. boxes: those of Figures 1 and 2 that open it, by
    their names in frontend/src/paper/layout.js. recorded: only a model with a recording of its training has it.
    """

    page: str
    label: str
    params: Mapping[str, str] = field(default_factory=dict)
    boxes: tuple[str, ...] = ()
    recorded: bool = False


@dataclass(frozen=True)
class Item:
    """A section, equation, table or figure of the paper.

    name: for links of the figures and tests, "3.2.1". title: as in the paper. point: one sentence. equation: LaTeX.
    """

    name: str
    title: str
    point: str
    views: tuple[View, ...] = ()
    equation: str = ""


def _anatomy(place: str, step: str) -> dict[str, str]:
    return {"zoom": "sub", "place": place, "step": step}


def items() -> tuple[Item, ...]:
    """In the order of the paper."""
    return (
        Item(
            "1",
            _("1 Introduction"),
            _(
                "A recurrent network reads one token after the other, and without attention it hands the decoder one "
                "vector for a whole sentence. A Transformer reads all tokens at once, by attention alone."
            ),
            (View("anatomy", _("Before the Transformer"), {"part": "before"}),),
        ),
        Item(
            "2",
            _("2 Background"),
            _("Self-attention relates all positions of one sequence in a constant number of steps."),
            (View("anatomy", _("How it compares with other layers"), {"part": "compare"}),),
        ),
        Item(
            "3.1",
            _("3.1 Encoder and decoder stacks"),
            _(
                "Every sub-layer adds its result to its input and normalises the sum, so that the input stays in the "
                "output."
            ),
            (
                View("anatomy", _("The whole model, step by step"), {"zoom": "model"}),
                View(
                    "embeddings", _("Residual stream: what each sub-layer adds"), {"part": "residual"}, boxes=("add",)
                ),
                View("embeddings", _("LayerNorm of one token"), {"part": "layernorm"}),
                View("embeddings", _("Logit lens: what each layer would predict"), {"part": "lens"}),
            ),
            r"\mathrm{LayerNorm}(x + \mathrm{Sublayer}(x))",
        ),
        Item(
            "3.2.1",
            _("3.2.1 Scaled dot-product attention (Figure 2, left; equation 1)"),
            _(
                "Each query gets a weighted mean of the values; the weights are the softmax of its products with the "
                "keys. Dividing by √dₖ keeps the softmax from saturating."
            ),
            (
                View(
                    "anatomy",
                    _("One head in numbers"),
                    _anatomy("decoder.cross", "softmax"),
                    boxes=("scores", "values"),
                ),
                View("lab", _("Why √dₖ"), {"part": "scaling"}, boxes=("scale",)),
                View("lab", _("Softmax by hand"), {"part": "softmax"}, boxes=("softmax_by_hand",)),
                View("lab", _("Switch the scaling off"), {"scaling": "off"}),
            ),
            r"\mathrm{Attention}(Q, K, V) = \mathrm{softmax}\!\left(\frac{QK^\top}{\sqrt{d_k}}\right) V",
        ),
        Item(
            "3.2.2",
            _("3.2.2 Multi-head attention (Figure 2, right)"),
            _(
                "Several heads attend at the same time, each with its own projections. Each can look for something "
                "else."
            ),
            (
                View("heads", _("All heads"), {"kind": "all", "layer": "all", "head": "all"}, boxes=("heads",)),
                View(
                    "anatomy", _("From the heads to the output"), _anatomy("encoder.self", "concat"), boxes=("concat",)
                ),
                View(
                    "anatomy",
                    _("The projections of a head"),
                    _anatomy("encoder.self", "project"),
                    boxes=("projections",),
                ),
                View("lab", _("Every head in numbers"), {"part": "measures"}),
            ),
            r"\begin{aligned}\mathrm{MultiHead}(Q, K, V) &= "
            r"\mathrm{Concat}(\mathrm{head}_1, \dots, \mathrm{head}_h)\, W^O\\"
            r"\mathrm{head}_i &= \mathrm{Attention}(QW_i^Q, KW_i^K, VW_i^V)\end{aligned}",
        ),
        Item(
            "3.2.3",
            _("3.2.3 Applications of attention"),
            _(
                "The encoder attends to the source, the decoder to its own earlier tokens, since a mask hides later "
                "ones, and the decoder to the encoder."
            ),
            (
                View("heads", _("Encoder self-attention"), {"kind": "encoder_self"}, boxes=("encoder_attention",)),
                View("heads", _("Masked decoder self-attention"), {"kind": "decoder_self"}, boxes=("masked",)),
                View("heads", _("Cross-attention"), {"kind": "cross"}, boxes=("cross",)),
                View("lab", _("The mask off: the leak"), {"part": "leak"}, boxes=("mask",)),
            ),
        ),
        Item(
            "3.3",
            _("3.3 Position-wise feed-forward networks (equation 2)"),
            _("The same two-layer network is applied to each token on its own."),
            (
                View(
                    "feedforward",
                    _("Its activations"),
                    {"part": "activity"},
                    boxes=("encoder_feedforward", "decoder_feedforward"),
                ),
                View("feedforward", _("Position-wise: one token changes"), {"part": "position"}),
                View("feedforward", _("Single neurons"), {"part": "neurons"}),
                View("feedforward", _("The non-linearity"), {"part": "nonlinearity"}),
                View("feedforward", _("Neurons switched off"), {"part": "knock"}),
                View("anatomy", _("Step by step"), _anatomy("encoder.ff", "inner")),
            ),
            r"\mathrm{FFN}(x) = \max(0,\, xW_1 + b_1)\, W_2 + b_2",
        ),
        Item(
            "3.4",
            _("3.4 Embeddings and softmax"),
            _(
                "Tokens become vectors, multiplied by √d_model. The same matrix turns the last vector into scores for "
                "the next token."
            ),
            (
                View("embeddings", _("Lengths of the vectors"), {"part": "norms"}),
                View("embeddings", _("Nearest neighbours"), {"part": "neighbours"}),
                View("embeddings", _("A map of the words"), {"part": "map"}, boxes=("source", "target")),
                View(
                    "embeddings",
                    _("From the last vector to the next token"),
                    {"part": "output"},
                    boxes=("linear", "softmax"),
                ),
            ),
        ),
        Item(
            "3.5",
            _("3.5 Positional encoding"),
            _("Attention alone does not know the order of tokens; sines and cosines of the position tell it."),
            (
                View("positions", _("The encoding"), {"part": "encoding"}, boxes=("positions",)),
                View("positions", _("Distance and shift"), {"part": "distance"}),
                View("positions", _("Learned positions"), {"part": "learned"}),
                View("positions", _("Without order"), {"part": "order"}),
                View("positions", _("Change the positions"), {"part": "lab"}),
            ),
            r"\begin{aligned}PE_{(pos,\,2i)} &= \sin(pos / 10000^{2i/d_{\mathrm{model}}})\\"
            r"PE_{(pos,\,2i+1)} &= \cos(pos / 10000^{2i/d_{\mathrm{model}}})\end{aligned}",
        ),
        Item(
            "4",
            _("4 Why self-attention (Table 1)"),
            _(
                "Per layer: how many operations, how many of them one after the other, how long the path between two "
                "tokens. And single heads learn to do different tasks."
            ),
            (
                View("anatomy", _("Table 1, computed for your sentence"), {"part": "compare"}),
                View("roles", _("What each head does")),
                View("roles", _("How well each head aligns words"), {"part": "alignment"}),
                View("roles", _("What each head is worth"), {"part": "importance"}),
                View("roles", _("Where a head finds a word"), {"part": "search"}),
                View("attribution", _("What an output token rests on")),
                View("attribution", _("How much comes from the source"), {"part": "source"}),
                View("attribution", _("Parts of one sentence put into another"), {"part": "patching"}),
                View("attribution", _("Two maps side by side"), {"part": "compare"}),
            ),
            r"O(n^2 \cdot d) \quad\text{vs.}\quad O(n \cdot d^2)",
        ),
        Item(
            "5.1",
            _("5.1 and 5.2 Training data, batching and hardware"),
            _("Sentence pairs of similar length share a batch, so that few places are wasted on padding."),
            (
                View("recipe", _("A batch and its padding"), {"part": "batches"}),
                View("recipe", _("What training cost, counted"), {"part": "cost"}),
            ),
        ),
        Item(
            "5.3",
            _("5.3 Optimizer (equation 3)"),
            _("The learning rate rises while the model warms up, then falls with the root of the step."),
            (
                View("recipe", _("The learning rate, and other warm-ups"), {"part": "rate"}),
                View("training", _("Watch a small model learn")),
                View("heads", _("How the heads of this model formed"), {"training": "0"}, recorded=True),
            ),
            r"lrate = d_{\mathrm{model}}^{-0.5} \cdot \min(step^{-0.5},\; step \cdot warmup^{-1.5})",
        ),
        Item(
            "5.4",
            _("5.4 Regularization"),
            _("Dropout sets random values to 0 in training; label smoothing wants a little less than certainty."),
            (
                View("recipe", _("Dropout, pass by pass"), {"part": "dropout"}),
                View("recipe", _("Label smoothing"), {"part": "smoothing"}),
            ),
        ),
        Item(
            "6.1",
            _("6.1 Machine translation: beam search and length penalty"),
            _(
                "The decoder writes one token at a time; beam search keeps several beginnings and allows for their "
                "length."
            ),
            (
                View("decoding", _("Step by step"), {"part": "step"}),
                View("decoding", _("Beam search as a tree"), {"part": "beam"}),
                View("decoding", _("Sampling instead"), {"part": "sampling"}),
                View("decoding", _("Attention by hand"), {"part": "paint"}),
                View("decoding", _("Your words and its own"), {"part": "given"}),
            ),
            r"s(Y, X) = \log P(Y \mid X) \,/\, lp(Y), \quad lp(Y) = \left(\frac{5 + |Y|}{6}\right)^{\alpha}",
        ),
        Item(
            "6.1-results",
            _("6.1 Machine translation: results (Table 2)"),
            _("How good the translations are, measured in BLEU, and what training them cost."),
            (
                View("results", _("BLEU by hand"), {"part": "bleu"}),
                View("results", _("Comparing scores"), {"part": "subsets"}),
                View("results", _("Table 2: BLEU against the cost of training"), {"part": "table2"}),
                View("recipe", _("What training cost, counted"), {"part": "cost"}),
                View("model", _("Size and scores of this model"), {"panel": "numbers"}),
            ),
        ),
        Item(
            "6.2",
            _("6.2 Model variations (Table 3)"),
            _("One part changed at a time: heads, widths, dropout, smoothing, positions."),
            (
                View("results", _("Table 3, here with three seeds"), {"part": "tables"}),
                View("training", _("Leave a part out and train"), {"preset": "no-mask"}),
            ),
        ),
        Item(
            "6.3",
            _("6.3 English constituency parsing (Table 4)"),
            _(
                "The same model solves other tasks. Here it reverses and sorts; choose one of these models in the "
                "menu above."
            ),
            (View("model", _("Task and scores of the open model"), {"panel": "numbers"}),),
        ),
        Item(
            "figures3to5",
            _("Figures 3 to 5: attention in the paper's own sentences"),
            "",
        ),
        Item(
            "7",
            _("7 Conclusion"),
            _("The first sequence model that rests on attention alone. Look at its heads with sentences of your own."),
            (View("heads", _("Type a sentence")),),
        ),
    )
