"""Positions (section 3.5): attention alone does not know the order of its tokens, so each token's position is added."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from transformer.model.config import ModelConfig


def sinusoidal(length: int, d_model: int, layout: str = "interleaved") -> Tensor:
    """The paper's encoding: PE(p, 2i) = sin(p / 10000^(2i/d_model)), PE(p, 2i+1) = cos(the same angle).

    layout: "interleaved" like this; "halves": PE(p, i) = sin(...), PE(p, d_model/2 + i) = cos(...), as in Marian;
    "fairseq": in halves too, with the angle (p + 2) / 10000^(i/(d_model/2 - 1)), as in M2M-100.
    Returns [position, d_model], float32, computed in float64 unless "fairseq". d_model must be even.
    """
    return encoding_of(torch.arange(length), d_model, layout)


def encoding_of(positions: Tensor, d_model: int, layout: str = "interleaved") -> Tensor:
    """The rows of `sinusoidal` for these positions. positions: integers, [token]. Returns [token, d_model]."""
    even = torch.arange(0, d_model, 2, dtype=torch.float64)
    angle = positions.double()[:, None] / 10000.0 ** (even / d_model)
    if layout == "fairseq":  # in float32, as fairseq did for the models that were trained with them
        step = math.log(10000) / max(d_model // 2 - 1, 1)
        angle = (positions + 2).float()[:, None] * torch.exp(torch.arange(d_model // 2).float() * -step)
    if layout != "interleaved":
        return torch.cat((angle.sin(), angle.cos()), dim=-1).float()
    return torch.stack((angle.sin(), angle.cos()), dim=-1).flatten(1).float()  # [token, d_model / 2, 2] flattened


class Positions(nn.Module):
    """A table with one vector per position, [max_positions, d_model]."""

    table: Tensor

    def forward(self, positions: Tensor) -> Tensor:
        """positions: integers, [token]. Returns [token, d_model]."""
        return F.embedding(positions, self.table)


class SinusoidalPositions(Positions):
    """A fixed table of `sinusoidal` encodings. It has no parameters and is not saved with the weights."""

    def __init__(self, max_positions: int, d_model: int, layout: str = "interleaved") -> None:
        super().__init__()
        self.register_buffer("table", sinusoidal(max_positions, d_model, layout), persistent=False)


class NoPositions(Positions):
    """Adds zeros. The encoder cannot know the order of its tokens; the decoder only knows how many came before."""

    def __init__(self, max_positions: int, d_model: int) -> None:
        super().__init__()
        self.register_buffer("table", torch.zeros(max_positions, d_model), persistent=False)


class LearnedPositions(Positions):
    """One learned vector per position (Table 3, row E)."""

    def __init__(self, max_positions: int, d_model: int) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.empty(max_positions, d_model))
        nn.init.normal_(self.table, std=d_model**-0.5)


def bucket(distance: Tensor, count: int, farthest: int) -> Tensor:
    """The bucket of distances from 0 on, T5's rule: half of the buckets have one distance each, the others grow
    logarithmically up to `farthest`; the last one has all from there. Returns integers from 0 to count - 1."""
    exact = count // 2
    share = torch.log(distance.float() / exact) / math.log(farthest / exact)
    large = exact + (share * (count - exact)).clamp(min=0).long()
    return torch.where(distance < exact, distance, large.clamp(max=count - 1))


class RelativeBias(nn.Module):
    """Relative positions (Raffel et al. 2020, section 2.1): one learned number for each head and bucket of distances
    between query and key, which self-attention adds to the score. One table serves all layers of a stack.

    both_ways: half of the buckets are for keys behind the query, half for those after it, as the encoder needs;
    otherwise all are for keys behind it.
    """

    def __init__(self, config: ModelConfig, both_ways: bool) -> None:
        super().__init__()
        self.count, self.farthest, self.both_ways = config.buckets, config.farthest, both_ways
        self.table = nn.Parameter(torch.empty(config.buckets, config.heads))
        nn.init.normal_(self.table, std=config.d_model**-0.5)

    def buckets(self, distance: Tensor) -> Tensor:
        """distance: position of the key minus position of the query. Returns integers of the same shape."""
        if not self.both_ways:
            return bucket((-distance).clamp(min=0), self.count, self.farthest)
        half = self.count // 2
        return half * (distance > 0) + bucket(distance.abs(), half, self.farthest)

    def forward(self, queries: int, keys: int) -> Tensor:
        """The bias of the last `queries` of `keys` tokens, [1, head, query, key]."""
        position = torch.arange(keys, device=self.table.device)
        return self.between(position[keys - queries :], position)

    def between(self, queries: Tensor, keys: Tensor) -> Tensor:
        """The bias between positions, [query] and [key]: [1, head, query, key]."""
        return F.embedding(self.buckets(keys - queries[:, None]), self.table).permute(2, 0, 1)[None]


def positions_of(config: ModelConfig) -> Positions:
    """What is added to the embeddings."""
    if config.positions == "sinusoidal":
        return SinusoidalPositions(config.max_positions, config.d_model, config.layout)
    kind = LearnedPositions if config.positions == "learned" else NoPositions
    return kind(config.max_positions, config.d_model)
