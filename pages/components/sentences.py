"""Sentences beside the figures, and computed checks. Their content is always text; markup is escaped."""

import html
import math
import re

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

INDEX = re.compile(r"\b(d|W)_(model|ff|head|k|v|O)\b")
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def deviation(value: float) -> str:
    """A deviation as text, as the browser writes it too: "9.5 × 10⁻⁷"; only exact 0 is "0"."""
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else str(value)
    digits, power = f"{value:.1e}".split("e")
    raised = str(int(power)).translate(_RAISED)
    return digits.replace("-", "−") + (f"\N{NO-BREAK SPACE}×\N{NO-BREAK SPACE}10{raised}" if int(power) else "")


def decimals(value: float, digits: int) -> str:
    """A number with a minus sign as long as a plus."""
    return f"{value:.{digits}f}".replace("-", "−")


def marked_up(text: str) -> str:
    """HTML of a text. Indices that few fonts draw well, as in ᵢ, d_k and W_O, become subscripts."""
    return INDEX.sub(r"<i>\1</i><sub>\2</sub>", html.escape(text)).replace("ᵢ", "<sub><i>i</i></sub>")


def paragraph(*sentences: str, quiet: bool = False) -> None:
    """Sentences in one paragraph. quiet: they describe what is shown, not what was computed."""
    text = marked_up(" ".join(filter(None, sentences)))
    if text:
        st.html(f'<p class="hs-said{" hs-said-quiet" if quiet else ""}">{text}</p>')


def point(text: str, place: DeltaGenerator | None = None) -> None:
    """The one sentence that a part of a page makes its point with, above the picture that shows it. "" leaves its space
    empty. place: where it stands, if that was drawn before."""
    html_of = st.html if place is None else place.html
    html_of(f'<p class="hs-point">{marked_up(text)}</p>')


def controls_and_picture(near: bool = False) -> tuple[DeltaGenerator, DeltaGenerator]:
    """Two containers for what chooses a picture and for the picture, which comes first on a phone; near: there too what
    one moves while looking at the picture stays above it."""
    with st.container(key="hs-near" if near else "hs-first"):
        return st.container(key="hs-first-controls"), st.container(key="hs-first-picture")


def part_layout(near: bool = False) -> tuple[DeltaGenerator, DeltaGenerator, DeltaGenerator]:
    """Three containers: for the point of a part, which may be known last, and those of `controls_and_picture`."""
    return st.container(), *controls_and_picture(near)


def badge(text: str, holds: bool) -> str:
    """HTML of a computed check: green with a tick if it holds, else red with a cross."""
    mark, css_class = ("✓", "hs-good") if holds else ("✗", "hs-bad")
    return f'<span class="hs-check {css_class}" role="status">{mark} {html.escape(text)}</span>'


def check(text: str, holds: bool) -> None:
    """A `badge` on its own line."""
    st.html(f'<p class="hs-checks">{badge(text, holds)}</p>')
