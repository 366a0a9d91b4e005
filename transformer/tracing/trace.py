"""A Trace: everything one pass computed, frozen, with the tokens it was computed for."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property

import torch
from torch import Tensor

from transformer.interventions.edits import edits_of, joined
from transformer.interventions.sets import NONE, Interventions, KnockOut, Replace, SubLayer, layers_of
from transformer.model.config import ModelConfig
from transformer.model.tap import KINDS, Edit, Tap, scope
from transformer.model.transformer import Transformer

__all__ = ["KINDS", "AttentionTrace", "FeedForwardTrace", "Trace", "trace_pass"]


@dataclass(frozen=True)
class AttentionTrace:
    """One kind of attention in every layer. Query and key count tokens: source for `encoder_self`; target for
    `decoder_self`; target (query) and source (key) for `cross`.

    field            shape                          what it is (the same names stand in `transformer.model.tap`)
    ---------------  -----------------------------  ---------------------------------------------------------
    enters           [layer, query, d_model]        x, what enters the sub-layer
    queries          [layer, head, query, d_k]      Q (d_k is d_head, unless the configuration names another)
    keys             [layer, head, key, d_k]        K
    values           [layer, head, key, d_head]     V
    mask             [layer, head, query, key]      True = may attend
    scores           [layer, head, query, key]      Q K^T times scale, hidden cells -inf
    weights          [layer, head, query, key]      softmax of the scores over keys
    head_outputs     [layer, head, query, d_head]   weights times V
    update           [layer, query, d_model]        what the sub-layer returns, Sublayer(x)
    sum              [layer, query, d_model]        x + Sublayer(x); with residual=False the update itself
    leaves           [layer, query, d_model]        LayerNorm(sum); with norm="pre" or "none" the sum itself
    scale            [layer, head]                  1 / sqrt(d_k), equation 1; 1 in a model without scaling
    rule             [layer, head], whole           what made the weights, by number in `replace.RULES`: 0 is softmax
    zero             [layer, head], bool            True = knocked out: head_outputs are 0

    Heads differ in mask, scale, rule and zero only under interventions.
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
    scale: Tensor
    rule: Tensor
    zero: Tensor

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
    source_position_ids                   [source]                  which position each token is at, from 0
    target_position_ids                   [target]                  the same for the decoder
    encoder_output, decoder_output        [source|target, d_model]  what leaves the stacks
    logits                                [target, vocab]           before the last softmax
    probabilities                         [target]                  softmax(logits) of the target_out tokens
    interventions                         Interventions             what was switched in this pass
    causal                                bool                      the model was made with the mask of section 3.2.3
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
    source_position_ids: Tensor
    target_position_ids: Tensor
    encoder_output: Tensor
    decoder_output: Tensor
    logits: Tensor
    probabilities: Tensor
    interventions: Interventions = NONE
    causal: bool = True

    def attention(self, kind: str) -> AttentionTrace:
        """The attention of a kind by its name. Raises ValueError for a name that is none of KINDS."""
        if kind not in KINDS:
            raise ValueError(f"{kind!r} is no kind of attention; there are {', '.join(KINDS)}")
        return getattr(self, kind)

    @cached_property
    def id(self) -> str:
        """Names a trace by what went in, as it is read, and the weights that came out, so that numbers that reach a
        browser later find their picture. Two texts may be one to the model: all it does not know is <unk>."""
        digest = hashlib.sha256()
        ids = (self.source_ids, self.target_in_ids, self.target_out_ids)
        labels = (self.source_labels, self.target_in_labels, self.target_out_labels)
        digest.update(repr((self.checkpoint, *ids, *labels, str(self.interventions))).encode("utf-8", "replace"))
        for kind in KINDS:
            digest.update(self.attention(kind).weights.numpy().tobytes())
        return digest.hexdigest()[:16]


def _stack(records: Mapping[str, Tensor], prefix: str, layers: int, sub: str, kind: type) -> dict[str, Tensor]:
    """Field name -> [layer, ...] of one sub-layer, batch dropped."""
    names = [field.name for field in fields(kind) if field.name not in ("scale", "rule", "zero")]
    return {name: torch.stack([records[f"{prefix}.{i}.{sub}.{name}"][0] for i in range(layers)]) for name in names}


def _attention(
    records: Mapping[str, Tensor], config: ModelConfig, kind: str, interventions: Interventions
) -> AttentionTrace:
    layers = layers_of(config, kind)
    stack, _, sub = scope(kind, 0).rstrip(".").split(".")
    switches, places = interventions.switches, [SubLayer(kind, layer, config) for layer in range(layers)]
    return AttentionTrace(
        scale=torch.tensor([interventions.scales(place) for place in places], dtype=torch.float64),
        rule=torch.tensor([Replace.rules(switches, place) for place in places]),
        zero=torch.tensor([KnockOut.zeros(switches, place) for place in places]),
        **_stack(records, stack, layers, sub, AttentionTrace),
    )


@torch.inference_mode()
def trace_pass(
    model: Transformer,
    source: Tensor,
    target_in: Tensor,
    edits: Mapping[str, Edit] | None = None,
    interventions: Interventions = NONE,
) -> dict[str, object]:
    """Run one tapped pass and sort what it recorded into the tensor fields of a Trace.

    source: ids [1, source]; target_in: ids [1, target]; edits: made before those of the interventions, which go by what
    they find. Under inference mode the tensors refuse in-place changes from outside, which keeps a cached Trace what it
    was.
    """
    tap = Tap(joined(edits or {}, edits_of(interventions, model.config)))
    model(source, target_in, tap)
    records = {name: tensor.cpu() for name, tensor in tap.finish().items()}
    config = model.config
    return {
        **{kind: _attention(records, config, kind, interventions) for kind in KINDS},
        "encoder_ff": FeedForwardTrace(**_stack(records, "encoder", config.encoder_layers, "ff", FeedForwardTrace)),
        "decoder_ff": FeedForwardTrace(**_stack(records, "decoder", config.decoder_layers, "ff", FeedForwardTrace)),
        "source_embedding": records["source.embedding"][0],
        "target_embedding": records["target.embedding"][0],
        "source_positions": records["source.positions"],
        "target_positions": records["target.positions"],
        "source_position_ids": records["source.position_ids"],
        "target_position_ids": records["target.position_ids"],
        "encoder_output": records["encoder.output"][0],
        "decoder_output": records["decoder.output"][0],
        "logits": records["logits"][0],
    }
