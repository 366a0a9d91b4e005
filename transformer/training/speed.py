"""Prepare a model for faster training. Results differ only by rounding and by other random numbers.

The model itself uses the plain forms: `nn.Dropout`, and `attend` in the precision of its inputs.
"""

import torch
from torch import Tensor, nn

from transformer.model.attention import MultiHeadAttention, attend
from transformer.model.tap import OFF, AnyTap
from transformer.model.transformer import Transformer

LEVELS = 1 << 16


def cheap_dropout(x: Tensor, probability: float) -> Tensor:
    """Set each element to 0 with this probability, and divide the others by 1 - probability.

    x: any shape, on a CPU, where drawing random bits takes longer than the product that they mask. One 64-bit random
    number gives four 16-bit draws, so the probability is rounded to a multiple of 2^-16, and elements are scaled for
    the rounded value. Measured on one CPU for [3000, 256]: 1.0 instead of 3.6 ms in bfloat16, 3.0 instead of 5.6 ms in
    float32.
    """
    if not probability:
        return x
    dropped = min(max(1, round(probability * LEVELS)), LEVELS - 1)
    count = x.numel()
    bits = torch.empty((count + 3) // 4, dtype=torch.int64).random_(-(1 << 63), None)
    keep = bits.view(torch.int16)[:count].view(x.shape) >= dropped - LEVELS // 2
    return x * keep.to(x.dtype).mul_(LEVELS / (LEVELS - dropped))


class CheapDropout(nn.Dropout):
    """`nn.Dropout` with 16 random bits per element on CPUs."""

    def forward(self, x: Tensor) -> Tensor:
        return cheap_dropout(x, self.p) if self.training and x.device.type == "cpu" else super().forward(x)


def attend_in_float32(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    mask: Tensor | None = None,
    *,
    bias: Tensor | None = None,
    scale: float | None = None,
    dropout: float = 0.0,
    tap: AnyTap = OFF,
) -> Tensor:
    """`attend` with both matrix products in float32, also under autocast: at these sizes, a 16-bit backward pass is
    slower on CPUs."""
    with torch.autocast(queries.device.type, enabled=False):
        return attend(
            queries.float(), keys.float(), values.float(), mask, bias=bias, scale=scale, dropout=dropout, tap=tap
        )


def prepare_for_training(model: Transformer) -> None:
    """Replace dropout and attention of a model by their fast forms, for the device that its weights are on."""
    for module in list(model.modules()):
        for name, child in module.named_children():
            if type(child) is nn.Dropout:
                setattr(module, name, CheapDropout(child.p))
        if isinstance(module, MultiHeadAttention) and model.device.type == "cpu":
            module.attend = attend_in_float32
