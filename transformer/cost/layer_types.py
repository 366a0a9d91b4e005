"""One layer of each kind of Table 1 (section 4), in its simplest form: [batch, token, d_model] in and out.

They have no residual connection, LayerNorm or feed-forward network, like the layers in the table.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from transformer.cost.complexity import Sizes
from transformer.model.attention import MultiHeadAttention
from transformer.model.tap import FUSED, OFF


def attend_nearby(queries: Tensor, keys: Tensor, values: Tensor, window: int, scale: float) -> Tensor:
    """Equation 1 where each query sees only `window` keys, centred at its own position (section 4).

    queries, keys: [batch, head, token, d_k], values: [batch, head, token, d_head]; window: r, odd; scale: what q.k is
    multiplied by. Returns [batch, head, token, d_head]. It never builds the matrix [query, key]: it shifts the keys by
    one offset after another and needs only r n d multiplications. Keys beyond the ends get weight exactly 0.
    """
    length = queries.shape[-2]
    reach = min(window // 2, length - 1)
    offsets = range(2 * reach + 1)
    near_keys, near_values = (F.pad(tensor, (0, 0, reach, reach)) for tensor in (keys, values))
    scores = [(queries * near_keys[..., start : start + length, :]).sum(-1) for start in offsets]
    positions = torch.arange(length)[:, None] + torch.arange(-reach, reach + 1)  # [query, offset]
    exists = ((positions >= 0) & (positions < length)).to(queries.device)
    weights = torch.where(exists, torch.stack(scores, -1) * scale, -math.inf).softmax(
        -1
    )  # [batch, head, query, offset]
    outputs = torch.zeros_like(values)
    for start in offsets:
        outputs = torch.addcmul(outputs, weights[..., start, None], near_values[..., start : start + length, :])
    return outputs


class SelfAttention(nn.Module):
    """Self-attention by `MultiHeadAttention`. fused: with PyTorch's fused kernel: the same result without storing
    the n x n weights."""

    def __init__(self, attention: MultiHeadAttention, fused: bool = False) -> None:
        super().__init__()
        self.attention, self.tap = attention, FUSED if fused else OFF

    def forward(self, x: Tensor) -> Tensor:
        return self.attention(x, x, tap=self.tap)


class RestrictedAttention(nn.Module):
    """Self-attention over a neighbourhood of r keys. Same matrices and heads as `MultiHeadAttention`."""

    def __init__(self, attention: MultiHeadAttention, window: int) -> None:
        super().__init__()
        self.attention, self.window = attention, window

    def forward(self, x: Tensor) -> Tensor:
        parts = (self.attention.query, self.attention.key, self.attention.value)
        queries, keys, values = (part(x).unflatten(-1, (self.attention.heads, -1)).transpose(1, 2) for part in parts)
        scale = queries.shape[-1] ** -0.5 if self.attention.scale is None else self.attention.scale
        heads = attend_nearby(queries, keys, values, self.window, scale)
        return self.attention.output(heads.transpose(1, 2).flatten(-2))


class Recurrent(nn.Module):
    """A GRU (Cho et al. 2014) from the first token to the last; each state needs the previous one."""

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.cells = nn.GRU(d_model, d_model, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        return self.cells(x)[0]


class Convolution(nn.Module):
    """A convolution over positions with a centred kernel of width k, and zeros beyond the ends."""

    def __init__(self, d_model: int, kernel: int) -> None:
        super().__init__()
        self.kernel = nn.Conv1d(d_model, d_model, kernel, padding=kernel // 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.kernel(x.transpose(1, 2)).transpose(1, 2)


class SeparableConvolution(nn.Module):
    """A separate convolution for each dimension, then the same matrix at every position (Chollet 2016)."""

    def __init__(self, d_model: int, kernel: int) -> None:
        super().__init__()
        self.depthwise = nn.Conv1d(d_model, d_model, kernel, padding=kernel // 2, groups=d_model, bias=False)
        self.pointwise = nn.Linear(d_model, d_model)

    def forward(self, x: Tensor) -> Tensor:
        return self.pointwise(self.depthwise(x.transpose(1, 2)).transpose(1, 2))


def layer(kind: str, sizes: Sizes) -> nn.Module:
    """A layer of one of `complexity.KINDS`, or "fused", with random weights, for inference."""
    attention = ("attention", "fused", "restricted")
    inner = MultiHeadAttention(sizes.d, sizes.heads, d_k=sizes.d_k, d_v=sizes.d_v) if kind in attention else None
    if inner is not None:
        built: nn.Module = (
            RestrictedAttention(inner, sizes.window) if kind == "restricted" else SelfAttention(inner, kind == "fused")
        )
    elif kind == "recurrent":
        built = Recurrent(sizes.d)
    elif kind == "convolution":
        built = Convolution(sizes.d, sizes.kernel)
    elif kind == "separable":
        built = SeparableConvolution(sizes.d, sizes.kernel)
    else:
        raise ValueError(f"unknown layer type {kind!r}")
    return built.requires_grad_(False).eval()
