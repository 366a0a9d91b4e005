"""Models of one session alone: trained on the page, or brought along as a zip. Nobody else can open or see them.

A session keeps the zips, which are small; the models opened from them share one room for the whole process, and one
that had to make room is opened again. Both are bounded, so that no visitor can fill the machine.
"""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass, field

import streamlit as st

from pages.components.sentences import say
from pages.runtime import cache
from pages.runtime.kept import Kept
from pages.runtime.queue import TURNS
from pages.runtime.texts import _
from transformer.checkpoints.archive import read_zip, safe_name
from transformer.checkpoints.folder import CheckpointError
from transformer.inference.pretrained import Pretrained, open_files

KEY = "headscope_own"
PREFIX = "mine/"  # before their names in the menu and in links: no folder's name has a slash
MOST = 8  # models of a session
ROOM = 48_000_000  # bytes of their zips; what is trained here takes 0.5 MB, a zip that is loaded 16 at most
MODELS = 256 * 2**20  # bytes of the weights of all sessions' models that are open
LONGEST = 60  # characters of a name


@dataclass(frozen=True)
class Own:
    """name: begins with PREFIX; data: the zip; token: what its numbers are kept under, known to this session alone."""

    name: str
    data: bytes = field(repr=False)
    token: str = field(default_factory=lambda: secrets.token_hex(16), repr=False)


def owned() -> dict[str, Own]:
    """Name -> what this session has, the oldest first."""
    found: dict[str, Own] = st.session_state.setdefault(KEY, {})
    return found


def names() -> list[str]:
    """What this session can open: what everybody can, and its own."""
    return [*cache.checkpoints(), *owned()]


@st.cache_resource(show_spinner=False)
def _models() -> Kept[Pretrained]:
    return Kept(MODELS, lambda model: sum(weight.nbytes for weight in model.model.parameters()))


def _opened(one: Own) -> Pretrained:
    models = _models()
    found = models.find(one.token)
    if found is None:
        with TURNS.turn():
            device = os.environ.get("HEADSCOPE_DEVICE", "cpu")
            found = models.keep(one.token, open_files(read_zip(one.data), one.name, device))
            cache.mark(found, one.token)
    return found


def load(name: str) -> Pretrained:
    """A model this session can open, by its name. Raises CheckpointError."""
    one = owned().get(name)
    if one is not None:
        return _opened(one)
    path = cache.checkpoints().get(name)
    if path is None:
        raise CheckpointError(f"there is no checkpoint {name[:LONGEST]!r} any more")
    return cache.load(name, str(path))


def _free_name(title: str) -> str:
    """The title as a name that this session does not have yet."""
    plain = " ".join(cache.readable_text(title).split()).replace("/", "-")[:LONGEST].strip() or "model"
    name, number = f"{PREFIX}{plain}", 2
    while name in owned():
        name, number = f"{PREFIX}{plain} ({number})", number + 1
    return name


def add(title: str, data: bytes, current: str = "") -> tuple[str, list[str]]:
    """Open a zip and keep it in this session. current: what is open now, which stays.

    Returns its name, and a sentence for every older one that had to make room. Raises CheckpointError.
    """
    for known in owned().values():
        if known.data == data:  # the same file twice is one model
            return known.name, []
    one = Own(_free_name(title), data)
    _opened(one)
    owned()[one.name] = one
    dropped = []
    for old in [name for name in owned() if name not in (one.name, current)]:
        if len(owned()) <= MOST and sum(len(kept.data) for kept in owned().values()) <= ROOM:
            break
        del owned()[old]
        sentence = _("{name} made room, for a session keeps {most} models of its own; load its zip again to open it.")
        dropped.append(sentence.format(name=old, most=MOST))
    return one.name, dropped


def download_button(name: str, data: bytes, key: str) -> None:
    """For the zip of one of them."""
    st.download_button(
        _("Download (zip)"),
        lambda: data,
        f"{safe_name(name.removeprefix(PREFIX))}.zip",
        "application/zip",
        key=key,
        on_click="ignore",
        help=_("A checkpoint's folder: for headscope --checkpoint, for transformer.load, and to be loaded here again."),
    )


def download(name: str) -> None:
    """On the page of a model: its zip, and that it is this session's, if it is."""
    one = owned().get(name)
    if one is not None:
        with st.container(horizontal=True, vertical_alignment="center", key="hs-own"):
            download_button(name, one.data, "own_zip")
            say(_("Yours alone: it lives in this session, and goes when the page is reloaded or its tab closed."))


def from_elsewhere(name: str) -> str:
    """Why a link's name of this kind cannot be opened here, as a sentence; "" for another name."""
    if not name.startswith(PREFIX):
        return ""
    return _(
        "It was trained or loaded in another session, or in this one before the page was reloaded, and lives there "
        "only; download it there as a zip, and load that on the Training page."
    )
