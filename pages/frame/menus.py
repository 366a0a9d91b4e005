"""Menus of the header."""

from __future__ import annotations

from streamlit.delta_generator import DeltaGenerator


def open_menu(header: DeltaGenerator, label: str, key: str) -> DeltaGenerator | None:
    """A menu in the header, or None while it is closed: what nobody sees is neither made nor sent."""
    menu = header.popover(label, key=key, on_change="rerun")
    return menu if menu.open else None
