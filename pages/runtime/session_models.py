"""Models of one session: trained on the page, or loaded from a zip. Nobody else can open or see them.

A session keeps the zips, which are small. The models opened from them share one cache for the whole process; a model
that was evicted is opened again. Both are bounded, so that no visitor can fill the machine.
"""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass, field

import streamlit as st

from pages.runtime import cache
from pages.runtime.shared import SharedCache, mark
from pages.runtime.texts import readable_text
from transformer.checkpoints.archive import read_zip
from transformer.checkpoints.folder import CheckpointError
from transformer.inference.pretrained import Pretrained, open_files
from transformer.texts import _

KEY = "headscope_own"
PREFIX = "mine/"  # prefix of their names in the menu and in links; no folder name has a slash
MOST = 8  # most models of a session
MOST_BYTES = 48_000_000  # most bytes of a session's zips; a model trained here has 0.5 MB, a loaded zip at most 16
LONGEST = 60  # most characters of a name


# Bounded by the bytes of the weights of all open models of all sessions.
MODELS: SharedCache[Pretrained] = SharedCache(
    256 * 2**20, lambda model: sum(weight.nbytes for weight in model.model.parameters())
)


@dataclass(frozen=True)
class SessionModel:
    """name: begins with PREFIX; data: the zip; token: cache key of its results, known to this session only."""

    name: str
    data: bytes = field(repr=False)
    token: str = field(default_factory=lambda: secrets.token_hex(16), repr=False)


def own_models() -> dict[str, SessionModel]:
    """Name -> model of this session, the oldest first."""
    models: dict[str, SessionModel] = st.session_state.setdefault(KEY, {})
    return models


def names() -> list[str]:
    """All models that this session can open: the shared ones, then its own."""
    return [*cache.checkpoints(), *own_models()]


def _opened(session_model: SessionModel) -> Pretrained:
    def opened() -> Pretrained:
        model = open_files(read_zip(session_model.data), session_model.name, os.environ.get("HEADSCOPE_DEVICE", "cpu"))
        mark(model, session_model.token)
        return model

    return MODELS.get(session_model.token, opened, queued=True)


def load(name: str) -> Pretrained:
    """A model this session can open, by its name. Raises CheckpointError."""
    session_model = own_models().get(name)
    if session_model is not None:
        return _opened(session_model)
    path = cache.checkpoints().get(name)
    if path is None:
        raise CheckpointError("the checkpoint {name!r} no longer exists", name=name[:LONGEST])
    return cache.load(name, str(path))


def _free_name(title: str) -> str:
    """The title as a name that is not used yet in this session."""
    plain = " ".join(readable_text(title).split()).replace("/", "-")[:LONGEST].strip() or "model"
    name, suffix = f"{PREFIX}{plain}", 2
    while name in own_models():
        name, suffix = f"{PREFIX}{plain} ({suffix})", suffix + 1
    return name


def add(title: str, data: bytes, current: str = "") -> tuple[str, list[str]]:
    """Open a zip and keep it in this session. current: the open model, which stays.

    Returns its name, and a sentence for every older model that was removed. Raises CheckpointError.
    """
    for known_model in own_models().values():
        if known_model.data == data:  # the same file again is the same model
            return known_model.name, []
    added = SessionModel(_free_name(title), data)
    _opened(added)
    own_models()[added.name] = added
    dropped = []
    for old in [name for name in own_models() if name not in (added.name, current)]:
        if len(own_models()) <= MOST and sum(len(model.data) for model in own_models().values()) <= MOST_BYTES:
            break
        del own_models()[old]
        sentence = _(
            "{name} was removed: a session keeps at most {most} models of its own. Load its zip again to open it."
        )
        dropped.append(sentence.format(name=old, most=MOST))
    return added.name, dropped


def from_elsewhere(name: str) -> str:
    """A sentence: why a session model named in a link cannot be opened here; "" for another name."""
    if not name.startswith(PREFIX):
        return ""
    return _(
        "It was trained or loaded in another session, or in this one before the page was reloaded, and exists only "
        "there. Download it there as a zip and load the zip on the Training page."
    )
