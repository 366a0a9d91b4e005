"""Masks: which keys a query may attend to. Everywhere in this package True means "may attend"."""

from __future__ import annotations

import torch
from torch import Tensor


def padding_mask(ids: Tensor, pad_id: int) -> Tensor:
    """Hide padding from every query.

    ids: [batch, key], integers. Returns [batch, 1, 1, key], bool: one row for all heads and all queries.
    """
    return (ids != pad_id)[:, None, None, :]


def causal_mask(length: int, device: torch.device | None = None) -> Tensor:
    """Hide the future: position q sees keys 0..q (section 3.2.3, "prevent leftward information flow").

    Returns [1, 1, query, key] = [1, 1, length, length], bool.
    """
    return torch.ones(length, length, dtype=torch.bool, device=device).tril()[None, None]
