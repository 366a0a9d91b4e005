"""The runs of a session while they train: the picture, its commands, and the buttons after a run."""

from collections.abc import Sequence
from dataclasses import asdict

import streamlit as st

from pages.components.checkpoint_zip import download_button
from pages.components.live_picture import for_browser
from pages.frame.frame import OPEN_MODEL, Links, PageFrame
from pages.frame.messages import message
from pages.frame.options import Options
from pages.runtime.texts import plain_markdown
from pages.training import runs
from pages.training.runs import Watched
from transformer.checkpoints.archive import zipped
from transformer.live_training import presets, training_queue
from transformer.live_training.finding_texts import rows
from transformer.live_training.live_run import LiveRun
from transformer.live_training.messages import STEPS
from transformer.live_training.recipe import recipe_files
from transformer.live_training.recordings import RecordedRun
from transformer.texts import _
from transformer.view.bundle import script, style
from transformer.view.training_messages import LAST, PLACE_CHOICES, Place, ViewerMessage, read_message
from transformer.view.training_pack import first_place, training_pack

KEY = "training"
OPTIONS = ("show", "run", "step", "kinds", "kind", "layer", "head", "rows", "log")  # in links, beside the form's

_picture = st.components.v2.component("headscope.training", js=script("training"), css=style("training"))
_feed = st.components.v2.component("headscope.training_feed", js=script("feed"))


def _run_command(asked: ViewerMessage) -> None:
    entry = next((candidate for candidate in runs.watched() if candidate.run.id == asked.run), None)
    messages: list[str] = []
    if entry is None:  # a recorded run takes no commands
        return
    steer = {"pause": entry.run.pause, "go": entry.run.go_on, "stop": entry.run.stop}.get(asked.do)
    if steer is not None and not runs.steers(entry):  # the picture offers it no more or not yet
        messages = [_("Only the one who started this run, or the teacher, can pause or stop it.")]
    elif steer is not None:
        steer()
    elif asked.do == "again":
        messages = runs.again(entry)
    elif asked.do == "remove":
        runs.remove(entry)
    runs.of_session().messages = messages


def _place(options: Options, shown: Sequence[LiveRun | RecordedRun], reported: Place | None) -> Place:
    """What is looked at: as the browser reports it, as the link asks, or as the picture begins."""
    default = first_place(shown)
    if reported is not None:
        for name, value in asdict(reported).items():
            options.report(name, value, getattr(default, name))
    most = {"run": max(1, len(shown)), "layer": LAST + 1, "head": LAST + 1}
    values: dict[str, int | str] = {
        name: options.value(name, 1, high, getattr(default, name)) for name, high in most.items()
    }
    values["step"] = options.value("step", -1, STEPS, -1)
    values |= {
        name: str(options.choice(name, choices, getattr(default, name))) for name, choices in PLACE_CHOICES.items()
    }
    return Place(**values)  # type: ignore[arg-type]


@st.fragment
def draw(frame: PageFrame, preset: str, live: bool) -> None:
    """The picture and its data. Every answer to the browser reruns only this fragment."""
    reported = _picture(key=KEY, on_ask_change=lambda: None, on_command_change=lambda: None)
    shown = runs.shown(preset, live)
    asked = read_message(reported.ask, reported.command, tuple(run.id for run in shown))
    if asked.do:
        _run_command(asked)
    for text in runs.of_session().messages:
        message(text)
    runs.collect()
    runs.join_teacher()
    shown = runs.shown(preset, live)
    names = runs.names(shown)
    scene = (
        f"{preset} {'live' if live else 'recorded'} {frame.state.revision}"  # a link to this page begins another one
    )
    place = _place(frame.options, shown, asked.place if asked.scene == scene else None)
    labels = {run.id: name for run, name in zip(shown, names, strict=True)}
    more = {
        "labels": labels,
        "waiting": training_queue.shared().waiting,
        "watched": [entry.run.id for entry in runs.watched() if not runs.steers(entry)],
        "findings": rows(shown, names),
        "place": asdict(place),
        "scene": scene,
        "preset": presets.label(preset),
        **for_browser("training"),
    }
    if asked.place is not None:  # the frame writes the address at the end of a whole run only
        frame.write_address()
    with st.container(key="hs-feeds"):
        _feed(
            key="training_feed",
            data=training_pack(shown, asked.have, more, asked.number),
            height=1,
        )
    for watched in runs.watched() if live else ():
        if watched.run.ended:
            _ended_buttons(watched, labels[watched.run.id], frame.links)


def _ended_buttons(watched: Watched, name: str, links: Links) -> None:
    """The buttons of a run that has ended."""
    if watched.error:
        message(_("The model of {run} cannot be opened: {error}.", run=name, error=watched.error), "error")
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key=f"hs-after-{watched.run.id}"):
        data = watched.run.result if not watched.error else None
        text = _("**{run}**, open in") if data is not None else "**{run}**"
        st.markdown(text.format(run=plain_markdown(name)), width="content")
        if data is not None:
            for page, link in links.items():
                if page.opens_models:
                    st.page_link(link, label=page.title, query_params={OPEN_MODEL: watched.run.id})
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
