"""The runs of a session while they train: the picture, its commands, and the buttons after a run."""

from __future__ import annotations

import streamlit as st

from pages.components.checkpoint_zip import download_button
from pages.frame.frame import OPEN, Links
from pages.frame.messages import message
from pages.frame.state import current_state
from pages.runtime.texts import plain_markdown
from pages.training import runs
from pages.training.findings import rows
from pages.training.runs import Watched
from transformer.checkpoints.archive import zipped
from transformer.live_training.recipe import recipe_files
from transformer.texts import _
from transformer.view.bundle import script, style
from transformer.view.languages import browser_texts
from transformer.view.training_messages import ViewerMessage, read_message
from transformer.view.training_pack import training_pack

KEY = "training"
SAYS = "headscope_training_says"  # messages of the last command

_picture = st.components.v2.component("headscope.training", js=script("training"), css=style("training"))
_feed = st.components.v2.component("headscope.training_feed", js=script("feed"))


def _run_command(asked: ViewerMessage) -> None:
    watched = next(candidate for candidate in runs.watched() if candidate.run.id == asked.run)
    messages: list[str] = []
    if asked.do == "pause":
        watched.run.pause()
    elif asked.do == "go":
        watched.run.go_on()
    elif asked.do == "stop":
        watched.run.stop()
    elif asked.do == "again":
        messages = runs.again(watched)
    elif asked.do == "remove":
        runs.remove(watched)
    st.session_state[SAYS] = messages


@st.fragment
def draw(links: Links) -> None:
    """The picture and its data. Every answer to the browser reruns only this fragment."""
    reported = _picture(key=KEY, on_ask_change=lambda: None, on_command_change=lambda: None)
    watched = runs.watched()
    asked = read_message(reported.ask, reported.command, tuple(run_of.run.id for run_of in watched))
    if asked.do:
        _run_command(asked)
    for text in st.session_state.get(SAYS, ()):
        message(text)
    runs.collect()
    watched, state = runs.watched(), current_state()
    names = runs.names()
    more = {
        "labels": {entry.run.id: name for entry, name in zip(watched, names, strict=True)},
        "waiting": runs.shop().waiting,
        "big": state is not None and state.view.big,
        "findings": rows(watched, names),
        "texts": browser_texts("training"),
    }
    with st.container(key="hs-feeds"):
        _feed(
            key="training_feed",
            data=training_pack([entry.run for entry in watched], asked.have, more, asked.number),
            height=1,
        )
    for entry, name in zip(watched, names, strict=True):
        if entry.run.ended:
            _ended_buttons(entry, name, links)


def _ended_buttons(watched: Watched, name: str, links: Links) -> None:
    """The buttons of a run that has ended."""
    if watched.error:
        message(_("The model of {run} cannot be opened: {error}.").format(run=name, error=watched.error), "error")
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key=f"hs-after-{watched.run.id}"):
        data = watched.run.result if not watched.error else None
        text = _("**{run}**, open in") if data is not None else "**{run}**"
        st.markdown(text.format(run=plain_markdown(name)), width="content")
        if data is not None:
            for page, link in links.items():
                if page.opens_models:
                    st.page_link(link, label=page.title, query_params={OPEN: watched.run.id})
            download_button(watched.name, data, f"training_zip_{watched.run.id}")
        files = recipe_files(watched.experiment)
        single = len(files) == 1
        st.download_button(
            _("Recipe"),
            lambda: next(iter(files.values())) if single else zipped(files, "recipe"),
            "recipe.toml" if single else "recipe.zip",
            "application/toml" if single else "application/zip",
            key=f"training_recipe_{watched.run.id}",
            on_click="ignore",
            help=_("For python -m transformer train --recipe, which trains to exactly the same weights."),
        )
