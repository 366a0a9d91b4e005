"""Embeddings (section 3.4): their lengths compared with the positions, their nearest neighbours, and how the layers
move them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from transformer.model.tap import SIDES
from transformer.short_repr import short_repr
from transformer.tracing.trace import Trace


@dataclass(frozen=True)
class Norms:
    """Lengths (Euclidean norms) of the two vectors added at the input of a stack: [token], float64.

    row:        the token's row in the embedding table, without section 3.4's factor
    scaled:     the row times sqrt(d_model), as in the paper's model
    positions:  the positional encoding that is added (section 3.5)
    """

    row: Tensor
    scaled: Tensor
    positions: Tensor

    __repr__ = short_repr

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
    """Compare the lengths of token and position vectors at the input of a stack.

    side: "source" or "target"; raises ValueError otherwise. factor: the model's factor of the embeddings; None means
    sqrt(d_model).
    """
    if side not in SIDES:
        raise ValueError(f"unknown side {side!r}; choose {' or '.join(SIDES)}")
    embedding = getattr(trace, f"{side}_embedding")
    root = math.sqrt(embedding.shape[-1])
    row = torch.linalg.vector_norm(embedding.double(), dim=-1) / (factor or root)
    positions = torch.linalg.vector_norm(getattr(trace, f"{side}_positions").double(), dim=-1)
    return Norms(row, row * root, positions)


@dataclass(frozen=True)
class Neighbours:
    """ids: the nearest tokens, nearest first; cosines: between their rows and the token's row; median: of the cosines
    of all candidate tokens (NaN without any), for comparison."""

    ids: tuple[int, ...]
    cosines: tuple[float, ...]
    median: float


@torch.inference_mode()
def neighbours(table: Tensor, token: int, count: int = 12, leave_out: Sequence[int] = ()) -> Neighbours:
    """The tokens whose rows have the largest cosine with a token's row: 1 is the same direction, 0 a right angle.

    table: [vocab, d_model]; token: the id of that token, never one of its neighbours; leave_out: other ids to leave
    out. Equal cosines are in the order of their ids. Returns fewer than count in a small vocabulary. A row of zeros has
    cosine 0. Raises ValueError for an id that is not in the table.
    """
    if not 0 <= token < len(table):
        raise ValueError(f"there is no token id {token}; choose 0 to {len(table) - 1}")
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
    """The tokens of a sentence in two dimensions, before the first layer and after each layer of a stack; float64.

    field   shape              what it is
    ------  -----------------  ----------------------------------------------------------------------------
    points  [state, token, 2]  coordinates relative to the mean of the tokens in that state, in units of `spread`
    spread  [state]            root mean square distance of the tokens from their mean
    share   [state]            share of the tokens' variance that the plane shows, 0 to 1
    best    [state]            the largest share that any plane could show
    basis   [2, d_model]       the two directions, of length 1 and at right angles

    Without any spread (one token) points are 0 and shares NaN.
    """

    points: Tensor
    spread: Tensor
    share: Tensor
    best: Tensor
    basis: Tensor

    __repr__ = short_repr


def plane(states: Tensor) -> Plane:
    """Principal components of the tokens, with one basis for all states: a token moves in the plane only if its vector
    changes.

    states: [state, token, d_model], see `residual.states`. In each state the tokens' mean is subtracted and the rest is
    divided by its spread. So the plane does not show a shift or stretch of all tokens together; LayerNorm changes the
    length in every state. The basis holds the two strongest eigenvectors of the covariance summed over the states,
    computed as singular vectors. The largest component of each is made positive, so that the picture never flips.
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
    # eigenvalues of the products between tokens: usually there are fewer tokens than dimensions
    strongest = torch.linalg.eigvalsh(centred @ centred.mT)[:, -2:].clamp(min=0).sum(-1)
    return Plane(points, spread, points.square().sum((1, 2)) / total, strongest / total, basis)


def turned(states: Tensor) -> Tensor:
    """How far the vectors of a stack have turned: the cosine between each token's vector in a state and in the first
    state, mean over the tokens; [state], float64, 1 for the first.

    states: [state, token, d_model], see `residual.states`. A vector of zeros has cosine 0.
    """
    vectors = states.double()
    return torch.cosine_similarity(vectors, vectors[:1], dim=-1).mean(-1)
