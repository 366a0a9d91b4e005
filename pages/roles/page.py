"""Head roles: what every head does, with evidence."""

from __future__ import annotations

from pages.frame.frame import Content, PageFrame
from pages.frame.messages import capital, message
from pages.roles import alignment, importance, overview, search
from transformer.texts import _
from transformer.tracing.finite import NotFiniteError


def parts() -> dict[str, str]:
    return {"roles": _("Roles"), "alignment": _("Alignment"), "importance": _("Importance"), "search": _("Search")}


def draw(frame: PageFrame) -> None:
    try:
        {"roles": overview, "alignment": alignment, "importance": importance, "search": search}[frame.part].draw(frame)
    except NotFiniteError as error:
        message(capital(error) + ".", "error")


CONTENT = Content(
    draw,
    parts,
    tuple(dict.fromkeys((*overview.OPTIONS, *alignment.OPTIONS, *importance.OPTIONS, *search.OPTIONS))),
    sentence=False,
)
