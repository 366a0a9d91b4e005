"""Data of pictures: packed once per trace and once per change by Python, and cached for the session.

A person's actions in a picture stay in the browser. Where Python changes something that the browser must take over, the
state gets a new revision, and every payload a new name.
"""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace

from pages.frame.state import State, current_state, store_state
from pages.runtime.memory import Owner
from pages.runtime.session import from_session
from pages.runtime.shared import SharedCache
from transformer.texts import Language, reader_language
from transformer.tracing.trace import Trace
from transformer.view.state import fit_cell

PACKS: SharedCache[bytes] = SharedCache("packs of pictures")


@dataclass
class Sent:
    """What this session has sent. names: picture -> part -> the name and the language of the bytes that were sent last;
    owner: of those bytes in the cache."""

    names: dict[str, dict[str, tuple[Hashable, Language]]] = field(default_factory=dict)
    owner: Owner = field(default_factory=Owner)


def payload(picture: str, part: str, name: Hashable, make: Callable[[], bytes]) -> bytes:
    """A part of a picture's data: the bytes sent last if they have this name and language, or new ones."""
    sent = from_session(Sent)
    names, owner = sent.names.setdefault(picture, {}), sent.owner.id
    key, name_and_language = (owner, picture, part), (name, reader_language())
    data = PACKS.find(key) if names.get(part) == name_and_language else None
    if data is None:
        data, names[part] = PACKS.store(key, make(), owner), name_and_language
    return data


def forget(picture: str) -> None:
    """Call in a run without the picture: when it is mounted again, it does not know what was chosen since it was
    packed."""
    state = current_state()
    if from_session(Sent).names.pop(picture, None) is not None and state is not None:
        store_state(replace(state, revision=state.revision + 1))


def renewed(state: State) -> State:
    """The state, with a new revision if Python changed something that the browser must take over."""
    return store_state(replace(state, renew=False, revision=state.revision + 1)) if state.renew else state


def bounded(state: State, trace: Trace) -> State:
    """The state without its chosen cell if the picture has no such cell."""
    rows = len(trace.source_tokens if state.view.kind == "encoder_self" else trace.target_in)
    columns = len(trace.target_in if state.view.kind == "decoder_self" else trace.source_tokens)
    return replace(state, view=fit_cell(state.view, rows, columns))
