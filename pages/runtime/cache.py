"""What all viewers share: models, traces. Every value is immutable, every cache bounded."""

from __future__ import annotations

import contextlib
import dataclasses
import gc
import hashlib
import itertools
import os
import weakref
from collections.abc import Callable, Hashable
from functools import cache
from pathlib import Path

import streamlit as st
import torch
from torch import nn

import transformer
from pages.runtime.kept import Kept
from pages.runtime.queue import TURNS
from pages.runtime.sockets import send_at_once
from pages.runtime.texts import readable_text
from transformer.inference.pretrained import Pretrained, Translation
from transformer.interventions.sets import Interventions
from transformer.tracing.trace import Trace

TRACE_ROOM = 512 * 2**20  # bytes
MOST_FILES = 200  # of a checkpoint's folder; ours have eight
_stamps: weakref.WeakKeyDictionary[nn.Module, str] = weakref.WeakKeyDictionary()


def checkpoints() -> dict[str, Path]:
    """Name -> folder of what can be opened: HEADSCOPE_CHECKPOINT first if it is a path, then the bundled ones.

    A folder whose name is no text, bytes that are not UTF-8, is left out: no browser could be sent the menu.
    """
    found = {name: path for name, path in transformer.available().items() if name == readable_text(name)}
    extra = os.environ.get("HEADSCOPE_CHECKPOINT", "")
    if extra and extra not in found:
        path = Path(extra)
        found = {path.resolve().name or extra: path, **found}
    return found


def stamp(path: str) -> str:
    """What tells one state of a checkpoint's folder from another: its files' names, sizes, times and places on the
    disk, which takes 30 microseconds; "" if it cannot be read."""
    try:
        with os.scandir(path) as found:
            files = sorted(
                (one.name, about.st_size, about.st_mtime_ns, about.st_ctime_ns, about.st_ino)
                for one in itertools.islice(found, MOST_FILES)
                if not one.name.startswith(".") and one.is_file() and (about := one.stat())
            )
    except OSError:
        return ""
    return hashlib.sha256(repr(files).encode("utf-8", "replace")).hexdigest()[:16]


@cache
def _settle() -> None:
    """Once a process, when all that lives on has been imported: make collections of garbage short.

    They stop every viewer. With torch loaded one takes 140 ms unless what lives on is frozen; nothing that comes later
    may be: what is frozen is never collected, neither the session of a viewer who is here when another model is opened
    nor a model that makes room for it. Streamlit's own collection after every run, a quarter of a click's time, is
    switched off (.streamlit/config.toml): Python collects by itself once enough has changed.
    """
    gc.collect()
    gc.freeze()


@st.cache_resource(max_entries=4, show_spinner=False)
def _load(name: str, path: str, state: str) -> Pretrained:
    """The checkpoint in that state of its folder. Raises CheckpointError, also if the folder changed meanwhile: of two
    checkpoints of one shape, the tokenizer of one and the weights of the other would go together."""
    torch.set_num_threads(1)  # many viewers share few cores; one thread each keeps the slowest click short
    model = transformer.load(path, os.environ.get("HEADSCOPE_DEVICE", "cpu"))
    if stamp(path) != state:
        raise transformer.CheckpointError(f"{name} was changed while it was read; reload the page when it is complete")
    with contextlib.suppress(transformer.InputError):  # a tokenizer may make nothing of it
        model.trace("a")  # first pass pays for lazy set-up; pay it now
    mark(model, state)
    send_at_once()
    _settle()
    return model


def load(name: str, path: str) -> Pretrained:
    """A checkpoint by name, as its folder is now: replaced while the app runs, it is read anew. Raises
    CheckpointError."""
    return _load(name, path, stamp(path))


def mark(model: Pretrained, state: str) -> None:
    """Say in which state of its files a model was read."""
    _stamps[model.model] = state


def identity(model: Pretrained) -> str:
    """What a model's numbers are kept under: where it came from, and in which state that was."""
    return f"{model.path}|{_stamps.get(model.model, '')}"


def size(value: object) -> int:
    """Bytes of the tensors a dataclass holds, those of dataclasses within it included."""
    if isinstance(value, torch.Tensor):
        return value.nbytes
    if dataclasses.is_dataclass(value):
        return sum(size(getattr(value, field.name)) for field in dataclasses.fields(value))
    return 0


class Traces(Kept[Trace]):
    """The traces used last.

    Bounded by bytes, not by number: a trace of 12 tokens a side takes 3 MB and one of 128 takes 42 MB. With room for 24
    of any size, thirty viewers with a sentence each pushed one another out, and every click traced anew.
    """

    def __init__(self, room: int) -> None:
        super().__init__(room, size)

    def get(self, key: Hashable, make: Callable[[], Trace]) -> Trace:
        """The trace kept under this key, or the one that `make` makes now, in turn. What it raises is not kept."""
        found = self.find(key)
        if found is not None:
            return found
        with TURNS.turn():
            found = self.find(key)  # who was before in the queue may have made the same
            return found if found is not None else self.keep(key, make())


@st.cache_resource(show_spinner=False)
def _traces() -> Traces:
    return Traces(TRACE_ROOM)


def trace(model: Pretrained, name: str, source: str, target: str, limit: int) -> Trace:
    """The trace of a sentence pair; blank target: the model's own translation. Raises InputError."""
    return _traces().get(
        (name, identity(model), source, target, limit), lambda: model.trace(source, target or None, limit=limit)
    )


def retrace(
    model: Pretrained, trace: Trace, interventions: Interventions, limit: int, fed: tuple[tuple[int, int], ...] = ()
) -> Trace:
    """The tokens of a trace under switches; nothing switched and nothing else fed: that very trace.

    fed: (position in target_in, id fed there instead). Raises InterventionError, InputError.
    """
    if interventions == trace.interventions and not fed:
        return trace
    return _traces().get(
        (trace.id, trace.source_text, trace.target_text, trace.own, interventions, limit, fed),
        lambda: model.retrace(trace, interventions, fed=dict(fed), limit=limit),
    )


@st.cache_resource(max_entries=1024, show_spinner=False)
def _translation(_model: Pretrained, name: str, path: str, source: str, switches: str, limit: int) -> Translation:
    with TURNS.turn():
        return _model.translate(source, limit=limit, interventions=Interventions.parse(switches.split()))


def translate(model: Pretrained, source: str, interventions: Interventions, limit: int) -> Translation:
    """The model's own greedy translation under switches. Raises InterventionError, InputError."""
    return _translation(model, model.name, identity(model), source, str(interventions) if interventions else "", limit)
