"""The residual stream: the input of a stack, the update of every sub-layer, and the sum of both.

Section 3.1 puts a residual connection around each sub-layer: LayerNorm(x + Sublayer(x)), or x + Sublayer(LayerNorm(x))
with norm="pre" (Xiong et al. 2020); see `transformer.model.layers.SubLayer` for models without one of the two. A stack
is "encoder" or "decoder"; its sub-layers follow the order of the pass: self and ff, in the decoder self, cross and ff.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from transformer.analysis.norms import Norm, centre, deviation, scales
from transformer.model.layers import SubLayer
from transformer.model.tap import SIDES, STACKS, check_stack
from transformer.model.transformer import Transformer
from transformer.short_repr import short_repr
from transformer.tracing.trace import AttentionTrace, FeedForwardTrace, Trace


def kinds_of(trace: Trace, stack: str) -> dict[str, AttentionTrace | FeedForwardTrace]:
    """Sub-layers of one layer in the order of the pass, each with the tensors of all layers."""
    check_stack(stack)
    if stack == "encoder":
        return {"self": trace.encoder_self, "ff": trace.encoder_ff}
    return {"self": trace.decoder_self, "cross": trace.cross, "ff": trace.decoder_ff}


def sublayers(trace: Trace, stack: str) -> tuple[tuple[int, str], ...]:
    """(layer, sub-layer) of a stack in the order of the pass: (0, "self"), (0, "ff"), (1, "self"), ..."""
    kinds = kinds_of(trace, stack)
    return tuple((layer, name) for layer in range(len(kinds["ff"].sum)) for name in kinds)


def _tensors(trace: Trace, stack: str, field: str) -> Tensor:
    """A field of every sub-layer: [sublayer, token, d_model], float64."""
    kinds = kinds_of(trace, stack)
    return torch.stack([getattr(kinds[name], field)[layer] for layer, name in sublayers(trace, stack)]).double()


def norms_of(model: Transformer, stack: str) -> list[Norm]:
    """The LayerNorm of every sub-layer, in the order of the pass; empty for a model without LayerNorm."""
    layers = model.encoder if stack == "encoder" else model.decoder
    norms = [module.norm for layer in layers for module in layer.children() if isinstance(module, SubLayer)]
    return [norm for norm in norms if isinstance(norm, Norm)]


def _final(model: Transformer, stack: str) -> Norm | None:
    """The LayerNorm after the last layer, which only a pre-norm model has."""
    norm = model.encoder_norm if stack == "encoder" else model.decoder_norm
    return norm if isinstance(norm, Norm) else None


def _carried(parts: Tensor, x: Tensor, norm: Norm) -> Tensor:
    """gamma (p - mean(p)) / sigma for every part p, with the sigma of x. If the parts sum to x, the results sum to
    LayerNorm(x) without beta. RMSNorm subtracts no mean. parts: [..., token, d_model]; x: [token, d_model]."""
    return scales(norm)[0] * (parts - centre(norm, parts)) / deviation(norm, x)


def states(trace: Trace, stack: str) -> Tensor:
    """The residual stream before the first layer (embedding plus positions, after the LayerNorm of embedding_norm) and
    after every layer; with residual=False the output of every layer.

    Returns [point, token, d_model] with layers + 1 points, float32. With norm="pre" the last point is the input of the
    final LayerNorm, not its output.
    """
    kinds = kinds_of(trace, stack)
    return torch.cat((kinds["self"].enters[:1], kinds["ff"].leaves))


@dataclass(frozen=True)
class Stream:
    """Lengths (Euclidean norms) of the vectors at every sub-layer of a stack: [sublayer, token], float64.

    sublayers:  (layer, "self" | "cross" | "ff") of each row
    enters:     x
    update:     Sublayer(x); with norm="pre" Sublayer(LayerNorm(x))
    sum:        x plus the update; None with residual=False, where nothing is added
    normed:     the output of the sub-layer's LayerNorm, which reads the sum (with residual=False the update), or with
                norm="pre" x; None with norm="none"
    """

    sublayers: tuple[tuple[int, str], ...]
    enters: Tensor
    update: Tensor
    sum: Tensor | None
    normed: Tensor | None

    __repr__ = short_repr

    @property
    def lengths(self) -> dict[str, Tensor]:
        """The lengths that are not None, by name, in the order of the paper's formula."""
        every = {name: getattr(self, name) for name in ("enters", "update", "sum", "normed")}
        return {name: length for name, length in every.items() if length is not None}


def stream(trace: Trace, model: Transformer, stack: str) -> Stream:
    """The lengths of the vectors at every sub-layer of a stack. Raises ValueError for an unknown stack."""
    vectors = {field: _tensors(trace, stack, field) for field in ("enters", "update")}
    if model.config.residual:
        vectors["sum"] = _tensors(trace, stack, "sum")
    if model.config.norm == "pre":
        # The tap records the input of this LayerNorm, not its output.
        rows = zip(vectors["enters"], norms_of(model, stack), strict=True)
        vectors["normed"] = torch.stack([_carried(x, x, norm) + scales(norm)[1] for x, norm in rows])
    elif model.config.norm == "post":
        vectors["normed"] = _tensors(trace, stack, "leaves")
    lengths = {field: torch.linalg.vector_norm(tensor, dim=-1) for field, tensor in vectors.items()}
    return Stream(sublayers(trace, stack), **{"sum": None, "normed": None, **lengths})


@dataclass(frozen=True)
class Parts:
    """The residual stream at one point as a sum of its parts; every tensor is float64.

    field      shape                   what it is
    ---------  ----------------------  ------------------------------------------------------------------------
    sublayers  (layer, name) each      the sub-layers whose updates are parts
    vectors    [part, token, d_model]  embedding, positions, the update of each of `sublayers`, and the biases beta
                                       of all LayerNorms so far (none with norm="none"), each after the LayerNorms that
                                       follow it; with residual=False all are 0 except the last update and the biases
                                       after it
    whole      [token, d_model]        the vector as the pass recorded it
    shares     [part, token]           <part, whole> / <whole, whole>: they sum to 1 over the parts (if the whole is 0,
                                       they are 0). Below 0 for a part that points away from the whole
    deviation  float                   largest |sum of parts - whole|, the rounding of the float32 pass
    """

    sublayers: tuple[tuple[int, str], ...]
    vectors: Tensor
    whole: Tensor
    shares: Tensor
    deviation: float

    __repr__ = short_repr


def decompose(trace: Trace, model: Transformer, stack: str, through: int | None = None) -> Parts:
    """The exact parts whose sum is the residual stream after a number of layers.

    A LayerNorm is linear if its sigma is fixed to the value of this pass: each part p of its input becomes
    gamma (p - mean(p)) / sigma, and beta is one more part. This does not tell what would happen without a part: then
    sigma and all later updates would differ.

    through: number of layers, 1 or more; None: all layers, and the final LayerNorm if there is one (norm="pre"), so
    that the whole is trace.encoder_output or trace.decoder_output. Raises ValueError for an unknown stack or layer.
    """
    every = sublayers(trace, stack)
    layers = every[-1][0] + 1
    if through is not None and not 1 <= through <= layers:
        raise ValueError(f"the {stack} has {layers} layers; through is {through}, choose 1 to {layers}")
    side, post = SIDES[STACKS.index(stack)], model.config.norm == "post"
    update, total = _tensors(trace, stack, "update"), _tensors(trace, stack, "sum")
    norms, first = norms_of(model, stack), model.source_norm if side == "source" else model.target_norm
    passed = [index for index, (layer, _) in enumerate(every) if through is None or layer < through]
    vectors = torch.zeros(
        len(passed) + 2 + (bool(norms) or model.config.embedding_norm), *total.shape[1:], dtype=torch.float64
    )
    vectors[0] = getattr(trace, f"{side}_embedding")
    vectors[1] = getattr(trace, f"{side}_positions")
    if isinstance(first, Norm):
        vectors = _carried(vectors, vectors.sum(0), first)
        vectors[-1] += scales(first)[1]
    for index in passed:
        if not model.config.residual:
            vectors.zero_()  # only the update leaves a sub-layer
        vectors[2 + index] = update[index]
        if post:
            vectors = _carried(vectors, total[index], norms[index])
            vectors[-1] += scales(norms[index])[1]
    final = _final(model, stack)
    if final is not None and through is None:
        vectors = _carried(vectors, total[-1], final)
        vectors[-1] += scales(final)[1]
    whole = states(trace, stack)[through] if through is not None else getattr(trace, f"{stack}_output")
    whole = whole.double()
    shares = (vectors * whole).sum(-1) / whole.square().sum(-1).clamp(min=torch.finfo(torch.float64).tiny)
    return Parts(every[: len(passed)], vectors, whole, shares, (vectors.sum(0) - whole).abs().max().item())
