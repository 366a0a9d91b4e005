"""Masking and scaling lab: switch parts of attention off in a trained model and see what breaks."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from pages.components import compared_heads, payloads, probing, translation
from pages.components.comparison import compare, note_waiting_switches, switches_of_page
from pages.frame.frame import Content, PageFrame
from pages.frame.state import store_state
from pages.lab import leak, measures, scaling
from transformer.interventions.sets import ATTENTION
from transformer.texts import _
from transformer.tracing.trace import Trace


def parts() -> dict[str, str]:
    return {
        "compare": _("Before and after"),
        "measures": _("Every head in numbers"),
        "leak": _("The leak"),
        "scaling": _("Why √dₖ"),
        "softmax": _("Softmax by hand"),
    }


def draw(frame: PageFrame) -> None:
    probing.look()
    if frame.trace is None or frame.part in ("scaling", "softmax"):
        payloads.forget(compared_heads.KEY)
    if frame.trace is not None:
        if frame.part in ("scaling", "softmax"):
            note_waiting_switches(frame.state.switches.only(*ATTENTION))
        if frame.part == "scaling":
            scaling.draw_scaling(frame.trace, frame.state.view)
        elif frame.part == "softmax":
            scaling.draw_softmax(frame.state.view.big)
        else:
            _draw_switched(frame, frame.trace)
    with st.expander(_("What am I looking at?")):
        about()


def _draw_switched(frame: PageFrame, trace: Trace) -> None:
    """The parts that the switches affect."""
    state = compared_heads.merge_browser(frame.state, frame.model)
    compared = compare(frame.model, trace, switches_of_page(state.switches, ATTENTION, frame.model))
    says = st.container(key="hs-says")
    state = compared_heads.draw(state, compared, pictures=frame.part == "compare")
    compared_heads.draw_translations(says, compared)
    compared_heads.explain(compared)
    if frame.part == "compare":
        translation.draw(compared, given=not trace.own)
        probing.draw(compared)
    elif frame.part == "measures":
        pick(frame, measures.draw(compared, state.view))
    else:
        leak.draw(compared)


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
    st.markdown(
        _(
            "**Before** is the model as it was trained. **After** is the same model with your switches. Both read the "
            "same tokens, so you can compare them cell by cell; the **difference** is after minus before. What the "
            "switched model writes by itself stands above and below the pictures."
        )
    )
    st.latex(
        r"\mathrm{Attention}(Q, K, V) = \mathrm{softmax}\!\left(\frac{QK^\top}{\sqrt{d_k}} + M\right) V,"
        r"\qquad \mathrm{MultiHead} = \mathrm{Concat}(\mathrm{head}_1, \dots, \mathrm{head}_h)\, W^O"
    )
    st.markdown(
        _(
            "**Scaling** changes the factor of QKᵀ. **Masks** put −∞ into M: the causal mask where a key lies in the "
            "future, the padding mask where a key is <pad>. **Weights** replaces the result of the softmax. A head "
            "that is **knocked out** puts zeros into the concatenation. Attention Is All You Need, sections 3.2.1 to "
            "3.2.3."
        )
    )


CONTENT = Content(draw, parts)
