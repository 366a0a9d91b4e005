"""Messages in a box: notes, warnings and errors."""

import html

import streamlit as st

from pages.runtime.texts import readable_text
from transformer.interventions.sets import Interventions
from transformer.view.shared_texts import say


def message(sentence: str, kind: str = "warning") -> None:
    """A sentence in a box; markup and Markdown in it stay text."""
    sentence = html.escape(readable_text(sentence))
    st.html(f'<div class="hs-message hs-{kind}" role="status">{sentence}</div>')


def note_waiting_switches(switches: Interventions) -> None:
    """A note, if there are switches, that they have no effect here."""
    if switches:
        message(say("waiting"), "note")


def capital(error: object) -> str:
    """A text, or that of an error, with a capital first letter, to start a sentence."""
    text = str(error)
    return text[:1].upper() + text[1:]
