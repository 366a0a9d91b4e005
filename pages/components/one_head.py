"""The heads of a model by name, "cross.2.5", and a menu of all, for parts that show a single one."""

from pages.frame.options import Options
from transformer.model.config import ModelConfig
from transformer.probing.importance import Head, all_heads, name_of
from transformer.texts import _
from transformer.tracing.trace import KINDS
from transformer.view.state import View


def kind_names() -> dict[str, str]:
    return {
        "encoder_self": _("Encoder self-attention"),
        "decoder_self": _("Decoder self-attention"),
        "cross": _("Cross-attention"),
    }


def head_of(name: str) -> Head:
    """The head of a name, such as `name_of` writes it."""
    kind, layer, head = name.split(".")
    return kind, int(layer) - 1, int(head) - 1


def head_label(name: str) -> str:
    """A head as a person reads it."""
    kind, layer, head = name.split(".")
    return _("{kind}, layer {layer}, head {head}", kind=kind_names()[kind], layer=layer, head=head)


def choose_head(options: Options, name: str, config: ModelConfig, view: View | None = None) -> Head:
    """Draw a menu of all heads, which starts with the head that the explorer shows, or with the last one. name: of the
    option."""
    names = [*map(name_of, all_heads(config))]
    start = names[-1]
    if view is not None:
        asked = name_of((view.kind if view.kind in KINDS else "cross", view.layer or 0, view.head or 0))
        start = asked if asked in names else start
    return head_of(str(options.choose(name, _("Head"), names, start, head_label)))
