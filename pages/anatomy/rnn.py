"""Before the Transformer: a small recurrent encoder-decoder without attention, with additive attention, and a
Transformer, on the same letters."""

import json
import math
from collections.abc import Mapping
from functools import cache as cached
from pathlib import Path
from typing import Any

import streamlit as st

from pages.components import figure
from pages.components.sentences import paragraph, point
from pages.components.translation import table
from pages.frame.frame import PageFrame
from pages.frame.messages import capital, message
from pages.frame.state import max_tokens
from pages.runtime import cache
from pages.runtime.shared import shared
from transformer import CheckpointError, rnn
from transformer.cost.complexity import Sizes, path
from transformer.figures import recurrent as figures
from transformer.inference.pretrained import InputError, Pretrained
from transformer.rnn import Recurrent, RecurrentTrace
from transformer.rnn.alignment import Alignment, alignment, best_head, right_cells
from transformer.texts import _, translate
from transformer.tracing.trace import Trace, TracedPair
from transformer.training.tasks import TASKS

TASK, TRANSFORMER = "reverse", "reverse"
ATTENTION, NO_ATTENTION = "reverse-recurrent", "reverse-no-attention"  # bundled recurrent models
LETTERS = "attention please"  # the default text
KINDS = ("no-attention", "attention", "transformer")  # in recorded.json
LONGEST_TRAINED = 16  # letters of the longest training input of all models (recipes/reverse.toml)
RECORDED = Path(__file__).with_name("recorded.json")


@cached
def recorded() -> Mapping[str, Any]:
    """The small trainings of benchmarks/bottleneck.py."""
    return dict(json.loads(RECORDED.read_text(encoding="utf-8")))


@shared()
def _recurrent(name: str) -> Recurrent:
    return rnn.load(name)


@shared(queued=True)
def _read(name: str, letters: str, limit: int) -> RecurrentTrace:
    """A recurrent model's pass over the letters, up to `limit` tokens per side. Raises InputError."""
    return _recurrent(name).trace(letters, limit=limit)


def reverses(model: Pretrained | Recurrent) -> bool:
    """Whether a model was trained to reverse letters: such a checkpoint names the task as its two languages."""
    return model.languages == TASKS[TASK].languages


def _bundled() -> Pretrained:
    """The bundled Transformer, for use when the loaded one does another task. Raises CheckpointError."""
    checkpoints = cache.checkpoints()
    if TRANSFORMER not in checkpoints:
        raise CheckpointError("there is no checkpoint {transformer!r}", transformer=TRANSFORMER)
    model = cache.load(TRANSFORMER, str(checkpoints[TRANSFORMER]))
    if not reverses(model):
        raise CheckpointError("the checkpoint {transformer!r} does not reverse letters", transformer=TRANSFORMER)
    return model


def _letters(frame: PageFrame) -> str:
    """The letters for all models: those typed here; at first the page's source, where the open model reverses it."""
    start = frame.state.source if reverses(frame.model) else LETTERS
    label = _("Letters to write backwards; trained on up to {longest}", longest=LONGEST_TRAINED)
    typed = frame.options.text("letters", label, longest=2000, placeholder=start, width=420)
    if not reverses(frame.model):
        _why_other_letters(frame)
    return typed or start


def bottleneck(width: int) -> str:
    """What the recorded models can do with the longest inputs of training. width: numbers that a decoder without
    attention gets."""
    found = recorded()
    at = found["lengths"].index(found["trained"])
    mean = {kind: sum(run[at] for run in found[kind]["exact"]) / len(found["seeds"]) for kind in KINDS}
    text = _(
        "Without attention the decoder gets the whole input as {width} numbers, however long it is. Asked to write "
        "{length} letters backwards, it makes no mistake in {none} of the inputs; with attention in {attention}, and "
        "the Transformer in {transformer}."
    )
    shares = {"none": mean["no-attention"], "attention": mean["attention"], "transformer": mean["transformer"]}
    return text.format(width=width, length=found["trained"], **{name: f"{share:.0%}" for name, share in shares.items()})


def right_letters(trace: TracedPair) -> int:
    """Letters at which the output is what it must be, counted from its first one."""
    wanted = trace.source_ids[-2::-1]
    return sum(ours == theirs for ours, theirs in zip(trace.target_out_ids, wanted, strict=False))


def _outputs(traces: Mapping[str, TracedPair]) -> None:
    """One input, written by every model. traces: name -> pass."""
    rows = [
        (
            name,
            trace.target_text,
            f"{'✓' if is_right(trace) else '✗'} "
            + _("{right} of {letters}", right=right_letters(trace), letters=len(trace.source_ids) - 1),
        )
        for name, trace in traces.items()
    ]
    st.html(table([_("One input, three models"), _("writes"), _("letters right")], rows))


def alignment_sentence(old: RecurrentTrace, new: Trace, alignments: tuple[Alignment, Alignment], layers: int) -> str:
    """What the two maps show, in numbers. layers: of the Transformer's encoder."""
    text = _(
        "Both models with attention look at the letter that they write: the recurrent one for {old} of {old_rows} "
        "letters, the Transformer for {new} of {new_rows}. But the recurrent model reads the {tokens} tokens one after "
        "another; the Transformer reads all at once, in {layers} layers."
    )
    first, second = alignments
    counts = {"old": first.hits, "old_rows": first.rows, "new": second.hits, "new_rows": second.rows}
    return text.format(**counts, tokens=len(old.source_ids), layers=layers)


def _why_other_letters(frame: PageFrame) -> None:
    """Why the letters are not the page's source."""
    paragraph(
        _(
            "The open model, {name}, reads {language}. The models here write letters backwards, so they get letters of "
            "their own; the Transformer among them is the bundled model “{other}”."
        ).format(name=frame.model.name, language=translate(frame.model.languages[0]), other=TRANSFORMER),
        quiet=True,
    )


def _unknown_letters(model: Pretrained | Recurrent, letters: str) -> list[str]:
    """The typed characters that are not in the model's alphabet, in order."""
    pieces = zip(model.tokenizer.encode(letters), model.tokenizer.surfaces(letters), strict=True)
    return [piece for token_id, piece in pieces if token_id == model.config.unk_id]


def _maps(chosen: str, model: Pretrained, old: RecurrentTrace, new: Trace) -> tuple[Alignment, str]:
    """Both figures. Returns the alignment of the Transformer's weights shown, and which heads they are from."""
    weights = new.cross.weights
    layer, head = best_head(weights)
    shown = (layer, head) if chosen == "best" else None
    rows = max(len(old.target_out_labels), len(new.target_out_labels))  # both figures have the height of the longer one
    left, right = st.columns(2, gap="medium")
    with left:
        expected = right_cells(len(old.source_labels), len(old.target_out_labels))
        drawn = figure.built(
            figures.additive_map,
            old.weights.numpy(),
            old.target_out_labels,
            old.source_labels,
            expected,
            rows,
        )
        figure.draw(drawn, "before_recurrent", "before-additive-attention", trace=old)
    with right:
        expected = right_cells(len(new.source_labels), len(new.target_out_labels))
        d_k = model.config.d_k or model.config.d_head
        drawn = figure.built(
            figures.cross_map,
            weights.numpy(),
            new.target_out_labels,
            new.source_labels,
            expected,
            d_k,
            shown,
            rows,
        )
        figure.draw(drawn, "before_transformer", "before-cross-attention", trace=new)
    framed = _("Framed: the letter that must be written, starting with the last one.") if rows <= figures.MARKED else ""
    paragraph(_("Both scales run from 0 to 1."), framed, quiet=True)
    if shown is None:
        return alignment(weights.mean((0, 1))), _("mean of all heads")
    return alignment(weights[shown]), _("layer {layer}, head {head}", layer=layer + 1, head=head + 1)


def is_right(trace: TracedPair) -> bool:
    """Whether a model wrote the letters backwards and stopped there."""
    return trace.complete and trace.target_out_ids[:-1] == trace.source_ids[-2::-1]


def _number(value: float) -> str:
    return "< 0.001" if 0 < value < 0.0005 else f"{value:.3f}"


def _table(
    model: Pretrained, old: RecurrentTrace, new: Trace, shown_heads: str, alignments: tuple[Alignment, Alignment]
) -> None:
    """What both models wrote, and the cost."""
    both, layers = (old, new), model.config.encoder_layers
    sizes = Sizes(len(old.source_ids), model.config.d_model)
    rows = [
        (
            _("probability of everything it wrote"),
            *(_number(math.exp(float(trace.probabilities.double().log().sum()))) for trace in both),
        ),
        (_("probability of its least certain letter"), *(_number(float(trace.probabilities.min())) for trace in both)),
        (
            _("weight on the right letter, mean"),
            _number(alignments[0].weight),
            _("{weight} ({of})", weight=_number(alignments[1].weight), of=shown_heads),
        ),
        (
            _("largest weight on the right letter"),
            *(_("{hits} of {rows} letters", hits=alignment.hits, rows=alignment.rows) for alignment in alignments),
        ),
        (
            _("sequential steps to read"),
            _("{steps}, one per token", steps=len(old.source_ids)),
            _("{layers} layers, all tokens at once", layers=layers),
        ),
        (
            _("longest path, in steps from the input of the first token to the output at the last"),
            f"{path('recurrent', sizes)}",
            _("{steps}, in each layer", steps=path("attention", sizes)),
        ),
        (
            _("parameters"),
            f"{_recurrent(ATTENTION).model.parameter_count():,}",
            f"{model.model.parameter_count():,}",
        ),
    ]
    st.html(table(["", _("recurrent"), _("Transformer {name}", name=model.name)], rows))


def _longer_inputs(letters: int) -> None:
    """For inputs longer than those of training."""
    if letters > LONGEST_TRAINED:
        text = _(
            "These are {letters} letters, and no model saw more than {trained} in training. Beyond that, what they "
            "learned soon stops working."
        )
        message(text.format(letters=letters, trained=LONGEST_TRAINED), "note")


def _explanation(model: Pretrained, old: RecurrentTrace) -> None:
    """An explanation of the numbers."""
    tokens, config = len(old.source_ids), _recurrent(ATTENTION).config
    paragraph(
        _(
            "The recurrent model reads token by token, in both directions, and makes each state from the one before: "
            "{tokens} steps, each waiting for the one before it, and a path of length {tokens} from the first to the "
            "last, as Table 1 counts. The Transformer's encoder reads all {tokens} tokens at once, in {layers} "
            "layers, and any two letters meet within one layer (section 4). Both write one letter per step. In "
            "training the Transformer's decoder does all these steps at once too; the recurrent decoder cannot."
        ).format(tokens=tokens, layers=model.config.encoder_layers)
    )
    paragraph(
        _(
            "Without attention every step of the decoder gets the encoder's two last states: {width} numbers, however "
            "long the text is (Cho et al. 2014). Bahdanau, Cho and Bengio (2015, section 1) call this fixed-length "
            "vector the bottleneck and let every step look back at all annotations instead, here {tokens} × {width} = "
            "{numbers} numbers."
        ).format(tokens=tokens, width=2 * config.d_state, numbers=f"{tokens * 2 * config.d_state:,}")
    )


def _equations(frame: PageFrame, model: Pretrained) -> None:
    left, right = st.columns(2, gap="medium")
    with left:
        paragraph(_("Additive (Bahdanau et al. 2015, section 3.1, appendix A.1.2)"), quiet=True)
        st.latex(r"e_{ij} = v_a^{\top} \tanh\left(W_a s_{i-1} + U_a h_j\right)")
    with right:
        paragraph(_("Scaled dot-product (Vaswani et al. 2017, section 3.2.1, equation 1)"), quiet=True)
        st.latex(r"e_{ij} = \frac{q_i \cdot k_j}{\sqrt{d_k}}")
    config = _recurrent(ATTENTION).config
    with frame.options.panel("scores", _("The two scores")):
        st.markdown(
            _(
                "Both ask how well the next output, row *i*, matches what was read, column *j*. A softmax over *j* "
                "turns the scores into weights, and the weights average what was read.\n\n**Additive.** $s_{{i-1}}$ "
                "is the state of the recurrent decoder before step *i*, and $h_j$ the annotation of token *j*: the "
                "states of a GRU that reads forwards and of one that reads backwards, side by side (section 3.2). A "
                "small network of {align} hidden units, the alignment model, compares the two; $U_a h_j$ does not "
                "depend on *i* and is computed once (appendix A.1.2). Every pair of *i* and *j* costs {align} tanh "
                "and a product with $v_a$.\n\n**Dot-product.** Query and key are compared by a product of {d_k} pairs "
                "of numbers, for all *i* and *j* as one matrix product $Q K^\\top$. Vaswani et al. write in section "
                "3.2.1 that the two are similar in theoretical complexity, but that dot-product attention is much "
                "faster and needs less memory in practice, because matrix multiplication is highly optimised. They "
                "also write that additive attention did better for large $d_k$ as long as the product was not scaled, "
                "which is why it is divided by $\\sqrt{{d_k}}$.\n\n**What else differs.** The recurrent model has one "
                "attention map, from decoder to encoder. The Transformer has {heads} heads of that kind in each of "
                "{layers} layers, and also attends within source and target, where the other model uses recurrence. "
                "Both were trained with label smoothing 0.1 (section 5.4), so a letter that is certain gets a "
                "probability of about 0.9.",
                align=config.d_align,
                d_k=model.config.d_k or model.config.d_head,
                heads=model.config.heads,
                layers=model.config.decoder_layers,
            )
        )


def draw(frame: PageFrame) -> None:
    """The part "before"."""
    point(bottleneck(2 * _recurrent(NO_ATTENTION).config.d_state))
    left, right = st.columns(2, gap="medium")
    with left:
        found = recorded()
        shares = {kind: found[kind]["exact"] for kind in KINDS}
        drawn = figure.built(figures.exact_by_length, found["lengths"], shares, found["trained"], found["inputs"])
        figure.draw(drawn, "before_lengths", "input-length", first=True)
    with right:
        outputs = st.container()
        letters = _letters(frame)
    try:
        model = frame.model if reverses(frame.model) else _bundled()
        if strange := [*_unknown_letters(_recurrent(ATTENTION), letters), *_unknown_letters(model, letters)]:
            sentence = _("These models know the letters a to z and the space; leave out: {letters}")
            message(sentence.format(letters=" ".join(dict.fromkeys(strange))[:200]), "error")
            return
        without, old = (_read(name, letters, max_tokens()) for name in (NO_ATTENTION, ATTENTION))
        new = cache.trace(model, model.name, letters, "", max_tokens())
    except (CheckpointError, InputError) as error:
        message(capital(error) + ".", "error")
        return
    with outputs:
        _outputs({_("recurrent, no attention"): without, _("recurrent, attention"): old, _("Transformer"): new})
    _longer_inputs(len(old.source_ids) - 1)
    summary = st.container()
    names = {"best": _("the head that aligns best"), "mean": _("mean of all heads")}
    heads = frame.options.labelled("heads", _("Transformer's weights"), names)
    cross_alignment, shown_heads = _maps(heads, model, old, new)
    alignments = (alignment(old.weights), cross_alignment)
    with summary:
        paragraph(alignment_sentence(old, new, alignments, model.config.encoder_layers))
    _table(model, old, new, shown_heads, alignments)
    paragraph(
        _(
            "Attention is older than the Transformer: Bahdanau, Cho and Bengio (2015) added it to a recurrent "
            "encoder-decoder for translation. The three small models here have about the same size."
        )
    )
    _explanation(model, old)
    _equations(frame, model)
