"""The Transformer of "Attention Is All You Need" (Vaswani et al. 2017, Figure 1), an encoder and a decoder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from transformer.model.attention import MultiHeadAttention
from transformer.model.config import ModelConfig
from transformer.model.dropout import dropout
from transformer.model.layers import DecoderLayer, EncoderLayer, layer_norm
from transformer.model.masks import causal_mask, needed, padding_mask, real_tokens
from transformer.model.positions import LearnedPositions, NoPositions, Positions, SinusoidalPositions
from transformer.model.tap import OFF, AnyTap


class TooLongError(ValueError):
    """More tokens than the model has positions; the message gives both numbers."""


def _positions(config: ModelConfig) -> Positions:
    if config.positions == "sinusoidal":
        return SinusoidalPositions(config.max_positions, config.d_model, config.layout)
    kind = LearnedPositions if config.positions == "learned" else NoPositions
    return kind(config.max_positions, config.d_model)


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
        self.positions = _positions(config)
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

    @classmethod
    def holding(cls, config: ModelConfig, weights: Mapping[str, Tensor]) -> Transformer:
        """A model of these tensors, one a parameter by its name; none is initialised or copied."""
        with torch.device("meta"):
            model = cls(config)
        model.load_state_dict(dict(weights), assign=True)
        if config.positions != "learned":  # a table that is computed, not kept with the weights
            model.positions = _positions(config)
        return model

    def table(self, side: str) -> Tensor:
        """The embeddings of the "source" or the "target": [vocab, d_model], one table unless the model has two."""
        own = self.target_embedding if side == "target" else None
        return (self.embedding if own is None else own).weight

    @property
    def output_table(self) -> Tensor:
        """The matrix whose rows make the logits: the target's embeddings (section 3.4), or its own. [vocab, d_model]"""
        return self.table("target") if self.output_matrix is None else self.output_matrix

    def shrink_branches(self, gain: float) -> None:
        """Multiply the initial W^V, W^O and feed-forward matrices by gain, so that what a sub-layer adds begins small.

        DeepNet's beta (Wang et al. 2022, section 4). With post-norm and gain 1 the encoder's output says little of its
        tokens at first, and cross-attention stays flat for more than a thousand steps; see docs/training.md.
        """
        with torch.no_grad():
            for name, parameter in self.named_parameters():
                if parameter.dim() == 2 and any(part in name for part in (".value.", ".output.", "feed_forward.")):
                    parameter.mul_(gain)

    def arrange(self) -> None:
        """Lay the decoder's matrices out for decoding, where each meets a single row: values and shapes stay.

        They come to lie one behind the other in the order of their use; those that are at least as high as wide column
        by column, and the three projections of self-attention as one matrix. Measured on one core of a server, matrices
        not in its caches: 1,024 x 256 in 49 us against 113, 4,000 x 256 in 107 against 344, three of 256 x 256 in 41
        against 105.
        """
        # (modules, the self-attention they are the projections of, if they are)
        places: list[tuple[Sequence[nn.Linear | nn.Embedding], MultiHeadAttention | None]] = []
        for layer in self.decoder:
            assert isinstance(layer, DecoderLayer)
            own, cross, ff = layer.self_attention, layer.cross_attention, layer.feed_forward
            places.append(([own.query, own.key, own.value], own))
            places.extend(([one], None) for one in (own.output, cross.query, cross.output, ff.inner, ff.outer))
        if self.output_matrix is None:
            places.append(([self.embedding if self.target_embedding is None else self.target_embedding], None))
        memory = self.embedding.weight.new_empty(sum(one.weight.numel() for modules, _ in places for one in modules))
        used = 0
        for modules, attention in places:
            matrix = torch.cat([one.weight.data for one in modules])
            room, (high, wide) = memory[used : used + matrix.numel()], matrix.shape
            matrix = (room.view(wide, high).t() if high >= wide else room.view(high, wide)).copy_(matrix)
            used += matrix.numel()
            for one, part in zip(modules, matrix.split([len(one.weight) for one in modules]), strict=True):
                one.weight.data = part
            if attention is not None:
                attention.shared = matrix

    def embed(self, ids: Tensor, start: int = 0, tap: AnyTap = OFF, side: str = "source") -> Tensor:
        """Embeddings times sqrt(d_model), plus positions; dropout on the sum (section 5.4).

        ids: [batch, token]; start: position of the first token; side: whose they are. Returns [batch, token, d_model].
        Raises TooLongError.
        """
        length = ids.shape[1]
        if start + length > self.config.max_positions:
            raise TooLongError(f"{start + length} tokens arrived; this model has {self.config.max_positions} positions")
        vectors = tap("embedding", F.embedding(ids, self.table(side)) * self.config.embedding_factor)
        if tap.off:
            positions = self.positions(start, length)
        else:
            places = tap("position_ids", torch.arange(start, start + length, device=ids.device))
            positions = tap("positions", self.positions.at(places))
        total = vectors + positions
        return dropout(total, self.config.dropout) if self.training else total

    def encode(self, source: Tensor, tap: AnyTap = OFF) -> Tensor:
        """source: ids [batch, source], padded with pad_id. Returns the memory, [batch, source, d_model]."""
        mask = needed(padding_mask(source, self.config.pad_id), tap.fused)
        x = self.embed(source, tap=tap.at("source"))
        at = tap.at("encoder")
        for index, layer in enumerate(self.encoder):
            x = layer(x, mask, at.at(str(index)))
        return at("output", self.encoder_norm(x))

    def decode(
        self,
        target: Tensor,
        memory: Tensor,
        source: Tensor,
        tap: AnyTap = OFF,
    ) -> Tensor:
        """One pass of the decoder.

        target: ids fed in, [batch, target], starting with <s>; memory: from `encode`; source: the ids memory came
        from, for its padding mask. One token at a time: `Stepper`.
        Returns [batch, target, d_model]; row q, fed token q, predicts token q + 1. With causal=False it sees token
        q + 1, where that is fed: what it predicts while decoding, where it is not, is another matter.
        """
        cross_mask = needed(padding_mask(source, self.config.pad_id), tap.fused)
        self_mask = needed(real_tokens(target, self.config.pad_id)[:, None, None, :], tap.fused)
        if self.config.causal:
            causal = causal_mask(target.shape[1], target.device)
            self_mask = causal if self_mask is None else causal & self_mask
        x = self.embed(target, tap=tap.at("target"), side="target")
        at = tap.at("decoder")
        for index, layer in enumerate(self.decoder):
            x = layer(x, memory, self_mask, cross_mask, at.at(str(index)))
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
