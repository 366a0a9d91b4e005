"""How many neurons of the feed-forward sub-layers are active in the sentence, and helpers for all parts of the page."""

from __future__ import annotations

import streamlit as st

from pages.components import figure
from pages.components.descriptions import stack_name
from pages.components.sentences import paragraph, point
from pages.frame.frame import PageFrame
from pages.frame.messages import message
from pages.frame.options import Options
from pages.runtime.texts import translated
from transformer.analysis import activations
from transformer.analysis.activations import ACTIVE, PUBLISHED, active_share, thresholds
from transformer.figures import feedforward as figures
from transformer.model.tap import STACKS
from transformer.texts import _
from transformer.tracing.trace import FeedForwardTrace, Trace

KEY = "feedforward_active"
Column = st.delta_generator.DeltaGenerator


def percent(share: float) -> str:
    """A share as text; only 0 is "0%" and only 1 is "100%"."""
    if share in (0, 1):
        text = f"{100 * share:.0f}"
    elif share < 5e-5:
        text = "<\N{NO-BREAK SPACE}0.01"
    elif share > 0.9995:
        text = ">\N{NO-BREAK SPACE}99.9"
    else:
        text = f"{100 * share:.2f}" if share < 0.001 else f"{100 * share:.1f}"
    return f"{text}%"


def sides(trace: Trace) -> dict[str, FeedForwardTrace]:
    return {"encoder": trace.encoder_ff, "decoder": trace.decoder_ff}


def labels(trace: Trace) -> dict[str, tuple[str, ...]]:
    """The tokens of each stack's rows: for the decoder those it is fed, not those it predicts."""
    return {"encoder": trace.source_labels, "decoder": trace.target_in_labels}


def choose_layer(
    options: Options, trace: Trace, left: Column, right: Column, stack: str = STACKS[0], last: bool = False
) -> tuple[str, int]:
    """Stack and layer, drawn into two columns; the layer counts from 0. stack, last: the default stack, and whether the
    default is its last layer."""
    with left:
        stack = str(options.segment("stack", _("Stack"), STACKS, stack, stack_name))
    layers = list(range(1, sides(trace)[stack].activation.shape[0] + 1))
    with right:
        return stack, int(options.choose("layer", _("Layer"), layers, layers[-1 if last else 0])) - 1


def _threshold(options: Options, kind: str) -> int:
    """The threshold chosen last, as an index of `thresholds`. Links give it in hundredths."""
    steps = [round(100 * step) for step in thresholds()]
    return steps.index(int(options.nearest("threshold", steps, round(100 * ACTIVE[kind]))))


def _summary(trace: Trace, threshold: float) -> str:
    """One sentence: the shares of both stacks, and the layers with the smallest and the largest share."""
    shares, whole = {}, {}
    for stack, side in sides(trace).items():
        share = active_share(side.activation, [threshold])[0].double()
        whole[stack] = float(share.mean())
        shares.update({(stack, layer): mean for layer, mean in enumerate(share.mean(-1).tolist())})
    least, most = min(shares, key=shares.__getitem__), max(shares, key=shares.__getitem__)
    names = translated(figures.LABELS)
    text = _(
        "Few neurons work at a time: in this sentence {encoder} of the encoder's activations and {decoder} of the "
        "decoder's are above {threshold}, fewest in {least} ({low}), most in {most} ({high})."
    )
    if threshold == 0:
        text = _(
            "Few neurons work at a time: in this sentence {encoder} of the encoder's neurons and {decoder} of the "
            "decoder's are active (above 0), fewest in {least} ({low}), most in {most} ({high})."
        )
    return text.format(
        threshold=f"{threshold:.2f}",
        encoder=percent(whole["encoder"]),
        decoder=percent(whole["decoder"]),
        least=figures.layer_name(*least, texts=names),
        most=figures.layer_name(*most, texts=names),
        low=percent(shares[least]),
        high=percent(shares[most]),
    )


def _explain(options: Options, kind: str, d_ff: int) -> None:
    paragraph(
        _(
            "Section 3.3: after attention, every token goes by itself through FFN(x), equation 2. A neuron is one of "
            "the {count} hidden numbers of a layer. It is active at a token where its activation is above a threshold."
        ).format(count=f"{d_ff:,}")
    )
    with options.panel("few", _("Why so few, and what is the dashed line?") if kind == "relu" else _("Why so few?")):
        if kind == "relu":
            text = _(
                "max(0, ·) sets every negative number to exactly 0, so a neuron without a positive pre-activation "
                "adds nothing to the output: activation sparsity. Li et al., *The Lazy Neuron Phenomenon* (ICLR "
                "2023), report {share} non-zero activations for T5-Base. That is another, larger model on other data: "
                "the line is a size to compare with, not a target."
            ).format(share=percent(PUBLISHED))
        else:
            text = _(
                "This model has {name} instead of max(0, ·). Its activations are small rather than 0, so a threshold "
                "above 0, here {threshold} at first, decides which of them count as active."
            ).format(name=figures.NAMES[kind], threshold=f"{ACTIVE[kind]:.2f}")
        st.markdown(text)


def _distribution(options: Options, trace: Trace, kind: str, threshold: float) -> None:
    with st.container(key="hs-ff-choose-activity"):
        stack, layer = choose_layer(options, trace, *st.columns(4)[:2])
    side = sides(trace)[stack]
    if not side.activation[layer].isfinite().all() or not side.pre_activation[layer].isfinite().all():
        message(_("Not every activation of this layer is a finite number, so there is nothing to count."))
        return
    counts_of_layer = activations.histogram(side.pre_activation[layer], side.activation[layer])
    counts = activations.spread(side.activation[layer : layer + 1], threshold)[0].numpy()
    about = f"{stack}-layer-{layer + 1}"
    left, right = st.columns(2, gap="medium")
    with left:
        drawn = figure.built(
            figures.histogram, counts_of_layer.edges, counts_of_layer.before, counts_of_layer.after, stack, layer, kind
        )
        figure.draw(drawn, "feedforward_histogram", "feedforward-histogram", about=about, trace=trace)
        negative = float((side.pre_activation[layer] < 0).double().mean())
        text = _("{negative} of the {total} pre-activations are negative; {zero} of the activations are exactly 0.")
        zero = percent(counts_of_layer.zero / counts_of_layer.total)
        paragraph(text.format(negative=percent(negative), total=f"{counts_of_layer.total:,}", zero=zero))
    with right:
        drawn = figure.built(figures.spread, counts, stack, layer, threshold, kind)
        figure.draw(
            drawn, "feedforward_spread", "feedforward-spread", about=f"{about}-above-{threshold:.2f}", trace=trace
        )
        text = _(
            "Of {neurons} neurons, {never} are active on no token of this sentence, {once} on exactly one token and "
            "{always} on all {tokens}."
        )
        numbers = {"never": counts[0], "once": counts[1], "always": counts[-1], "neurons": counts.sum()}
        paragraph(text.format(**{name: f"{count:,}" for name, count in numbers.items()}, tokens=len(counts) - 1))


def draw(frame: PageFrame, trace: Trace) -> None:
    """The map of active neurons with its slider, and below it the numbers of one layer."""
    kind = frame.model.config.activation
    about = st.container()
    start, steps = _threshold(frame.options, kind), thresholds()

    def drawn() -> figure.Drawing:
        shares = {stack: active_share(side.activation, steps).numpy() for stack, side in sides(trace).items()}
        first = steps.index(ACTIVE[kind])
        return figure.localized(figures.activity)(shares, steps, labels(trace), first, kind, PUBLISHED)

    moved = figure.draw(
        drawn, f"{KEY}_{kind}", "feedforward-active", start=start, version=trace.id, about="above", trace=trace
    )
    threshold = steps[start if moved is None else moved]
    if moved is not None:
        frame.options.report("threshold", round(100 * threshold))
    with about:
        point(_summary(trace, threshold))
    _explain(frame.options, kind, frame.model.config.d_ff)
    _distribution(frame.options, trace, kind, threshold)
