"""How the heads of a checkpoint formed, if it has a recording of its training: a slider from random to trained.

Nothing is read, computed or sent before a person opens it. Then the browser gets the slider's script and all states of
one sentence once; moving between states does not ask Python.
"""

from dataclasses import replace
from typing import Any

import streamlit as st

from pages.components.payloads import payload
from pages.frame.examples import examples
from pages.frame.messages import message
from pages.frame.state import State, change_state, max_tokens, page_state, store_state
from pages.runtime.queue import MODEL_QUEUE
from pages.runtime.session import reported, reported_since
from pages.runtime.shared import identity, shared
from transformer.checkpoints.folder import RECORDING
from transformer.inference.pretrained import Pretrained
from transformer.probing.formed import Formed, read_formation, spelt
from transformer.texts import Text, UserError, _
from transformer.tracing.trace import Trace
from transformer.training.recording import LARGEST, Recording
from transformer.view.bundle import script, style
from transformer.view.formation_pack import formation_pack
from transformer.view.state import View

KEY = "formation"
ASKED = "explorer"  # the button that opens and closes it is in this picture

_slider = st.components.v2.component("headscope.formation", js=script("formation"), css=style("formation"))
_states = st.components.v2.component("headscope.recording", js=script("feed"))


def available(model: Pretrained) -> bool:
    """Whether a checkpoint has a recording; it may still be unreadable."""
    return model.has_beside(RECORDING)


def toggle() -> None:
    """Callback: open the slider at the first state, or return to the trained model."""
    view, asked = page_state().view, reported(ASKED, "formation")
    if asked in (True, False):
        change_state(view=replace(view, training=(view.training or 0) if asked else None))


@shared()
def formed(model: Pretrained, limit: int) -> Formed | Text:
    """How the heads formed, or the reason, without a full stop, why that cannot be shown."""
    try:
        recording = Recording.from_bytes(model.beside(RECORDING, LARGEST) or b"", RECORDING)
        return read_formation(recording, model, limit, MODEL_QUEUE.turn)
    except OSError as error:
        return Text("{file} cannot be read: {reason}", file=RECORDING, reason=error.strerror)
    except UserError as error:
        return error.message
    except ValueError as error:
        return Text(str(error))


def _reported(view: View, steps: tuple[int, ...], revision: int) -> View:
    """The view after the slider's report; a step of a link that was not recorded becomes the nearest recorded one."""
    values = reported_since(revision, KEY, "training")
    if values.get("step") in steps:
        view = replace(view, training=int(values["step"]))
    asked = view.training or 0
    shown = min(steps, key=lambda step: abs(step - asked))
    if shown != asked and asked:  # 0 means the first state, whatever its step is
        sentence = _("The link asks for training step {asked:,}. The nearest recorded step, {shown:,}, is shown.")
        message(sentence.format(asked=asked, shown=shown))
    return replace(view, training=shown)


def _open(model: Pretrained, formed_heads: Formed) -> Any:
    """Callback: show a recorded sentence; its target is typed in unless the model itself writes it."""

    def opened() -> None:
        state, index = page_state(), reported(KEY, "open")
        if not isinstance(index, int | float) or not 0 <= index < len(formed_heads.tokens):
            return
        source, target = formed_heads.recording.sentences[int(index)]
        written_by_model = any(example.source == source and not example.target for example in examples(model))
        blank = written_by_model and (state.source, state.target) != (
            source,
            "",
        )  # blank already, yet its tokens differ: type the target in
        change_state(source=source, target="" if blank else target, revision=state.revision + 1)

    return opened


def _closed() -> None:
    """Callback of the slider's close button."""
    if reported(KEY, "close") is True:
        change_state(view=replace(page_state().view, training=None))


def draw(state: State, trace: Trace, model: Pretrained) -> State:
    """The slider, if it is open; returns the state after its moves."""
    if state.view.training is None:
        return state
    if not available(model):
        message(_("This checkpoint has no recording of its training, so the page cannot show how its heads formed."))
        return store_state(replace(state, view=replace(state.view, training=None)))
    formed_heads = formed(model, max_tokens())
    if isinstance(formed_heads, Text):
        message(_("The page cannot show how the heads formed: {reason}.", reason=formed_heads))
        return state
    view = _reported(state.view, formed_heads.recording.steps, state.revision)
    if view != state.view:
        state = store_state(replace(state, view=view))
    _slider(
        key=KEY, on_training_change=lambda: None, on_open_change=_open(model, formed_heads), on_close_change=_closed
    )
    here = next((index for index, tokens in enumerate(formed_heads.tokens) if tokens == spelt(trace)), None)
    name = (trace.id, here, identity(model), state.revision, view.big)
    what = (formed_heads.recording, formed_heads.tokens, formed_heads.statistics, formed_heads.formings)
    data = payload(KEY, "states", name, lambda: formation_pack(*what, trace, here, view, state.revision))
    with st.container(key="hs-feeds-formation"):
        _states(key="formation_states", data=data, height=1)
    return state
