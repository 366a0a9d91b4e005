"""The anatomy drawing as a Streamlit component: one sentence through the whole model, with the numbers of its trace."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import streamlit as st

from pages.components.comparison import Compared, compare
from pages.components.descriptions import sub_layer_equation
from pages.components.payloads import payload, renewed
from pages.components.sentences import point
from pages.frame.frame import PageFrame
from pages.frame.messages import message
from pages.frame.state import State, current_state, store_state
from pages.runtime import cache
from pages.runtime.session import reported_since
from transformer.inference.pretrained import Pretrained
from transformer.interventions.sets import InterventionError, Interventions, Mean
from transformer.model.config import ModelConfig
from transformer.texts import _
from transformer.tracing.trace import Trace
from transformer.view import anatomy_pack
from transformer.view.anatomy_state import (
    LONGEST,
    MATRICES,
    OPENED,
    PLACES,
    TEMPOS,
    ZOOMS,
    AnatomyState,
    anatomy_state_from_browser,
    fitting_zoom,
    size_of,
    steps_of,
)
from transformer.view.bundle import script, style
from transformer.view.shared_texts import say
from transformer.web.switches import needs_server

KEY = "anatomy"
OPTIONS = ("zoom", "place", "encoder", "decoder", "head", "step", "matrix", "row", "col", "t", "opened", "tempo")
MOST_WEIGHTS = 8_000_000  # most numbers of a step's matrices that a browser gets, in 16 or 32 bits


_picture = st.components.v2.component("headscope.anatomy", js=script("anatomy"), css=style("anatomy"))
_feeds = {
    part: st.components.v2.component(f"headscope.anatomy_{part}", js=script("feed"))
    for part in ("trace", "open", "place", "weights")
}


def _report(frame: PageFrame, stand: AnatomyState) -> None:
    """Store where a person is in the drawing; links count from 1. The head is always stored: otherwise the drawing
    would start with the head of the view, which differs for the person who opens the link; and so are place and step,
    which start elsewhere on a page without a link."""
    frame.options.report("place", stand.place)
    frame.options.report("zoom", stand.zoom, AnatomyState.zoom)
    frame.options.report("step", stand.step)
    frame.options.report("matrix", stand.matrix, AnatomyState.matrix)
    frame.options.report("head", stand.head + 1)
    frame.options.report("t", stand.t + 1)
    frame.options.report("opened", stand.opened, AnatomyState.opened)
    frame.options.report("tempo", stand.tempo, AnatomyState.tempo)
    for name in ("encoder", "decoder", "row", "col"):
        frame.options.report(name, getattr(stand, name) + 1, getattr(AnatomyState, name) + 1)


def merge_browser(frame: PageFrame) -> State:
    """The state after a person's actions in the drawing since the last run: position and all switches."""
    state, config = frame.state, frame.model.config
    values = reported_since(state.revision, KEY, KEY)
    if not values:
        return state
    _report(frame, anatomy_state_from_browser(values, config))
    state, switches, asked = current_state() or state, state.switches, values.get("switches")
    if isinstance(asked, Mapping) and all(isinstance(text, str) for pair in asked.items() for text in pair):
        try:
            switches = Interventions.parse(asked)
            switches.check(config)
        except InterventionError:
            switches = state.switches
    return store_state(replace(state, switches=switches))  # stored now, because a click elsewhere may end this run


def _position(frame: PageFrame, source: int, target: int) -> AnatomyState:
    """The position in the drawing from session or link, within bounds; a sentence names what a link asks for and does
    not exist.

    source, target: number of tokens of each side.
    """
    config = frame.model.config
    chosen = frame.state.chosen.get(frame.options.page, {})
    if not chosen.keys() & set(OPTIONS):
        frame.options.report("place", PLACES[0])  # without a link, the sentence is about to enter
    place = str(frame.options.choice("place", PLACES, AnatomyState.place))
    asked = str(frame.options.choice("zoom", ZOOMS, AnatomyState.zoom))
    zoom = fitting_zoom(asked, place)
    if zoom != asked:
        sentence = _("The link asks for zoom {asked!r}, which {place!r} does not have; {shown!r} is shown.")
        message(sentence.format(asked=asked, place=place, shown=zoom))
        frame.options.report("zoom", zoom, AnatomyState.zoom)
    steps = steps_of(place, config)
    # A link to a head that names no step shows the head's result.
    step = str(frame.options.choice("step", steps, "softmax" if zoom == "head" else steps[0]))
    matrix = str(frame.options.choice("matrix", MATRICES, AnatomyState.matrix))
    rows, columns = size_of(place, step, matrix, config, source, target)
    if "head" not in chosen:
        frame.options.report(
            "head", (frame.state.view.head or 0) + 1
        )  # the head of the view at first; later the drawing has its own
    return AnatomyState(
        zoom=zoom,
        place=place,
        encoder=frame.options.value("encoder", 1, config.encoder_layers, 1) - 1,
        decoder=frame.options.value("decoder", 1, config.decoder_layers, 1) - 1,
        head=frame.options.value("head", 1, config.heads, 1) - 1,
        step=step,
        matrix=matrix,
        row=frame.options.value("row", 1, rows, 1) - 1,
        col=frame.options.value("col", 0, columns, 0) - 1,
        t=frame.options.value("t", 1, target, 1) - 1,
        opened=str(frame.options.choice("opened", OPENED, AnatomyState.opened)),
        tempo=str(frame.options.choice("tempo", TEMPOS, AnatomyState.tempo)),
    )


def _drawable_trace(frame: PageFrame, trace: Trace) -> tuple[Trace, int]:
    """The trace, or a shorter one where the model itself wrote more tokens than can be drawn; and how many it wrote in
    that case, otherwise 0."""
    if not trace.own or len(trace.source_ids) > LONGEST or len(trace.target_in_ids) <= LONGEST:
        return trace, 0
    return cache.trace(frame.model, frame.model.name, trace.source_text, "", LONGEST), len(trace.target_in_ids)


def _too_long(trace: Trace) -> bool:
    """Whether a side is too long to be drawn."""
    return max(len(trace.source_ids), len(trace.target_in_ids)) > LONGEST


def _weights(model: Pretrained, stand: AnatomyState) -> bytes | None:
    """The matrices of a step. Packing takes a millisecond, so they are not cached. None, and a sentence, if they are
    too large for a browser."""
    count = anatomy_pack.weights_count(model, stand.name, stand.step)
    if count <= MOST_WEIGHTS:
        return anatomy_pack.weights_pack(model, stand.name, stand.step)
    sentence = _("The matrices of this step have {count} numbers, which is too many to show (at most {most}).")
    message(sentence.format(count=f"{count:,}", most=f"{MOST_WEIGHTS:,}"), "note")
    return None


def _packs(compared: Compared, stand: AnatomyState, whole: int) -> dict[str, bytes]:
    """The data of the drawing at this position: part -> bytes."""
    model, after = compared.model, compared.after
    before = None if compared.before is after else compared.before
    asked, begins = _asked(stand)
    sides = (after.id, before and before.id)
    packs = {
        "trace": payload(
            KEY,
            "trace",
            (*sides, tuple(asked.items()), begins["revision"]),
            lambda: anatomy_pack.trace_pack(model, after, before, asked, begins, whole),
        ),
        "open": payload(
            KEY,
            "open",
            (after.id, stand.encoder, stand.decoder),
            lambda: anatomy_pack.open_pack(after, stand.encoder, stand.decoder),
        ),
    }
    if stand.near:
        t = stand.t if stand.place == "output" else 0
        packs["place"] = payload(
            KEY, "place", (*sides, stand.name, t), lambda: anatomy_pack.place_pack(model, after, stand.name, t, before)
        )
        if "." in stand.place and stand.step in anatomy_pack.MATRICES:
            weights = _weights(model, stand)
            if weights is not None:
                packs["weights"] = weights
    return packs


def _asked(stand: AnatomyState) -> tuple[dict[str, str], dict[str, Any]]:
    """The switches of the session, and the state that the browser takes over."""
    state = current_state() or State("")
    begins = {**stand.to_browser(), "big": state.view.big, "revision": state.revision}
    return state.switches.to_params(), begins


def in_browser(state: State) -> bool:
    """Whether a browser with the engine computes the drawing: not with switches that need other sentences, or torch's
    random numbers."""
    return not any(isinstance(switch, Mean) or needs_server(switch) for switch in state.switches.switches)


def _drawn(frame: PageFrame, trace: Trace) -> dict[str, bytes]:
    """The data of a trace with all switches."""
    trace, whole = _drawable_trace(frame, trace)
    if not _too_long(trace):
        compared = compare(frame.model, trace, frame.state.switches)
        trace = compared.after  # perhaps padded
        if not _too_long(trace):
            stand = _position(frame, len(trace.source_ids), len(trace.target_in_ids))
            return _packs(compared, stand, whole)
    asked, begins = _asked(_position(frame, LONGEST, LONGEST))
    return {"trace": anatomy_pack.long_pack(frame.model, trace, asked, begins)}


def _facts(frame: PageFrame) -> dict[str, bytes]:
    """The data for a browser that computes the sentence itself."""
    asked, begins = _asked(_position(frame, LONGEST, LONGEST))
    key = (frame.model.name, tuple(asked.items()), begins["revision"])
    return {"trace": payload(KEY, "trace", key, lambda: anatomy_pack.facts_pack(frame.model, asked, begins))}


def draw(frame: PageFrame) -> None:
    """The drawing of the page's trace. A person's actions stay in the browser; only the numbers of the place they look
    at and changed switches travel."""
    store_state(renewed(merge_browser(frame)))
    packs = _facts(frame) if frame.trace is None else _drawn(frame, frame.trace)
    _picture(key=KEY, on_anatomy_change=lambda: None)
    with st.container(key="hs-feeds"):
        for part, data in packs.items():
            _feeds[part](key=f"anatomy_{part}", data=data, height=1)


def equations(config: ModelConfig) -> tuple[str, str]:
    """The paper's equations as this model has them, in LaTeX."""
    norm = "RMSNorm" if config.rms_norm else "LayerNorm"
    around = sub_layer_equation(config, norm=rf"\mathrm{{{norm}}}", sub=r"\mathrm{Sublayer}")
    scores = r"\frac{QK^\top}{\sqrt{d_k}}" if config.scaling else r"QK^\top"
    scores += " + B" if config.positions == "relative" else ""
    inner, last = (r"xW_1 + b_1", " + b_2") if config.biases else ("xW_1", "")
    active = {"relu": rf"\max(0,\, {inner})", **dict.fromkeys(("gelu", "gelu_new"), rf"\mathrm{{GELU}}({inner})")}
    network = active.get(config.activation, rf"\mathrm{{{config.activation}}}({inner})")
    network = rf"({network} \odot xV)" if config.gated else network
    return (
        rf"x \leftarrow {around}, \qquad "
        rf"\mathrm{{Attention}}(Q, K, V) = \mathrm{{softmax}}\!\left({scores}\right) V",
        r"\mathrm{MultiHead} = \mathrm{Concat}(\mathrm{head}_1, \dots, \mathrm{head}_h)\, W^O, \qquad "
        rf"\mathrm{{FFN}}(x) = {network}\, W_2{last}",
    )


def instead(config: ModelConfig) -> None:
    """What stands in the place of the drawing for a model whose parts it does not know."""
    point(say("no_anatomy"))
    for equation in equations(config):
        st.latex(equation)


def about(config: ModelConfig) -> None:
    """A short explanation of the page, and the equations."""
    st.markdown(say("about_anatomy" if config.residual else "about_anatomy_without_residual"))
    for equation in equations(config):
        st.latex(equation)
    st.markdown(say("about_anatomy_use"))
