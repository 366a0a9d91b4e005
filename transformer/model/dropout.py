"""Dropout (section 5.4), with cheap random bits: on CPUs drawing them costs more than the product they mask."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

LEVELS = 1 << 16


def dropout(x: Tensor, probability: float) -> Tensor:
    """Set each element to 0 with this probability, and divide the others by 1 - probability.

    x: any shape. Four 16-bit draws come out of one 64-bit random number, so the probability is rounded to a multiple of
    2^-16 and elements are scaled for the rounded value. Measured on one CPU for [3000, 256]: 1.0 against 3.6 ms in
    bfloat16, 3.0 against 5.6 ms in float32. Other devices use torch's dropout.
    """
    if not probability:
        return x
    if x.device.type != "cpu":
        return F.dropout(x, probability)
    dropped = min(max(1, round(probability * LEVELS)), LEVELS - 1)
    count = x.numel()
    bits = torch.empty((count + 3) // 4, dtype=torch.int64).random_(-(1 << 63), None)
    keep = bits.view(torch.int16)[:count].view(x.shape) >= dropped - LEVELS // 2
    return x * keep.to(x.dtype).mul_(LEVELS / (LEVELS - dropped))
