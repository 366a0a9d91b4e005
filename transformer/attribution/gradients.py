"""Contributions by gradients of the log-probability of an output token: gradient x input, integrated gradients, and the
relevance of Chefer et al. 2021."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from transformer.attribution.contributions import Contributions
from transformer.inference.pretrained import Pretrained
from transformer.interventions.edits import edits_of, joined
from transformer.model.tap import KINDS, Tap, scope
from transformer.tracing.trace import Trace

POINTS = 128  # of integrated gradients; with 32 the rows of en-de miss their sum by a tenth
SIDES = ("source", "target")


@dataclass(frozen=True)
class Graph:
    """A pass that remembers how it was computed.

    embeddings: "source" or "target" -> [batch, token, d_model], times sqrt(d_model), without positions; the leaves.
    records: names of `transformer.model.tap` -> tensor. log_probs: [batch, target], ln p of the trace's output tokens.
    """

    embeddings: dict[str, Tensor]
    records: dict[str, Tensor]
    log_probs: Tensor


def differentiable(model: Pretrained, trace: Trace, factors: Sequence[float] = (1.0,)) -> Graph:
    """The pass of a trace, with its switches, for every factor that its embeddings are multiplied with (positions
    stay). Gradients go to `embeddings` and every record; the model's weights get none."""
    network = model.model
    embeddings: dict[str, Tensor] = {}

    def leaf(side: str, tensor: Tensor) -> Tensor:
        by = torch.tensor(factors, dtype=tensor.dtype, device=tensor.device)[:, None, None]
        embeddings[side] = (tensor.detach() * by).requires_grad_()
        return embeddings[side]

    leaves = {f"{side}.embedding": lambda tensor, side=side: leaf(side, tensor) for side in SIDES}
    source, fed, wanted = (
        torch.tensor([ids] * len(factors), device=network.device)
        for ids in (trace.source_ids, trace.target_in_ids, trace.target_out_ids)
    )
    with torch.inference_mode(False), torch.enable_grad():
        tap = Tap(joined(leaves, edits_of(trace.interventions, model.config)))
        logits = network(source, fed, tap)
        log_probs = logits.log_softmax(-1).gather(-1, wanted[..., None])[..., 0]
    return Graph(embeddings, tap.finish(), log_probs)


def _gradients(total: Tensor, tensors: Sequence[Tensor]) -> list[Tensor]:
    """Gradients of one number; 0 where it does not depend on a tensor."""
    found = torch.autograd.grad(total, tensors, retain_graph=True, allow_unused=True)
    return [
        torch.zeros_like(one) if gradient is None else gradient for one, gradient in zip(tensors, found, strict=True)
    ]


def _filled(trace: Trace, rows: Mapping[int, Sequence[Tensor]]) -> Contributions:
    """Contributions from the rows of some steps, (source, prefix) each; the other rows are NaN."""
    sources, targets = len(trace.source_ids), len(trace.target_out_ids)
    found = [torch.full((targets, width), math.nan, dtype=torch.float64) for width in (sources, targets)]
    for step, sides in rows.items():
        for matrix, values in zip(found, sides, strict=True):
            matrix[step] = values.detach().cpu().double()
    return Contributions(found[0], found[1], shares=False)


def _all(trace: Trace, steps: Sequence[int] | None) -> Sequence[int]:
    return range(len(trace.target_out_ids)) if steps is None else steps


def gradient_x_input(model: Pretrained, trace: Trace, steps: Sequence[int] | None = None) -> Contributions:
    """The gradient of ln p with respect to a token's embedding, times the embedding, summed over its dimensions.

    steps: rows to compute, all by default; a backward pass each. The others are NaN.
    """
    graph = differentiable(model, trace)
    leaves = [graph.embeddings[side] for side in SIDES]
    rows = {}
    for step in _all(trace, steps):
        gradients = _gradients(graph.log_probs[0, step], leaves)
        rows[step] = [(gradient * leaf)[0].sum(-1) for gradient, leaf in zip(gradients, leaves, strict=True)]
    return _filled(trace, rows)


def integrated_gradients(
    model: Pretrained, trace: Trace, steps: Sequence[int] | None = None, points: int = POINTS
) -> Contributions:
    """Integrated gradients (Sundararajan et al. 2017) of ln p, from embeddings of 0, positions kept, along a straight
    line; Gauss-Legendre quadrature, as captum's. Each row sums to the difference of ln p between both ends, as far as
    the points are dense enough (`completeness_gap`). steps: as for `gradient_x_input`."""
    places, weights = np.polynomial.legendre.leggauss(points)
    graph = differentiable(model, trace, [float(one) for one in (places + 1) / 2])
    leaves = [graph.embeddings[side] for side in SIDES]
    by = torch.tensor(weights / 2, dtype=torch.float64)[:, None, None]
    whole = [trace.source_embedding.double(), trace.target_embedding.double()]
    rows = {}
    for step in _all(trace, steps):
        gradients = _gradients(graph.log_probs[:, step].sum(), leaves)
        rows[step] = [
            ((gradient.cpu().double() * by).sum(0) * embedding).sum(-1)
            for gradient, embedding in zip(gradients, whole, strict=True)
        ]
    return _filled(trace, rows)


def completeness_gap(model: Pretrained, trace: Trace, found: Contributions) -> Tensor:
    """How much the sum of each row of integrated gradients differs from ln p - ln p with embeddings of 0, [target]."""
    ends = differentiable(model, trace, (1.0, 0.0)).log_probs.detach().cpu().double()
    return found.joined().sum(-1) - (ends[0] - ends[1])


def chefer_update(relevance: Tensor, attention: Tensor) -> Tensor:
    """R + A R: equations 6 and 7 of Chefer et al. 2021."""
    return relevance + attention @ relevance


def without_residual(relevance: Tensor) -> Tensor:
    """Equations 8 and 9: the rows of R - I normalised, plus I; rows of 0 stay."""
    eye = torch.eye(len(relevance), dtype=relevance.dtype)
    rest = relevance - eye
    total = rest.sum(-1, keepdim=True)
    return torch.where(total > 0, rest / total, 0.0) + eye


def _positive(weights: Tensor, gradient: Tensor) -> Tensor:
    """E_h[(grad A * A)+], equation 5: [batch, head, query, key] of one sentence -> [query, key]."""
    return (weights * gradient)[0].clamp(min=0).mean(0).detach().cpu().double()


def chefer(model: Pretrained, trace: Trace, steps: Sequence[int] | None = None) -> Contributions:
    """Relevance (Chefer et al. 2021, "Generic Attention-model Explainability", section 3): attention weights times
    their gradients, gathered layer by layer, for every output token anew.

    Encoder: R^ee = R^ee + A R^ee. Decoder: R^dd and R^de likewise in masked self-attention; in cross-attention R^de =
    R^de + (R^dd)^T A R^ee, both without their residual part (`without_residual`). Given are R^de and R^dd - I.
    steps: as for `gradient_x_input`.
    """
    graph = differentiable(model, trace)
    names = {kind: [f"{scope(kind, layer)}weights" for layer in range(trace.attention(kind).layers)] for kind in KINDS}
    order = [name for kind in KINDS for name in names[kind]]
    tensors = [graph.records[name] for name in order]
    sources, targets = len(trace.source_ids), len(trace.target_out_ids)
    rows = {}
    for step in _all(trace, steps):
        gradients = dict(zip(order, _gradients(graph.log_probs[0, step], tensors), strict=True))
        positive = {name: _positive(graph.records[name], gradients[name]) for name in order}
        encoder = torch.eye(sources, dtype=torch.float64)
        for name in names["encoder_self"]:
            encoder = chefer_update(encoder, positive[name])
        decoder = torch.eye(targets, dtype=torch.float64)
        across = torch.zeros(targets, sources, dtype=torch.float64)
        for own, cross in zip(names["decoder_self"], names["cross"], strict=True):
            decoder, across = chefer_update(decoder, positive[own]), chefer_update(across, positive[own])
            across = across + without_residual(decoder).T @ positive[cross] @ without_residual(encoder)
        rows[step] = (across[step], (decoder - torch.eye(targets))[step])
    return _filled(trace, rows)
