"""ReLU, GELU and swish with their derivatives, over the sentence's own pre-activations."""

import numpy as np
import streamlit as st
from torch import Tensor

from pages.components import figure
from pages.components.pieces import numbered, stack_labels
from pages.components.sentences import decimals, paragraph, part_layout, point
from pages.feedforward.activity import choose_layer, percent, sides
from pages.frame.frame import PageFrame
from transformer.analysis.activations import ACTIVE, SHAPES, left_of_zero, nonlinearity, rug
from transformer.figures import feedforward as figures
from transformer.model.feedforward import ACTIVATION
from transformer.texts import _
from transformer.tracing.trace import Trace

REACH, POINTS = 4.0, 240  # the curves run at least from -4 to 4
MIDDLE = 0.99  # share of the pre-activations in the picture: one outlier at 17 would flatten both curves


def _grid(values: Tensor) -> np.ndarray:
    """x values of the curves over the middle of the pre-activations, with 0 among them for the corner of ReLU."""
    low, high = np.quantile(values.numpy(), [(1 - MIDDLE) / 2, (1 + MIDDLE) / 2])
    low, high = min(low, -REACH), max(high, REACH)
    return np.unique(np.concatenate((np.linspace(low, high, POINTS) * 1.03, [0.0])))


def _left_of_zero_sentence(kind: str, left: float, smallest: float, total: int) -> str:
    sentences = {
        "relu": _(
            "{left} of these {total} pre-activations are left of 0. There ReLU gives exactly 0 and its derivative is "
            "0, so no gradient passes; right of 0 the derivative is 1."
        ),
        "gelu": _(
            "{left} of these {total} pre-activations are left of 0. There GELU gives numbers from −0.170 to 0, the "
            "smallest here is {smallest}, and its derivative is 0 only at −0.752, so some gradient passes."
        ),
        "swish": _(
            "{left} of these {total} pre-activations are left of 0. There swish gives numbers from −0.278 to 0, the "
            "smallest here is {smallest}, and its derivative is 0 only at −1.278, so some gradient passes."
        ),
    }[kind]
    return sentences.format(left=percent(left), total=f"{total:,}", smallest=decimals(smallest, 3))


def draw(frame: PageFrame, trace: Trace) -> None:
    config = frame.model.config
    kind = SHAPES.get(config.activation, config.activation)
    about, controls, picture = part_layout()
    with controls:
        left, middle, right = st.columns(4)[:3]
        stack, layer = choose_layer(frame.options, trace, left, middle)
        names = [_("all tokens"), *numbered(stack_labels(trace, stack))]
        token = int(frame.options.at(right).choose("token", _("Token"), range(len(names)), 0, names.__getitem__))
    side = sides(trace)[stack]
    whole = slice(None) if not token else slice(token - 1, token)
    before = side.pre_activation[layer, whole]
    z = _grid(before)
    curves = {name: nonlinearity(name, z) for name in ACTIVE}
    ticks = rug(before)
    ticks = ticks[(ticks >= z[0]) & (ticks <= z[-1])]
    drawn = figure.built(
        figures.curves,
        z,
        {name: curve.value for name, curve in curves.items()},
        {name: curve.slope for name, curve in curves.items()},
        kind,
        ticks,
        before.numel(),
        stack,
        config.gated,
        config.biases,
    )
    with picture:
        where = f"{stack}-layer-{layer + 1}" + (f"-token-{token}" if token else "")
        figure.draw(drawn, "feedforward_curves", "feedforward-nonlinearity", first=True, about=where, trace=trace)
    outside = int(((before < z[0]) | (before > z[-1])).sum())
    few = _("There is a tick for {drawn} of them, evenly spaced by rank.", drawn=f"{len(ticks):,}")
    far = _("Outside the picture: {outside}. All of them run from {low} to {high}.").format(
        outside=f"{outside:,}", low=decimals(float(before.min()), 1), high=decimals(float(before.max()), 1)
    )
    sentence = _left_of_zero_sentence(
        kind, left_of_zero(before), float(ACTIVATION[config.activation](before).min()), before.numel()
    )
    point(sentence, about)
    paragraph(few if len(ticks) + outside < before.numel() else "", far if outside else "")
    paragraph(
        _(
            "Between the two matrices of equation 2 (section 3.3) stands max(0, z), the ReLU. Later models put GELU "
            "or swish there. Bold is the function this model was trained with. Each tick is a pre-activation z = xW₁ "
            "+ b₁ of this sentence."
        ),
        "" if config.biases else _("In this model b₁ and b₂ are 0: it has no biases."),
        _("Its network is gated: what the function returns is multiplied by xV.") if config.gated else "",
        quiet=True,
    )
    with frame.options.panel("functions", _("The three functions")):
        st.latex(
            r"\mathrm{ReLU}(z) = \max(0, z) \qquad \mathrm{GELU}(z) = z\,\Phi(z), \quad "
            r"\mathrm{GELU}'(z) = \Phi(z) + z\,\varphi(z)"
        )
        st.latex(
            r"\mathrm{swish}(z) = z\,\sigma(z), \quad \sigma(z) = \frac{1}{1 + e^{-z}}, \quad "
            r"\mathrm{swish}'(z) = \sigma(z) + z\,\sigma(z)\,(1 - \sigma(z))"
        )
        st.markdown(
            _(
                "Φ is the distribution function of the standard normal distribution and φ its density (Hendrycks and "
                "Gimpel 2016, *Gaussian Error Linear Units*). At 0 the ReLU has a corner and no derivative; PyTorch "
                "uses 0 there. GELU is smooth, slightly negative left of 0 and lowest at z = −0.752. Swish "
                "(Ramachandran et al. 2017, *Searching for Activation Functions*), also called SiLU, has the logistic "
                "function σ instead of Φ and is lowest at z = −1.278."
            )
        )
