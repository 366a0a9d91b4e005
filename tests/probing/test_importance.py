"""Models without heads, the effect of that, the gradient's estimate, and pruning."""

import dataclasses
import json
import math
import re
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch

import transformer
from tests.support.build import pretrained_variant, tiny_pretrained
from tests.support.reports import Reports
from transformer.cancellation import Stopped
from transformer.interventions.sets import InterventionError, Interventions, Skip
from transformer.probing.alignment import Source, align
from transformer.probing.importance import (
    Curve,
    Unit,
    all_heads,
    effects,
    from_json,
    gradient_importance,
    mean_outputs,
    measured,
    metric_of,
    pruning_curve,
    random_orders,
    rank_correlation,
    sub_layers,
    survey,
    to_json,
    without,
)
from transformer.probing.probes import probe_pairs
from transformer.tracing.finite import NotFiniteError
from transformer.training.evaluation import surprise

MODEL = tiny_pretrained()

PAIRS = [("ka lo mi", "lo mi"), ("vu ti", "ti vu ka"), ("mi", "ka lo")]


def test_a_model_without_heads_is_the_switch_zero() -> None:
    heads = [("encoder_self", 0, 1), ("decoder_self", 1, 0), ("cross", 1, 1)]
    changed = without(MODEL, heads)
    switches = Interventions.parse("zero=encoder_self.1.2,decoder_self.2.1,cross.2.2")
    for source, target in PAIRS:
        expected = MODEL.trace(source, target, interventions=switches)
        torch.testing.assert_close(
            changed.trace(source, target).logits.clone(), expected.logits.clone(), atol=1e-4, rtol=1e-4
        )
        assert changed.translate(source).text == MODEL.translate(source, interventions=switches).text
    whole = without(MODEL, [])
    torch.testing.assert_close(
        whole.trace(*PAIRS[0]).logits.clone(), MODEL.trace(*PAIRS[0]).logits.clone(), atol=1e-5, rtol=1e-4
    )


@pytest.mark.parametrize("skip", ["encoder.1.self", "encoder.2.ff", "decoder.1.cross", "decoder.2.self"])
def test_a_model_without_a_sub_layer_is_the_switch_skip(skip: str) -> None:
    changed = without(MODEL, sub_layers(MODEL.config)[skip])
    expected = MODEL.trace(*PAIRS[0], interventions=Interventions.parse(f"skip={skip}"))
    torch.testing.assert_close(changed.trace(*PAIRS[0]).logits.clone(), expected.logits.clone(), atol=1e-4, rtol=1e-4)
    assert len(sub_layers(MODEL.config)["decoder.1"]) == 3


@pytest.mark.parametrize(
    "part, said",
    [
        (("cross", 9, 0), "cross.10.1 asks for layer 10, but this model has 2 there"),
        (("cross", 0, 3), "cross.1.4 asks for head 4, but this model has 3 per layer"),
        (("cross", 0, -1), "head cannot be -1; give an index from 0"),
        (("self", 0, 0), "unknown attention kind 'self'; choose encoder_self, decoder_self or cross"),
        (("cross", 0, None), "('cross', 0, None) is not a head; write (KIND, LAYER, HEAD) with numbers from 0"),
        ("cross.1.1", "'cross.1.1' is not a head; write (KIND, LAYER, HEAD) with numbers from 0, for example ('cross'"),
        (Skip("encoder", 7, "ff"), "encoder.8.ff asks for layer 8, but this model has 2 there"),
    ],
)
def test_a_part_that_the_model_lacks_is_named(part: Any, said: str) -> None:
    with pytest.raises(InterventionError, match=re.escape(said)):
        without(tiny_pretrained(), [("cross", 1, 0), part])


def test_layers_before_the_change_run_once_for_all_models() -> None:
    seen: dict[bytes, torch.Tensor] = {}
    sizes = []
    for parts in (
        [],
        [("cross", 1, 0)],
        [("decoder_self", 0, 1)],
        [("encoder_self", 1, 1), ("cross", 1, 1)],
        sub_layers(MODEL.config)["encoder.1"],
    ):
        fast, plain = without(MODEL, parts, seen=seen), without(MODEL, parts)
        assert surprise(fast, PAIRS) == surprise(plain, PAIRS)
        sources = [source for source, _ in PAIRS]
        assert [one.text for one in fast.translate_all(sources)] == [one.text for one in plain.translate_all(sources)]
        assert torch.equal(fast.trace(*PAIRS[0]).logits, plain.trace(*PAIRS[0]).logits)
        sizes.append(len(seen))
    # Nothing new is remembered: what lies before each change is a part of the whole model.
    assert sizes[0] > 0 and sizes == sizes[:1] * 5


@pytest.mark.parametrize("way", ["zero", "mean"])
def test_effects_are_differences_of_the_loss(way: str) -> None:
    heads = all_heads(MODEL.config)
    done = Reports()
    groups = {"one": heads[:1], "none": []}
    found = effects(MODEL, PAIRS, groups, way, progress=done)
    assert done == [(1, 2), (2, 2)] and found["none"].loss == pytest.approx(0, abs=1e-6)
    means = mean_outputs(MODEL, PAIRS) if way == "mean" else None
    before, after = (surprise(one, PAIRS) for one in (MODEL, without(MODEL, heads[:1], means)))
    assert found["one"].loss == pytest.approx(after[0] / after[1] - before[0] / before[1], abs=1e-6)
    assert found["none"].score == 0 and found["none"].low == found["none"].high == 0
    with pytest.raises(Stopped):
        effects(MODEL, PAIRS, groups, progress=lambda done, total: False)
    with pytest.raises(ValueError, match="no sentence pairs"):
        effects(MODEL, [], groups)


def test_the_gradients_estimate_by_finite_differences() -> None:
    """For one pair with one row: I_h before normalising is |d loss / d s|, where s multiplies the head's output."""
    pair, by = ("ka lo", "mi"), 1e-3
    found = gradient_importance(MODEL, [pair])
    assert set(found) == set(all_heads(MODEL.config))
    for kind in ("encoder_self", "decoder_self", "cross"):
        norms = sum(found[kind, 0, head] ** 2 for head in range(MODEL.config.heads))
        assert norms == pytest.approx(1)
    trace = MODEL.trace(*pair)
    estimates = []
    for head in range(MODEL.config.heads):
        total = 0.0
        for row in range(len(trace.target_out_ids)):

            def scaled(outputs: torch.Tensor, factor: float, head: int = head, row: int = row) -> torch.Tensor:
                changed = outputs.clone()
                changed[:, head, row] *= factor
                return changed

            up, down = (
                MODEL.retrace(trace, edits={"decoder.0.cross.head_outputs": lambda x, f=1 + sign * by: scaled(x, f)})
                .probabilities.log().sum()
                for sign in (1, -1)
            )  # fmt: skip
            total += abs(float(up - down)) / (2 * by)
        estimates.append(total)
    size = math.sqrt(sum(one * one for one in estimates))
    for head, one in enumerate(estimates):
        assert found["cross", 0, head] == pytest.approx(one / size, abs=0.02)


def test_a_layer_that_does_nothing_has_no_importance() -> None:
    """W^O of 0 makes every gradient of the layer's heads 0."""
    tiny = tiny_pretrained()
    silent = without(tiny, [("cross", 1, head) for head in range(tiny.config.heads)])
    found = gradient_importance(silent, PAIRS[:1])
    assert [found["cross", 1, head] for head in range(tiny.config.heads)] == [0.0] * tiny.config.heads
    assert sum(found["cross", 0, head] ** 2 for head in range(tiny.config.heads)) == pytest.approx(1)


def test_a_model_that_computes_nan_is_refused() -> None:
    broken = pretrained_variant()
    broken.model.decoder[1].cross_attention.query.weight.fill_(math.nan)  # type: ignore[union-attr, operator]
    heads = all_heads(broken.config)
    measurements: list[Callable[[], object]] = [
        lambda: mean_outputs(broken, PAIRS),
        lambda: gradient_importance(broken, PAIRS),
        lambda: pruning_curve(broken, PAIRS, heads),
        lambda: effects(broken, PAIRS, {"one": heads[:1]}),
        lambda: list(align(broken, PAIRS, Source("weights", "predicted"))),
        lambda: list(align(broken, PAIRS, Source("norm", "fed", 1, 0))),
    ]
    for measure in measurements:
        with pytest.raises(NotFiniteError, match="this model computes NaN, not a number"):
            measure()


@pytest.mark.parametrize(
    "group, way, said",
    [
        ([("cross", 0, 0)], "resample", "unknown way 'resample'; choose zero or mean"),
        (
            [("cross", 0, 0), Skip("encoder", 1, "ff")],
            "mean",
            "encoder.2.ff is a sub-layer, and only heads have a mean",
        ),
    ],
)
def test_a_way_that_does_not_exist_is_refused(group: list[Any], way: str, said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        effects(tiny_pretrained(), [("ka lo", "mi")], {"a": group}, way)


@pytest.mark.parametrize("measured", [gradient_importance, lambda model, pairs: pruning_curve(model, pairs, [])])
def test_nothing_is_measured_without_pairs(measured: Callable[..., object]) -> None:
    with pytest.raises(ValueError, match="no sentence pairs"):
        measured(tiny_pretrained(), [])


def test_pruning_ends_without() -> None:
    order = random_orders(MODEL.config, 2)[1]
    assert sorted(order) == sorted(all_heads(MODEL.config)) and order != random_orders(MODEL.config, 2)[0]
    curve = pruning_curve(MODEL, PAIRS, order, every=5)
    assert curve.left[0] == len(order) and curve.left[-1] == 0 and len(curve.score) == len(curve.left)
    last = without(MODEL, order)
    assert [last.translate(source).text for source, _ in PAIRS]
    with pytest.raises(Stopped):
        pruning_curve(MODEL, PAIRS, order, progress=lambda done, total: False)


def test_rank_correlation_by_hand() -> None:
    heads = [("cross", 0, head) for head in range(3)]
    first, second = dict(zip(heads, (1.0, 2.0, 3.0), strict=True)), dict(zip(heads, (5.0, 9.0, 7.0), strict=True))
    assert rank_correlation(first, first) == pytest.approx(1)
    assert rank_correlation(first, second) == pytest.approx(0.5)  # 1 - 6 * (0 + 1 + 1) / (3 * 8)
    # Ranks with ties: 1.5, 1.5, 3 against 1, 2, 3; covariance 1.5 of norms sqrt(1.5) and sqrt(2).
    tied = dict(zip(heads, (4.0, 4.0, 8.0), strict=True))
    assert rank_correlation(tied, first) == pytest.approx(1.5 / math.sqrt(3))
    assert math.isnan(rank_correlation(dict.fromkeys(heads, 4.0), first))
    assert math.isnan(rank_correlation(first | {heads[0]: math.nan}, first))


@pytest.mark.slow
def test_a_survey_is_written_and_read_again() -> None:
    done = Reports()
    found = survey(MODEL, PAIRS, progress=done)
    total = done[-1][1]
    assert [one for one, _ in done] == list(range(1, total + 1))
    assert len(found.curves["random"]) == 10 and len(found.curves["least"]) == 1
    assert found.order[0] == min(found.heads, key=lambda name: found.heads[name].loss)
    nats, tokens, _ = surprise(MODEL, PAIRS)
    assert found.loss == pytest.approx(nats / tokens) and found.sentences == 3
    changed = effects(MODEL, PAIRS, {"cross.1.1": [("cross", 0, 0)]}, "mean")["cross.1.1"]
    assert found.means["cross.1.1"] == changed and found.parts["encoder.1"].score is not None
    assert -1 <= found.agreement() <= 1
    again = from_json(to_json(found), MODEL.config)
    assert again is not None and again.order == tuple(found.order)
    assert again.heads["cross.2.1"].loss == pytest.approx(found.heads["cross.2.1"].loss, rel=1e-4, abs=1e-9)
    assert again.curves["most"][0].left == found.curves["most"][0].left
    other = dataclasses.replace(MODEL.config, heads=1)
    assert from_json(to_json(found), other) is None and from_json("{}", other) is None and from_json("[", other) is None


def test_where_pruning_breaks() -> None:
    assert Curve((16, 8, 4, 0), (40.0, 39.0, 36.0, 0.0)).breaks() == 4
    assert Curve((16, 8, 4, 0), (40.0, 30.0, 36.0, 0.0)).breaks() == 16


def test_the_score_of_a_toy_is_exact_matches() -> None:
    model = transformer.load("reverse")
    pairs = (probe_pairs(model) or [])[:20]
    found = effects(model, pairs, {"all": all_heads(model.config), "none": []})
    whole = 100 * sum(model.translate(source).text == target for source, target in pairs) / 20
    assert metric_of(model) == "exact" and found["all"].score == pytest.approx(-whole)
    assert found["none"].score == found["none"].low == found["none"].high == 0
    low, high = found["all"].low, found["all"].high
    assert low is not None and high is not None and low <= -whole <= high


def test_a_survey_in_units_is_the_same_to_the_last_digit() -> None:
    """Heads that a process measures alone, as JSON; the others share layers that ran before (`Remembered`)."""
    model, pairs = transformer.load("reverse"), [(text, text[::-1]) for text in ("abc", "hello", "kayak", "xyz")]
    units: list[Unit] = []

    def over(some: Sequence[Unit]) -> list[Any]:
        units.extend(some)
        return [json.loads(json.dumps(measured(model, pairs, unit))) for unit in some]

    assert survey(model, pairs, over=over) == survey(model, pairs)
    assert [way for way, _ in units] == ["zero"] * 3 + ["mean"] * 3 + ["zero"] * 2 + ["curve"] * 12
