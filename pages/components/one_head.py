"""A menu of all heads of a model, for parts that show a single one."""

from __future__ import annotations

from pages.frame.options import Options
from transformer.interventions.sets import layers_of
from transformer.model.config import ModelConfig
from transformer.texts import _
from transformer.tracing.trace import KINDS
from transformer.view.state import View


def choose_head(options: Options, name: str, config: ModelConfig, view: View) -> tuple[str, int, int]:
    """Draw a menu of all heads, which starts with the head that the explorer shows. Returns kind, layer and head, from
    0. name: of the option."""
    kinds = {
        "encoder_self": _("Encoder self-attention"),
        "decoder_self": _("Decoder self-attention"),
        "cross": _("Cross-attention"),
    }
    names = [
        f"{kind}.{layer + 1}.{head + 1}"
        for kind in KINDS
        for layer in range(layers_of(config, kind))
        for head in range(config.heads)
    ]
    kind = view.kind if view.kind in KINDS else "cross"
    start = f"{kind}.{(view.layer or 0) + 1}.{(view.head or 0) + 1}"

    def shown(value: str) -> str:
        of, layer, head = value.split(".")
        return _("{kind}, layer {layer}, head {head}").format(kind=kinds[of], layer=layer, head=head)

    chosen = str(options.choose(name, _("Head"), names, start if start in names else names[-1], shown))
    kind, layer, head = chosen.split(".")
    return kind, int(layer) - 1, int(head) - 1
