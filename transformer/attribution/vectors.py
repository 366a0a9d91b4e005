"""An attention sub-layer's output as a sum of vectors, one for each token it reads (Kobayashi et al. 2020, 2021)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from transformer.analysis.norms import Norm, centre, deviation, scales
from transformer.attribution.contributions import Contributions, in_shares, through_layers
from transformer.inference.pretrained import Pretrained
from transformer.interventions.sets import Skip
from transformer.model.attention import MultiHeadAttention
from transformer.model.layers import SubLayer
from transformer.model.tap import scope
from transformer.model.transformer import Transformer
from transformer.texts import UserError, any_of
from transformer.tracing.trace import Trace

ROUNDING = 1e-4  # relative, of float32 sums


@dataclass(frozen=True)
class Parts:
    """An attention sub-layer's output in parts: result = sum over keys of vectors + own + constant, but for rounding.

    vectors: [query, key, d_model], what each key brings: sum over heads of alpha f(x), f(x) = (x W^V + b^V) W^O; own:
    [query, d_model], the residual connection's x; constant: [query, d_model], biases; result: [query, d_model]. After
    a LayerNorm (norm="post") all parts are normalised with the mean of each part and the standard deviation of the
    whole, which makes LayerNorm linear.
    """

    vectors: Tensor
    own: Tensor
    constant: Tensor
    result: Tensor


def modules_of(model: Transformer, kind: str, layer: int) -> tuple[MultiHeadAttention, SubLayer]:
    """The attention and the residual connection of a sub-layer."""
    found: Any = (model.encoder if kind == "encoder_self" else model.decoder)[layer]
    name = "cross" if kind == "cross" else "self"
    return getattr(found, f"{name}_attention"), getattr(found, f"{name}_residual")


def transformed(model: Transformer, trace: Trace, kind: str, layer: int) -> Tensor:
    """The transformed vectors f(x) = (x W^V + b^V) W^O of each key, for each head, [head, key, d_model]; float64."""
    attention, _ = modules_of(model, kind, layer)
    return trace.attention(kind).values[layer].double() @ _output_of_heads(attention)


def _output_of_heads(attention: MultiHeadAttention) -> Tensor:
    """W^O in the part of every head, [head, d_head, d_model]; float64."""
    matrix = attention.output.weight.detach().double().cpu()  # [d_model, head * d_head]
    return matrix.unflatten(1, (attention.heads, -1)).permute(1, 2, 0)


def parts(model: Transformer, trace: Trace, kind: str, layer: int) -> Parts:
    """The parts of one sub-layer of a trace; float64.

    Where switches or edits replaced a head's output or the whole update (knocked-out heads, means in their place,
    removed sub-layers), nothing there comes from a key: what replaced it is constant.
    """
    attention, residual = modules_of(model, kind, layer)
    seen = trace.attention(kind)
    weights, outputs = seen.weights[layer].double(), seen.head_outputs[layer].double()
    values = seen.values[layer].double()
    made = _same(outputs, weights @ values, weights @ values.norm(dim=-1, keepdim=True))  # [head, query]
    vectors = torch.einsum("hqk,hkd->qkd", weights * made[..., None], transformed(model, trace, kind, layer))
    put = torch.einsum("hqe,hed->qd", outputs * ~made[..., None], _output_of_heads(attention))
    own = seen.enters[layer].double() if residual.residual else torch.zeros_like(vectors[:, 0])
    bias = attention.output.bias
    constant = put if bias is None else put + bias.detach().double().cpu()
    update = seen.update[layer].double()
    added = vectors.norm(dim=-1).sum(1) + constant.norm(dim=-1)
    kept = _same(update, vectors.sum(1) + constant, added[:, None])[:, None]  # [query, 1]
    vectors, constant = vectors * kept[..., None], torch.where(kept, constant, update)
    if residual.pre or not isinstance(residual.norm, Norm):
        return Parts(vectors, own, constant, seen.sum[layer].double())
    norm = residual.norm
    gamma, beta = scales(norm)
    whole = seen.sum[layer].double()
    spread = deviation(norm, whole)  # [query, 1]

    def normed(part: Tensor, by: Tensor) -> Tensor:
        return (part - centre(norm, part)) / by * gamma

    return Parts(
        normed(vectors, spread[:, None]),
        normed(own, spread),
        normed(constant, spread) + beta,
        seen.leaves[layer].double(),
    )


def _same(recorded: Tensor, computed: Tensor, added: Tensor) -> Tensor:
    """Whether two vectors are equal but for rounding, [..., size] -> bool [...]. added: [..., 1], the lengths of what
    was summed, which rounding is relative to."""
    return (recorded - computed).norm(dim=-1) <= ROUNDING * (recorded.norm(dim=-1) + added[..., 0])


Measure = Callable[[Tensor, Tensor], Tensor]


def norm_measure(vectors: Tensor, result: Tensor) -> Tensor:
    """||T_i(x_j)||_2 (Kobayashi et al. 2021). vectors: [query, key, d_model]; returns [query, key]."""
    return vectors.norm(dim=-1)


def alti_measure(vectors: Tensor, result: Tensor) -> Tensor:
    """max(0, ||y_i||_1 - ||y_i - T_i(x_j)||_1) (Ferrando et al. 2022, ALTI, equation 8): how much nearer to the result
    y_i the vector brings. vectors: [query, key, d_model]; result: [query, d_model]; returns [query, key]."""
    whole = result.abs().sum(-1, keepdim=True)
    return (whole - (result[:, None] - vectors).abs().sum(-1)).clamp(min=0)


def _self_matrix(found: Parts, measure: Measure) -> Tensor:
    """Shares of a self-attention sub-layer, [query, key]: the residual connection belongs to the token itself."""
    vectors = found.vectors.clone()
    diagonal = torch.arange(len(vectors))
    vectors[diagonal, diagonal] += found.own
    return in_shares(measure(vectors, found.result), diagonal)


def _cross_matrices(found: Parts, measure: Measure) -> tuple[Tensor, Tensor]:
    """Shares of a cross-attention sub-layer: of the source tokens, [query, key], and of the decoder's own stream,
    [query, 1]."""
    both = torch.cat((found.vectors, found.own[:, None]), 1)
    shares = in_shares(measure(both, found.result), torch.full((len(both),), both.shape[1] - 1))
    return shares[:, :-1], shares[:, -1:]


def by_vectors(model: Pretrained, trace: Trace, measure: Measure) -> Contributions:
    """Contributions by the lengths of the vectors that each token brings, layer by layer (`through_layers`). The
    feed-forward networks mix no tokens and are left out, as in the papers."""
    encoder = [
        _self_matrix(parts(model.model, trace, "encoder_self", layer), measure)
        for layer in range(trace.encoder_self.layers)
    ]
    decoder, cross = [], []
    for layer in range(trace.decoder_self.layers):
        taken, kept = _cross_matrices(parts(model.model, trace, "cross", layer), measure)
        decoder.append(kept * _self_matrix(parts(model.model, trace, "decoder_self", layer), measure))
        cross.append(taken)
    return Contributions(*through_layers(encoder, decoder, cross), shares=True)


def _skipped(trace: Trace, kind: str, layer: int) -> bool:
    """Whether a switch removed the sub-layer."""
    stack, part = scope(kind, layer).split(".")[::2]
    return Skip(stack, layer, part) in trace.interventions.switches


def rollout(model: Pretrained, trace: Trace) -> Contributions:
    """Attention rollout (Abnar and Zuidema 2020): half of each sub-layer's output from its attention, averaged over
    heads, half from the residual connection, and all of it where a switch removed the sub-layer."""

    def half(kind: str, layer: int) -> float:
        return 0.0 if _skipped(trace, kind, layer) else 0.5

    def mixed(kind: str, layer: int, weights: Tensor) -> Tensor:
        attended = half(kind, layer)
        eye = torch.eye(weights.shape[-1], dtype=torch.float64)
        return attended * weights.double().mean(0) + (1 - attended) * eye

    across = [half("cross", layer) for layer in range(trace.cross.layers)]
    encoder = [mixed("encoder_self", *one) for one in enumerate(trace.encoder_self.weights)]
    decoder = [
        mixed("decoder_self", layer, weights) * (1 - across[layer])
        for layer, weights in enumerate(trace.decoder_self.weights)
    ]
    cross = [weights.double().mean(0) * share for weights, share in zip(trace.cross.weights, across, strict=True)]
    return Contributions(*through_layers(encoder, decoder, cross), shares=True)


def mean_attention(model: Pretrained, trace: Trace) -> Contributions:
    """The mean over all layers and heads: half of the row cross-attention, half masked self-attention. Layers whose
    sub-layer a switch removed do not count; without any cross-attention the row is masked self-attention alone, and the
    other way round; without both a token stays its own."""
    found = {}
    for kind in ("cross", "decoder_self"):
        weights = trace.attention(kind).weights.double().mean(1)
        kept = [one for layer, one in enumerate(weights) if not _skipped(trace, kind, layer)]
        found[kind] = torch.stack(kept).mean(0) if kept else torch.zeros_like(weights[0])
    read = [kind for kind, one in found.items() if one.any()]
    if not read:
        found["decoder_self"] = torch.eye(len(found["decoder_self"]), dtype=torch.float64)
    source, prefix = (found[kind] / max(len(read), 1) for kind in ("cross", "decoder_self"))
    return Contributions(source, prefix, shares=True)


def one_head(trace: Trace, kind: str, layer: int, head: int) -> Contributions:
    """The weights of one head, numbered from 0: of cross-attention ("cross"), which sees the source alone, or of the
    decoder's self-attention ("decoder_self"), which sees only what was fed in. Raises UserError for another kind, and
    for a layer or head that the model lacks."""
    if kind not in (kinds := ("cross", "decoder_self")):
        raise UserError(
            "a head of {kind} does not read for an output token; choose {kinds}", kind=kind, kinds=any_of(kinds, kind)
        )
    for name, index, count in (("layer", layer, trace.cross.layers), ("head", head, trace.cross.heads)):
        if not 0 <= index < count:
            raise UserError("{kind} has no {name} {index}; there are {count}, counted from 0",
                            kind=kind, name=name, index=index, count=count)  # fmt: skip
    weights = trace.attention(kind).weights[layer, head].double()
    other = trace.decoder_self if kind == "cross" else trace.cross
    nothing = torch.zeros(other.weights.shape[-2:], dtype=torch.float64)
    return Contributions(*((weights, nothing) if kind == "cross" else (nothing, weights)), shares=True)
