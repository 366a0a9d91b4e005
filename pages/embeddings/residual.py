"""The residual stream: vector lengths through a stack, and the parts that add up to the last vector."""

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.components import figure
from pages.components.descriptions import stack_name, sub_layer_equation, sublayer_names
from pages.components.pieces import numbered, stack_labels
from pages.components.sentences import check, deviation, paragraph, part_layout, point
from pages.embeddings.inputs import choose_stack, thinned
from pages.frame.frame import PageFrame
from transformer.analysis.residual import Parts, Stream, decompose, stream
from transformer.figures import residual
from transformer.figures.embedding import signed
from transformer.texts import _
from transformer.tracing.trace import Trace


def _largest_updates(states: Stream, names: tuple[str, ...]) -> str:
    """Which sub-layer adds most and which least, compared with its input."""
    ratios = (states.update / states.enters).quantile(0.5, dim=1)
    high, low = int(ratios.argmax()), int(ratios.argmin())
    sentence = (
        _(
            "Compared with its input, {most} adds most: its update is {high} times as long as x, median over the "
            "tokens. {least} adds least: {low} times."
        )
        if states.sum is not None
        else _(
            "Compared with its input, {most} returns most: what replaces x is {high} times as long, median over the "
            "tokens. {least} returns least: {low} times."
        )
    )
    return sentence.format(
        most=names[high], high=f"{float(ratios[high]):.2f}", least=names[low], low=f"{float(ratios[low]):.2f}"
    )


def _largest_share(parts: Parts, names: tuple[str, ...]) -> str:
    """Which part has the largest share of the result, and what is left of the input."""
    mean = 100 * parts.shares.mean(1)
    most = int(mean.argmax())
    sentence = _(
        "The vector is the sum of what every layer added. {most} made the largest share: {share}% in the mean over "
        "the tokens. The input, embedding plus position, makes only {left}%."
    )
    return sentence.format(most=names[most], share=signed(float(mean[most]), 1), left=signed(float(mean[:2].sum()), 1))


def _layers_passed(frame: PageFrame, stack: str) -> int | None:
    """How many layers the vector has passed; None for all."""
    config = frame.model.config
    layers = config.encoder_layers if stack == "encoder" else config.decoder_layers

    def name(layer: int) -> str:
        if layer < layers:
            return _("layer {layer}", layer=layer)
        return _("layer {layer}, output of the {stack}", layer=layer, stack=stack_name(stack))

    layer = int(frame.options.choose("layer", _("Vector after"), range(1, layers + 1), layers, name))
    return None if layer == layers else layer


def _choices(frame: PageFrame, trace: Trace) -> tuple[str, int | None, int]:
    """The stack, the layers that the vector has passed (None: all), and the token whose lengths the lines show; 0: the
    median of all."""
    first, second, third = st.columns((1, 1.4, 1.4), gap="small", vertical_alignment="bottom")
    with first:
        stack = choose_stack(frame.options)
    with second:
        through = _layers_passed(frame, stack)
    names = [_("all tokens: the median"), *numbered(stack_labels(trace, stack))]
    with third:
        token = int(frame.options.choose("token", _("Lines show"), range(len(names)), 0, lambda index: names[index]))
    return stack, through, token


def _lengths(frame: PageFrame, trace: Trace, stack: str, token: int, left: DeltaGenerator) -> None:
    """Lengths along the stack, drawn into `left`, and below token by token with a slider."""
    labels = stack_labels(trace, stack)
    states = stream(trace, frame.model.model, stack)
    names = sublayer_names(states.sublayers)
    lines = {
        name: (values[:, token - 1] if token else values.quantile(0.5, dim=1)).numpy()
        for name, values in states.lengths.items()
    }
    equation = sub_layer_equation(frame.model.config).replace("x", "<i>x</i>")
    drawn = figure.built(residual.stream_figure, lines, names, stack, equation)
    with left:
        whose = f"token-{token}" if token else "median"
        figure.draw(drawn, "emb_stream", f"residual-lengths-{stack}", first=True, about=whose, trace=trace)
    cells = {name: values.numpy() for name, values in states.lengths.items()}
    heatmap = figure.built(residual.stream_heatmap, cells, labels, names, stack)
    vectors, first = residual.vectors(cells)
    start = vectors.index(str(frame.options.choice("vector", vectors, first)))
    moved = figure.draw(heatmap, "emb_stream_tokens", f"residual-lengths-tokens-{stack}", start=start, trace=trace)
    if moved is not None:
        frame.options.report("vector", vectors[moved], first)
    thinned(heatmap)
    paragraph(_largest_updates(states, names))


def _shares(frame: PageFrame, trace: Trace, stack: str, through: int | None) -> tuple[str, str, bool]:
    """The figure. Returns the sentence about it, and the check that the parts add up to the whole."""
    parts = decompose(trace, frame.model.model, stack, through)
    config = frame.model.config
    biases = () if config.norm == "none" else (_("biases β"),)
    names = (_("embedding"), _("positions"), *sublayer_names(parts.sublayers), *biases)
    labels = stack_labels(trace, stack)
    drawn = figure.built(residual.share_heatmap, parts.shares.numpy(), labels, names, stack)
    layer = "" if through is None else f"layer-{through}"
    figure.draw(drawn, "emb_shares", f"residual-shares-{stack}", first=True, about=layer, trace=trace)
    thinned(drawn)
    adds_up = _("The {count} parts add up to the vector the model computed: largest deviation {deviation}").format(
        count=len(names), deviation=deviation(parts.deviation)
    )
    return (
        _largest_share(parts, names),
        adds_up,
        parts.deviation < 1e-4 * max(1.0, float(parts.whole.abs().max())),
    )


def draw(frame: PageFrame, trace: Trace) -> None:
    """Lengths of the residual stream at every sub-layer, and the shares of its parts."""
    config = frame.model.config
    about, controls, picture = part_layout()
    with controls:
        stack, through, token = _choices(frame, trace)
    with picture:
        left, right = st.columns((1.5, 1), gap="medium")
    with left:
        sentence, adds_up, holds = _shares(frame, trace, stack, through)
    point(sentence, about)
    check(adds_up, holds)
    _lengths(frame, trace, stack, token, right)
    paragraph(
        _(
            "Around every sub-layer there is a residual connection (section 3.1): the input is carried past the "
            "sub-layer, which adds its update. The figures show how long these vectors are, and how much of the "
            "result each of them made."
        )
        if config.residual
        else _(
            "This model has no residual connections (section 3.1 has one around every sub-layer): the output of a "
            "sub-layer replaces its input. The figures show how long these vectors are. Of everything before, only "
            "the last update is a part of the result."
        ),
        quiet=True,
    )
    if config.norm == "none":
        return
    with frame.options.panel("split", _("How can a vector be split exactly, through LayerNorm?")):
        st.latex(
            r"\mathrm{LayerNorm}(x) = \gamma \odot \frac{x - \mathrm{mean}(x)}{\sigma(x)} + \beta"
            r" = \sum_p \gamma \odot \frac{p - \mathrm{mean}(p)}{\sigma(x)} + \beta \qquad x = \sum_p p"
        )
        st.markdown(
            _(
                "The mean is linear, and once σ is the number it was in this pass, so is the rest: every part goes "
                "through each LayerNorm by itself, and each β joins as one more part. A share is the length of the "
                "part's projection onto the vector, as a fraction of the vector's length; the shares of a token add "
                "up to 100%. A **negative** share belongs to a part that points away from the result: the other "
                "parts had to outweigh it. The shares say what the result is made of, not what it would be without a "
                "part: then σ and every later update would be different."
            )
        )
