"""Why scores are scaled, and the softmax by hand, as Streamlit components."""

from __future__ import annotations

import math
from typing import Any

import streamlit as st
from torch import Tensor

from pages.runtime.shared import shared
from transformer.analysis.scaling import LIMIT, RandomExperiment, own_variances, random_experiment
from transformer.texts import _
from transformer.tracing.trace import KINDS, Trace
from transformer.view.bundle import script, style
from transformer.view.languages import browser_texts
from transformer.view.pack import wording
from transformer.view.state import View

SEED = "why_seed"
SEEDS = 1000  # different draws; bounds the seed


def _component(name: str) -> Any:
    return st.components.v2.component(f"headscope.{name}", js=script(name), css=style(name))


_why = _component("why")
_softmax = _component("softmax")


@shared(entries=4)
def _random(seed: int) -> RandomExperiment:
    return random_experiment(seed)


def _numbers(tensor: Tensor, digits: int) -> Any:
    """Nested lists of rounded numbers; None for NaN and infinity, which JSON lacks."""
    if tensor.dim():
        return [_numbers(part, digits) for part in tensor]
    value = tensor.item()
    return round(value, digits) if math.isfinite(value) else None


def _experiment_data(experiment: RandomExperiment) -> dict[str, Any]:
    """The random experiment for why.js: lists by scaling, depth and key or bin."""
    return {
        "seed": experiment.seed,
        "rows": experiment.rows,
        "keys": experiment.keys,
        "depths": list(experiment.depths),
        "limit": LIMIT,
        "variance": _numbers(experiment.variance, 3),
        "scaled": _numbers(experiment.scaled_variance, 4),
        "histogram": _numbers(experiment.histogram, 4),
        "scores": _numbers(experiment.scores, 2),
        "weights": _numbers(experiment.weights, 4),
        "entropy": _numbers(experiment.entropy, 4),
        "largest": _numbers(experiment.largest, 4),
        "room": _numbers(experiment.room, 4),
    }


def _own_data(trace: Trace, kind: str) -> dict[str, Any]:
    """One kind of attention for why.js: lists by layer and head."""
    variances = own_variances(trace.attention(kind))
    names = ("query", "key", "product", "mean", "limit", "histogram")
    return {
        "kind": kind,
        "unit": int(variances.unit().sum()),
        **{name: _numbers(getattr(variances, name), 4) for name in names},
    }


def scaling_data(trace: Trace, view: View, seed: int) -> dict[str, Any]:
    """The data of why.js. The chosen head is outlined if there is one."""
    kind = "cross" if view.kind == "all" else view.kind
    layers, heads = trace.attention(kind).layers, trace.attention(kind).heads
    chosen = None
    if view.layer is not None and view.head is not None and view.layer < layers and view.head < heads:
        chosen = {"kind": kind, "layer": view.layer, "head": view.head}
    return {
        **_experiment_data(_random(seed)),
        "d_k": trace.attention(kind).queries.shape[-1],
        "own": [_own_data(trace, name) for name in KINDS],
        "chosen": chosen,
        "big": view.big,
        "wording": wording(trace),
        "texts": browser_texts("why"),
    }


def _draw_again() -> None:
    st.session_state[SEED] = (st.session_state.get(SEED, 0) + 1) % SEEDS


def draw_scaling(trace: Trace, view: View) -> None:
    """The random experiment over d_k, and the variances of the model's own q and k in this sentence."""
    st.button(_("Draw again"), key="why_again", help=_("Draws new random numbers for q and k."), on_click=_draw_again)
    _why(key="why", data=scaling_data(trace, view, st.session_state.get(SEED, 0)))


def draw_softmax(big: bool = False) -> None:
    """Five scores, a temperature, their weights and the Jacobian; everything runs in the browser."""
    _softmax(key="softmax", data={"big": big, "texts": browser_texts("softmax")})
