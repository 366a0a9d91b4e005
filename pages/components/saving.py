"""What saved pictures say of themselves, and the menu that saves a picture written as HTML."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import inf
from typing import Any

import streamlit as st

from pages.components.descriptions import in_words
from pages.components.live_picture import for_browser
from transformer.interventions.sets import NONE, Interventions
from transformer.tracing.trace import Trace, TracedPair
from transformer.view.bundle import script, style
from transformer.view.shared_texts import say

_menu = st.components.v2.component("headscope.saving", js=script("saving"), css=style("saving"))


def describe_trace(trace: TracedPair, interventions: Interventions | None = None) -> dict[str, Any]:
    """What a saved picture says of its trace: the model, the sentences, and the switches, for its file name and in
    words.

    interventions: by default those of the trace.
    """
    switches = (trace.interventions if isinstance(trace, Trace) else NONE) if interventions is None else interventions
    return {
        "model": trace.checkpoint,
        "sentences": say("sentences", source=trace.source_text, target=trace.target_text),
        "switches": [f"{name}-{value}" for name, value in switches.to_params().items()],
        "in_words": say("switched", switches=in_words(switches)) if switches else "",
    }


@contextmanager
def saved(name: str, stem: Sequence[str], caption: Sequence[str], rows: Sequence[Sequence[Any]]) -> Iterator[None]:
    """A picture drawn with st.html, and in its corner the menu that saves it as PNG, SVG and CSV.

    name: of the picture, unique on the page; stem: parts of the file's name; caption: lines above the saved picture,
    which say what was done to the numbers; rows: of the table, the headings first.
    """
    target = re.sub(r"\W", "-", f"hs-picture-{name}")
    data = {
        "target": f"st-key-{target}",
        "name": f"{name}-save",
        "stem": list(stem),
        "caption": [line for line in caption if line],
        "rows": [[None if value in (inf, -inf) or value != value else value for value in row] for row in rows],
        **for_browser("saving"),
    }
    with st.container(key=target):
        yield
        _menu(key=f"saving_{name}", data=data)
