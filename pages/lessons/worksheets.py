"""The menu of a lesson that is printed: the sheet for students, and its answers."""

import streamlit as st

from pages.frame import lesson
from pages.frame.examples import examples
from pages.frame.frame import PageFrame
from pages.frame.link import app_address
from pages.frame.state import max_tokens
from pages.runtime import cache, session_models
from pages.runtime.texts import plain_markdown
from transformer.checkpoints.folder import CheckpointError
from transformer.lessons import Lesson, Question
from transformer.lessons.questions import Asked
from transformer.lessons.worksheet import Setting, answer_sheet, entries, worksheet
from transformer.texts import _
from transformer.tracing.trace import Trace


def menu(frame: PageFrame, one: Lesson) -> None:
    """Sheets are made when the menu is open; what another sentence changes is computed for the one that is open now."""
    opened = st.popover(_("Print"), key=f"hs-lesson-print-{one.name}", on_change="rerun")
    if not opened.open:
        return
    state = frame.state
    address, reachable = app_address("lessons")
    rows = entries(one, address, Setting(state.checkpoint, state.source, state.target), _opening, _evaluate)
    with opened:
        st.caption(_("Each button saves a file (HTML). Open it in a browser and print it, or save it as PDF."))
        st.caption(_("The QR codes lead to {address}.", address=plain_markdown(address)))
        if not reachable:
            st.caption(_("Only this machine can open it: the server listens on this machine alone (see --address)."))
        for name, label, page in (
            ("worksheet", _("Worksheet"), worksheet(one, address, rows)),
            ("answers", _("Answers"), answer_sheet(one, rows)),
        ):
            st.download_button(
                label, page, f"{one.name}-{name}.html", "text/html", key=f"hs-lesson-{name}-{one.name}",
                on_click="ignore", width="stretch",
            )  # fmt: skip


def _opening(name: str) -> Setting:
    try:
        first = examples(session_models.load(name))[:1]
    except CheckpointError:  # its questions say so
        first = ()
    return Setting(name, first[0].source, first[0].target) if first else Setting(name, "")


def _evaluate(question: Question, setting: Setting) -> Asked:
    model = session_models.load(setting.checkpoint)

    def trace() -> Trace:
        return cache.trace(model, model.name, setting.source, setting.target, max_tokens())

    return lesson.evaluate(model, trace, question)
