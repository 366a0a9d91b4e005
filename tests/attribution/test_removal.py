"""Value zeroing, leave-one-out, removal curves and agreement."""

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch

from tests.support.build import pretrained_variant, tiny_pretrained
from tests.support.reports import Reports
from transformer.attribution import METHODS, attribute, kendall_tau, removal_curve
from transformer.attribution.agreement import agreement
from transformer.attribution.faithfulness import removable
from transformer.attribution.gradients import differentiable
from transformer.attribution.leaving_out import AT_ONCE, after_removing, leave_one_out, log_probs_without
from transformer.attribution.zeroing import zeroed_layers
from transformer.cancellation import Stopped
from transformer.interventions.sets import Interventions
from transformer.probing.patching import recovery
from transformer.texts import UserError
from transformer.tracing.rerun import EditedError

TEXT = ("ka lo mi vu", "lo mi ka")
MODEL = tiny_pretrained()
TRACE = MODEL.trace(*TEXT)


def test_leaving_a_token_out_is_the_switch_hide() -> None:
    found, plain = leave_one_out(MODEL, TRACE), TRACE.probabilities.log()
    for side, values, tokens in (
        ("source", found.source, range(len(TRACE.source_ids))),
        ("target", found.prefix, range(1, len(TRACE.target_in_ids))),
    ):
        for token in tokens:
            hidden = MODEL.retrace(TRACE, Interventions.parse(f"hide={side}.{token + 1}")).probabilities.log()
            torch.testing.assert_close(values[:, token].float(), (plain - hidden).clone(), atol=1e-4, rtol=1e-3)
    assert found.prefix.triu(1).abs().max() < 1e-5


@pytest.mark.parametrize(
    "changes, switches", [({}, ""), ({}, "scaling=off causal=off"), ({"causal": False}, "")], ids=str
)
def test_one_step_alone_is_a_column_of_all_steps(changes: dict[str, Any], switches: str) -> None:
    """With equal passes, and several that hide the same of the source."""
    model = pretrained_variant(**changes)
    trace = model.trace(*TEXT, interventions=Interventions.parse(switches))
    width = len(trace.source_ids) + len(trace.target_in_ids)
    hidden = torch.randint(0, 2, (AT_ONCE, width), generator=torch.Generator().manual_seed(2)).bool()
    hidden = torch.cat((hidden, hidden[:9], hidden[:9].logical_xor(torch.arange(width) == width - 3)))
    found = log_probs_without(model, trace, hidden)
    assert torch.equal(found[:9], found[AT_ONCE : AT_ONCE + 9])
    for step in range(len(trace.target_in_ids)):
        torch.testing.assert_close(
            log_probs_without(model, trace, hidden, step)[:, 0], found[:, step], atol=1e-5, rtol=0
        )
    for row in (0, 5, -1):
        torch.testing.assert_close(log_probs_without(model, trace, hidden[row, None])[0], found[row], atol=1e-5, rtol=0)


def test_hiding_everything_at_once_and_step_by_step() -> None:
    order = removable(TRACE, 2)
    sources = len(TRACE.source_ids)
    # The words, and the token fed at step 1; </s>, <s> and what the step itself is fed stay.
    assert order == [*range(sources - 1), sources + 1]
    curve = after_removing(MODEL, TRACE, 2, [order, order[::-1]])
    assert curve[0][0] == curve[1][0] == pytest.approx(float(TRACE.probabilities[2]), abs=1e-5)
    assert curve[0][-1] == pytest.approx(curve[1][-1]) and len(curve[0]) == len(order) + 1
    hidden = torch.zeros(1, sources + len(TRACE.target_in_ids), dtype=torch.bool)
    hidden[0, order] = True
    assert curve[0][-1] == pytest.approx(float(log_probs_without(MODEL, TRACE, hidden)[0, 2].exp()))


def test_removal_curves_have_one_entry_a_method_and_the_area_is_their_mean() -> None:
    found = removal_curve(MODEL, TRACE, 1, {name: attribute(MODEL, TRACE, name) for name in ("alti", "leave-one-out")})
    assert list(found) == ["alti", "leave-one-out", "random"]
    for curve in found.values():
        assert curve.area == pytest.approx(sum(curve.probabilities) / len(curve.probabilities))
        assert curve.probabilities[0] == pytest.approx(float(TRACE.probabilities[1]), abs=1e-5)
    # Leaving out one token at a time finds the largest first fall.
    falls = {name: curve.probabilities[0] - curve.probabilities[1] for name, curve in found.items()}
    assert falls["leave-one-out"] >= max(falls["alti"], falls["random"]) - 1e-6


@pytest.mark.parametrize("switches", ["", "skip=encoder.2.self"])
def test_value_zeroing_of_every_layer_is_the_turn_of_its_outputs(switches: str) -> None:
    """Token by token, with an edit of a whole pass; the three kinds of attention."""
    trace = MODEL.trace(*TEXT, interventions=Interventions.parse(switches))
    sources, targets = len(trace.source_ids), len(trace.target_in_ids)

    def turned(name: str, token: int, stack: str, layer: int) -> torch.Tensor:
        def edit(values: torch.Tensor) -> torch.Tensor:
            changed = values.clone()
            changed[:, :, token] = 0
            return changed

        before, after = (
            getattr(one, f"{stack}_ff").leaves[layer].double()
            for one in (trace, MODEL.retrace(trace, trace.interventions, edits={name: edit}))
        )
        return 1 - torch.cosine_similarity(after, before, dim=-1)

    encoder, decoder, cross = zeroed_layers(MODEL, trace)
    for layer in range(2):
        moved = torch.stack([turned(f"encoder.{layer}.self.values", j, "encoder", layer) for j in range(sources)], 1)
        expected = torch.eye(sources).double() if switches and layer else moved / moved.sum(-1, keepdim=True)
        torch.testing.assert_close(encoder[layer], expected, atol=1e-4, rtol=1e-3)
        columns = [("self", j) for j in range(targets)] + [("cross", j) for j in range(sources)]
        moved = torch.stack([turned(f"decoder.{layer}.{part}.values", j, "decoder", layer) for part, j in columns], 1)
        found = torch.cat((decoder[layer], cross[layer]), 1)
        torch.testing.assert_close(found, moved / moved.sum(-1, keepdim=True), atol=1e-4, rtol=1e-3)
        assert decoder[layer].triu(1).abs().max() == 0  # exactly: rounding is no turn


def test_kendall_by_hand() -> None:
    assert kendall_tau(torch.tensor([1.0, 2.0, 3.0]), torch.tensor([10.0, 20.0, 30.0])) == pytest.approx(1)
    assert kendall_tau(torch.tensor([1.0, 2.0, 3.0]), torch.tensor([3.0, 2.0, 1.0])) == pytest.approx(-1)
    # Three pairs: (1, 2) and (1, 3) agree, (2, 3) is a tie in the second row: 2 / sqrt(3 * 2).
    assert kendall_tau(torch.tensor([1.0, 2.0, 3.0]), torch.tensor([1.0, 2.0, 2.0])) == pytest.approx(2 / math.sqrt(6))
    assert math.isnan(kendall_tau(torch.tensor([1.0, 1.0]), torch.tensor([1.0, 2.0])))
    assert math.isnan(kendall_tau(torch.tensor([1.0, math.nan]), torch.tensor([1.0, 2.0])))
    both = agreement([torch.tensor([1.0, 2.0]), torch.tensor([2.0, 1.0])])
    assert both.tolist() == [[1.0, -1.0], [-1.0, 1.0]]


@pytest.mark.parametrize("name", METHODS)
def test_every_method_on_every_row(name: str) -> None:
    found = attribute(MODEL, TRACE, name)
    steps = len(TRACE.target_out_ids)
    assert found.source.shape == (steps, len(TRACE.source_ids)) and found.prefix.shape == (steps, steps)
    assert found.joined().isfinite().all() and found.joined().dtype == torch.float64
    if found.shares:
        torch.testing.assert_close(found.joined().sum(-1), torch.ones(steps, dtype=torch.float64))


def test_an_unknown_method_gets_one_sentence() -> None:
    with pytest.raises(UserError, match="unknown method 'atli'"):
        attribute(MODEL, TRACE, "atli")


@pytest.mark.parametrize("step", [-1, 99])
def test_a_step_that_the_trace_lacks_gets_one_sentence(step: int) -> None:
    for asked in (
        *(lambda name=name: attribute(MODEL, TRACE, name, [step]) for name in METHODS),
        lambda: removal_curve(MODEL, TRACE, step, {}),
    ):
        with pytest.raises(
            UserError, match=f"there is no step {step}; this trace has {len(TRACE.target_in_ids)}, coun"
        ):
            asked()


def plus_one(tensor: torch.Tensor) -> torch.Tensor:
    return tensor + 1


@pytest.mark.parametrize("name", METHODS)
def test_a_trace_that_a_function_edited_is_refused_where_the_method_cannot_see_it(name: str) -> None:
    values, stream = (
        MODEL.retrace(TRACE, edits={tensor: plus_one}) for tensor in ("decoder.0.cross.values", "encoder.0.ff.leaves")
    )
    reads = METHODS[name].reads
    for trace, refused in ((values, reads == "pass"), (stream, reads != "weights")):
        if refused:
            (tensor,) = trace.edits
            with pytest.raises(UserError, match=f"{name} cannot attribute a trace in which a function edited {tensor}"):
                attribute(MODEL, trace, name)
        else:
            found = attribute(MODEL, trace, name).joined()
            torch.testing.assert_close(found.sum(-1), torch.ones(len(found), dtype=torch.float64))


def test_nothing_runs_an_edited_trace_again_without_its_edits() -> None:
    edited = MODEL.retrace(TRACE, edits={"decoder.0.cross.weights": lambda weights: weights.flip(-1)})
    found = {"attention": attribute(MODEL, edited, "attention")}
    again: list[Callable[[], object]] = [
        lambda: removal_curve(MODEL, edited, 1, found),
        lambda: differentiable(MODEL, edited),
        lambda: recovery(MODEL, edited, TRACE, [], 1, 5),
        lambda: MODEL.patch(edited, TRACE, []),
    ]
    for run in again:
        with pytest.raises(EditedError, match=r"a function edited decoder\.0\.cross\.weights in this trace"):
            run()


@pytest.mark.parametrize("name", [name for name, method in METHODS.items() if method.reports])
def test_a_long_method_reports_and_stops(name: str) -> None:
    seen = Reports()
    found = attribute(MODEL, TRACE, name, [1], seen)
    assert torch.equal(found.joined()[1], attribute(MODEL, TRACE, name, [1]).joined()[1])
    assert seen and seen == sorted(seen) and all(0 < done <= total for done, total in seen)
    with pytest.raises(Stopped):
        attribute(MODEL, TRACE, name, [1], lambda done, total: False)


def test_removal_curves_report_every_batch_and_stop() -> None:
    trace = MODEL.trace("ka lo mi vu ti ka lo mi vu ti", "lo mi ka vu ti lo mi")
    methods = {"leave-one-out": attribute(MODEL, trace, "leave-one-out")}
    seen = Reports(2)
    with pytest.raises(Stopped):
        removal_curve(MODEL, trace, 6, methods, progress=seen)
    total = seen[0][1]
    assert seen == [(AT_ONCE, total), (min(2 * AT_ONCE, total), total)]
