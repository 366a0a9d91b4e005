"""Masks: which keys a query may attend to. Everywhere in this package True means "may attend"."""

import torch
from torch import Tensor


def padding_mask(ids: Tensor, pad_id: int) -> Tensor:
    """Hide padding from every query.

    ids: [batch, key], integers. Returns [batch, 1, 1, key], bool: one row for all heads and all queries.
    """
    return (ids != pad_id)[:, None, None, :]


def needed(mask: Tensor, fused: bool) -> Tensor | None:
    """The mask, or None for fused attention if it hides nothing: without a mask the kernel is a quarter faster."""
    return None if fused and bool(mask.all()) else mask


def real_tokens(fed: Tensor, pad_id: int) -> Tensor:
    """Which ids of a decoder input are not padding. The first never is, even if decoding starts with <pad>.

    fed: [batch, target], integers. Returns the same shape, bool.
    """
    first = torch.arange(fed.shape[1], device=fed.device) == 0
    return (fed != pad_id) | first


def causal_mask(length: int, device: torch.device | None = None, past: int = 0) -> Tensor:
    """Hide the future: position q sees keys 0..q (section 3.2.3, "prevent leftward information flow").

    past: keys before the first query. Returns [1, 1, query, key] = [1, 1, length, past + length], bool.
    """
    return torch.ones(length, past + length, dtype=torch.bool, device=device).tril(past)[None, None]
