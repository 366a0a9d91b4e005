"""What all viewers share: models, traces. Every value is immutable, every cache bounded."""

from __future__ import annotations

import dataclasses
import gc
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from pathlib import Path

import streamlit as st
import torch

import transformer
from pages.shared.sockets import send_at_once
from transformer.interventions import Interventions
from transformer.pretrained import Pretrained, Translation
from transformer.trace import Trace

TRACE_ROOM = 512 * 2**20  # bytes


def checkpoints() -> dict[str, Path]:
    """Name -> folder of what can be opened: HEADSCOPE_CHECKPOINT first if it is a path, then the bundled ones."""
    found = transformer.available()
    extra = os.environ.get("HEADSCOPE_CHECKPOINT", "")
    if extra and extra not in found:
        path = Path(extra)
        found = {path.resolve().name or extra: path, **found}
    return found


@st.cache_resource(max_entries=4, show_spinner=False)
def load(name: str, path: str) -> Pretrained:
    """A checkpoint by name. Raises CheckpointError."""
    torch.set_num_threads(1)  # many viewers share few cores; one thread each keeps the slowest click short
    model = transformer.load(path, os.environ.get("HEADSCOPE_DEVICE", "cpu"))
    model.trace("a")  # first pass pays for lazy set-up; pay it now
    send_at_once()
    # Streamlit collects garbage after every rerun; with torch loaded that is 140 ms unless what lives on is frozen.
    gc.collect()
    gc.freeze()
    return model


def size(value: object) -> int:
    """Bytes of the tensors a dataclass holds, those of dataclasses within it included."""
    if isinstance(value, torch.Tensor):
        return value.nbytes
    if dataclasses.is_dataclass(value):
        return sum(size(getattr(value, field.name)) for field in dataclasses.fields(value))
    return 0


class Traces:
    """The traces used last, as many as fit into `room` bytes, and at least one.

    Bounded by bytes, not by number: a trace of 12 tokens a side takes 3 MB and one of 128 takes 42 MB. With room for 24
    of any size, thirty viewers with a sentence each pushed one another out, and every click traced anew.
    """

    def __init__(self, room: int) -> None:
        self.room = room
        self.used = 0
        self._kept: OrderedDict[Hashable, Trace] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable, make: Callable[[], Trace]) -> Trace:
        """The trace kept under this key, or the one that `make` makes now. Whatever `make` raises is not kept."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        made = make()  # two viewers may make the same at once; one of the two is kept
        with self._lock:
            if key not in self._kept:
                self._kept[key] = made
                self.used += size(made)
            while self.used > self.room and len(self._kept) > 1:
                self.used -= size(self._kept.popitem(last=False)[1])
            return self._kept.get(key, made)


@st.cache_resource(show_spinner=False)
def _traces() -> Traces:
    return Traces(TRACE_ROOM)


def trace(model: Pretrained, name: str, source: str, target: str, limit: int) -> Trace:
    """The trace of a sentence pair; blank target: the model's own translation. Raises InputError."""
    return _traces().get(
        (name, str(model.path), source, target, limit), lambda: model.trace(source, target or None, limit=limit)
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
    return _model.translate(source, limit=limit, interventions=Interventions.parse(switches.split()))


def translate(model: Pretrained, source: str, interventions: Interventions, limit: int) -> Translation:
    """The model's own greedy translation under switches. Raises InterventionError, InputError."""
    return _translation(model, model.name, str(model.path), source, str(interventions) if interventions else "", limit)
