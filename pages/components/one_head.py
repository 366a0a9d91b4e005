"""The heads of a model by name, "cross.2.5", and a menu of all, for parts that show a single one."""

from __future__ import annotations

from collections.abc import Sequence

from pages.frame.options import Options
from transformer.interventions.sets import layers_of
from transformer.model.config import ModelConfig
from transformer.texts import _
from transformer.tracing.trace import KINDS
from transformer.view.state import View


def kind_names() -> dict[str, str]:
    return {
        "encoder_self": _("Encoder self-attention"),
        "decoder_self": _("Decoder self-attention"),
        "cross": _("Cross-attention"),
    }


def head_names(config: ModelConfig, kinds: Sequence[str] = KINDS) -> list[str]:
    """The names of all heads of these kinds, with layer and head from 1."""
    return [
        f"{kind}.{layer + 1}.{head + 1}"
        for kind in kinds
        for layer in range(layers_of(config, kind))
        for head in range(config.heads)
    ]


def head_of(name: str) -> tuple[str, int, int]:
    """Kind, layer and head of a name, from 0."""
    kind, layer, head = name.split(".")
    return kind, int(layer) - 1, int(head) - 1


def head_label(name: str) -> str:
    """A head as a person reads it."""
    kind, layer, head = name.split(".")
    return _("{kind}, layer {layer}, head {head}", kind=kind_names()[kind], layer=layer, head=head)


def choose_head(options: Options, name: str, config: ModelConfig, view: View | None = None) -> tuple[str, int, int]:
    """Draw a menu of all heads, which starts with the head that the explorer shows, or with the last one. Returns kind,
    layer and head, from 0. name: of the option."""
    names = head_names(config)
    start = names[-1]
    if view is not None:
        kind = view.kind if view.kind in KINDS else "cross"
        asked = f"{kind}.{(view.layer or 0) + 1}.{(view.head or 0) + 1}"
        start = asked if asked in names else start
    return head_of(str(options.choose(name, _("Head"), names, start, head_label)))
