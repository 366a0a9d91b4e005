"""Sampling: draw the next token by its probability instead of taking the most probable one."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from transformer.checks import check_fields, number, whole
from transformer.texts import Text, UserError
from transformer.tracing.finite import check_numbers


class SamplingError(UserError):
    """Invalid settings of sampling."""


RULES = {
    "temperature": number(lambda value: 0 < value < math.inf, Text("a number above 0")),
    "top_k": whole(0),
    "top_p": number(lambda value: 0 < value <= 1, Text("a number above 0, up to 1")),
    "seed": whole(0),
}


@dataclass(frozen=True)
class Sampling:
    """How to draw tokens.

    temperature: the logits are divided by it; below 1 likely tokens become likelier. top_k: draw from the k most
    probable tokens (Fan et al. 2018); 0: from all. top_p: draw from the smallest set of most probable tokens whose
    probabilities sum to at least p (nucleus sampling, Holtzman et al. 2020); 1: from all. They apply in this order.
    seed: of the random numbers. Raises SamplingError.
    """

    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        check_fields(self, RULES, SamplingError)

    def narrow(self, log_probs: Tensor) -> Tensor:
        """The distribution that tokens are drawn from.

        log_probs: [..., vocab], natural log-probabilities, -inf for tokens that are never written. Returns the same
        shape in float64, summing to 1 in each row, with -inf for tokens left out. Of equally probable tokens the first
        in the vocabulary stays.
        """
        scaled = (log_probs.double() / self.temperature).log_softmax(-1)
        if not self.top_k and self.top_p == 1:
            return scaled
        ordered, order = scaled.sort(dim=-1, descending=True, stable=True)
        if self.top_k:
            ordered[..., self.top_k :] = -torch.inf
            ordered = ordered.log_softmax(-1)
        if self.top_p < 1:
            before = ordered.exp().cumsum(-1) - ordered.exp()  # of all more probable tokens
            ordered = ordered.masked_fill(before >= self.top_p, -torch.inf).log_softmax(-1)
        return torch.empty_like(scaled).scatter_(-1, order, ordered)


class Drawn:
    """Draws one token for each row of a batch. Every sentence has random numbers of its own, so that it gets the same
    tokens alone and in a batch. seeds: one for each sentence."""

    def __init__(self, sampling: Sampling, seeds: Sequence[int]) -> None:
        self.sampling = sampling
        self.generators = [torch.Generator().manual_seed(seed) for seed in seeds]

    def __call__(self, log_probs: Tensor, rows: Sequence[int]) -> Tensor:
        """log_probs: [row, vocab]; rows: which sentence each row is. Returns ids, [row]. Raises NotFiniteError."""
        check_numbers(log_probs)
        cumulative = self.sampling.narrow(log_probs).exp().cumsum(-1).cpu()
        uniform = [torch.rand(1, dtype=torch.float64, generator=self.generators[row]) for row in rows]
        found = torch.searchsorted(cumulative, torch.stack(uniform) * cumulative[:, -1:], right=True)[:, 0]
        return found.to(log_probs.device)
