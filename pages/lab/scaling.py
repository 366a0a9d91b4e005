"""Why scores are scaled, and the softmax by hand, as Streamlit components."""

import math
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import streamlit as st

from pages.components.saving import describe_trace
from pages.frame.frame import PageFrame
from pages.frame.messages import message
from pages.frame.state import store_state
from pages.runtime.session import reported
from pages.runtime.shared import shared
from transformer.analysis.scaling import DEPTHS, RandomExperiment, own_variances, random_experiment
from transformer.texts import _
from transformer.tracing.trace import KINDS, Trace
from transformer.view.bundle import script, style
from transformer.view.experiment import experiment_data
from transformer.view.languages import browser_texts
from transformer.view.numbers import rounded
from transformer.view.pack import wording
from transformer.view.state import View, view_from_browser

SEEDS = 1000  # different draws; bounds the seed
QUANTITIES = ("product", "query", "key")
START = (2.0, 1.0, 0.0, -1.0, 0.5)  # scores of the softmax by hand
LARGEST = 10.0  # of its scores


def _component(name: str) -> Any:
    return st.components.v2.component(f"headscope.{name}", js=script(name), css=style(name))


_why = _component("why")
_softmax = _component("softmax")


@shared()
def _random(seed: int) -> RandomExperiment:
    return random_experiment(seed)


def _own_data(trace: Trace, kind: str) -> dict[str, Any]:
    """One kind of attention for why.js: lists by layer and head."""
    variances = own_variances(trace.attention(kind))
    names = ("query", "key", "product", "mean", "limit", "histogram")
    return {
        "kind": kind,
        "unit": int(variances.unit().sum()),
        **{name: rounded(getattr(variances, name), 4) for name in names},
    }


def scaling_data(trace: Trace, view: View, seed: int, shown: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The data of why.js. The chosen head is outlined if there is one. shown: what a link asks for: depth and
    quantity."""
    kind = "cross" if view.kind == "all" else view.kind
    layers, heads = trace.attention(kind).layers, trace.attention(kind).heads
    chosen = None
    if view.layer is not None and view.head is not None and view.layer < layers and view.head < heads:
        chosen = {"kind": kind, "layer": view.layer, "head": view.head}
    return {
        **experiment_data(_random(seed), SEEDS),
        "d_k": trace.attention(kind).queries.shape[-1],
        "own": [_own_data(trace, name) for name in KINDS],
        "chosen": chosen,
        "saved": describe_trace(trace),
        "shown": dict(shown or {}),
        "big": view.big,
        "wording": wording(trace),
        "texts": browser_texts("why"),
    }


def _reported(key: str) -> Mapping[str, Any]:
    """What the browser reported of a picture's controls; empty before a person has moved one."""
    values = reported(key, "shown")
    return values if isinstance(values, Mapping) else {}


def draw_scaling(frame: PageFrame, trace: Trace) -> None:
    """The random experiment over d_k, and the variances of the model's own q and k in this sentence."""
    state, options, values = frame.state, frame.options, _reported("why")
    own = trace.cross.queries.shape[-1]
    start = min(DEPTHS, key=lambda depth: abs(math.log(depth / own)))
    view = state.view
    if isinstance(values.get("chosen"), Mapping):
        layers = {kind: trace.attention(kind).layers for kind in KINDS}
        view = view_from_browser(values["chosen"], layers, trace.cross.heads, view)
        if (view.kind, view.layer, view.head) != (state.view.kind, state.view.layer, state.view.head):
            store_state(replace(state, view=replace(view, cell=None), revision=state.revision + 1))
    if values.get("depth") in DEPTHS:
        options.report("d_k", values["depth"], start)
    if values.get("quantity") in QUANTITIES:
        options.report("quantity", values["quantity"], QUANTITIES[0])
    if values.get("draw") in range(SEEDS):
        options.report("draw", int(values["draw"]), 0)
    seed = options.value("draw", 0, SEEDS - 1, 0)
    shown = {
        "depth": options.choice("d_k", DEPTHS, start),
        "quantity": options.choice("quantity", QUANTITIES, QUANTITIES[0]),
    }
    _why(key="why", data=scaling_data(trace, view, seed, shown), on_shown_change=lambda: None)


def _numbers_of(text: str) -> list[float] | None:
    """Five scores of a link, "2,1,0,-1,0.5"; None if it is something else."""
    parts = text.split(",")
    if len(parts) != len(START) or not all(re.fullmatch(r"-?\d{1,2}(\.\d{1,4})?", part, re.ASCII) for part in parts):
        return None
    return [max(-LARGEST, min(LARGEST, float(part))) for part in parts]


def draw_softmax(frame: PageFrame) -> None:
    """Five scores, a temperature, their weights and the Jacobian; everything runs in the browser."""
    options, values = frame.options, _reported("softmax")
    scores, temperature = values.get("scores"), values.get("temperature")
    if isinstance(scores, list) and all(isinstance(score, int | float) for score in scores):
        text = ",".join(f"{score:g}" for score in scores)
        if _numbers_of(text) is not None:
            options.report("scores", text, ",".join(f"{score:g}" for score in START))
    if isinstance(temperature, int | float) and 0.1 <= temperature <= 10:
        options.report("temperature", round(float(temperature), 4), 1.0)
    asked = options.typed("scores", ",".join(f"{score:g}" for score in START))
    found = _numbers_of(asked)
    if found is None:
        sentence = _("The link asks for scores {asked!r}. Allowed: five numbers from -10 to 10, such as 2,1,0,-1,0.5.")
        message(sentence.format(asked=asked[:40]))
        found = list(START)
    shown = {"scores": found, "temperature": options.decimal("temperature", 0.1, 10, 1)}
    data = {"big": frame.state.view.big, "shown": shown, "texts": browser_texts("softmax")}
    _softmax(key="softmax", data=data, on_shown_change=lambda: None)
