"""Masking and scaling lab: switch parts of attention off in a trained model and see what breaks."""

from dataclasses import dataclass, replace

import streamlit as st

from pages.components import compared_heads, payloads, probing, translation
from pages.components.comparison import compare, switches_of_page
from pages.frame.frame import Content, PageFrame, Part
from pages.frame.messages import note_waiting_switches
from pages.frame.state import store_state
from pages.lab import leak, measures, scaling
from pages.runtime.session import from_session
from transformer.interventions.sets import ATTENTION, NONE, Interventions, Scale, Unbias
from transformer.model.config import ModelConfig
from transformer.texts import N_
from transformer.tracing.trace import Trace
from transformer.view.shared_texts import SHARED_TEXTS, say

TRIED = ("scaling", "nothing")  # what the page shows while no switch is set
CARDS = ("folded", "open")


@dataclass
class LastPart:
    """with_result: whether the part that was drawn last shows a result with the cards; None before the first."""

    with_result: bool | None = None


def draw(frame: PageFrame) -> None:
    probing.look()
    if frame.trace is None or frame.part in ("scaling", "softmax"):
        payloads.forget(compared_heads.KEY)
    if frame.part in ("scaling", "softmax"):
        note_waiting_switches(frame.state.switches.only(*ATTENTION))
    CONTENT.draw_part(frame)
    with frame.options.panel("about", say("about")):
        about()


def _opening(config: ModelConfig) -> Interventions:
    """What is switched off while nothing is chosen, so that the page opens on a result: scaling, or relative positions
    in a model that has them instead."""
    if config.positions == "relative":
        return Interventions((Unbias(),))
    return Interventions((Scale(1.0),)) if config.scaling else NONE


def _shown(frame: PageFrame) -> Interventions:
    """The switches of the page: the chosen ones, or `_opening`; a person who puts it back sees the model as trained."""
    chosen = frame.state.switches.only(*ATTENTION)
    if chosen or frame.options.choice("try", TRIED, TRIED[0]) != TRIED[0]:
        return chosen
    return _opening(frame.model.config)


def _draw_switched(frame: PageFrame, trace: Trace) -> None:
    """The parts that the switches affect."""
    options = frame.options
    _renew(frame, with_result=True)
    values = compared_heads.report(frame.state)
    state = compared_heads.merge_browser(frame.state, frame.model, shown=_shown(frame))
    if "switches" in values:
        put_back = values["switches"] == {} and bool(_opening(frame.model.config))
        options.report("try", TRIED[1] if put_back else TRIED[0], TRIED[0])
    if values.get("cards") in CARDS:
        options.report("cards", values["cards"], CARDS[0])
    shown = _shown(frame)
    others = state.switches.without(*ATTENTION)
    compared = compare(frame.model, trace, switches_of_page(shown + others, ATTENTION, frame.model))
    compare_part = frame.part == "compare"
    row, pane = compared_heads.choices(values, options, compared, state.view.kind)
    layout = compared_heads.Layout(
        opened=options.choice("cards", CARDS, CARDS[0]) == CARDS[1],
        pictures=compare_part,
        row=row,
        pane=pane,
    )
    state = compared_heads.draw(frame.state, compared, layout, shown)
    if compare_part:
        compared_heads.send_translations(compared)
        translation.draw(compared, given=not trace.own)
        probing.draw(compared)
    else:
        pick(frame, measures.draw(compared, state.view, options))


def _draw_leak(frame: PageFrame, trace: Trace) -> None:
    """The leak, and below it the switches that act on both of its sides."""
    _renew(frame, with_result=False)
    state = compared_heads.merge_browser(frame.state, frame.model)
    compared = compare(frame.model, trace, switches_of_page(state.switches, ATTENTION, frame.model))
    leak.draw(compared, frame.options, frame.links)
    layout = compared_heads.Layout(tries=False, opened=True, pictures=False)
    compared_heads.draw(frame.state, compared, layout, state.switches.only(*ATTENTION))


def _renew(frame: PageFrame, with_result: bool) -> None:
    """The cards of a part may show other switches than those of the part before: then the browser takes over anew."""
    last = from_session(LastPart)
    if last.with_result not in (None, with_result):
        store_state(replace(frame.state, revision=frame.state.revision + 1))
    last.with_result = with_result


def pick(frame: PageFrame, chosen: list | None) -> None:
    """Show the pictures of the head chosen in the tables."""
    if chosen is None:
        return
    kind, layer, head = chosen
    frame.options.report("part", "compare")
    view = replace(frame.state.view, kind=kind, layer=layer, head=head, cell=None)
    store_state(replace(frame.state, view=view, revision=frame.state.revision + 1))
    st.rerun()


def about() -> None:
    st.markdown(say("about_lab"))
    st.latex(
        r"\mathrm{Attention}(Q, K, V) = \mathrm{softmax}\!\left(\frac{QK^\top}{\sqrt{d_k}} + M\right) V,"
        r"\qquad \mathrm{MultiHead} = \mathrm{Concat}(\mathrm{head}_1, \dots, \mathrm{head}_h)\, W^O"
    )
    st.markdown(say("about_lab_switches"))


SWITCHED = ("try", "cards", *compared_heads.OPTIONS, "measure")
PARTS = {
    "compare": Part(SHARED_TEXTS["part_compare"], _draw_switched, SWITCHED),
    "measures": Part(SHARED_TEXTS["part_measures"], _draw_switched, SWITCHED),
    "leak": Part(N_("The leak"), _draw_leak, ("position", "token")),
    "scaling": Part(SHARED_TEXTS["part_scaling"], scaling.draw_scaling, ("d_k", "draw", "quantity")),
    "softmax": Part(SHARED_TEXTS["part_softmax"], scaling.draw_softmax, ("scores", "temperature"), alone=True),
}
CONTENT = Content(draw, PARTS)
