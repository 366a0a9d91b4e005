"""Contributions of input tokens to output tokens, and the recursion that carries those of one layer through a stack."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor


@dataclass(frozen=True)
class Contributions:
    """Of every source token and every token fed in, to every output token.

    source: [target, source]; prefix: [target, target], column k for the token fed in at step k, 0 beyond the step
    itself in a causal model. shares: they are at least 0, and the sum over both is 1 in each row; otherwise they may be
    negative, and only their order within a row can be compared with other methods.
    """

    source: Tensor
    prefix: Tensor
    shares: bool

    def joined(self) -> Tensor:
        """[target, source + target]: the source first."""
        return torch.cat((self.source, self.prefix), -1)

    def source_share(self) -> Tensor:
        """The part of each row that comes from the source (Voita et al. 2021), [target]. Raises ValueError if the
        numbers are no shares."""
        if not self.shares:
            raise ValueError("only contributions that sum to 1 in each row have a source share")
        return self.source.sum(-1)


def through_layers(
    encoder: Sequence[Tensor], decoder: Sequence[Tensor], cross: Sequence[Tensor]
) -> tuple[Tensor, Tensor]:
    """Contributions to the decoder's output, of the source's and the decoder's input embeddings.

    encoder: for each layer [source, source], row: of the output token; decoder S_l, [target, target], and cross X_l,
    [target, source]: what each output of a decoder layer takes from the layer's input and from the encoder's output.
    Rows of each encoder matrix, and of S_l and X_l together, sum to 1.

    Ferrando et al. 2022 (ALTI+), section 4: R_enc = E_L ... E_1; R_prefix = S_l R_prefix, R_source = S_l R_source +
    X_l R_enc. With one stack it is the attention rollout of Abnar and Zuidema 2020.
    """
    targets, sources = cross[0].shape
    encoded = torch.eye(sources, dtype=cross[0].dtype)
    for layer in encoder:
        encoded = layer @ encoded
    source, prefix = torch.zeros_like(cross[0]), torch.eye(targets, dtype=cross[0].dtype)
    for own, taken in zip(decoder, cross, strict=True):
        source, prefix = own @ source + taken @ encoded, own @ prefix
    return source, prefix


def in_shares(values: Tensor, own: Tensor) -> Tensor:
    """Each row divided by its sum, [row, column]. own: [row], the column of the row's own token, which gets the whole
    of a row of zeros: nothing reached it, so it stayed what it was."""
    total = values.sum(-1, keepdim=True)
    return torch.where(total > 0, values / total, F.one_hot(own, values.shape[-1]).to(values))
