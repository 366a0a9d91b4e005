"""The examples a checkpoint brings along: sentences worth showing, and where to look."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import streamlit as st

from transformer.interventions import layers_of
from transformer.pretrained import Pretrained
from transformer.trace import KINDS
from transformer.view.state import View, view_from_params

EXAMPLES = "examples.json"


@dataclass(frozen=True)
class Example:
    """A sentence worth showing with a checkpoint: title, what to look for, texts, and where to look."""

    title: str
    look: str
    source: str
    target: str
    view: View


@st.cache_resource(max_entries=8, show_spinner=False)
def examples(_model: Pretrained, name: str) -> tuple[Example, ...]:
    """The examples a checkpoint brings along; none if it brings none."""
    path = Path(_model.path) / EXAMPLES
    if not path.is_file():
        return ()
    config = _model.config
    layers = {kind: layers_of(config, kind) for kind in KINDS}
    found = []
    entries: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    for entry in entries:
        view = view_from_params({k: str(v) for k, v in entry.get("view", {}).items()}, layers, config.heads)[0]
        found.append(Example(entry["title"], entry["look"], entry["source"], entry.get("target", ""), view))
    return tuple(found)
