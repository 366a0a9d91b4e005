"""The axes of every tensor of a pass, and their sizes."""

import torch

from transformer.model.tap import Tap
from transformer.model.transformer import Transformer

# Last word of a recorded name -> its axes after `batch`, as in transformer/model/tap.py; others have d_model.
AXES = {
    "queries": "head query d_k", "keys": "head key d_k", "values": "head key d_head", "mask": "head query key",
    "products": "head query key", "bias": "head query key", "scores": "head query key", "weights": "head query key",
    "head_outputs": "head query d_head",
    "pre_activation": "token d_ff", "activation": "token d_ff", "gate": "token d_ff", "logits": "target vocab",
}  # fmt: skip


def axes(name: str) -> tuple[str, ...]:
    """Names of the axes of a recorded tensor; for "encoder.0.self.queries": batch, head, query, d_k."""
    *scope, last = name.split(".")
    side = _side(name)
    if last in ("position_ids", "positions"):
        return (side,) if last == "position_ids" else (side, "d_model")
    token = {"self": "query", "cross": "query", "ff": "token"}.get(scope[-1] if scope else "", side)
    return ("batch", *AXES.get(last, f"{token} d_model").split())


def _side(name: str) -> str:
    return "source" if name.startswith(("source.", "encoder.")) else "target"


@torch.inference_mode()
def shapes(model: Transformer) -> dict[str, tuple[int | str, ...]]:
    """The tensors of a pass in their order, with their shapes: "batch", "source" and "target" stand for the sentences
    and their tokens, numbers for what the model decides."""
    tap, config = Tap(), model.config
    read, fed = (torch.tensor([[one]], device=model.device) for one in (config.end_id, config.start_id))
    model(read, fed, tap)
    found: dict[str, tuple[int | str, ...]] = {}
    for name, tensor in tap.finish().items():
        side = _side(name)
        tokens = {"query": side, "token": side, "key": "source" if ".cross." in name else side}
        open_axes = {"batch": "batch", "source": "source", "target": "target", **tokens}
        found[name] = tuple(open_axes.get(axis, size) for axis, size in zip(axes(name), tensor.shape, strict=True))
    return found
