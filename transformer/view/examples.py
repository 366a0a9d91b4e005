"""The examples of a checkpoint: interesting sentences, and where to look."""

import json
from dataclasses import dataclass
from typing import Any

from transformer.checkpoints.folder import EXAMPLES, LARGEST_BESIDE
from transformer.inference.pretrained import Pretrained
from transformer.interventions.sets import layers_of
from transformer.tracing.trace import KINDS
from transformer.view.state import View, view_from_params

MOST = 100  # examples; more are left out, and so are invalid ones
LONGEST = 2_000  # characters of one text
TEXTS = ("title", "group", "look", "source", "target", "translation")


@dataclass(frozen=True)
class Example:
    """An interesting sentence for a checkpoint: title, heading in the menu, what to look for, texts, view to open; what
    the model writes, or ""."""

    title: str
    group: str
    look: str
    source: str
    target: str
    view: View
    translation: str = ""


def read_examples(model: Pretrained) -> tuple[Example, ...]:
    """The examples that come with a checkpoint; empty if there are none."""
    try:
        entries = json.loads((model.beside(EXAMPLES, LARGEST_BESIDE[EXAMPLES]) or b"[]").decode("utf-8"))
    except (OSError, ValueError, RecursionError):
        return ()
    config = model.config
    layers = {kind: layers_of(config, kind) for kind in KINDS}
    loaded = []
    for entry in entries[:MOST] if isinstance(entries, list) else ():
        if not isinstance(entry, dict) or not all(_text(entry.get(name, "")) for name in TEXTS):
            continue
        title, group, look, source, target, translation = (entry.get(name, "") for name in TEXTS)
        asked = entry.get("view")
        params = {name: str(value) for name, value in asked.items()} if isinstance(asked, dict) else {}
        if title and source:
            loaded.append(
                Example(
                    title, group, look, source, target, view_from_params(params, layers, config.heads)[0], translation
                )
            )
    return tuple(loaded)


def _text(value: Any) -> bool:
    """Whether it is a text that is short enough to show and valid Unicode: JSON may hold half a character,
    "\\ud800"."""
    return isinstance(value, str) and len(value) <= LONGEST and value == value.encode("utf-8", "replace").decode()
