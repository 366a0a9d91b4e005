"""Every tensor of every step inside the sub-layers of one pass: those of the Trace, and those in between.

A place is a part of the model: "source", "encoder.L.self", "encoder.L.ff", "target", "decoder.L.self",
"decoder.L.cross", "decoder.L.ff" or "output", L = 0, 1, ..., as in `transformer.model.tap`. Recorded tensors are taken
from the trace without change; the others are computed from them and the parameters, with the switches of the trace.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from transformer.interventions.sets import SUB_LAYERS, Silence, Skip
from transformer.model.attention import MultiHeadAttention
from transformer.model.feedforward import FeedForward
from transformer.model.layers import SubLayer
from transformer.model.tap import SIDES, STACKS
from transformer.model.transformer import Transformer
from transformer.short_repr import short_repr
from transformer.tracing.trace import AttentionTrace, FeedForwardTrace, Trace

LIKELIEST = 10  # tokens to list at every decoding step


@dataclass(frozen=True)
class AttentionSteps:
    """One attention sub-layer (sections 3.2.1 and 3.2.2), in the order of its computation.

    field                     shape                  what it is
    ------------------------  ---------------------  ---------------------------------------------------------------
    x                         [query, d_model]       the input
    memory                    [key, d_model], None   the encoder's output, input of K and V; only for cross
    normed                    [query, d_model], None LayerNorm(x), input of Q in a pre-norm model (and of K and V,
                                                     except for cross); None with post-norm
    queries, keys             [head, token, d_k]     Q = x W^Q + b^Q, K = x W^K + b^K, split into heads
    values                    [head, key, d_head]    V = x W^V + b^V
    dot                       [head, query, key]     Q K^T
    scaled                    [head, query, key]     Q K^T times scale
    mask                      [head, query, key]     True = may attend
    scores                    [head, query, key]     scaled, masked cells -inf
    weights                   [head, query, key]     softmax of the scores over keys, or the weights of `rule`
    head_outputs              [head, query, d_head]  weights times V; 0 in a head that is knocked out
    concat                    [query, d_model]       the heads' outputs side by side
    update                    [query, d_model]       concat W^O + b^O; 0 if the sub-layer is skipped
    sum                       [query, d_model], None x + update; None in a model without residual connections
    leaves                    [query, d_model]       LayerNorm(sum), or of the update without a sum; in a model with
                                                     pre-norm or without LayerNorm, the sum or update itself
    mean, deviation           [query], None          of each row that LayerNorm reads (the sum, or the update; with
                                                     pre-norm x): sqrt(var + eps), var over d_model without Bessel's
                                                     correction. None in a model without LayerNorm
    gamma, beta               [d_model], None        of LayerNorm, which returns gamma (row - mean) / deviation + beta
    b_q, b_k, b_v, b_o        [h d_k] x 2, [d_model] x 2
    scale, rule, zero, replaced [head]               as in `AttentionTrace`
    skipped                   bool                   the whole sub-layer is switched off
    """

    x: Tensor
    memory: Tensor | None
    normed: Tensor | None
    queries: Tensor
    keys: Tensor
    values: Tensor
    dot: Tensor
    scaled: Tensor
    mask: Tensor
    scores: Tensor
    weights: Tensor
    head_outputs: Tensor
    concat: Tensor
    update: Tensor
    sum: Tensor | None
    leaves: Tensor
    mean: Tensor | None
    deviation: Tensor | None
    gamma: Tensor | None
    beta: Tensor | None
    b_q: Tensor
    b_k: Tensor
    b_v: Tensor
    b_o: Tensor
    scale: Tensor
    rule: Tensor
    zero: Tensor
    replaced: Tensor
    skipped: bool

    __repr__ = short_repr


@dataclass(frozen=True)
class FeedForwardSteps:
    """One feed-forward sub-layer (section 3.3). All other fields are as in `AttentionSteps`.

    field              shape          what it is
    -----------------  -------------  --------------------------------------------------------------------------
    pre, activation    [token, d_ff]  x W_1 + b_1, before and after the non-linearity; 0 in silenced neurons
    update             [token, d_model] activation W_2 + b_2
    b_1, b_2           [d_ff], [d_model]
    silenced           whole numbers  neurons that are switched off
    """

    x: Tensor
    normed: Tensor | None
    pre: Tensor
    activation: Tensor
    update: Tensor
    sum: Tensor | None
    leaves: Tensor
    mean: Tensor | None
    deviation: Tensor | None
    gamma: Tensor | None
    beta: Tensor | None
    b_1: Tensor
    b_2: Tensor
    silenced: tuple[int, ...]
    skipped: bool

    __repr__ = short_repr


@dataclass(frozen=True)
class EmbeddingSteps:
    """The input of a stack (sections 3.4 and 3.5).

    field         shape             what it is
    ------------  ----------------  ----------------------------------------------------------
    rows          [token, d_model]  the rows of the embedding table, E[id]
    factor        float             sqrt(d_model), or 1 in a model without that factor
    embedding     [token, d_model]  rows times factor
    positions     [token, d_model]  the positions that are added
    position_ids  [token]           position of each token, from 0
    x             [token, d_model]  their sum, the input of the first layer
    """

    rows: Tensor
    factor: float
    embedding: Tensor
    positions: Tensor
    position_ids: Tensor
    x: Tensor

    __repr__ = short_repr


@dataclass(frozen=True)
class OutputSteps:
    """One decoding step (section 3.4): logits are the decoder's output times the transposed embedding table.

    field   shape              what it is
    ------  -----------------  -------------------------------------------------------------
    t       whole              the step, a row of the decoder, from 0
    hidden  [target, d_model]  the decoder's output at every step
    logits  [vocab]            hidden[t] E^T, plus one bias per token in a model that has them
    ids     [likeliest]        the tokens of the largest logits, as in `Predictions`
    rows    [likeliest, d_model]  their rows of the table
    biases  [likeliest]        their biases; None without
    """

    t: int
    hidden: Tensor
    logits: Tensor
    ids: Tensor
    rows: Tensor
    biases: Tensor | None = None

    __repr__ = short_repr


@dataclass(frozen=True)
class Predictions:
    """The most probable next tokens at every decoding step; K = LIKELIEST, or the size of a smaller vocabulary.

    field                         shape        what it is
    ----------------------------  -----------  ------------------------------------------------------------------
    ids, logit, probability       [target, K]  the most probable tokens, in falling order; probability = softmax(logits)
    chosen                        [target]     id of the trace's token in target_out
    chosen_rank                   [target]     number of more probable tokens; below K its index in `ids`
    chosen_logit, -_probability   [target]     its logit, and `Trace.probabilities`
    """

    ids: Tensor
    logit: Tensor
    probability: Tensor
    chosen: Tensor
    chosen_rank: Tensor
    chosen_logit: Tensor
    chosen_probability: Tensor

    __repr__ = short_repr


Steps = AttentionSteps | FeedForwardSteps | EmbeddingSteps | OutputSteps


def places(layers: tuple[int, int]) -> tuple[str, ...]:
    """Names of all places in the order of a pass. layers: number of layers of the encoder and of the decoder."""
    names: list[str] = []
    for side, stack, count in zip(SIDES, STACKS, layers, strict=True):
        names += [side, *(f"{stack}.{layer}.{part}" for layer in range(count) for part in SUB_LAYERS[stack])]
    return (*names, "output")


def _at(model: Transformer, name: str) -> tuple[str, int, str]:
    """Stack, layer and part of a sub-layer's name. Raises ValueError for an unknown name."""
    config = model.config
    if name not in places((config.encoder_layers, config.decoder_layers)) or name.count(".") != 2:
        raise ValueError(
            f"unknown sub-layer {name!r}; write for example encoder.0.self, decoder.1.cross or decoder.0.ff"
        )
    stack, layer, part = name.split(".")
    return stack, int(layer), part


def _modules(model: Transformer, name: str) -> tuple[nn.Module, SubLayer]:
    """The sub-layer and the residual connection around it."""
    stack, layer, part = _at(model, name)
    inside, around = {"self": ("self_attention", "self_residual"), "cross": ("cross_attention", "cross_residual"),
                      "ff": ("feed_forward", "feed_forward_residual")}[part]  # fmt: skip
    block = getattr(model, stack)[layer]
    return getattr(block, inside), getattr(block, around)


def _numbers(tensor: Tensor) -> Tensor:
    return tensor.detach().cpu()


def _around(around: SubLayer, x: Tensor, total: Tensor) -> dict[str, Tensor | None]:
    """The fields of the residual connection and of LayerNorm, None where the sub-layer has none. x, total: [token,
    d_model] before and after the connection."""
    parts = dict.fromkeys(("normed", "mean", "deviation", "gamma", "beta"))
    parts["sum"] = total if around.residual else None
    norm, read = around.norm, x if around.pre else total
    if not isinstance(norm, nn.LayerNorm):
        return parts
    gamma, beta = _numbers(norm.weight), _numbers(norm.bias)
    variance, mean = torch.var_mean(read, -1, correction=0)
    # With the kernel of the pass, so that it has the same bits as in the pass.
    normed = torch.layer_norm(read, read.shape[-1:], gamma, beta, norm.eps) if around.pre else None
    deviation = (variance + norm.eps).sqrt()
    return {**parts, "normed": normed, "mean": mean, "deviation": deviation, "gamma": gamma, "beta": beta}


def _skipped(trace: Trace, stack: str, layer: int, part: str) -> bool:
    return Skip(stack, layer, part) in trace.interventions.switches


@torch.inference_mode()
def attention_steps(trace: Trace, model: Transformer, name: str) -> AttentionSteps:
    """The steps of an attention sub-layer. Raises ValueError for an unknown name."""
    inside, around = _modules(model, name)
    stack, layer, part = _at(model, name)
    if not isinstance(inside, MultiHeadAttention):
        raise ValueError(f"{name!r} is not an attention sub-layer")
    attention: AttentionTrace = trace.cross if part == "cross" else trace.attention(f"{stack}_self")
    queries, keys, mask, scores = (getattr(attention, name)[layer] for name in ("queries", "keys", "mask", "scores"))
    dot = queries @ keys.transpose(-2, -1)
    scale = attention.scale[layer]
    heads = attention.head_outputs[layer]
    x, total = attention.enters[layer], attention.sum[layer]
    return AttentionSteps(
        x=x,
        memory=trace.encoder_output if part == "cross" else None,
        queries=queries,
        keys=keys,
        values=attention.values[layer],
        dot=dot,
        scaled=torch.where(mask, scores, dot * scale[:, None, None].to(dot.dtype)),
        mask=mask,
        scores=scores,
        weights=attention.weights[layer],
        head_outputs=heads,
        concat=heads.transpose(0, 1).flatten(1),
        update=attention.update[layer],
        leaves=attention.leaves[layer],
        b_q=_numbers(inside.query.bias),
        b_k=_numbers(inside.key.bias),
        b_v=_numbers(inside.value.bias),
        b_o=_numbers(inside.output.bias),
        scale=scale,
        rule=attention.rule[layer],
        zero=attention.zero[layer],
        replaced=attention.replaced[layer],
        skipped=_skipped(trace, stack, layer, part),
        **_around(around, x, total),
    )


@torch.inference_mode()
def feed_forward_steps(trace: Trace, model: Transformer, name: str) -> FeedForwardSteps:
    """The steps of a feed-forward sub-layer. Raises ValueError for an unknown name."""
    inside, around = _modules(model, name)
    stack, layer, part = _at(model, name)
    if not isinstance(inside, FeedForward):
        raise ValueError(f"{name!r} is not a feed-forward sub-layer")
    feed_forward: FeedForwardTrace = getattr(trace, f"{stack}_ff")
    x, total = feed_forward.enters[layer], feed_forward.sum[layer]
    silences = [switch for switch in trace.interventions.switches if isinstance(switch, Silence)]
    return FeedForwardSteps(
        x=x,
        pre=feed_forward.pre_activation[layer],
        activation=feed_forward.activation[layer],
        update=feed_forward.update[layer],
        leaves=feed_forward.leaves[layer],
        b_1=_numbers(inside.inner.bias),
        b_2=_numbers(inside.outer.bias),
        silenced=tuple(switch.neuron for switch in silences if (switch.stack, switch.layer) == (stack, layer)),
        skipped=_skipped(trace, stack, layer, part),
        **_around(around, x, total),
    )


@torch.inference_mode()
def embedding_steps(trace: Trace, model: Transformer, side: str) -> EmbeddingSteps:
    """How the tokens of a side become vectors. Raises ValueError for an unknown side."""
    if side not in SIDES:
        raise ValueError(f"unknown side {side!r}; choose {' or '.join(SIDES)}")
    ids = trace.source_ids if side == "source" else trace.target_in_ids
    first = trace.encoder_self if side == "source" else trace.decoder_self
    embedding, positions = getattr(trace, f"{side}_embedding"), getattr(trace, f"{side}_positions")
    return EmbeddingSteps(
        rows=_numbers(model.table(side)[torch.tensor(ids, device=model.device)]),
        factor=model.config.embedding_factor,
        embedding=embedding,
        positions=positions,
        position_ids=getattr(trace, f"{side}_position_ids"),
        x=embedding + positions if model.config.embedding_norm else first.enters[0],
    )


@torch.inference_mode()
def predictions(trace: Trace, ids: Tensor | None = None) -> Predictions:
    """The most probable tokens at every decoding step.

    ids: [target, K], tokens to list instead, for example those of another pass.
    """
    logits = trace.logits
    if ids is None:
        ids = logits.topk(min(LIKELIEST, logits.shape[-1])).indices
    chosen = torch.tensor(trace.target_out_ids)
    logit = logits.gather(1, chosen[:, None])
    is_chosen = ids == chosen[:, None]
    rank = (logits > logit).sum(-1)
    return Predictions(
        ids=ids,
        logit=logits.gather(1, ids),
        probability=logits.softmax(-1).gather(1, ids),
        chosen=chosen,
        # Equal logits have the same rank, so a listed token takes its index in `ids`.
        chosen_rank=torch.where(is_chosen.any(-1), is_chosen.byte().argmax(-1), rank),
        chosen_logit=logit[:, 0],
        chosen_probability=trace.probabilities,
    )


@torch.inference_mode()
def output_steps(trace: Trace, model: Transformer, t: int) -> OutputSteps:
    """From the decoder's output to the logits of step t. Raises ValueError for an unknown step."""
    if not 0 <= t < len(trace.target_in):
        raise ValueError(f"there is no decoding step {t}; choose 0 to {len(trace.target_in) - 1}")
    logits = trace.logits[t]
    ids = logits.topk(min(LIKELIEST, len(logits))).indices
    rows = ids.to(model.device)
    biases = None if model.output_bias is None else _numbers(model.output_bias[rows])
    return OutputSteps(t, trace.decoder_output, logits, ids, _numbers(model.output_table[rows]), biases)


def steps(trace: Trace, model: Transformer, name: str, t: int = 0) -> Steps:
    """The steps of a place by its name. t: the decoding step, for "output". Raises ValueError."""
    if name in SIDES:
        return embedding_steps(trace, model, name)
    if name == "output":
        return output_steps(trace, model, t)
    return (feed_forward_steps if name.endswith(".ff") else attention_steps)(trace, model, name)


@torch.inference_mode()
def matrices(model: Transformer, name: str) -> dict[str, Tensor]:
    """The weight matrices of a sub-layer as in the paper's x W: [in, out], the transpose of torch's.

    W_q, W_k, W_v, W_o of attention, W_1 and W_2 of feed-forward. Raises ValueError for an unknown sub-layer.
    """
    inside, _ = _modules(model, name)
    if isinstance(inside, MultiHeadAttention):
        linear = {"W_q": inside.query, "W_k": inside.key, "W_v": inside.value, "W_o": inside.output}
    else:
        assert isinstance(inside, FeedForward)
        linear = {"W_1": inside.inner, "W_2": inside.outer}
    return {name: _numbers(module.weight).t() for name, module in linear.items()}
