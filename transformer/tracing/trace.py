"""A Trace: every tensor of one pass, frozen, with the tokens of the pass."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from transformer.interventions.edits import edits_of, joined
from transformer.interventions.replace import RULES
from transformer.interventions.sets import (
    NONE,
    Interventions,
    KnockOut,
    Paint,
    Replace,
    SubLayer,
    Switch,
    layers_of,
    replaced,
)
from transformer.interventions.switch import Reference, no_reference
from transformer.model.config import ModelConfig
from transformer.model.tap import KINDS, Edit, Tap, scope
from transformer.model.transformer import Transformer
from transformer.short_repr import shortened
from transformer.texts import UserError, any_of, no_attribute
from transformer.tracing.finite import check_edited

__all__ = ["KINDS", "AttentionTrace", "FeedForwardTrace", "Trace", "trace_pass"]

MADE = ("scale", "rule", "zero", "replaced")  # fields of an AttentionTrace that are no tensors of a pass


def _missing(self: object, name: str) -> None:
    """`__getattr__` of the classes below: a mistyped name suggests the nearest."""
    raise no_attribute(f"{type(self).__name__!r} object", name, dir(self))


@dataclass(frozen=True)
class AttentionTrace:
    """One kind of attention in every layer. Queries and keys are tokens: of the source for `encoder_self`, of the
    target for `decoder_self`; for `cross` the queries are target tokens and the keys source tokens.

    field            shape                          what it is (with the names of `transformer.model.tap`)
    ---------------  -----------------------------  ---------------------------------------------------------
    enters           [layer, query, d_model]        x, the input of the sub-layer
    queries          [layer, head, query, d_k]      Q (d_k is d_head, unless the configuration sets it)
    keys             [layer, head, key, d_k]        K
    values           [layer, head, key, d_head]     V
    mask             [layer, head, query, key]      True = may attend
    scores           [layer, head, query, key]      Q K^T times scale, plus bias if there is one; masked cells -inf
    weights          [layer, head, query, key]      softmax of the scores over keys
    head_outputs     [layer, head, query, d_head]   weights times V
    update           [layer, query, d_model]        the sub-layer's result, Sublayer(x)
    sum              [layer, query, d_model]        x + Sublayer(x); with residual=False the update itself
    leaves           [layer, query, d_model]        LayerNorm(sum); with norm="pre" or "none" the sum itself
    scale            [layer, head]                  1 / sqrt(d_k), equation 1; 1 in a model without scaling
    rule             [layer, head], whole           how the weights were made, an index of `replace.RULES`; 0 is softmax
    zero             [layer, head], bool            True = knocked out: head_outputs are 0
    replaced         [layer, head], bool            True = head_outputs come from elsewhere: a mean, or another sentence
    bias             [layer, head, query, key]      what relative positions add to the scores; None in other models, and
                                                    for `cross`

    Without interventions, all heads have the same mask, scale, rule, zero and replaced.
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
    replaced: Tensor
    bias: Tensor | None = None

    if not TYPE_CHECKING:
        __getattr__ = _missing

    def __repr__(self) -> str:
        layers, heads, queries, keys = self.weights.shape
        return f"AttentionTrace({layers} layers of {heads} heads, {queries} queries, {keys} keys)"

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
    gate                           [layer, token, d_ff]       in a gated network the second factor of `activation`,
                                                              x V; None in others
    """

    enters: Tensor
    pre_activation: Tensor
    activation: Tensor
    update: Tensor
    sum: Tensor
    leaves: Tensor
    gate: Tensor | None = None

    if not TYPE_CHECKING:
        __getattr__ = _missing

    def __repr__(self) -> str:
        layers, tokens, d_ff = self.activation.shape
        return f"FeedForwardTrace({layers} layers, {tokens} tokens, {d_ff:,} neurons)"


@dataclass(frozen=True)
class TracedPair:
    """The sentence pair of a pass, of a model of any kind, with its tokens; the fields are those of `Trace`."""

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

    def _summary(self) -> str:
        """The texts, shortened, and their lengths, for `repr`."""
        written = "the model's own translation" if self.own else "given target"
        return (
            f"{shortened(self.checkpoint)}: {shortened(self.source_text)} -> {shortened(self.target_text)} "
            f"({written}), {len(self.source_ids)} source tokens, {len(self.target_in_ids)} target tokens"
        )


@dataclass(frozen=True)
class Trace(TracedPair):
    """One teacher-forced pass over one sentence pair: batch of one, dropout off, float32 (float64 if the model is).

    Row q of a decoder tensor is the step that reads target_in[q] and predicts target_out[q].

    field                                 shape                     what it is
    ------------------------------------  ------------------------  ----------------------------------------------
    source_tokens                         source x str              pieces read by the encoder, ending in </s>
    target_in, target_out                 target x str              pieces fed in (<s> first) and predicted (</s> last)
    source_labels, target_in_labels, ..   str each                  the same in readable form
    source_ids, target_in_ids, ..         int each                  the same as token ids
    source_text, target_text              str                       the typed text, or the model's translation
    own                                   bool                      the target is the model's own translation
    complete                              bool                      False: the translation was cut off at the limit
    encoder_self, decoder_self, cross     AttentionTrace            the three kinds of attention
    encoder_ff, decoder_ff                FeedForwardTrace          feed-forward
    source_embedding, target_embedding    [source|target, d_model]  embeddings times sqrt(d_model)
    source_positions, target_positions    [source|target, d_model]  the positions added to them
    source_position_ids                   [source]                  position of each token, from 0
    target_position_ids                   [target]                  the same for the decoder
    encoder_output, decoder_output        [source|target, d_model]  the outputs of the stacks
    logits                                [target, vocab]           before the last softmax
    probabilities                         [target]                  softmax(logits) of the target_out tokens
    interventions                         Interventions             the switches of this pass
    edits                                 str each                  names of the tensors that a function changed
    causal                                bool                      the model has the causal mask of section 3.2.3
    """

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
    edits: tuple[str, ...] = ()
    causal: bool = True

    if not TYPE_CHECKING:
        __getattr__ = _missing

    def __repr__(self) -> str:
        return f"Trace({self._summary()}, {self.encoder_self.layers} + {self.cross.layers} layers{self._changes()})"

    def _changes(self) -> str:
        """What was changed in the model, for `repr`."""
        changes = {"switches": str(self.interventions) if self.interventions else "", "edits": " ".join(self.edits)}
        return "".join(f", {name}: {shortened(text)[1:-1]}" for name, text in changes.items() if text)

    def attention(self, kind: str) -> AttentionTrace:
        """The attention of one of KINDS. Raises UserError, a ValueError, for another name."""
        if kind not in KINDS:
            raise UserError(
                "unknown attention kind {kind}; choose {kinds}", kind=shortened(kind), kinds=any_of(KINDS, kind)
            )
        return getattr(self, kind)

    @cached_property
    def id(self) -> str:
        """A hash of the inputs, the labels and the weights. The browser uses it to match numbers that come later to
        their picture. Labels count too, because different unknown words have the same id, <unk>."""
        digest = hashlib.sha256()
        ids = (self.source_ids, self.target_in_ids, self.target_out_ids)
        labels = (self.source_labels, self.target_in_labels, self.target_out_labels)
        about = (self.checkpoint, *ids, *labels, str(self.interventions), *self.edits)
        digest.update(repr(about).encode("utf-8", "replace"))
        for kind in KINDS:
            digest.update(self.attention(kind).weights.numpy().tobytes())
        return digest.hexdigest()[:16]


def on_cpu(tensor: Tensor) -> Tensor:
    """A tensor of a model on any device; in 32 bits if it has 16, which numpy and figures may not know."""
    return (tensor.float() if tensor.dtype in (torch.float16, torch.bfloat16) else tensor).cpu()


def _stack(records: Mapping[str, Tensor], prefix: str, layers: int, sub: str, kind: type) -> dict[str, Tensor]:
    """Field name -> [layer, ...] of one sub-layer, batch dropped, for what the model has."""
    names = [field.name for field in fields(kind) if f"{prefix}.0.{sub}.{field.name}" in records]
    return {name: torch.stack([records[f"{prefix}.{i}.{sub}.{name}"][0] for i in range(layers)]) for name in names}


def _rules(switches: Sequence[Switch], sub_layer: SubLayer) -> list[int]:
    """For every head what makes its weights, an index of `replace.RULES`."""
    painted = [RULES.index("painted") if reaching else 0 for reaching in Paint.by_head(switches, sub_layer)]
    return [mine or rule for mine, rule in zip(painted, Replace.rules(switches, sub_layer), strict=True)]


def _attention(
    records: Mapping[str, Tensor], config: ModelConfig, kind: str, interventions: Interventions
) -> AttentionTrace:
    layers = layers_of(config, kind)
    stack, _, sub = scope(kind, 0).rstrip(".").split(".")
    switches, sub_layers = interventions.switches, [SubLayer(kind, layer, config) for layer in range(layers)]
    zero = torch.tensor([KnockOut.zeros(switches, sub_layer) for sub_layer in sub_layers])
    return AttentionTrace(
        scale=torch.tensor([interventions.scales(sub_layer) for sub_layer in sub_layers], dtype=torch.float64),
        rule=torch.tensor([_rules(switches, sub_layer) for sub_layer in sub_layers]),
        zero=zero,
        replaced=torch.tensor([replaced(switches, sub_layer) for sub_layer in sub_layers]) & ~zero,
        **_stack(records, stack, layers, sub, AttentionTrace),
    )


@torch.inference_mode()
def record_pass(
    model: Transformer,
    source: Tensor,
    target_in: Tensor,
    edits: Mapping[str, Edit] | None = None,
    interventions: Interventions = NONE,
    reference: Reference = no_reference,
) -> dict[str, Tensor]:
    """The tensors of one pass by the names of `transformer.model.tap`, with the batch. Arguments as in `trace_pass`,
    but with any number of rows. Raises TapError, also where an edit makes numbers infinite or NaN."""
    tap = Tap(joined(edits or {}, edits_of(interventions, model.config, reference)))
    model(source, target_in, tap)
    records = tap.finish()
    if edits:
        check_edited(records, edits, lambda: record_pass(model, source, target_in, None, interventions, reference))
    return records


@torch.inference_mode()
def trace_pass(
    model: Transformer,
    source: Tensor,
    target_in: Tensor,
    edits: Mapping[str, Edit] | None = None,
    interventions: Interventions = NONE,
    reference: Reference = no_reference,
) -> dict[str, object]:
    """Run one pass with a tap and return the tensor fields of a Trace.

    source: ids [1, source]; target_in: ids [1, target]; edits: applied before those of the interventions; reference:
    head outputs of other sentences, for the switches that need them. Inference mode forbids in-place changes of the
    tensors from outside, so a cached Trace cannot change.
    """
    return fields_of(
        record_pass(model, source, target_in, edits, interventions, reference), model.config, interventions
    )


@torch.inference_mode()
def fields_of(
    found: Mapping[str, Tensor], config: ModelConfig, interventions: Interventions = NONE
) -> dict[str, object]:
    """The tensor fields of a Trace from the tensors of a pass by the names of `transformer.model.tap`, of a batch of
    one."""
    records = {name: on_cpu(tensor) for name, tensor in found.items()}
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
