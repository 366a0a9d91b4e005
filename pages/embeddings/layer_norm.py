"""LayerNorm of one token, number by number, and the residual path: how much of x is left after each sub-layer."""

import streamlit as st

from pages.components import figure
from pages.components.descriptions import sublayer_names
from pages.components.pieces import numbered, stack_labels
from pages.components.sentences import paragraph, part_layout, point
from pages.components.translation import table
from pages.embeddings.inputs import choose_stack
from pages.frame.frame import PageFrame
from transformer.analysis.layer_norm import left_of_x, normed
from transformer.analysis.residual import sublayers
from transformer.figures.layer_norm import layer_norm, what_is_left
from transformer.texts import _
from transformer.tracing.trace import Trace


def draw(frame: PageFrame, trace: Trace) -> None:
    options = frame.options
    head, controls, picture = part_layout()
    first, second, third = controls.columns(3)
    with first:
        stack = choose_stack(options)
    names, labels = sublayer_names(sublayers(trace, stack)), stack_labels(trace, stack)
    number = options.at(second).index("sublayer", _("Sub-layer"), names)
    token = options.at(third).index("token", _("Token"), numbered(labels, ": "), min(1, len(labels) - 1))
    left = left_of_x(trace, stack)
    found = normed(trace, frame.model.model, stack, number, token)
    with head:
        if found is None:
            point(_("This model has no LayerNorm; the cosine shows how much of x each sub-layer leaves."))
        else:
            text = _(
                "LayerNorm takes the numbers of one token alone: mean {mean} and variance {variance} become 0 and 1, "
                "then each number is multiplied by its γ, and its β is added."
            )
            point(text.format(mean=f"{found.mean:.3f}", variance=f"{found.variance:.3f}"))
    one, other = picture.columns(2)
    if found is not None:
        with one:
            drawn = figure.built(
                layer_norm, found.before.numpy(), found.normalised.numpy(),
                found.after.numpy(), found.gamma.numpy(), found.beta.numpy(),
                labels[token], names[number],
            )  # fmt: skip
            about = f"{stack}-{number + 1}-{token + 1}"
            figure.draw(drawn, "embeddings-layernorm", "layer-norm", first=True, about=about, trace=trace)
    with other:
        drawn = figure.built(what_is_left, left[:, token].tolist(), left.mean(1).tolist(), names)
        figure.draw(drawn, "embeddings-left", "what-is-left", first=True, about=f"{stack}-{token + 1}", trace=trace)
    if found is not None:
        rows = [
            (name, *(f"{float(one):.4f}" for one in (values.mean(), values.var(correction=0), values.norm())))
            for name, values in (
                (_("before"), found.before), (_("normalised"), found.normalised), (_("after"), found.after),
                ("γ", found.gamma), ("β", found.beta),
            )
        ]  # fmt: skip
        st.html(table(("", _("mean"), _("variance"), _("vector length")), rows, "hs-layernorm"))
    paragraph(
        _("A cosine of 1 would mean that the sub-layer added nothing new; 0, that nothing of x is left."), quiet=True
    )
