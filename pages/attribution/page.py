"""Attribution: what an output token rests on, source against prefix, and patching."""

from __future__ import annotations

from pages.attribution import compare, patching, prefix, token
from pages.components.comparison import note_waiting_switches
from pages.frame.frame import Content, PageFrame
from pages.frame.messages import capital, message
from transformer.texts import _
from transformer.tracing.finite import NotFiniteError


def parts() -> dict[str, str]:
    return {
        "token": _("One output token"),
        "source": _("Source or prefix"),
        "patching": _("Patching"),
        "compare": _("Compare"),
    }


def draw(frame: PageFrame) -> None:
    if frame.trace is None:
        return
    note_waiting_switches(frame.state.switches)
    try:
        {"token": token, "source": prefix, "patching": patching, "compare": compare}[frame.part].draw(
            frame, frame.trace
        )
    except NotFiniteError as error:
        message(capital(error) + ".", "error")


CONTENT = Content(
    draw, parts, tuple(dict.fromkeys((*token.OPTIONS, *prefix.OPTIONS, *patching.OPTIONS, *compare.OPTIONS)))
)
