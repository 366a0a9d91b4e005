"""Gradients against finite differences, completeness of integrated gradients, relevance by hand."""

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from torch import Tensor

import transformer
from tests.support.build import pretrained_variant, tiny_pretrained
from transformer.attribution import METHODS, attribute, gradients
from transformer.attribution.gradients import (
    TOLERANCE,
    ShortWarning,
    chefer,
    completeness,
    differentiable,
    gradient_x_input,
    integrated_gradients,
    relevance,
    without_residual,
)
from transformer.interventions.sets import Interventions
from transformer.texts import UserError

TEXT = ("ka lo mi vu", "lo mi ka")
MODEL = tiny_pretrained()
TRACE = MODEL.trace(*TEXT)


def scaled(token: int, by: float) -> Callable[[Tensor], Tensor]:
    def edit(tensor: Tensor) -> Tensor:
        changed = tensor.clone()
        changed[:, token] *= by
        return changed

    return edit


def test_the_pass_is_that_of_the_trace() -> None:
    trace = MODEL.trace(*TEXT, interventions=Interventions.parse("scaling=off"))
    graph = differentiable(MODEL, trace)
    torch.testing.assert_close(graph.log_probs[0].exp(), trace.probabilities.clone(), atol=1e-5, rtol=1e-4)
    assert all(parameter.grad is None and not parameter.requires_grad for parameter in MODEL.model.parameters())


def test_gradient_times_input_is_the_change_when_an_embedding_grows() -> None:
    """d ln p / d s at s = 1, where s multiplies one token's embedding, by a central difference."""
    found, by = gradient_x_input(MODEL, TRACE), 0.002
    for side, values in (("source", found.source), ("target", found.prefix)):
        for token in range(values.shape[1]):
            up, down = (
                MODEL.retrace(TRACE, edits={f"{side}.embedding": scaled(token, 1 + sign * by)}).probabilities.log()
                for sign in (1, -1)
            )
            torch.testing.assert_close(values[:, token].float(), ((up - down) / (2 * by)).clone(), atol=2e-3, rtol=2e-2)


@pytest.mark.parametrize("switches", ["", "zero=cross.1.1 mean=encoder_self.1.2"])
@pytest.mark.parametrize(
    "name",
    ["encoder.1.self.scores", "encoder.0.ff.activation", "encoder.output", "decoder.0.self.head_outputs",
     "decoder.0.cross.weights", "decoder.1.cross.queries", "decoder.1.ff.update", "logits"],
)  # fmt: skip
def test_the_gradient_of_any_tensor_by_a_central_difference(name: str, switches: str) -> None:
    """Along a random direction, with the switches of the trace."""
    model, by = pretrained_variant(activation="gelu"), 2e-3  # ReLU has kinks
    trace = model.trace(*TEXT, interventions=Interventions.parse(switches))
    graph = differentiable(model, trace)
    (gradient,) = torch.autograd.grad(graph.log_probs.sum(), [graph.records[name]])
    direction = torch.randn(gradient.shape, generator=torch.Generator().manual_seed(3))
    up, down = (
        float(
            model.retrace(trace, trace.interventions, edits={name: lambda x, way=way: x + way * by * direction})
            .probabilities.double().log().sum()
        )
        for way in (1, -1)
    )  # fmt: skip
    assert float((gradient * direction).sum()) == pytest.approx((up - down) / (2 * by), rel=0.02, abs=0.02)


def test_integrated_gradients_are_complete() -> None:
    """Without a number of points, each row misses less than 1% of its sum."""

    def missed(points: int | None) -> float:
        added, wanted = completeness(MODEL, TRACE, integrated_gradients(MODEL, TRACE, points=points))
        return float(((added - wanted).abs() / wanted.abs().clamp(min=0.2)).max())

    fixed = [missed(points) for points in (2, 32, 400)]
    assert fixed == sorted(fixed, reverse=True) and fixed[-1] < 0.02, fixed
    assert missed(None) <= 0.008


def test_integrated_gradients_of_a_bundled_model_are_complete() -> None:
    model = transformer.load("en-de")
    trace = model.trace("I see a dog.")
    step = 3
    found = integrated_gradients(model, trace, [step])
    added, wanted = (float(one[step]) for one in completeness(model, trace, found))
    assert abs(wanted) > 1 and added == pytest.approx(wanted, rel=0.01)
    # One rule with many points finds the same contributions.
    dense = integrated_gradients(model, trace, [step], points=800).joined()[step]
    assert float((found.joined()[step] - dense).norm() / dense.norm()) < 0.03


def test_nothing_comes_from_later_tokens() -> None:
    for method in (gradient_x_input, integrated_gradients, chefer):
        assert method(MODEL, TRACE).prefix.triu(1).abs().max() == 0


def test_only_the_rows_that_are_asked_for() -> None:
    for method in (gradient_x_input, integrated_gradients, chefer):
        one, whole = method(MODEL, TRACE, [2]), method(MODEL, TRACE)
        torch.testing.assert_close(one.joined()[2], whole.joined()[2])
        assert one.joined()[[0, 1, 3]].isnan().all()


def test_relevance_by_hand() -> None:
    """Equations 6 to 10 of Chefer et al. 2021, with three source and two target tokens, no matrix symmetric."""
    read = torch.tensor([[0.0, 1.0, 1.0], [0.0, 0.0, 2.0], [0.0, 0.0, 0.0]])  # R^ee = I + read
    own = torch.tensor([[0.0, 0.0], [4.0, 0.0]])  # R^dd = I + own
    cross = torch.tensor([[1.0, 0.0, 0.0], [0.0, 2.0, 0.0]])
    across, prefix = relevance([read], [own], [cross])
    assert prefix.tolist() == [[1.0, 0.0], [4.0, 1.0]]
    # Rows of R - I normalised, plus I: R^ee = [1, 1/2, 1/2], [0, 1, 1], [0, 0, 1]; R^dd = [1, 0], [1, 1], transposed
    # [1, 1], [0, 1]. A R^ee = [1, 1/2, 1/2], [0, 2, 2].
    assert across.tolist() == [[1.0, 2.5, 2.5], [0.0, 2.0, 2.0]]
    assert without_residual(torch.eye(2)).tolist() == [[1.0, 0.0], [0.0, 1.0]]  # rows of 0 stay
    # A second layer: first R^de grows by A R^de in self-attention, and R^dd to [1, 0], [8, 1].
    again, prefix = relevance([read], [own, own], [cross, torch.zeros(2, 3)])
    assert prefix.tolist() == [[1.0, 0.0], [8.0, 1.0]]
    assert again.tolist() == [[1.0, 2.5, 2.5], [4.0, 12.0, 12.0]]
    # Two layers of the encoder: R^ee = I + 2 read + read read, whose first row is [1, 2, 4].
    deep, _prefix = relevance([read, read], [torch.zeros(2, 2)], [cross])
    assert deep.tolist() == [[1.0, pytest.approx(2 / 6), pytest.approx(4 / 6)], [0.0, 2.0, 2.0]]


def test_relevance_is_zero_where_the_gradient_is() -> None:
    """With the value projections of cross-attention at 0, no output depends on the source."""
    model = pretrained_variant()
    for layer in model.model.decoder:
        layer.cross_attention.value.weight.zero_()  # type: ignore[union-attr, operator]
        layer.cross_attention.value.bias.zero_()  # type: ignore[union-attr, operator]
    trace = model.trace(*TEXT)
    for method in (gradient_x_input, integrated_gradients, chefer):
        assert method(model, trace).source.abs().max() < 1e-9


ASKING = [name for name, method in METHODS.items() if method.asks]


@pytest.mark.parametrize("switches", ["", "zero=cross.1.1 causal=off"])
def test_a_contrast_is_the_difference_of_two_tokens(switches: str) -> None:
    """ln p(A) - ln p(B): of what is linear in ln p, the attribution of A less that of B."""
    trace, other, steps = MODEL.trace(*TEXT, interventions=Interventions.parse(switches)), 7, [1, 2]
    instead = replace(trace, target_out_ids=(other,) * len(trace.target_out_ids))
    for attributed in (
        lambda trace, contrast=None: attribute(MODEL, trace, "gradient", steps, contrast=contrast),
        lambda trace, contrast=None: integrated_gradients(MODEL, trace, steps, 8, contrast=contrast),
        lambda trace, contrast=None: attribute(MODEL, trace, "leave-one-out", contrast=contrast),
    ):
        both, first, second = (
            one.joined()[steps] for one in (attributed(trace, other), attributed(trace), attributed(instead))
        )
        torch.testing.assert_close(both, first - second, atol=2e-5, rtol=1e-3)
        assert both.abs().max() > 1e-3
    added, wanted = completeness(MODEL, trace, attribute(MODEL, trace, "integrated", contrast=other), other)
    log_probs = trace.logits.double().log_softmax(-1)
    graph = differentiable(MODEL, trace, contrast=other)
    expected = [float(row[token] - row[other]) for row, token in zip(log_probs, trace.target_out_ids, strict=True)]
    assert graph.log_probs[0].tolist() == pytest.approx(expected, abs=1e-4)
    assert bool(((added - wanted).abs() <= TOLERANCE * wanted.abs().clamp(min=0.2) + 1e-6).all())


@pytest.mark.parametrize("name", ASKING)
def test_a_token_against_itself_is_nothing(name: str) -> None:
    found = attribute(MODEL, TRACE, name, [1], contrast=TRACE.target_out_ids[1])
    assert float(found.joined()[1].abs().max()) < 1e-6


def test_a_contrast_that_does_not_fit_gets_one_sentence() -> None:
    for name in METHODS.keys() - set(ASKING):
        with pytest.raises(UserError, match=f"^{name} asks for no token's probability, .* choose gradient, integrated"):
            attribute(MODEL, TRACE, name, contrast=7)
    with pytest.raises(UserError, match="there is no token 9999 to contrast; there are 67, from 0"):
        attribute(MODEL, TRACE, "gradient", contrast=9999)
    with pytest.raises(UserError, match="contrast must be the id of a token, or None; this is 'ka'"):
        attribute(MODEL, TRACE, "gradient", contrast="ka")  # type: ignore[arg-type]
    with pytest.raises(UserError, match="steps must be a list of rows, such as .1.; this is 1, of type int"):
        attribute(MODEL, TRACE, "gradient", 1)  # type: ignore[arg-type]
    with pytest.raises(UserError, match="a step must be a whole number; this is 1.0"):
        attribute(MODEL, TRACE, "gradient", [1.0])  # type: ignore[list-item]
    with pytest.raises(UserError, match="trace must be a Trace"):
        attribute(MODEL, "ka", "gradient")  # type: ignore[arg-type]


def test_integrated_gradients_that_stop_short_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gradients, "MOST", 1)  # the first round, and no other
    monkeypatch.setattr(gradients, "TOLERANCE", 1e-9)
    with pytest.warns(ShortWarning, match="of step 1 may miss their sum of .* nats by .* after 64 points; give"):
        attribute(MODEL, TRACE, "integrated", [1])
