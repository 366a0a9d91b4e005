"""Contributions by gradients of the log-probability of an output token: gradient x input, integrated gradients, and the
relevance of Chefer et al. 2021."""

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from transformer.attribution.contributions import Contributions
from transformer.cancellation import Progress, tell
from transformer.inference.pretrained import Pretrained
from transformer.interventions.edits import joined
from transformer.model.tap import KINDS, Tap, scope
from transformer.texts import Text
from transformer.tracing.rerun import check_unedited, decoder_rows
from transformer.tracing.trace import Trace

# Integrated gradients: the line is cut into spans, each with POINTS points; the one with the largest error is halved
# until a row misses its sum by at most TOLERANCE of it, or of LEAST nats where that is more, or MOST points are used.
SPANS, POINTS, MOST = 16, 4, 512
TOLERANCE, LEAST = 0.008, 0.2
AT_ONCE = 512  # tokens of all points in one pass, which keeps its graph
SIDES = ("source", "target")


@dataclass(frozen=True)
class Graph:
    """A pass that remembers how it was computed.

    embeddings: "source" or "target" -> [batch, token, d_model], times sqrt(d_model), without positions; the leaves.
    records: names of `transformer.model.tap` -> tensor. log_probs: ln p of the trace's output tokens, [batch, target],
    or of one step alone, [batch, 1]; with a contrast ln p of the output token - ln p of that one.
    """

    embeddings: dict[str, Tensor]
    records: dict[str, Tensor]
    log_probs: Tensor


def differentiable(
    model: Pretrained,
    trace: Trace,
    factors: Sequence[float] = (1.0,),
    step: int | None = None,
    contrast: int | None = None,
) -> Graph:
    """The pass of a trace, with its switches, for every factor that its embeddings are multiplied with (positions
    stay). Gradients go to `embeddings` and every record; the model's weights get none.

    step: of one output token alone, with the rows of the decoder that decide about it. contrast: id of another token,
    whose ln p is taken away. Raises EditedError."""
    check_unedited(trace)
    network, rows = model.model, decoder_rows(trace, step)
    steps = slice(rows) if step is None else slice(step, step + 1)
    embeddings: dict[str, Tensor] = {}

    def leaf(side: str, tensor: Tensor) -> Tensor:
        by = torch.tensor(factors, dtype=tensor.dtype, device=tensor.device)[:, None, None]
        embeddings[side] = (tensor.detach() * by).requires_grad_()
        return embeddings[side]

    leaves = {f"{side}.embedding": lambda tensor, side=side: leaf(side, tensor) for side in SIDES}
    source, fed, wanted = (
        torch.tensor([ids] * len(factors), device=network.device)
        for ids in (trace.source_ids, trace.target_in_ids[:rows], trace.target_out_ids[steps])
    )
    with torch.inference_mode(False), torch.enable_grad():
        tap = Tap(joined(leaves, model.edits(trace.interventions)))
        outputs = network.decode(fed, network.encode(source, tap), source, tap)
        logits = network.project(outputs[:, steps], tap)
        every = logits.log_softmax(-1)
        log_probs = every.gather(-1, wanted[..., None])[..., 0]
        if contrast is not None:
            log_probs = log_probs - every[..., contrast]
    return Graph(embeddings, tap.finish(), log_probs)


def gradients_of(total: Tensor, tensors: Sequence[Tensor]) -> list[Tensor]:
    """Gradients of one number; 0 where it does not depend on a tensor."""
    if not total.requires_grad:
        return [torch.zeros_like(one) for one in tensors]
    found = torch.autograd.grad(total, tensors, retain_graph=True, allow_unused=True)
    return [
        torch.zeros_like(one) if gradient is None else gradient for one, gradient in zip(tensors, found, strict=True)
    ]


def _filled(trace: Trace, rows: Mapping[int, Sequence[Tensor]]) -> Contributions:
    """Contributions from the rows of some steps, (source, prefix) each, 0 where a prefix ends; the other rows are
    NaN."""
    sources, targets = len(trace.source_ids), len(trace.target_out_ids)
    found = [torch.full((targets, width), math.nan, dtype=torch.float64) for width in (sources, targets)]
    for step, sides in rows.items():
        for matrix, values in zip(found, sides, strict=True):
            matrix[step] = 0.0
            matrix[step, : len(values)] = values.detach().cpu().double()
    return Contributions(found[0], found[1], shares=False)


def _all(trace: Trace, steps: Sequence[int] | None) -> Sequence[int]:
    return range(len(trace.target_out_ids)) if steps is None else steps


def gradient_x_input(
    model: Pretrained, trace: Trace, steps: Sequence[int] | None = None, contrast: int | None = None
) -> Contributions:
    """The gradient of ln p with respect to a token's embedding, times the embedding, summed over its dimensions.

    steps: rows to compute, all by default; a pass forward and backward each. The others are NaN. contrast: as in
    `differentiable`.
    """
    rows = {}
    for step in _all(trace, steps):
        graph = differentiable(model, trace, step=step, contrast=contrast)
        leaves = [graph.embeddings[side] for side in SIDES]
        gradients = gradients_of(graph.log_probs.sum(), leaves)
        rows[step] = [(gradient * leaf)[0].sum(-1) for gradient, leaf in zip(gradients, leaves, strict=True)]
    return _filled(trace, rows)


def integrated_gradients(
    model: Pretrained,
    trace: Trace,
    steps: Sequence[int] | None = None,
    points: int | None = None,
    progress: Progress = lambda done, total: True,
    contrast: int | None = None,
) -> Contributions:
    """Integrated gradients (Sundararajan et al. 2017) of ln p, from embeddings of 0, positions kept, along a straight
    line. Each row sums to the difference of ln p between both ends, within TOLERANCE (`completeness`); a row that needs
    more than MOST points for that is said (ShortWarning).

    points: of one Gauss-Legendre rule for the whole line, as captum's; None: as many as the row needs, where it needs
    them. How well a span is integrated shows in what it misses of the difference of ln p between its own ends. steps:
    and contrast as for `gradient_x_input`. progress: called with (points used, at most) after each round; False stops
    (Stopped).
    """
    rows = {}
    for step in _all(trace, steps):
        if points:
            of_spans = _spans(model, trace, step, [(0.0, 1.0)], points, contrast)
        else:
            of_spans = _halving(model, trace, step, progress, contrast)
        rows[step] = of_spans.sum(0).tensor_split([len(trace.source_ids)])
    return _filled(trace, rows)


Span = tuple[float, float]  # from one factor of the embeddings to another


class ShortWarning(UserWarning):
    """Integrated gradients that miss their sum by more than TOLERANCE."""


def allowed(wanted: float) -> float:
    """How far integrated gradients may miss their sum, in nats."""
    return TOLERANCE * max(abs(wanted), LEAST)


def _halving(model: Pretrained, trace: Trace, step: int, progress: Progress, contrast: int | None) -> Tensor:
    """Contributions of all spans to one step, [span, source + decoder's row]."""
    at: dict[float, float] = {}  # factor of the embeddings -> ln p
    new: list[Span] = [(index / SPANS, (index + 1) / SPANS) for index in range(SPANS)]
    found: dict[Span, Tensor] = {}
    missed: dict[Span, float] = {}
    used = 0
    while True:
        needed = sorted({end for span in new for end in span} - set(at))
        if needed:
            ends = differentiable(model, trace, needed, step, contrast).log_probs[:, 0]
            at |= zip(needed, ends.tolist(), strict=True)
        for span, values in zip(new, _spans(model, trace, step, new, POINTS, contrast), strict=True):
            found[span] = values
            missed[span] = float(values.sum()) - (at[span[1]] - at[span[0]])
        used += POINTS * len(new)
        tell(progress, used, MOST)
        wanted = at[1.0] - at[0.0]
        # The sum alone could be right by chance, where errors of spans cancel.
        miss = max(abs(sum(missed.values())), math.hypot(*missed.values()) / 2)
        if miss > allowed(wanted) and used >= MOST:
            text = Text(
                "integrated gradients of step {step} may miss their sum of {wanted:.3f} nats by {miss:.4f}, more than "
                "the {allowed:.4f} wanted, after {used} points; give integrated_gradients points={more} for one finer "
                "rule",
                step=step, wanted=wanted, miss=miss, allowed=allowed(wanted), used=used, more=4 * MOST,
            )  # fmt: skip
            warnings.warn(str(text), ShortWarning, stacklevel=4)
        if miss <= allowed(wanted) or used >= MOST:
            return torch.stack(list(found.values()))
        start, end = worst = max(missed, key=lambda span: abs(missed[span]))
        del found[worst], missed[worst]
        middle = (start + end) / 2
        new = [(start, middle), (middle, end)]


def _spans(
    model: Pretrained, trace: Trace, step: int, spans: Sequence[Span], points: int, contrast: int | None
) -> Tensor:
    """The integral over each span, by a Gauss-Legendre rule: [span, source + decoder's row]; float64."""
    places, weights = (torch.from_numpy(one) for one in np.polynomial.legendre.leggauss(points))
    ends = torch.tensor(spans, dtype=torch.float64)
    widths = ends[:, 1:] - ends[:, :1]
    whole = (trace.source_embedding.double(), trace.target_embedding[: decoder_rows(trace, step)].double())
    found = []
    for factors in (ends[:, :1] + widths * (places + 1) / 2).flatten().split(max(1, AT_ONCE // sum(map(len, whole)))):
        graph = differentiable(model, trace, factors.tolist(), step, contrast)
        gradients = gradients_of(graph.log_probs.sum(), [graph.embeddings[side] for side in SIDES])
        sides = [(gradient.cpu().double() * one).sum(-1) for gradient, one in zip(gradients, whole, strict=True)]
        found.append(torch.cat(sides, 1))
    along = torch.cat(found)  # [span * point, source + row]
    return (along.unflatten(0, (len(spans), points)) * weights[:, None] / 2).sum(1) * widths


def completeness(
    model: Pretrained, trace: Trace, found: Contributions, contrast: int | None = None
) -> tuple[Tensor, Tensor]:
    """Of integrated gradients: the sum of each row, and what it has to be, ln p - ln p with embeddings of 0; [target],
    float64. contrast: as they had."""
    ends = differentiable(model, trace, (1.0, 0.0), contrast=contrast).log_probs.detach().cpu().double()
    return found.joined().sum(-1), ends[0] - ends[1]


def without_residual(relevance: Tensor) -> Tensor:
    """Equations 8 and 9 of Chefer et al. 2021: the rows of R - I normalised, plus I; rows of 0 stay."""
    eye = torch.eye(len(relevance), dtype=relevance.dtype)
    rest = relevance - eye
    total = rest.sum(-1, keepdim=True)
    return torch.where(total > 0, rest / total, 0.0) + eye


def relevance(encoder: Sequence[Tensor], decoder: Sequence[Tensor], cross: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    """R^de, [target, source], and R^dd, [target, target], from the maps A of every layer, E_h[(grad A * A)+].

    Equations 6, 7 and 10 of Chefer et al. 2021. Encoder: R^ee = R^ee + A R^ee. Decoder: R^dd and R^de likewise in
    masked self-attention; in cross-attention R^de = R^de + (R^dd)^T A R^ee, both without their residual part.
    """
    targets, sources = cross[0].shape
    read = torch.eye(sources, dtype=cross[0].dtype)
    for one in encoder:
        read = read + one @ read
    own, across = torch.eye(targets, dtype=cross[0].dtype), torch.zeros_like(cross[0])
    for mine, other in zip(decoder, cross, strict=True):
        own, across = own + mine @ own, across + mine @ across
        across = across + without_residual(own).T @ other @ without_residual(read)
    return across, own


def _positive(weights: Tensor, gradient: Tensor) -> Tensor:
    """E_h[(grad A * A)+], equation 5: [batch, head, query, key] of one sentence -> [query, key]."""
    return (weights * gradient)[0].clamp(min=0).mean(0).detach().cpu().double()


def chefer(
    model: Pretrained, trace: Trace, steps: Sequence[int] | None = None, contrast: int | None = None
) -> Contributions:
    """Relevance (Chefer et al. 2021, "Generic Attention-model Explainability", section 3): attention weights times
    their gradients, gathered layer by layer (`relevance`), for every output token anew. Given are R^de and R^dd - I.
    steps, contrast: as for `gradient_x_input`."""
    names = {kind: [f"{scope(kind, layer)}weights" for layer in range(trace.attention(kind).layers)] for kind in KINDS}
    rows = {}
    for step in _all(trace, steps):
        graph = differentiable(model, trace, step=step, contrast=contrast)
        tensors = [graph.records[name] for kind in KINDS for name in names[kind]]
        gradients = iter(zip(tensors, gradients_of(graph.log_probs.sum(), tensors), strict=True))
        maps = [[_positive(*next(gradients)) for _name in names[kind]] for kind in KINDS]
        across, own = relevance(*maps)
        rows[step] = (across[step], (own - torch.eye(len(own)))[step])
    return _filled(trace, rows)
