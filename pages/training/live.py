"""The runs of a session while they train: the picture, what a person commands in it, and what comes after."""

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
SAYS = "headscope_training_says"  # what came of the last command

_picture = st.components.v2.component("headscope.training", js=script("training"), css=style("training"))
_feed = st.components.v2.component("headscope.training_feed", js=script("feed"))


def _obey(asked: ViewerMessage) -> None:
    one = next(one for one in runs.watched() if one.run.id == asked.run)
    said: list[str] = []
    if asked.do == "pause":
        one.run.pause()
    elif asked.do == "go":
        one.run.go_on()
    elif asked.do == "stop":
        one.run.stop()
    elif asked.do == "again":
        said = runs.again(one)
    elif asked.do == "remove":
        runs.remove(one)
    st.session_state[SAYS] = said


@st.fragment
def draw(links: Links) -> None:
    """The picture and its data, again for every answer: nothing else of the page is run for it."""
    found = _picture(key=KEY, on_ask_change=lambda: None, on_command_change=lambda: None)
    watched = runs.watched()
    asked = read_message(found.ask, found.command, tuple(one.run.id for one in watched))
    if asked.do:
        _obey(asked)
    for said in st.session_state.get(SAYS, ()):
        message(said)
    runs.collect()
    watched, state = runs.watched(), current_state()
    names = runs.names()
    more = {
        "labels": {one.run.id: name for one, name in zip(watched, names, strict=True)},
        "waiting": runs.shop().waiting,
        "big": state is not None and state.view.big,
        "findings": rows(watched, names),
        "texts": browser_texts("training"),
    }
    with st.container(key="hs-feeds"):
        _feed(
            key="training_feed",
            data=training_pack([one.run for one in watched], asked.have, more, asked.number),
            height=1,
        )
    for one, name in zip(watched, names, strict=True):
        if one.run.ended:
            _after(one, name, links)


def _after(one: Watched, name: str, links: Links) -> None:
    """What can be done with a run that has ended."""
    if one.error:
        message(_("The model of {run} cannot be opened: {error}.").format(run=name, error=one.error), "error")
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key=f"hs-after-{one.run.id}"):
        data = one.run.result if not one.error else None
        text = _("**{run}**, open in") if data is not None else "**{run}**"
        st.markdown(text.format(run=plain_markdown(name)), width="content")
        if data is not None:
            for page, link in links.items():
                if page.opens_models:
                    st.page_link(link, label=page.title, query_params={OPEN: one.run.id})
            download_button(one.name, data, f"training_zip_{one.run.id}")
        files = recipe_files(one.experiment)
        single = len(files) == 1
        st.download_button(
            _("Recipe"),
            lambda: next(iter(files.values())) if single else zipped(files, "recipe"),
            "recipe.toml" if single else "recipe.zip",
            "application/toml" if single else "application/zip",
            key=f"training_recipe_{one.run.id}",
            on_click="ignore",
            help=_("For python -m transformer train --recipe, which trains to exactly the same weights."),
        )
