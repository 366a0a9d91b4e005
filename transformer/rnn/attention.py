"""Additive attention (Bahdanau et al. 2015, section 3.1 and appendix A.1.2), and the fixed context that it replaced."""

import math

import torch
from torch import Tensor, nn


class AdditiveAttention(nn.Module):
    """Attention over the annotations: softmax over the source of e_ij = v_a^T tanh(W_a s_{i-1} + U_a h_j).

    The alignment model a(s_{i-1}, h_j) is a feed-forward network of one hidden layer (appendix A.1.2). Its W_a, U_a and
    v_a have no bias. In Vaswani et al. 2017, section 3.2.1, this is "additive attention".
    """

    def __init__(self, states: int, annotations: int, hidden: int) -> None:
        super().__init__()
        self.query = nn.Linear(states, hidden, bias=False)  # W_a
        self.key = nn.Linear(annotations, hidden, bias=False)  # U_a
        self.score = nn.Linear(hidden, 1, bias=False)  # v_a^T

    def forward(self, state: Tensor, keys: Tensor, annotations: Tensor, real: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """One step of the decoder.

        state:       s_{i-1}, [batch, n]
        keys:        U_a h_j, [batch, source, n'], from `self.key`; the same at every step (end of appendix A.1.2)
        annotations: h_j, [batch, source, 2 n]
        real:        bool [batch, source], False = padding

        Returns the context c_i = sum_j alpha_ij h_j (equation 5), [batch, 2 n]; the scores e_ij, padding -inf; and the
        weights alpha_ij (equation 6), [batch, source] each.
        """
        hidden = torch.tanh(self.query(state)[:, None] + keys)
        scores = torch.where(real, self.score(hidden)[..., 0], -math.inf)
        weights = scores.softmax(-1)
        return (weights[:, None] @ annotations)[:, 0], scores, weights


class FixedContext(nn.Module):
    """No attention: every step gets the same context c, the encoder's two last states (Cho et al. 2014, section 2.2).

    The forward reader's state after the last token and the backward reader's state after the first: all that the
    decoder knows of the source is these 2 n numbers, the "fixed-length vector" of Bahdanau et al. 2015, section 2.1.
    No parameters.
    """

    def key(self, annotations: Tensor) -> Tensor:
        """c, [batch, 1, 2 n], of the annotations, [batch, source, 2 n]; a reader's state does not change in padding."""
        n = annotations.shape[-1] // 2
        return torch.cat((annotations[:, -1:, :n], annotations[:, :1, n:]), -1)

    def forward(self, state: Tensor, keys: Tensor, annotations: Tensor, real: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The context c, [batch, 2 n], from keys of `self.key`; scores and weights are [batch, 0]."""
        nothing = keys.new_zeros(len(keys), 0)
        return keys[:, 0], nothing, nothing
