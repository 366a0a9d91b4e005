"""Why scores are divided by sqrt(d_k) (section 3.2.1, footnote 4): with random q and k, and with those of a model."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from transformer.analysis.attention import entropy
from transformer.analysis.softmax import gradient_room
from transformer.short_repr import short_repr
from transformer.tracing.trace import AttentionTrace

# 43 depths, five per octave where whole numbers allow; 2^(i/5) includes every power of two.
DEPTHS = tuple(sorted({round(2 ** (i / 5)) for i in range(51)}))
WAYS = ("scaled", "unscaled", "additive")
BINS, LIMIT = 41, 4.0  # an odd number, so that one bin is centred at 0
OWN_BINS = 25  # a sentence of 11 tokens has 121 pairs of query and key
ADDITIVE_ROWS = 32  # W q and U k cost rows times depth^2: 32 rows take half the time of the experiment


@dataclass(frozen=True)
class RandomExperiment:
    """Scores of random queries and random keys, for every depth d_k and each way of scoring in WAYS.

    field            shape              what it is
    ---------------  -----------------  ------------------------------------------------------------------
    variance         [depth]            variance of q.k over all rows and keys; in theory d_k
    scaled_variance  [depth]            variance of q.k / sqrt(d_k); in theory 1
    histogram        [depth, bin]       density of q.k / sqrt(d_k) over -LIMIT to LIMIT; values outside are not
                                        counted. Over +-LIMIT sqrt(d_k) the same bins are those of q.k
    scores, weights  [way, depth, key]  of each row from its largest to its smallest, before and after softmax; mean
                                        over rows. One row alone may saturate less at a larger d_k
    entropy          [way, depth]       mean over rows of H / ln(keys): 1: flat, 0: one key
    largest          [way, depth]       mean over rows of the largest weight
    room             [way, depth]       mean over rows of 1 - sum p^2, the trace of the softmax's Jacobian
    """

    seed: int
    rows: int
    keys: int
    depths: tuple[int, ...]
    variance: Tensor
    scaled_variance: Tensor
    histogram: Tensor
    scores: Tensor
    weights: Tensor
    entropy: Tensor
    largest: Tensor
    room: Tensor

    __repr__ = short_repr


def _histogram(values: Tensor, visible: Tensor, bins: int) -> Tensor:
    """The number of values in each of equal bins from -1 to 1: [..., pair] -> [..., bin], float64."""
    index = ((values + 1) * (bins / 2)).floor()
    index = torch.where(values == 1, bins - 1, index)  # the last bin includes its upper end
    inside = visible & (index >= 0) & (index < bins)
    counts = values.new_zeros(*values.shape[:-1], bins, dtype=torch.float64)
    return counts.scatter_add_(-1, index.clamp(0, bins - 1).nan_to_num(0).long(), inside.double())


def _products(queries: Tensor, keys: Tensor, depths: Sequence[int]) -> Tensor:
    """q.k of the first d numbers for every depth d: [row, width], [row, key, width] -> [depth, row, key], float64."""
    sums = (queries[:, None] * keys).cumsum(-1, dtype=torch.float64)
    return sums[..., torch.tensor(depths) - 1].permute(2, 0, 1)


def _additive(queries: Tensor, keys: Tensor, depths: Sequence[int], generator: torch.Generator) -> Tensor:
    """v^T tanh(W q + U k) with d x d matrices W, U (Bahdanau et al. 2015, A.1.2), for the first d numbers of q and k.

    All weights are Glorot-normal: W and U have variance 1 / d, v has variance 2 / (d + 1). Each row has its own v. One
    draw gives several W and U for small d, and the rows share them, so that a mean over rows is also one over weights.
    queries: [row, width]; keys: [row, key, width]. Returns [depth, row, key], float64.
    """
    rows, width = queries.shape
    w, u, v = (torch.randn(count, width, generator=generator) for count in (width, width, rows))
    scores = []
    for d in depths:
        groups = math.gcd(rows, 1 << (width // d).bit_length() - 1)
        blocks = [x[: groups * d, :d].reshape(groups, d, d).mT for x in (w, u)]
        from_query = queries[:, :d].reshape(groups, -1, d) @ blocks[0]
        from_keys = keys[..., :d].reshape(groups, -1, d) @ blocks[1]
        hidden = torch.tanh((from_query.view(rows, 1, d) + from_keys.view(rows, -1, d)) / math.sqrt(d))
        scores.append((hidden @ v[:, :d, None]).squeeze(-1).double() * math.sqrt(2 / (d + 1)))
    return torch.stack(scores)


def random_experiment(
    seed: int = 0, rows: int = 256, keys: int = 10, depths: Sequence[int] = DEPTHS
) -> RandomExperiment:
    """Draw q and k with independent N(0, 1) components, as footnote 4 assumes, and score them in every way.

    The numbers are drawn once for the largest depth, and each depth uses the first d_k of them, so that curves over d_k
    are smooth. `additive` uses only the first ADDITIVE_ROWS rows. Raises ValueError for a seed below 0 or above
    2^63 - 1, fewer than 2 rows or keys, and depths that do not increase or are below 1.
    """
    if not 0 <= seed < 2**63:
        raise ValueError(f"seed is {seed}; choose 0 to 2^63 - 1")
    if rows < 2 or keys < 2:
        raise ValueError(f"at least 2 rows and 2 keys are needed, but there are {rows} rows and {keys} keys")
    if not depths or depths[0] < 1 or any(a >= b for a, b in itertools.pairwise(depths)):
        raise ValueError(f"the depths must be increasing whole numbers from 1, but they are {list(depths)}")
    generator = torch.Generator().manual_seed(seed)
    q = torch.randn(rows, depths[-1], generator=generator)
    k = torch.randn(rows, keys, depths[-1], generator=generator)
    few = slice(0, ADDITIVE_ROWS)
    products = _products(q, k, depths)  # [depth, row, key]
    scaled = products / torch.tensor(depths).double().sqrt()[:, None, None]
    scores = (scaled, products, _additive(q[few], k[few], depths, generator))
    weights = [way.softmax(-1) for way in scores]
    pairs = scaled.flatten(1)
    counts = _histogram(pairs / LIMIT, torch.ones_like(pairs, dtype=torch.bool), BINS)

    def in_order(values: Tensor) -> Tensor:
        """[depth, row, key] -> [depth, key]: mean over rows, each sorted from its largest value."""
        return values.sort(-1, descending=True).values.mean(1)

    return RandomExperiment(
        seed,
        rows,
        keys,
        tuple(depths),
        variance=products.flatten(1).var(-1),
        scaled_variance=pairs.var(-1),
        histogram=counts / (rows * keys * 2 * LIMIT / BINS),
        scores=torch.stack([in_order(way) for way in scores]),
        weights=torch.stack([in_order(way) for way in weights]),
        entropy=torch.stack([entropy(p).mean(-1) for p in weights]) / math.log(keys),
        largest=torch.stack([p.amax(-1).mean(-1) for p in weights]),
        room=torch.stack([gradient_room(p).mean(-1) for p in weights]),
    )


@dataclass(frozen=True)
class OwnVariances:
    """The assumptions of footnote 4, measured on one kind of attention in one sentence; every tensor is float64.

    field                        shape               what it is
    ---------------------------  ------------------  ---------------------------------------------------------
    query, key                   [layer, head]       variance of the numbers in q and in k around their mean, over
                                                     tokens and components; the footnote assumes 1
    query_square, key_square     [layer, head]       their mean square: the variance around 0
    product                      [layer, head]       variance of q.k over visible pairs, divided by d_k; the footnote
                                                     predicts 1. NaN if no pair is visible
    mean                         [layer, head]       mean of q.k / sqrt(d_k) over visible pairs; the footnote predicts 0
    limit                        [layer, head]       the histogram runs from -limit to limit: LIMIT or the largest value
    histogram                    [layer, head, bin]  density of q.k / sqrt(d_k) over visible pairs
    """

    d_k: int
    query: Tensor
    key: Tensor
    query_square: Tensor
    key_square: Tensor
    product: Tensor
    mean: Tensor
    limit: Tensor
    histogram: Tensor

    __repr__ = short_repr

    def unit(self, low: float = 0.8, high: float = 1.25) -> Tensor:
        """Heads whose q and k both have a variance between low and high: [layer, head], bool."""
        return (self.query >= low) & (self.query <= high) & (self.key >= low) & (self.key <= high)


def own_variances(attention: AttentionTrace) -> OwnVariances:
    """The variances of the model's own q and k over all tokens of the sentence; of products over visible pairs."""
    queries, keys = attention.queries.double(), attention.keys.double()
    d_k = queries.shape[-1]
    products = queries @ keys.mT / math.sqrt(d_k)  # [layer, head, query, key]
    visible = attention.mask.expand_as(products).flatten(2)
    products = products.flatten(2)
    pairs = visible.sum(-1)
    mean = torch.where(visible, products, 0).sum(-1) / pairs
    spread = torch.where(visible, products - mean[..., None], 0).square().sum(-1) / pairs
    limit = torch.where(visible, products.abs(), 0).amax(-1).clamp(min=LIMIT)
    counts = _histogram(products / limit[..., None], visible, OWN_BINS)
    return OwnVariances(
        d_k,
        query=queries.flatten(2).var(-1, correction=0),
        key=keys.flatten(2).var(-1, correction=0),
        query_square=queries.square().mean((-2, -1)),
        key_square=keys.square().mean((-2, -1)),
        product=spread,
        mean=mean,
        limit=limit,
        histogram=counts / (pairs * 2 * limit / OWN_BINS)[..., None],
    )
