"""A Trace: everything one pass computed, frozen, with the tokens it was computed for."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property

import torch
from torch import Tensor

from transformer.model import Transformer
from transformer.tap import Edit, Tap

KINDS = ("encoder_self", "decoder_self", "cross")


@dataclass(frozen=True)
class AttentionTrace:
    """One kind of attention in every layer. Query and key count tokens: source for `encoder_self`; target for
    `decoder_self`; target (query) and source (key) for `cross`.

    field            shape                          what it is (the same names stand in `transformer.tap`)
    ---------------  -----------------------------  ---------------------------------------------------------
    enters           [layer, query, d_model]        x, what enters the sub-layer
    queries          [layer, head, query, d_k]      Q (d_k is d_head, unless the configuration names another)
    keys             [layer, head, key, d_k]        K
    values           [layer, head, key, d_head]     V
    mask             [query, key], bool             True = may attend
    scores           [layer, head, query, key]      Q K^T times scale, hidden cells -inf
    weights          [layer, head, query, key]      softmax of the scores over keys
    head_outputs     [layer, head, query, d_head]   weights times V
    update           [layer, query, d_model]        what the sub-layer returns, Sublayer(x)
    sum              [layer, query, d_model]        x + Sublayer(x)
    leaves           [layer, query, d_model]        LayerNorm(sum); with pre-norm the sum itself
    scale            a number                       1 / sqrt(d_k), equation 1; 1 in a model without scaling
    """

    enters: Tensor
    queries: Tensor
    keys: Tensor
    values: Tensor
    mask: Tensor
    scores: Tensor
    weights: Tensor
    head_outputs: Tensor
    update: Tensor
    sum: Tensor
    leaves: Tensor
    scale: float

    @property
    def layers(self) -> int:
        return self.weights.shape[0]

    @property
    def heads(self) -> int:
        return self.weights.shape[1]


@dataclass(frozen=True)
class FeedForwardTrace:
    """The feed-forward sub-layers of one stack.

    field                          shape                      what it is
    -----------------------------  -------------------------  ------------------------------------
    enters, update, sum, leaves    [layer, token, d_model]    as in `AttentionTrace`
    pre_activation, activation     [layer, token, d_ff]       before and after the non-linearity
    """

    enters: Tensor
    pre_activation: Tensor
    activation: Tensor
    update: Tensor
    sum: Tensor
    leaves: Tensor


@dataclass(frozen=True)
class Trace:
    """One teacher-forced pass over one sentence pair: batch of one, dropout off, float32.

    Row q of a decoder tensor is the step that is fed target_in[q] and predicts target_out[q].

    field                                 shape                     what it is
    ------------------------------------  ------------------------  ----------------------------------------------
    source_tokens                         source x str              pieces read by the encoder, ending in </s>
    target_in, target_out                 target x str              pieces fed in (<s> first) and predicted (</s> last)
    source_labels, target_in_labels, ..   str each                  the same as a person reads them
    source_ids, target_in_ids, ..         int each                  the same as numbers of the vocabulary
    source_text, target_text              str                       what was typed, or what the model wrote
    own                                   bool                      the target is the model's own translation
    complete                              bool                      False: the translation was cut off at the limit
    encoder_self, decoder_self, cross     AttentionTrace            three kinds of attention
    encoder_ff, decoder_ff                FeedForwardTrace          feed-forward
    source_embedding, target_embedding    [source|target, d_model]  embeddings times sqrt(d_model)
    source_positions, target_positions    [source|target, d_model]  what is added to them
    encoder_output, decoder_output        [source|target, d_model]  what leaves the stacks
    logits                                [target, vocab]           before the last softmax
    probabilities                         [target]                  softmax(logits) of the target_out tokens
    """

    checkpoint: str
    languages: tuple[str, str]
    source_text: str
    target_text: str
    own: bool
    complete: bool
    source_ids: tuple[int, ...]
    target_in_ids: tuple[int, ...]
    target_out_ids: tuple[int, ...]
    source_tokens: tuple[str, ...]
    target_in: tuple[str, ...]
    target_out: tuple[str, ...]
    source_labels: tuple[str, ...]
    target_in_labels: tuple[str, ...]
    target_out_labels: tuple[str, ...]
    encoder_self: AttentionTrace
    decoder_self: AttentionTrace
    cross: AttentionTrace
    encoder_ff: FeedForwardTrace
    decoder_ff: FeedForwardTrace
    source_embedding: Tensor
    target_embedding: Tensor
    source_positions: Tensor
    target_positions: Tensor
    encoder_output: Tensor
    decoder_output: Tensor
    logits: Tensor
    probabilities: Tensor

    def attention(self, kind: str) -> AttentionTrace:
        """The attention of a kind by its name. Raises ValueError for a name that is none of KINDS."""
        if kind not in KINDS:
            raise ValueError(f"{kind!r} is no kind of attention; there are {', '.join(KINDS)}")
        return getattr(self, kind)

    @cached_property
    def id(self) -> str:
        """Names a trace by what went in and the weights that came out, so that numbers that reach a browser later find
        their picture."""
        digest = hashlib.sha256()
        digest.update(repr((self.checkpoint, self.source_ids, self.target_in_ids, self.target_out_ids)).encode())
        for kind in KINDS:
            digest.update(self.attention(kind).weights.numpy().tobytes())
        return digest.hexdigest()[:16]

    def _repr_html_(self) -> str:
        """The explorer's picture in a notebook cell; imported here so that the core never sees the view."""
        from transformer.view.page import notebook_cell

        return notebook_cell(self)


def _stack(records: Mapping[str, Tensor], prefix: str, layers: int, sub: str, kind: type) -> dict[str, Tensor]:
    """Field name -> [layer, ...] of one sub-layer, batch dropped."""
    names = [field.name for field in fields(kind) if field.name not in ("mask", "scale")]
    return {name: torch.stack([records[f"{prefix}.{i}.{sub}.{name}"][0] for i in range(layers)]) for name in names}


def _attention(records: Mapping[str, Tensor], prefix: str, layers: int, sub: str, scale: float) -> AttentionTrace:
    stacked = _stack(records, prefix, layers, sub, AttentionTrace)
    mask = records[f"{prefix}.0.{sub}.mask"][0, 0].expand(stacked["weights"].shape[-2:])
    return AttentionTrace(mask=mask, scale=scale, **stacked)


@torch.inference_mode()
def trace_pass(
    model: Transformer, source: Tensor, target_in: Tensor, edits: Mapping[str, Edit] | None = None
) -> dict[str, object]:
    """Run one tapped pass and sort what it recorded into the tensor fields of a Trace.

    source: ids [1, source]; target_in: ids [1, target]. Under inference mode the tensors refuse in-place changes from
    outside, which keeps a cached Trace what it was.
    """
    tap = Tap(edits)
    model(source, target_in, tap)
    records = {name: tensor.cpu() for name, tensor in tap.finish().items()}
    config = model.config
    return {
        "encoder_self": _attention(records, "encoder", config.encoder_layers, "self", config.scale),
        "decoder_self": _attention(records, "decoder", config.decoder_layers, "self", config.scale),
        "cross": _attention(records, "decoder", config.decoder_layers, "cross", config.scale),
        "encoder_ff": FeedForwardTrace(**_stack(records, "encoder", config.encoder_layers, "ff", FeedForwardTrace)),
        "decoder_ff": FeedForwardTrace(**_stack(records, "decoder", config.decoder_layers, "ff", FeedForwardTrace)),
        "source_embedding": records["source.embedding"][0],
        "target_embedding": records["target.embedding"][0],
        "source_positions": records["source.positions"],
        "target_positions": records["target.positions"],
        "encoder_output": records["encoder.output"][0],
        "decoder_output": records["decoder.output"][0],
        "logits": records["logits"][0],
    }
