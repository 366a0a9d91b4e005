"""What was measured of a checkpoint before it was published."""

from transformer.checkpoints.folder import LARGEST_BESIDE
from transformer.inference.pretrained import Pretrained


def stored(model: Pretrained, name: str) -> str:
    """The text of a file beside the weights; "" if there is none, or it cannot be read."""
    try:
        return (model.beside(name, LARGEST_BESIDE[name]) or b"").decode("utf-8", "replace")
    except OSError:
        return ""
