"""The key-value cache of incremental decoding: each step computes keys and values only for its newest tokens.

With the causal mask (section 3.2.3), a token never changes the keys and values of earlier tokens, and the encoder's
output is the same at every step.
"""

import torch
from torch import Tensor


class AttentionCache:
    """Keys and values of one attention sub-layer, [batch, head, key, d_k] and [batch, head, key, d_head].

    grows: True for self-attention, where every step adds to them; those of cross-attention are complete after one step.
    """

    keys: Tensor
    values: Tensor

    def __init__(self, grows: bool) -> None:
        self.grows, self.empty = grows, True

    @property
    def complete(self) -> bool:
        return not (self.grows or self.empty)

    def append(self, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Add the keys and values of the newest tokens. Returns all keys and values."""
        if self.empty:
            self.keys, self.values, self.empty = keys.contiguous(), values.contiguous(), False
        else:
            self.keys, self.values = torch.cat((self.keys, keys), 2), torch.cat((self.values, values), 2)
        return self.keys, self.values

    def select(self, rows: Tensor) -> None:
        if not self.empty:
            self.keys, self.values = self.keys[rows], self.values[rows]


class LayerCache:
    """The two attention caches of one decoder layer."""

    def __init__(self) -> None:
        self.self_attention, self.cross_attention = AttentionCache(grows=True), AttentionCache(grows=False)


class KeyValueCache:
    """The caches of all layers of a decoder, for one batch. length: tokens fed in so far."""

    def __init__(self, layers: int) -> None:
        self.layers = [LayerCache() for _ in range(layers)]
        self.length = 0

    def advance(self, tokens: int) -> int:
        """Count these tokens. Returns how many came before them."""
        self.length += tokens
        return self.length - tokens

    def select(self, rows: Tensor, same_sources: bool = False) -> None:
        """Keep these rows of the batch, in this order.

        rows: integers; one may appear several times. same_sources: every place gets a row of the source that it has
        now, so that cross-attention stays as it is.
        """
        for layer in self.layers:
            layer.self_attention.select(rows)
            if not same_sources:
                layer.cross_attention.select(rows)
