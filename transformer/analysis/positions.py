"""Properties of positional encodings (section 3.5): wavelengths, dot products, and the map that shifts a position.

All computations use float64. Positions p and dimensions count from 0, as in the paper's formula.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from transformer.short_repr import short_repr

BASE = 10000.0  # section 3.5
SHORTEST, LONGEST = 2 * math.pi, BASE * 2 * math.pi  # the wavelengths "form a geometric progression" between these


def frequencies(d_model: int) -> Tensor:
    """Angle per position of each pair of dimensions 2i, 2i + 1: 10000^(-2i/d_model), [d_model / 2].

    Raises ValueError for a d_model that is odd or below 2.
    """
    if d_model < 2 or d_model % 2:
        raise ValueError(f"d_model is {d_model}; the encoding needs an even number of at least 2")
    even = torch.arange(0, d_model, 2, dtype=torch.float64)
    return 1.0 / BASE ** (even / d_model)


def wavelengths(d_model: int) -> Tensor:
    """Wavelength of each pair in positions: 2 pi 10000^(2i/d_model), [d_model / 2].

    From exactly 2 pi up to 10000^(1 - 2/d_model) 2 pi. With growing d_model this approaches the paper's upper end,
    10000 * 2 pi, but never reaches it. Raises ValueError as `frequencies` does.
    """
    return SHORTEST / frequencies(d_model)


def dot_products(table: Tensor) -> Tensor:
    """PE(p).PE(q) for a table [position, d_model]: [position, position]."""
    rows = table.detach().double()
    return rows @ rows.T


@dataclass(frozen=True)
class ByOffset:
    """Dot products by offset p - q.

    offsets: p - q from -(n - 1) to n - 1, [2n - 1], int64; mean: over the pairs with this offset, [2n - 1]; spread:
    largest minus smallest product of these pairs, [2n - 1]; 0 up to rounding if the product depends only on p - q.
    """

    offsets: Tensor
    mean: Tensor
    spread: Tensor

    __repr__ = short_repr

    @property
    def largest_spread(self) -> float:
        return self.spread.max().item()


def by_offset(products: Tensor) -> ByOffset:
    """Group products [position, position], entry [p, q], by p - q. Raises ValueError if they are not square."""
    if products.dim() != 2 or products.shape[0] != products.shape[1] or not len(products):
        raise ValueError(f"products must be a square matrix, but their shape is {list(products.shape)}")
    length = len(products)
    position = torch.arange(length)
    index = (position[:, None] - position[None, :] + length - 1).flatten()  # p - q, from 0
    flat, empty = products.double().flatten(), torch.zeros(2 * length - 1, dtype=torch.float64)
    high = empty.scatter_reduce(0, index, flat, "amax", include_self=False)
    low = empty.scatter_reduce(0, index, flat, "amin", include_self=False)
    mean = empty.scatter_reduce(0, index, flat, "mean", include_self=False)
    return ByOffset(torch.arange(1 - length, length), mean, high - low)


def offset_product(offset: Tensor, d_model: int) -> Tensor:
    """PE(p).PE(q) of the sinusoidal encoding from p - q alone: sum over i of cos((p - q) / 10000^(2i/d_model)).

    Because sin a sin b + cos a cos b = cos(a - b). offset: any shape; returns the same shape.
    """
    return (offset.double()[..., None] * frequencies(d_model)).cos().sum(-1)


def shift_map(k: int, d_model: int) -> Tensor:
    """M_k [d_model, d_model] with PE(p + k) = M_k PE(p), PE(p) a column: section 3.5, "for any fixed offset k, PE_{p+k}
    can be represented as a linear function of PE_p".

    For each pair (sin, cos) with frequency w, the diagonal has a rotation [[cos wk, sin wk], [-sin wk, cos wk]]; all
    other entries are 0. For a table with positions as rows: table[p + k] = table[p] @ M_k.T. k may be negative:
    M_{-k} = M_k.T.
    """
    angle = k * frequencies(d_model)
    blocks = torch.stack((angle.cos(), angle.sin(), -angle.sin(), angle.cos()), -1).reshape(-1, 2, 2)
    return torch.block_diag(*blocks)


def shifted(table: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """PE(p + k) from the table, and M_k PE(p), for every p where both are in the table.

    table: [position, d_model]; returns twice [position - |k|, d_model]; row 0 is p = max(0, -k).
    Raises ValueError if the table is too short for k.
    """
    length, d_model = table.shape
    if abs(k) >= length:
        raise ValueError(f"k is {k}; with {length} positions choose {1 - length} to {length - 1}")
    rows = table.detach().double()
    start = max(0, -k)
    before = rows[start : length - max(0, k)]
    return rows[start + k : start + k + len(before)], before @ shift_map(k, d_model).T


def shift_error(table: Tensor, k: int) -> float:
    """The largest |PE(p + k) - M_k PE(p)| over all p and dimensions. Raises ValueError as `shifted` does.

    For a sinusoidal table in float32 it is rounding, about 1e-7; a learned table does not rotate.
    """
    expected, mapped = shifted(table, k)
    return (expected - mapped).abs().max().item()


def row_norms(table: Tensor) -> Tensor:
    """Length of every row of [position, d_model]: [position]. Sinusoidal: sqrt(d_model / 2) everywhere."""
    return table.detach().double().norm(dim=-1)


def neighbour_cosines(table: Tensor) -> Tensor:
    """Cosine between rows p and p + 1: [position - 1]; NaN if one of them is zero.

    Sinusoidal: the same everywhere, 2 / d_model times the sum over i of cos(10000^(-2i/d_model)).
    """
    rows = table.detach().double()
    rows = rows / rows.norm(dim=-1, keepdim=True)  # 0 / 0 is NaN, on purpose
    return (rows[:-1] * rows[1:]).sum(-1)
