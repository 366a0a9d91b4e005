"""Gradients against finite differences, completeness of integrated gradients, relevance by hand."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from tests.support.build import tiny_pretrained
from transformer.attribution.gradients import (
    chefer,
    chefer_update,
    completeness_gap,
    differentiable,
    gradient_x_input,
    integrated_gradients,
    without_residual,
)
from transformer.interventions.sets import Interventions

TEXT = ("ka lo mi vu", "lo mi ka")


def scaled(token: int, by: float) -> Callable[[Tensor], Tensor]:
    def edit(tensor: Tensor) -> Tensor:
        changed = tensor.clone()
        changed[:, token] *= by
        return changed

    return edit


def test_the_pass_is_that_of_the_trace() -> None:
    model = tiny_pretrained()
    trace = model.trace(*TEXT, interventions=Interventions.parse("scaling=off"))
    graph = differentiable(model, trace)
    torch.testing.assert_close(graph.log_probs[0].exp(), trace.probabilities.clone(), atol=1e-5, rtol=1e-4)
    assert all(parameter.grad is None and not parameter.requires_grad for parameter in model.model.parameters())


def test_gradient_times_input_is_the_change_when_an_embedding_grows() -> None:
    """d ln p / d s at s = 1, where s multiplies one token's embedding, by a central difference."""
    model = tiny_pretrained()
    trace = model.trace(*TEXT)
    found, by = gradient_x_input(model, trace), 0.002
    for side, values in (("source", found.source), ("target", found.prefix)):
        for token in range(values.shape[1]):
            up, down = (
                model.retrace(trace, edits={f"{side}.embedding": scaled(token, 1 + sign * by)}).probabilities.log()
                for sign in (1, -1)
            )
            torch.testing.assert_close(values[:, token].float(), ((up - down) / (2 * by)).clone(), atol=2e-3, rtol=2e-2)


def test_integrated_gradients_are_complete() -> None:
    model = tiny_pretrained()
    trace = model.trace(*TEXT)
    gaps = [
        float(completeness_gap(model, trace, integrated_gradients(model, trace, points=points)).abs().max())
        for points in (2, 32, 400)
    ]
    assert gaps == sorted(gaps, reverse=True) and gaps[-1] < 0.005, gaps


def test_nothing_comes_from_later_tokens() -> None:
    model = tiny_pretrained()
    trace = model.trace(*TEXT)
    for method in (gradient_x_input, integrated_gradients, chefer):
        assert method(model, trace).prefix.triu(1).abs().max() == 0


def test_only_the_rows_that_are_asked_for() -> None:
    model = tiny_pretrained()
    trace = model.trace(*TEXT)
    for method in (gradient_x_input, integrated_gradients, chefer):
        one, whole = method(model, trace, [2]), method(model, trace)
        torch.testing.assert_close(one.joined()[2], whole.joined()[2])
        assert one.joined()[[0, 1, 3]].isnan().all()


def test_relevance_by_hand() -> None:
    eye, attention = torch.eye(2), torch.tensor([[0.0, 2.0], [1.0, 1.0]])
    once = chefer_update(eye, attention)
    assert once.tolist() == [[1.0, 2.0], [1.0, 2.0]]
    assert without_residual(once).tolist() == [[1.0, 1.0], [0.5, 1.5]]
    assert without_residual(eye).tolist() == eye.tolist()  # rows of 0 stay
    assert chefer_update(once, attention).tolist() == [[3.0, 6.0], [3.0, 6.0]]


def test_relevance_is_zero_where_the_gradient_is() -> None:
    """With the value projections of cross-attention at 0, no output depends on the source."""
    model = replace(tiny_pretrained(), model=copy.deepcopy(tiny_pretrained().model))
    for layer in model.model.decoder:
        layer.cross_attention.value.weight.zero_()  # type: ignore[union-attr, operator]
        layer.cross_attention.value.bias.zero_()  # type: ignore[union-attr, operator]
    trace = model.trace(*TEXT)
    for method in (gradient_x_input, integrated_gradients, chefer):
        assert method(model, trace).source.abs().max() < 1e-9
