"""The Transformer of "Attention Is All You Need" (Vaswani et al. 2017, Figure 1), an encoder and a decoder."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from transformer.model.cache import KeyValueCache
from transformer.model.config import ModelConfig
from transformer.model.layers import DecoderLayer, EncoderLayer, layer_norm
from transformer.model.masks import causal_mask, needed, padding_mask, real_tokens
from transformer.model.positions import Positions, RelativeBias, positions_of
from transformer.model.tap import OFF, AnyTap, TapError
from transformer.texts import UserError


class TooLongError(UserError):
    """A text with more tokens than the model has positions."""


class Transformer(nn.Module):
    """Encoder and decoder stacks with one shared embedding table.

    Section 3.4: the encoder's input, the decoder's input and the output projection use the same table; at the input it
    is multiplied by sqrt(d_model). With norm="pre" each stack ends with one more LayerNorm, with embedding_norm it
    begins with one. A configuration may add separate tables for the target (`target_embedding`, `target_positions`), a
    separate output matrix (`output_matrix`), a bias of the logits (`output_bias`) and biases of the scores by distance
    (`encoder_bias`, `decoder_bias`); otherwise these are None.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(config.vocab_size, config.d_model)
        self.positions = positions_of(config)
        self.target_positions = positions_of(config) if config.separate_positions else None
        self.source_norm = layer_norm(config) if config.embedding_norm else nn.Identity()
        self.target_norm = layer_norm(config) if config.embedding_norm else nn.Identity()
        self.dropout = nn.Dropout(config.dropout)
        self.encoder = nn.ModuleList(EncoderLayer(config) for _ in range(config.encoder_layers))
        self.decoder = nn.ModuleList(DecoderLayer(config) for _ in range(config.decoder_layers))
        relative = config.positions == "relative"
        self.encoder_bias = RelativeBias(config, both_ways=True) if relative else None
        self.decoder_bias = RelativeBias(config, both_ways=False) if relative else None
        pre = config.norm == "pre"
        self.encoder_norm = layer_norm(config) if pre else nn.Identity()
        self.decoder_norm = layer_norm(config) if pre else nn.Identity()
        width, pieces = config.d_model, config.output_size
        self.target_embedding = nn.Embedding(pieces, width) if config.target_vocab_size else None
        self.output_matrix = None if config.tied_output else nn.Parameter(torch.empty(pieces, width))
        self.output_bias = nn.Parameter(torch.zeros(pieces)) if config.output_bias else None
        self._initialise()

    def _initialise(self) -> None:
        """Glorot-uniform matrices, zero biases. Embeddings have variance 1/d_model, so that input rows have length
        sqrt(d_model) after section 3.4's factor and the first logits have a variance near 1."""
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
        for name, table in self.named_parameters():
            if name in ("embedding.weight", "target_embedding.weight", "output_matrix"):
                nn.init.normal_(table, std=self.config.d_model**-0.5)

    def table(self, side: str) -> Tensor:
        """The embeddings of the "source" or the "target", [vocab, d_model]: one table unless the model has two."""
        separate = self.target_embedding if side == "target" else None
        return (self.embedding if separate is None else separate).weight

    def positions_of(self, side: str) -> Positions:
        """The positions of the "source" or the "target": the same unless the model has two tables."""
        return self.target_positions if side == "target" and self.target_positions is not None else self.positions

    @property
    def output_table(self) -> Tensor:
        """The matrix that makes the logits, [vocab, d_model]: the target's embeddings (section 3.4), or its own."""
        return self.table("target") if self.output_matrix is None else self.output_matrix

    def embed(self, ids: Tensor, start: int = 0, tap: AnyTap = OFF, side: str = "source") -> Tensor:
        """Embeddings times sqrt(d_model), plus positions; with embedding_norm, LayerNorm of the sum; dropout on it
        (section 5.4).

        ids: [batch, token]; start: position of the first token; side: "source" or "target".
        Returns [batch, token, d_model]. Raises TooLongError.
        """
        length = ids.shape[1]
        if tap.checks and start + length > self.config.max_positions:
            raise TooLongError(
                "the text has {length} tokens, and this model has {max_positions} positions",
                length=start + length,
                max_positions=self.config.max_positions,
            )
        vectors = tap("embedding", F.embedding(ids, self.table(side)) * self.config.embedding_factor)
        given = torch.arange(start, start + length, device=ids.device)  # [token]
        positions = tap("position_ids", given)
        if tap.checks and positions is not given:
            self._check_positions(positions, side)
        total = vectors + tap("positions", self.positions_of(side)(positions))
        total = (self.source_norm if side == "source" else self.target_norm)(total)
        return self.dropout(total) if self.training else total

    def _check_positions(self, positions: Tensor, side: str) -> None:
        """Raises TapError for edited positions that the model lacks."""
        outside = positions[(positions < 0) | (positions >= self.config.max_positions)]
        if len(outside):
            raise TapError(
                "the edit of {name} returned the position {value:,}; this model has positions 0 to {last:,}, so return "
                "only these",
                name=f"{side}.position_ids", value=int(outside[0]), last=self.config.max_positions - 1,
            )  # fmt: skip

    def encode(self, source: Tensor, tap: AnyTap = OFF) -> Tensor:
        """source: ids [batch, source], padded with pad_id. Returns the memory, [batch, source, d_model]."""
        mask = needed(padding_mask(source, self.config.pad_id), tap.fused)
        x = self.embed(source, tap=tap.at("source"))
        bias = None if self.encoder_bias is None else self.encoder_bias(source.shape[1], source.shape[1])
        at = tap.at("encoder")
        for index, layer in enumerate(self.encoder):
            x = layer(x, mask, at.at(str(index)), bias)
        return at("output", self.encoder_norm(x))

    def _self_mask(self, target: Tensor, past: int, fused: bool) -> Tensor | None:
        """The mask of the decoder's self-attention; it hides the future and padding. past: tokens before the target.

        Returns a mask as in `attend`, [batch | 1, 1, target, past + target].
        """
        if fused and target.shape[1] == 1:  # the newest token sees all earlier ones
            return None
        causal = causal_mask(target.shape[1], target.device, past) if self.config.causal else None
        real = real_tokens(target, self.config.pad_id)
        real = torch.cat((real.new_ones(len(real), past), real), 1)  # with a past there is no padding
        mask = needed(real[:, None, None, :], fused)
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

        target: ids fed in, [batch, target], starting with <s>; memory: from `encode`; source: the memory's ids, for its
        padding mask, None without padding; cache: keys and values of earlier steps; target then holds only the ids
        after them, without padding.
        Returns [batch, target, d_model]; row q reads token q and predicts token q + 1. With causal=False, row q also
        sees token q + 1 if that is in the target; during decoding it is not there yet. Such a model cannot use a cache,
        because a new token changes all earlier rows (ValueError).
        """
        if tap.checks and cache is not None and not self.config.causal:
            raise ValueError(
                "this model has no causal mask, so a new token changes all earlier ones; decode without a cache"
            )
        past = 0 if cache is None else cache.advance(target.shape[1])
        cross_mask = None if source is None else needed(padding_mask(source, self.config.pad_id), tap.fused)
        self_mask = self._self_mask(target, past, tap.fused)
        x = self.embed(target, past, tap.at("target"), "target")
        bias = None if self.decoder_bias is None else self.decoder_bias(target.shape[1], past + target.shape[1])
        at = tap.at("decoder")
        for index, layer in enumerate(self.decoder):
            stored = None if cache is None else cache.layers[index]
            x = layer(x, memory, self_mask, cross_mask, at.at(str(index)), stored, bias)
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
        """Number of trainable parameters; the shared embedding counts once."""
        return sum(parameter.numel() for parameter in self.parameters())

    @property
    def device(self) -> torch.device:
        return self.embedding.weight.device
