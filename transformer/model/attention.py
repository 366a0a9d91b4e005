"""Scaled dot-product attention and multi-head attention (section 3.2)."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from transformer.model.cache import AttentionCache
from transformer.model.tap import OFF, AnyTap


def attend(
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
    """Attention(Q, K, V) = softmax(Q K^T / sqrt(d_k)) V, equation 1, for all heads at once.

    queries: [batch, head, query, d_k]
    keys:    [batch, head, key, d_k]
    values:  [batch, head, key, d_head]
    mask:    bool, broadcastable to [batch, head, query, key]; True = may attend; None = no mask
    bias:    of relative positions, broadcastable to [batch, head, query, key], added to the scores; the paper has none
    scale:   factor of Q K^T; None = 1 / sqrt(d_k), as in the paper
    dropout: probability of dropping a weight (training only)

    Returns the heads' outputs, [batch, head, query, d_head]. Masked cells get score -inf, so their weight is exactly 0.
    If a mask hides all keys from a query, its weights are NaN, not a silent average.
    """
    if tap.fused:  # PyTorch's kernel: the same up to rounding, but it never computes the weights
        if bias is not None:
            mask = bias if mask is None else torch.where(mask, bias, -math.inf)
        return F.scaled_dot_product_attention(queries, keys, values, attn_mask=mask, dropout_p=dropout, scale=scale)
    scores = queries @ keys.transpose(-2, -1)  # [batch, head, query, key]
    scores = scores / math.sqrt(queries.shape[-1]) if scale is None else scores * scale
    if bias is not None:
        scores = tap("products", scores) + tap("bias", bias.expand_as(scores))
    if mask is not None:
        mask = tap("mask", mask.expand_as(scores))  # one mask per head, so that an edit can change a single head
        scores = torch.where(mask, scores, -math.inf)
    scores = tap("scores", scores)
    weights = tap("weights", scores.softmax(dim=-1))
    if dropout:
        weights = F.dropout(weights, dropout)
    return tap("head_outputs", weights @ values)


class MultiHeadAttention(nn.Module):
    """MultiHead(Q, K, V) = Concat(head_1, ..., head_h) W^O, head_i = Attention(Q W_i^Q, K W_i^K, V W_i^V).

    Section 3.2.2. One matrix W^Q of d_model x (h d_k) holds the h projections W_i^Q side by side; W^K and W^V do the
    same. d_k, d_v and scaling: see `ModelConfig`. Difference from the paper: every projection has a bias, as in
    torch.nn.MultiheadAttention, unless biases=False.
    """

    attend = staticmethod(attend)  # a trainer may replace it by a faster function with the same results

    def __init__(
        self,
        d_model: int,
        heads: int,
        dropout: float = 0.0,
        d_k: int | None = None,
        scaling: bool = True,
        d_v: int | None = None,
        biases: bool = True,
    ) -> None:
        super().__init__()
        self.heads = heads
        self.dropout = dropout
        self.scale = None if scaling else 1.0
        inner = heads * d_v if d_v else d_model
        self.query = nn.Linear(d_model, heads * d_k if d_k else inner, biases)  # W^Q
        self.key = nn.Linear(d_model, heads * d_k if d_k else inner, biases)  # W^K
        self.value = nn.Linear(d_model, inner, biases)  # W^V
        self.output = nn.Linear(inner, d_model, biases)  # W^O

    def _split(self, x: Tensor) -> Tensor:
        """[batch, token, head * width] -> [batch, head, token, width]"""
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def project(
        self, x: Tensor, memory: Tensor, tap: AnyTap = OFF, cache: AttentionCache | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Q = x W^Q, K = memory W^K, V = memory W^V of every head; with a cache, K and V of earlier steps too."""
        queries = tap("queries", self._split(self.query(x)))  # [batch, head, query, d_k]
        if cache is not None and cache.complete:
            return queries, cache.keys, cache.values
        keys = tap("keys", self._split(self.key(memory)))  # [batch, head, key, d_k]
        values = tap("values", self._split(self.value(memory)))  # [batch, head, key, d_head]
        if cache is not None:
            keys, values = cache.append(keys, values)
        return queries, keys, values

    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        mask: Tensor | None = None,
        *,
        bias: Tensor | None = None,
        tap: AnyTap = OFF,
        cache: AttentionCache | None = None,
    ) -> Tensor:
        """Let x attend to memory (self-attention: memory is x).

        x: [batch, query, d_model], memory: [batch, key, d_model], mask, bias: as in `attend`; cache: keys and values of
        earlier steps of decoding. Returns [batch, query, d_model].
        """
        queries, keys, values = self.project(x, memory, tap, cache)
        dropout = self.dropout if self.training else 0.0
        heads = self.attend(queries, keys, values, mask, bias=bias, scale=self.scale, dropout=dropout, tap=tap)
        return self.output(heads.transpose(1, 2).flatten(-2))  # Concat(head_1, ..., head_h) W^O
