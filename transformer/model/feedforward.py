"""Position-wise feed-forward network (section 3.3)."""

import functools
from collections.abc import Callable

import torch.nn.functional as F
from torch import Tensor, nn

from transformer.model.tap import OFF, AnyTap

# Name in `ModelConfig.activation` -> function: max(0, z); z Phi(z) with Phi of the normal distribution; the same with
# 0.5 (1 + tanh(sqrt(2 / pi) (z + 0.044715 z^3))) for Phi(z); z sigmoid(z).
ACTIVATION: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "gelu": F.gelu,
    "gelu_new": functools.partial(F.gelu, approximate="tanh"),
    "swish": F.silu,
}


class FeedForward(nn.Module):
    """FFN(x) = max(0, x W_1 + b_1) W_2 + b_2, equation 2; optionally with GELU or swish instead of max(0, .).

    gated: (max(0, x W_1) * x V) W_2 (Shazeer 2020, equations 5 and 6): each neuron has a second factor. With GELU it is
    his GEGLU, T5's from version 1.1 on. biases=False: without b_1 and b_2, and there is none of V.
    """

    def __init__(
        self, d_model: int, d_ff: int, activation: str = "relu", gated: bool = False, biases: bool = True
    ) -> None:
        super().__init__()
        self.inner = nn.Linear(d_model, d_ff, biases)
        self.gate = nn.Linear(d_model, d_ff, biases) if gated else None  # V
        self.outer = nn.Linear(d_ff, d_model, biases)
        self.activation = ACTIVATION[activation]

    def forward(self, x: Tensor, tap: AnyTap = OFF) -> Tensor:
        """[batch, token, d_model] -> [batch, token, d_model], for each token separately."""
        pre_activation = tap("pre_activation", self.inner(x))  # [batch, token, d_ff]
        activation = self.activation(pre_activation)
        if self.gate is not None:
            activation = activation * tap("gate", self.gate(x))  # [batch, token, d_ff]
        activation = tap("activation", activation)
        return self.outer(activation)
