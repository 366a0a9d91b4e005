"""What all viewers share: models, traces. Every value is immutable, every cache bounded."""

from __future__ import annotations

import gc
import os
from pathlib import Path

import streamlit as st
import torch

import transformer
from pages.shared.sockets import send_at_once
from transformer.pretrained import Pretrained
from transformer.trace import Trace


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
    model = transformer.load(path)
    model.trace("a")  # first pass pays for lazy set-up; pay it now
    send_at_once()
    # Streamlit collects garbage after every rerun; with torch loaded that is 140 ms unless what lives on is frozen.
    gc.collect()
    gc.freeze()
    return model


@st.cache_resource(max_entries=24, show_spinner=False)
def trace(_model: Pretrained, name: str, source: str, target: str, limit: int) -> Trace:
    """The trace of a sentence pair; blank target: the model's own translation. Raises InputError."""
    return _model.trace(source, target or None, limit=limit)
