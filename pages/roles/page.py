"""Head roles: what every head does, with evidence."""

from __future__ import annotations

from pages.frame.frame import Content, PageFrame
from pages.roles import overview
from pages.runtime.streamlit import load_plotly
from transformer.texts import _


def parts() -> dict[str, str]:
    return {"roles": _("Roles")}


def draw(frame: PageFrame) -> None:
    load_plotly()
    {"roles": overview}[frame.part].draw(frame)


CONTENT = Content(draw, parts, overview.OPTIONS, sentence=False)
