"""Scaled dot-product attention and multi-head attention (section 3.2)."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from transformer.model.dropout import dropout
from transformer.model.tap import OFF, AnyTap


def attend(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    mask: Tensor | None = None,
    *,
    scale: float | None = None,
    drop: float = 0.0,
    tap: AnyTap = OFF,
) -> Tensor:
    """Attention(Q, K, V) = softmax(Q K^T / sqrt(d_k)) V, equation 1, for every head at once.

    queries: [batch, head, query, d_k]
    keys:    [batch, head, key, d_k]
    values:  [batch, head, key, d_head]
    mask:    bool, broadcastable to [batch, head, query, key]; True = may attend; None = all may
    scale:   what Q K^T is multiplied by; None = 1 / sqrt(d_k), the paper's
    drop:    probability with which a weight is dropped (training only)

    Returns the heads' outputs, [batch, head, query, d_head]. Hidden cells get score -inf, hence weight exactly 0.
    A query that may attend to nothing has no softmax; its weights are NaN, not a silent average.
    """
    if tap.fused:
        return F.scaled_dot_product_attention(queries, keys, values, attn_mask=mask, dropout_p=drop, scale=scale)
    scores = queries @ keys.transpose(-2, -1)  # [batch, head, query, key]
    scores = scores / math.sqrt(queries.shape[-1]) if scale is None else scores * scale
    if mask is not None:
        if not tap.off:
            mask = tap("mask", mask.expand_as(scores))  # a mask a head, so that an edit can open single ones
        scores = torch.where(mask, scores, -math.inf)
    scores = tap("scores", scores)
    weights = tap("weights", scores.softmax(dim=-1))
    if drop:
        weights = dropout(weights, drop)
    return tap("head_outputs", weights @ values)


class MultiHeadAttention(nn.Module):
    """MultiHead(Q, K, V) = Concat(head_1, ..., head_h) W^O, head_i = Attention(Q W_i^Q, K W_i^K, V W_i^V).

    Section 3.2.2. The h projections W_i^Q stand side by side in one matrix W^Q of d_model x (h d_k), likewise W^K and
    W^V. d_k and scaling: see `ModelConfig`. Departure from the paper's formula: every projection has a bias, as in
    torch.nn.MultiheadAttention.
    """

    def __init__(
        self, d_model: int, heads: int, dropout: float = 0.0, d_k: int | None = None, scaling: bool = True
    ) -> None:
        super().__init__()
        self.heads = heads
        self.dropout = dropout
        self.scale = None if scaling else 1.0
        self.query = nn.Linear(d_model, heads * d_k if d_k else d_model)
        self.key = nn.Linear(d_model, heads * d_k if d_k else d_model)
        self.value = nn.Linear(d_model, d_model)
        self.output = nn.Linear(d_model, d_model)
        self.shared: Tensor | None = None  # the memory of the three matrices, see `Transformer.arrange`

    def joined(self) -> tuple[Tensor, Tensor]:
        """W^Q, W^K and W^V over each other, [2 h d_k + d_model, d_model], and their biases, for one product of all."""
        parts = (self.query, self.key, self.value)
        weight = self.shared
        if weight is None or weight.data_ptr() != self.query.weight.data_ptr():  # another matrix was put there since
            weight = torch.cat([part.weight for part in parts])
        return weight, torch.cat([part.bias for part in parts])

    def _split(self, x: Tensor) -> Tensor:
        """[batch, token, head * width] -> [batch, head, token, width]"""
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        mask: Tensor | None = None,
        *,
        tap: AnyTap = OFF,
    ) -> Tensor:
        """Let x attend to memory (self-attention: memory is x).

        x: [batch, query, d_model], memory: [batch, key, d_model], mask: as in `attend`.
        Returns [batch, query, d_model]. The two matrix products of `attend` stay in float32 under autocast: at these
        sizes a 16-bit backward pass is slower on CPUs.
        """
        queries = tap("queries", self._split(self.query(x)))
        keys, values = tap("keys", self._split(self.key(memory))), tap("values", self._split(self.value(memory)))
        drop = self.dropout if self.training else 0.0
        with torch.autocast(x.device.type, enabled=False):
            heads = attend(queries.float(), keys.float(), values.float(), mask, scale=self.scale, drop=drop, tap=tap)
        return self.output(heads.transpose(1, 2).flatten(-2))
