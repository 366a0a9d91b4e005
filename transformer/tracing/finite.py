"""Measurements need numbers: a model whose weights are finite may still overflow on the way, and so may an edit."""

from collections.abc import Callable, Collection, Mapping

import torch
from torch import Tensor

from transformer.model.tap import TapError
from transformer.texts import N_, UserError

_RETURNED = N_(
    "the edit of {name} returned {value} at {index}; it must return finite numbers, so look in it for a division by 0, "
    "a logarithm of 0 or a number that is too large"
)
_RETURNED_MASKED = N_(
    "the edit of {name} returned {value} at {index}; it must return finite numbers, with -inf only for a part of each "
    "row, so look in it for a division by 0, a logarithm of 0 or a number that is too large"
)
_FOLLOWED = N_(
    "after the edit of {edits}, {name} is {value} at {index}; return smaller numbers, and leave every query a key to "
    "attend to"
)


class NotFiniteError(UserError):
    """A pass gave NaN, so that nothing can be measured."""


def check_numbers(*tensors: Tensor) -> None:
    """Raises NotFiniteError if one of them has NaN; infinity is allowed, because masked scores are -inf."""
    if any(bool(tensor.isnan().any()) for tensor in tensors):
        raise NotFiniteError(
            "this model computes NaN, not a number, so there is nothing to measure or to draw from; its weights are "
            "probably too large or damaged: check how they were trained or converted"
        )


def _wrong(name: str, tensor: Tensor) -> Tensor:
    """Which cells are no number: NaN or infinite. Scores and logits may be -inf, logits not in a whole row."""
    if not tensor.is_floating_point():
        return torch.zeros_like(tensor, dtype=torch.bool)
    if name.endswith(".scores"):
        return tensor.isnan() | tensor.isposinf()
    if name == "logits":
        return tensor.isnan() | tensor.isposinf() | tensor.isneginf().all(-1, keepdim=True)
    return ~tensor.isfinite()


def check_edited(
    records: Mapping[str, Tensor], edits: Collection[str], plain: Callable[[], Mapping[str, Tensor]]
) -> None:
    """Raises TapError for the first tensor of a pass that is no number because of a person's edits.

    records: of the pass, in their order; edits: names of the edited tensors; plain: gives the records of the same pass
    without these edits. What is no number there either comes from the model.
    """
    # A sum is finite only if all its terms are; it takes a third of the time of a look at each.
    suspects = (name for name, tensor in records.items() if not bool(tensor.sum().isfinite()))
    wrong = {name: cells for name in suspects if bool((cells := _wrong(name, records[name])).any())}
    if not wrong:
        return
    before = plain()
    for name, cells in wrong.items():
        cells = cells & ~_wrong(name, before[name])
        if not bool(cells.any()):
            continue
        index = cells.nonzero()[0].tolist()
        value = str(float(records[name][tuple(index)])).replace("nan", "NaN")
        if name in edits:
            text = _RETURNED_MASKED if name == "logits" or name.endswith(".scores") else _RETURNED
            raise TapError(text, name=name, value=value, index=index)
        order = list(records)
        earlier = [one for one in order[: order.index(name)] if one in edits]
        raise TapError(_FOLLOWED, edits=", ".join(earlier), name=name, value=value, index=index)
