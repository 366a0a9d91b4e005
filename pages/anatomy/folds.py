"""Folded explanations whose being open is in the link."""

from __future__ import annotations

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.frame.frame import PageFrame

FOLDS = ("about", "columns", "products", "scores")


def fold(frame: PageFrame, name: str, label: str) -> DeltaGenerator:
    """An expander. name: one of FOLDS, the option that says whether it is open."""
    key = f"{frame.options.page}_{name}"
    opened = frame.options.choice(name, ("off", "on"), "off") == "on"

    def changed() -> None:
        frame.options.report(name, "on" if st.session_state[key] else "off", "off")

    return st.expander(label, expanded=opened, key=key, on_change=changed)
