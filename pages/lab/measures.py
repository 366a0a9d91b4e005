"""Saturation of every head before and after the switches, as a Streamlit component."""

from typing import Any

import streamlit as st

from pages.components.comparison import Compared
from pages.components.descriptions import in_words
from pages.components.saving import describe_trace
from pages.frame.options import Options
from pages.runtime.session import reported
from transformer.analysis.saturation import MEASURES, Saturation, saturation
from transformer.tracing.trace import KINDS, Trace
from transformer.view.bundle import script, style
from transformer.view.languages import browser_texts
from transformer.view.numbers import rounded
from transformer.view.pack import wording
from transformer.view.state import View

KEY = "lab_measures"
SHOWN = ("saturated", *(name for name in MEASURES if name != "saturated"))  # the first is shown first

_measures = st.components.v2.component(
    "headscope.measures",
    js=script("measures"),
    css=style("measures"),
)


def measured(trace: Trace, kind: str) -> Saturation:
    """The measures of one kind, without the rows of <pad> after the source."""
    attention = trace.attention(kind)
    pads = trace.interventions.pads if kind == "encoder_self" else 0
    rows = attention.mask.shape[-2]
    return saturation(attention, [row < rows - pads for row in range(rows)])


def _side(trace: Trace) -> dict[str, Any]:
    """kind -> measure -> [layer][head], and how many rows were counted."""
    sides = {}
    for kind in KINDS:
        measures = measured(trace, kind)
        numbers = {name: rounded(getattr(measures, name), 6) for name in MEASURES}
        sides[kind] = {**numbers, "rows": measures.rows.tolist()}
    return sides


def payload(compared: Compared, view: View) -> dict[str, Any]:
    """The data of measures.js."""
    before, after = compared.before, compared.after
    first = _side(before)
    chosen = None
    if view.kind != "all" and view.layer is not None and view.head is not None:
        part = after.attention(view.kind)
        if view.layer < part.layers and view.head < part.heads:
            chosen = {"kind": view.kind, "layer": view.layer, "head": view.head}
    return {
        "before": first,
        "after": first if after is before else _side(after),
        "zero": {kind: after.attention(kind).zero.tolist() for kind in KINDS},
        "switched": after is not before,
        "saved": describe_trace(after, compared.interventions),
        "in_words": in_words(compared.interventions, compared.model.config),
        "chosen": chosen,
        "big": view.big,
        "wording": wording(after),
        "texts": browser_texts("measures"),
    }


def _checked(pick: Any, trace: Trace) -> list | None:
    """The browser's report [kind, layer, head], if the model has that head; else None."""
    if not isinstance(pick, list | tuple) or len(pick) != 3 or pick[0] not in KINDS:
        return None
    kind, layer, head = pick
    part = trace.attention(kind)
    whole = all(type(index) is int or (type(index) is float and index.is_integer()) for index in (layer, head))
    if not whole or not (0 <= layer < part.layers and 0 <= head < part.heads):
        return None
    return [kind, int(layer), int(head)]


def draw(compared: Compared, view: View, options: Options) -> list | None:
    """The tables and the plot. Returns the head a person chose since the last run, [kind, layer, head] with indices
    from 0, or None."""
    if (chosen := reported(KEY, "measure")) in SHOWN:
        options.report("measure", chosen, SHOWN[0])
    measure = options.choice("measure", SHOWN, SHOWN[0])
    data = {**payload(compared, view), "measure": measure}
    found = _measures(key=KEY, data=data, on_pick_change=lambda: None, on_measure_change=lambda: None)
    return _checked(found.pick, compared.after)
