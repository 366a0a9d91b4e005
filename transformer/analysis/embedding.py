"""Embeddings (section 3.4): how long they are beside the positions, which lie close together, and where the layers
move them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from transformer.model.tap import SIDES
from transformer.tracing.trace import Trace


@dataclass(frozen=True)
class Norms:
    """Lengths (Euclidean norms) of what is added at the input of a stack: [token], float64.

    row:        the token's row in the embedding table, as if section 3.4's factor were off
    scaled:     the row times sqrt(d_model), which is what the paper's model adds
    positions:  the encoding it is added to (section 3.5)
    """

    row: Tensor
    scaled: Tensor
    positions: Tensor

    @staticmethod
    def _ratio(above: Tensor, below: Tensor) -> float:
        return (above / below).quantile(0.5).item() if bool((below > 0).all()) else math.inf

    @property
    def ratio(self) -> float:
        """Median over the tokens of embedding / encoding, with the factor; infinite without positions."""
        return self._ratio(self.scaled, self.positions)

    @property
    def ratio_off(self) -> float:
        """The same with the factor switched off."""
        return self._ratio(self.row, self.positions)

    @property
    def drowned(self) -> float:
        """Median over the tokens of encoding / embedding with the factor off; 0 without positions."""
        return self._ratio(self.positions, self.row)


def norms(trace: Trace, side: str, factor: float | None = None) -> Norms:
    """Who drowns whom at the input of a stack.

    side: "source" or "target"; raises ValueError for any other. factor: what the model multiplies embeddings by, None
    for sqrt(d_model).
    """
    if side not in SIDES:
        raise ValueError(f"{side!r} is no side; there are {' and '.join(SIDES)}")
    embedding = getattr(trace, f"{side}_embedding")
    root = math.sqrt(embedding.shape[-1])
    row = torch.linalg.vector_norm(embedding.double(), dim=-1) / (factor or root)
    positions = torch.linalg.vector_norm(getattr(trace, f"{side}_positions").double(), dim=-1)
    return Norms(row, row * root, positions)


@dataclass(frozen=True)
class Neighbours:
    """ids: of the nearest tokens, nearest first; cosines: of the angle between their rows and the token's; median: of
    the cosines of all tokens that could have been named (NaN without any), which says what is near."""

    ids: tuple[int, ...]
    cosines: tuple[float, ...]
    median: float


@torch.inference_mode()
def neighbours(table: Tensor, token: int, count: int = 12, leave_out: Sequence[int] = ()) -> Neighbours:
    """The tokens whose rows point most nearly the same way: cosine 1 is the same direction, 0 a right angle.

    table: [vocab, d_model]; token: the id whose neighbours are wanted, never among them; leave_out: ids that are not
    to be named either. Equals stand in the order of their ids. Fewer than count if the vocabulary has no more; a row
    of zeros has no direction and cosine 0. Raises ValueError for an id that is not in the table.
    """
    if not 0 <= token < len(table):
        raise ValueError(f"there is no token {token}; ids go from 0 to {len(table) - 1}")
    tiny = torch.finfo(table.dtype).tiny
    lengths = torch.linalg.vector_norm(table, dim=-1).clamp(min=tiny)
    cosines = (table @ (table[token] / lengths[token])) / lengths
    out = sorted({token, *leave_out})
    cosines[out] = -math.inf
    order = cosines.argsort(descending=True, stable=True)[: len(table) - len(out)]
    median = cosines[order].double().quantile(0.5).item() if len(order) else math.nan
    best = order[:count]
    return Neighbours(tuple(best.tolist()), tuple(cosines[best].clamp(-1, 1).tolist()), median)


@dataclass(frozen=True)
class Plane:
    """The tokens of a sentence in two dimensions, at every place of a stack; float64.

    field   shape              what it is
    ------  -----------------  ----------------------------------------------------------------------------
    points  [place, token, 2]  coordinates, from the mean of the tokens at that place, in units of `spread`
    spread  [place]            root mean square distance of the tokens from their mean
    share   [place]            variance of the tokens at a place that the plane shows, 0 to 1
    best    [place]            the most that any plane could show of it; share is never above
    basis   [2, d_model]       the two directions, of length 1 and at right angles

    Without any spread (one token) points are 0 and shares NaN.
    """

    points: Tensor
    spread: Tensor
    share: Tensor
    best: Tensor
    basis: Tensor


def plane(states: Tensor) -> Plane:
    """Principal components of the tokens, one basis for all places, so that what moves in the plane moves in the model.

    states: [place, token, d_model], see `residual.states`. At each place the tokens' mean is taken away, and what is
    left is divided by its spread: what moves or stretches all tokens alike is not shown, for LayerNorm gives each place
    a length of its own. The basis are the two strongest eigenvectors of the covariance summed over the places, found as
    singular vectors; the largest component of either is made positive, so that the picture never flips.
    """
    centred = states.double()
    centred = centred - centred.mean(1, keepdim=True)
    spread = centred.square().sum(-1).mean(-1).sqrt()
    centred = centred / torch.where(spread > 0, spread, 1.0)[:, None, None]
    _, _, directions = torch.linalg.svd(centred.flatten(0, 1), full_matrices=False)
    basis = directions[:2]
    basis = basis * basis.gather(1, basis.abs().argmax(1, keepdim=True)).sign()
    points = centred @ basis.T
    total = centred.square().sum((1, 2))
    # eigenvalues of the tokens' own products: there are fewer tokens than dimensions, as a rule
    strongest = torch.linalg.eigvalsh(centred @ centred.mT)[:, -2:].clamp(min=0).sum(-1)
    return Plane(points, spread, points.square().sum((1, 2)) / total, strongest / total, basis)
