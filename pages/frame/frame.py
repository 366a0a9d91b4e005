"""How every page begins: theme, navigation, checkpoint, and the state the link or the session holds."""

from __future__ import annotations

import html
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

import streamlit as st

import transformer
from pages.frame.examples import examples
from pages.frame.state import CHECKPOINT, OPTIONS, PARTS, State, arrive, change, current, keep, read_switches
from pages.registry import pages
from pages.runtime import cache, session_models
from pages.runtime.texts import _
from pages.training import runs
from transformer.inference.pretrained import Pretrained
from transformer.interventions.sets import InterventionError, Interventions, Switch, layers_of
from transformer.tracing.trace import KINDS
from transformer.view.state import View, view_from_params

PAGE = "headscope_page"
UNREAD = "headscope_unread"  # whether the link waits for a model that can be opened, to say what it asks for
TYPED = "headscope_typed"  # languages -> source and target typed for them last
STYLES = {path.stem: path.read_text(encoding="utf-8") for path in Path(__file__).parents[1].glob("*/*.css")}


@dataclass(frozen=True)
class Begun:
    """model: the checkpoint chosen; state: as the session or the link has it; header: where a page adds its menus;
    arrived: the session was on another page before this run; fresh: it is new, the page that shows it perhaps not."""

    model: Pretrained
    state: State
    header: st.delta_generator.DeltaGenerator
    arrived: bool = False
    fresh: bool = False


def message(sentence: str, kind: str = "warning") -> None:
    """A sentence in a box; what a person typed in it stays text, markup and Markdown included."""
    sentence = html.escape(cache.readable_text(sentence))
    st.html(f'<div class="hs-message hs-{kind}" role="status">{sentence}</div>')


def capital(error: Exception) -> str:
    """What an error says, beginning with a capital, for the start of a sentence."""
    text = str(error)
    return text[:1].upper() + text[1:]


def menu(begun: Begun, label: str, key: str) -> st.delta_generator.DeltaGenerator | None:
    """A menu in the header, or None while it is closed: what nobody sees is neither made nor sent."""
    found = begun.header.popover(label, key=key, on_change="rerun")
    return found if found.open else None


def _toggle_big() -> None:
    state = current()
    if state is not None:
        change(view=replace(state.view, big=not state.view.big), renew=True)


def big_button(begun: Begun) -> None:
    with begun.header:
        st.button("Aa", key="hs-big", on_click=_toggle_big, help=_("Big text, for a projector"))


def fitting_switches(switches: Interventions, model: Pretrained) -> Interventions:
    """Those switches whose layers and heads the model has: another checkpoint may have fewer."""

    def fits(one: Switch) -> bool:
        try:
            Interventions((one,)).check(model.config)
        except InterventionError:
            return False
        return True

    return Interventions(tuple(one for one in switches.switches if fits(one)))


def fitting(view: View, model: Pretrained) -> View:
    """The view with a layer and a head that the model has: another checkpoint may have fewer."""
    layers = max(layers_of(model.config, kind) for kind in KINDS)
    layer = None if view.layer is None else min(view.layer, layers - 1)
    return replace(view, layer=layer, head=None if view.head is None else min(view.head, model.config.heads - 1))


def switch_checkpoint(name: str) -> None:
    """Take over another checkpoint.

    Between models of the same two languages the sentence stays, so that they can be compared. A model of others begins
    with what was typed for it last, or with its first example; an English sentence means nothing to one that sorts.
    """
    old = current()
    if old is None:
        return
    state = replace(old, checkpoint=name, revision=old.revision + 1)
    typed = st.session_state.setdefault(TYPED, {})
    try:
        before, after = session_models.load(old.checkpoint), session_models.load(name)
    except (transformer.CheckpointError, KeyError):
        keep(state)  # the page says what is wrong with it
        return
    if before.languages != after.languages:
        typed[before.languages] = (state.source, state.target)
        first = examples(after, after.name)[:1]
        if after.languages in typed:
            source, target = typed[after.languages]
            state = replace(state, source=source, target=target)
        elif first:
            view = replace(first[0].view, big=state.view.big)
            state = replace(state, source=first[0].source, target=first[0].target, view=view)
    keep(state)


def _read_part(params: Mapping[str, str]) -> tuple[str, list[str]]:
    """The part of the lab that a link asks for, or the first and a sentence."""
    part = params.get("part", PARTS[0])
    if part in PARTS:
        return part, []
    sentence = _("The link asks for part {asked!r}; there are {parts}.")
    return PARTS[0], [sentence.format(asked=part[:40], parts=", ".join(PARTS))]


def _follow(state: State) -> State:
    """The state with the model that a link from the Training page leads to, as if it had been chosen in the menu."""
    name, said = runs.asked_for()
    if name:
        switch_checkpoint(name)
    state = current() or state
    return keep(replace(state, notices=(*state.notices, *said))) if said else state


@st.fragment(run_every=timedelta(days=1))
def _come_back() -> None:
    """Nothing, once a day; but a page that holds such a part asks for a run as soon as it is connected again.

    Without one Streamlit's page waits for the next click. If its server died and another answers now, that one has no
    session: the click would meet a state fresh from the link, and be lost.
    """


def begin(title: str, page: str = "") -> Begun:
    """Draw the header and give the page what it shows. Stops the page, with a sentence, if no model can be opened.

    page: its name in OPTIONS, if it has options of its own; a style sheet of that name is the page's own.
    """
    st.set_page_config(page_title=f"{title} · Headscope", page_icon="🔬", layout="wide")
    state = current()
    big = state.view.big if state is not None else st.query_params.get("big") == "1"
    st.html(f"<style>{STYLES['style']}{STYLES.get(page, '')}{':root{--hs-scale:1.3}' if big else ''}</style>")
    _come_back()
    runs.collect()
    arrived = st.session_state.get(PAGE) != title
    found = session_models.names()
    if not found:
        message(_("No checkpoint was found; start with headscope --checkpoint FOLDER, or train one."), "error")
        st.stop()
    fresh = st.session_state.get(UNREAD, True)
    if state is None:
        state = keep(arrive(found))
    elif arrived:
        # The picture is mounted anew and knows nothing of what was chosen since its bytes were packed.
        state = keep(replace(state, revision=state.revision + 1))
    if arrived:
        state = _follow(state)
        found = session_models.names()
    st.session_state[PAGE] = title
    header = st.container(horizontal=True, vertical_alignment="center", gap="small", key="hs-header")
    with header:
        # Streamlit's own skip link leads to what holds this header too; the stylesheet hides it.
        skip = f'<a class="hs-skip" href="#hs-content">{html.escape(_("Skip to the content"))}</a>'
        h1 = f'<h1 class="hs-spoken">{html.escape(title)}</h1>'
        st.html(f'{skip}{h1}<div class="hs-brand">Head<span>scope</span></div>', width="content")
        for page_info in pages():
            st.page_link(page_info.script, label=page_info.title)
        st.html('<div class="hs-spring"></div>', width="stretch")
        if arrived or st.session_state.get(CHECKPOINT) != state.checkpoint:
            st.session_state[CHECKPOINT] = state.checkpoint
        st.selectbox(
            _("Checkpoint"),
            list(dict.fromkeys([*found, state.checkpoint])),  # what was chosen may be gone from its folder
            key=CHECKPOINT,
            on_change=lambda: switch_checkpoint(st.session_state[CHECKPOINT]),
            label_visibility="collapsed",
            width=175,
        )
    st.html('<div id="hs-content" tabindex="-1"></div>')
    if state.checkpoint not in found:
        sentence = _("The checkpoint {name!r} is gone from its folder; put it back and reload, or choose another.")
        message(sentence.format(name=state.checkpoint), "error")
        st.stop()
    try:
        model = session_models.load(state.checkpoint)
    except transformer.CheckpointError as error:
        message(_("This checkpoint cannot be opened: {error}.").format(error=error), "error")
        st.stop()
    if fresh:
        config = model.config
        layers = {kind: layers_of(config, kind) for kind in KINDS}
        first = examples(model, model.name)[:1]
        if first and "source" not in st.query_params:
            state = replace(state, source=first[0].source, target=state.target or first[0].target)
        # Who comes without a link sees the first example where it has something to show.
        start = [example.view for example in examples(model, model.name) if example.source == state.source]
        params = st.query_params.to_dict()
        asked = {name: text for name, text in params.items() if name in OPTIONS.get(page, ())}
        params = {name: text for name, text in params.items() if name not in asked}
        begin_with = start[0] if start and not {"kind", "layer", "head"} & set(params) else None
        view, misread = view_from_params(params, layers, config.heads, begin_with)
        switches, wrong = read_switches(params, config)
        part, unknown = _read_part(params)
        notices = (*state.notices, *misread, *wrong, *unknown)
        chosen = {page: asked} if asked else {}
        state = keep(replace(state, view=view, switches=switches, part=part, chosen=chosen, notices=notices))
        st.session_state[UNREAD] = False
    else:
        state = keep(replace(state, view=fitting(state.view, model)))
    kept = fitting_switches(state.switches, model)
    if kept != state.switches:
        lost = " ".join(str(Interventions((one,))) for one in state.switches.switches if one not in kept.switches)
        sentence = _("This model has no such layer, head, neuron or position, so this is switched back: {switches}.")
        state = keep(replace(state, switches=kept, notices=(*state.notices, sentence.format(switches=lost))))
    for notice in state.notices:
        message(notice)
    if state.notices:
        keep(replace(state, notices=()))
    return Begun(model, current() or state, header, arrived, fresh)
