"""Incremental decoding: one token at a time."""

import torch
from torch import Tensor

from transformer.model.cache import KeyValueCache
from transformer.model.tap import OFF, AnyTap, EditingTap, Tap
from transformer.model.transformer import Transformer


class IncrementalDecoder:
    """Feeds a decoder one token per row of the batch at each step.

    memory: [batch, source, d_model], from `encode`; source: the ids of the memory, for its padding mask; tap: edits
    every pass. cached: keep keys and values between steps; otherwise every step runs all earlier tokens through
    `Transformer.decode` again. Models without the causal mask, and taps that open it, must not be cached.
    """

    def __init__(
        self, model: Transformer, memory: Tensor, source: Tensor, tap: AnyTap = OFF, cached: bool = True
    ) -> None:
        self.model, self.memory, self.tap = model, memory, tap
        padded = not tap.fused or bool((source == model.config.pad_id).any())
        self.source = source if padded else None
        self.cache = KeyValueCache(len(model.decoder)) if cached else None
        self.fed = source.new_empty(len(source), 0)

    def __call__(self, newest: Tensor) -> Tensor:
        """newest: the next id of each row, [batch, 1]. Returns the decoder's output for it, [batch, 1, d_model]."""
        return self._decode(newest)[:, -1:]

    def hidden(self, newest: Tensor) -> Tensor:
        """The decoder's output after each of several ids that every row is fed at once, [batch, newest, d_model]: that
        of as many steps, up to rounding. newest: [batch, newest]. Only with the cache, and without edits, which may
        count rows."""
        return self._decode(newest)

    def logits(self, newest: Tensor) -> Tensor:
        """The logits of the token that follows: [batch, vocab]. An edit of "logits" gets those of all tokens fed so
        far, [batch, target, vocab], as in a full pass. Raises TapError if a person's edit makes them NaN."""
        hidden = self._decode(newest)
        if isinstance(self.tap, Tap) and "logits" in self.tap.edits:
            logits = self.model.project(hidden, self.tap)[:, -1]
        else:
            logits = self.model.project(hidden[:, -1])
        explain = self.tap.explain if isinstance(self.tap, EditingTap) else None
        if explain and not bool(logits.sum().isfinite()) and bool(logits.log_softmax(-1).isnan().any()):
            assert self.source is not None and self.cache is None  # a tap that edits, whose every step starts again
            explain(self.source, self.fed)
        return logits

    def _decode(self, newest: Tensor) -> Tensor:
        if self.cache is None:
            newest = self.fed = torch.cat((self.fed, newest), 1)
        return self.model.decode(newest, self.memory, self.source, self.tap, self.cache)

    def select(self, rows: Tensor, same_sources: bool = False) -> None:
        """Keep these rows of the batch, in this order. rows, same_sources: as in `KeyValueCache.select`."""
        if not same_sources:
            self.memory = self.memory[rows]
            self.source = None if self.source is None else self.source[rows]
        if self.cache is None:
            self.fed = self.fed[rows]
        else:
            self.cache.select(rows, same_sources)
