"""The position encodings (section 3.5) with sliders that work in the browser, as a Streamlit component."""

import re
from typing import Any

import streamlit as st

from pages.components.live_picture import for_browser
from pages.frame.frame import PageFrame
from pages.frame.messages import message
from pages.runtime.session import reported_since
from pages.runtime.shared import shared
from transformer.inference.pretrained import readable
from transformer.texts import _, reader_language
from transformer.tracing.trace import Trace
from transformer.view.bundle import script, style
from transformer.view.position_figures import (
    D_MODEL,
    LENGTH,
    LENGTHS,
    MOST_CURVES,
    PARTS,
    START_K,
    START_Q,
    Values,
    templates,
)
from transformer.view.shared_texts import say

LONGEST_DIMS = 100  # most characters of the dimensions in a link
PAGE, KEY = "positions", "positions"  # key of the options, key of the component

_component = st.components.v2.component(
    "headscope.positions", js=script("positions"), css=style("positions"), isolate_styles=False
)


@shared()
def _templates(part: str, language: str) -> dict[str, str]:
    """language: the reader's, for the cache."""
    return templates(PARTS[part])


def _whole(value: Any, low: int, high: int) -> int | None:
    """A whole number from the browser within bounds, else None."""
    if type(value) is float and value.is_integer():
        value = int(value)
    return value if type(value) is int and low <= value <= high else None


def _merge_browser(frame: PageFrame) -> None:
    """Store a person's slider moves since the last run."""
    told_values = reported_since(frame.state.revision, KEY, "values")
    if not told_values:
        return
    part = told_values.get("part")  # perhaps of the part that was open before
    values = own_values(frame, part if isinstance(part, str) and part in LENGTHS else frame.part)
    d_model = _whole(told_values.get("d_model"), *D_MODEL)
    length = _whole(told_values.get("length"), *LENGTH)
    if d_model is None or d_model % 2 or length is None:
        return
    frame.options.report("d_model", d_model, values.d_model)
    frame.options.report("length", length, values.length)
    for name, start in (("k", values.k), ("q", values.q)):
        value = _whole(told_values.get(name), 0, length - 1)
        if value is not None:
            frame.options.report(name, value, min(start, length - 1))
    dims = told_values.get("dims", ())
    if dims is None:
        frame.options.report("dims", "", "")
    elif isinstance(dims, list | tuple) and 0 < len(dims) <= MOST_CURVES:
        there = [_whole(dimension, 0, d_model - 1) for dimension in dims]
        if None not in there:
            frame.options.report("dims", ",".join(map(str, there)), "")


def read_dims(text: str, d_model: int) -> tuple[tuple[int, ...], list[str]]:
    """Dimensions of a link, "0,32,64": those that can be drawn, each once, and the text of those that cannot."""
    dimensions: list[int] = []
    wrong = []
    for part in filter(None, re.split(r"[\s,;]+", text[:LONGEST_DIMS])):
        dimension = int(part) if re.fullmatch(r"[0-9]{1,4}", part) else d_model
        if dimension < d_model and (dimension in dimensions or len(dimensions) < MOST_CURVES):
            dimensions.append(dimension)
        else:
            wrong.append(part)
    return tuple(dict.fromkeys(dimensions)), wrong


def _dims(frame: PageFrame, d_model: int) -> tuple[int, ...] | None:
    text = str(frame.state.chosen.get(PAGE, {}).get("dims", ""))
    dimensions, wrong = read_dims(text, d_model)
    if wrong:
        sentence = _(
            "The link asks for dimensions that are left out: {wrong}. Up to {most} from 0 to {last} can be drawn."
        )
        message(sentence.format(wrong=", ".join(wrong)[:60], most=MOST_CURVES, last=d_model - 1))
    frame.options.report("dims", ",".join(map(str, dimensions)), "")
    return dimensions or None


def source_labels(frame: PageFrame) -> tuple[str, ...]:
    """The source's tokens as a person reads them."""
    if frame.trace is not None:
        return frame.trace.source_labels
    return readable(frame.model.surfaces(frame.state.source))


def own_values(frame: PageFrame, part: str) -> Values:
    """The defaults of a part: the loaded model's d_model, and a length with space for the sentence."""
    d_model = max(D_MODEL[0], min(D_MODEL[1], frame.model.config.d_model))
    length = max(LENGTH[0], min(LENGTH[1], max(LENGTHS[part], len(source_labels(frame)))))
    return Values(d_model - d_model % 2, length, None, START_K, START_Q)


def chosen(frame: PageFrame, part: str) -> Values:
    """The slider values of a part: from the browser, the session or the link, within bounds."""
    values = own_values(frame, part)
    _merge_browser(frame)
    d_model = frame.options.value("d_model", *D_MODEL, values.d_model)
    if d_model % 2:
        sentence = _("d_model is {asked}, but the encoding needs an even number: {shown} is shown.")
        message(sentence.format(asked=d_model, shown=d_model - 1))
        d_model -= 1
        frame.options.report("d_model", d_model, values.d_model)
    length = frame.options.value("length", *LENGTH, values.length)
    if part == "encoding":
        return Values(d_model, length, _dims(frame, d_model))
    k, q = (frame.options.value(name, 0, length - 1, start) for name, start in (("k", values.k), ("q", values.q)))
    return Values(d_model, length, None, k, q)


def draw(frame: PageFrame, _trace: Trace | None = None) -> None:
    """The part "encoding": the table, chosen dimensions with the sentence's tokens, wavelengths. Or "distance": dot
    products of encodings, as a matrix and against p - q, and the linear map M_k."""
    part, config = frame.part, frame.model.config
    if config.positions == "relative":
        message(say("no_encodings", model=frame.model.name), "note")
    values = chosen(frame, part)
    more = {"dims": values.dims} if part == "encoding" else {"k": values.k, "q": values.q}
    data = {
        "model": frame.model.name,
        "part": part,
        "figures": _templates(part, reader_language().code),
        "values": {"d_model": values.d_model, "length": values.length, **more},
        "own": config.d_model,
        "layout": config.layout if config.positions == "sinusoidal" and config.layout != "interleaved" else "",
        "tokens": source_labels(frame),
        "revision": frame.state.revision,
        **for_browser("positions"),
    }
    _component(key=KEY, data=data, on_values_change=lambda: None)
