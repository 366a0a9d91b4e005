"""Position-wise feed-forward network (section 3.3)."""

from __future__ import annotations

from collections.abc import Callable

import torch.nn.functional as F
from torch import Tensor, nn

from transformer.model.tap import OFF, AnyTap

# Name in `ModelConfig.activation` -> function: max(0, z); z Phi(z) with Phi of the normal distribution; z sigmoid(z).
ACTIVATION: dict[str, Callable[[Tensor], Tensor]] = {"relu": F.relu, "gelu": F.gelu, "swish": F.silu}


class FeedForward(nn.Module):
    """FFN(x) = max(0, x W_1 + b_1) W_2 + b_2, equation 2; optionally with GELU or swish instead of max(0, .)."""

    def __init__(self, d_model: int, d_ff: int, activation: str = "relu") -> None:
        super().__init__()
        self.inner = nn.Linear(d_model, d_ff)
        self.outer = nn.Linear(d_ff, d_model)
        self.activation = ACTIVATION[activation]

    def forward(self, x: Tensor, tap: AnyTap = OFF) -> Tensor:
        """[batch, token, d_model] -> [batch, token, d_model], for each token separately."""
        pre_activation = tap("pre_activation", self.inner(x))  # [batch, token, d_ff]
        activation = tap("activation", self.activation(pre_activation))
        return self.outer(activation)
