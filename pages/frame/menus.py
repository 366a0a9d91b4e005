"""Menus of the header."""

from streamlit.delta_generator import DeltaGenerator


def open_menu(header: DeltaGenerator, label: str, key: str) -> DeltaGenerator | None:
    """A menu in the header; None while it is closed, so that its content is neither made nor sent."""
    menu = header.popover(label, key=key, on_change="rerun")
    return menu if menu.open else None
