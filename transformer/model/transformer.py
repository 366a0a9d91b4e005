"""The Transformer of "Attention Is All You Need" (Vaswani et al. 2017, Figure 1), an encoder and a decoder."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from transformer.model.cache import KeyValueCache
from transformer.model.config import ModelConfig
from transformer.model.layers import DecoderLayer, EncoderLayer, layer_norm
from transformer.model.masks import causal_mask, needed, padding_mask, real_tokens
from transformer.model.positions import positions_of
from transformer.model.tap import OFF, AnyTap
from transformer.texts import UserError


class TooLongError(UserError):
    """More tokens than the model has positions; the message gives both numbers."""


class Transformer(nn.Module):
    """Encoder and decoder stacks over one shared embedding table.

    Section 3.4: the table serves the encoder's input, the decoder's input and the output projection; as input it is
    multiplied by sqrt(d_model). With norm="pre" each stack ends in one more LayerNorm. A configuration may ask for a
    table of the target's own (`target_embedding`), an output matrix of its own (`output_matrix`) and a number added to
    every logit (`output_bias`); what is not asked for is None.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(config.vocab_size, config.d_model)
        self.positions = positions_of(config)
        self.dropout = nn.Dropout(config.dropout)
        self.encoder = nn.ModuleList(EncoderLayer(config) for _ in range(config.encoder_layers))
        self.decoder = nn.ModuleList(DecoderLayer(config) for _ in range(config.decoder_layers))
        pre = config.norm == "pre"
        self.encoder_norm = layer_norm(config) if pre else nn.Identity()
        self.decoder_norm = layer_norm(config) if pre else nn.Identity()
        width, pieces = config.d_model, config.output_size
        self.target_embedding = nn.Embedding(pieces, width) if config.target_vocab_size else None
        self.output_matrix = None if config.tied_output else nn.Parameter(torch.empty(pieces, width))
        self.output_bias = nn.Parameter(torch.zeros(pieces)) if config.output_bias else None
        self._initialise()

    def _initialise(self) -> None:
        """Glorot-uniform matrices, zero biases; embeddings of variance 1/d_model, so that input rows have length
        sqrt(d_model) after section 3.4's factor and logits start near variance 1."""
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                nn.init.zeros_(module.bias)
        for name, table in self.named_parameters():
            if name in ("embedding.weight", "target_embedding.weight", "output_matrix"):
                nn.init.normal_(table, std=self.config.d_model**-0.5)

    def table(self, side: str) -> Tensor:
        """The embeddings of the "source" or the "target": [vocab, d_model], one table unless the model has two."""
        own = self.target_embedding if side == "target" else None
        return (self.embedding if own is None else own).weight

    @property
    def output_table(self) -> Tensor:
        """The matrix whose rows make the logits: the target's embeddings (section 3.4), or its own. [vocab, d_model]"""
        return self.table("target") if self.output_matrix is None else self.output_matrix

    def embed(self, ids: Tensor, start: int = 0, tap: AnyTap = OFF, side: str = "source") -> Tensor:
        """Embeddings times sqrt(d_model), plus positions; dropout on the sum (section 5.4).

        ids: [batch, token]; start: position of the first token; side: whose they are. Returns [batch, token, d_model].
        Raises TooLongError.
        """
        length = ids.shape[1]
        if start + length > self.config.max_positions:
            raise TooLongError(
                "{start} tokens arrived; this model has {max_positions} positions",
                start=start + length,
                max_positions=self.config.max_positions,
            )
        vectors = tap("embedding", F.embedding(ids, self.table(side)) * self.config.embedding_factor)
        positions = tap("position_ids", torch.arange(start, start + length, device=ids.device))  # [token]
        total = vectors + tap("positions", self.positions(positions))
        return self.dropout(total) if self.training else total

    def encode(self, source: Tensor, tap: AnyTap = OFF) -> Tensor:
        """source: ids [batch, source], padded with pad_id. Returns the memory, [batch, source, d_model]."""
        mask = needed(padding_mask(source, self.config.pad_id), tap.fused)
        x = self.embed(source, tap=tap.at("source"))
        at = tap.at("encoder")
        for index, layer in enumerate(self.encoder):
            x = layer(x, mask, at.at(str(index)))
        return at("output", self.encoder_norm(x))

    def _self_mask(self, target: Tensor, past: int, fused: bool) -> Tensor | None:
        """What the decoder's self-attention may see: no future and no padding. past: tokens fed before the target.

        Returns a mask as in `attend`: [batch | 1, 1, target, past + target].
        """
        if fused and target.shape[1] == 1:  # sees all that came before
            return None
        causal = causal_mask(target.shape[1], target.device, past) if self.config.causal else None
        if past:
            return causal
        mask = needed(real_tokens(target, self.config.pad_id)[:, None, None, :], fused)
        return mask if causal is None else causal if mask is None else causal & mask

    def decode(
        self,
        target: Tensor,
        memory: Tensor,
        source: Tensor | None,
        tap: AnyTap = OFF,
        cache: KeyValueCache | None = None,
    ) -> Tensor:
        """One pass of the decoder.

        target: ids fed in, [batch, target], starting with <s>; memory: from `encode`; source: the ids memory came
        from, for its padding mask, None if nothing is padded; cache: what earlier steps computed, target then being
        the ids that follow theirs, without padding.
        Returns [batch, target, d_model]; row q, fed token q, predicts token q + 1. With causal=False it sees token
        q + 1, where that is fed: what it predicts while decoding, where it is not, is another matter; and nothing can
        be cached, since a new token changes all that came before (ValueError).
        """
        if cache is not None and not self.config.causal:
            raise ValueError(
                "this model has no causal mask: a new token changes all earlier ones, so nothing is cached"
            )
        past = 0 if cache is None else cache.advance(target.shape[1])
        cross_mask = None if source is None else needed(padding_mask(source, self.config.pad_id), tap.fused)
        self_mask = self._self_mask(target, past, tap.fused)
        x = self.embed(target, past, tap.at("target"), "target")
        at = tap.at("decoder")
        for index, layer in enumerate(self.decoder):
            stored = None if cache is None else cache.layers[index]
            x = layer(x, memory, self_mask, cross_mask, at.at(str(index)), stored)
        return at("output", self.decoder_norm(x))

    def project(self, hidden: Tensor, tap: AnyTap = OFF) -> Tensor:
        """Logits over the vocabulary with the embedding table's rows: [..., d_model] -> [..., vocab]."""
        return tap("logits", F.linear(hidden, self.output_table, self.output_bias))

    def forward(self, source: Tensor, target: Tensor, tap: AnyTap = OFF) -> Tensor:
        """Teacher forcing. source: ids [batch, source]; target: ids fed in, [batch, target].

        Returns logits, [batch, target, vocab].
        """
        memory = self.encode(source, tap)
        return self.project(self.decode(target, memory, source, tap), tap)

    def parameter_count(self) -> int:
        """Trainable numbers, the shared embedding counted once."""
        return sum(parameter.numel() for parameter in self.parameters())

    @property
    def device(self) -> torch.device:
        return self.embedding.weight.device
