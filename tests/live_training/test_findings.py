"""What a switch did: numbers of frames, what is expected of which difference, and when the two agree."""

import dataclasses
import math

import numpy as np
import pytest

from transformer.live_training.experiment import Experiment
from transformer.live_training.findings import PREDICTIONS, findings, numbers, prediction, sharpness
from transformer.live_training.frames import Frame, Opening

BASE = Experiment()
OPENING = Opening(
    source="ab", target="b", source_tokens=("a", "b", "</s>"), target_in=("<s>", "b"), target_out=("b", "</s>"),
    layers=1, heads=1, recorded=(0, 100, 200, 300, 400), parameters=9, unseen=10, shown=(("ab", "b"),),
)  # fmt: skip
FLAT = bytes([85] * 9 + [255, 0, 128, 127] + [85] * 6)
SHARP = bytes([255, 0, 0] * 3 + [255, 0, 255, 0] + [0, 255, 0] * 2)


def _frame(step: int, exact: float | None = None, **more) -> Frame:
    values = dict(
        step=step, seconds=step / 100, rate=0.003, loss=1.0 if step else None, validation_loss=None, forced=exact,
        exact=exact, outputs=("b",), predicted=("b", "</s>"), weights=FLAT,
    )  # fmt: skip
    return Frame(**{**values, **more})


def _run(experiment: Experiment = BASE, exact=(0.0, 0.5, None, 0.96, 1.0), ended=True, **last):
    """A run measured at 0, 100, 200, 300 and 400."""
    frames = [_frame(100 * number, value) for number, value in enumerate(exact)]
    frames[-1] = dataclasses.replace(frames[-1], **{"validation_loss": 0.01, **last})
    return experiment, OPENING, frames, ended


def test_numbers_of_a_run() -> None:
    found = numbers(OPENING, _run(weights=SHARP, loss=0.25)[2])
    assert (found.step, found.loss, found.validation_loss, found.exact) == (400, 0.25, 0.01, 1.0)
    assert (found.reached, found.seconds) == (300, 3.0)
    assert numbers(OPENING, _run(exact=(0.0, 0.2, 0.94, None))[2]).reached is None
    first = numbers(OPENING, [_frame(0)])
    assert (first.exact, first.loss, first.reached) == (None, None, None)
    with pytest.raises(ValueError, match="a run needs at least one frame"):
        numbers(OPENING, [])


def test_sharpness_by_hand() -> None:
    assert sharpness(OPENING, _frame(0, weights=SHARP)) == (0.0, 1.0)
    # Six rows of three equal weights; the decoder's first row sees itself alone and does not count, its second has
    # 128/255 and 127/255.
    entropy, largest = sharpness(OPENING, _frame(0))
    p = np.array([128, 127]) / 255
    second = -(p * np.log(p)).sum() / math.log(2)
    assert entropy == pytest.approx((3 + 2 + second) / 6) and largest == pytest.approx((5 / 3 + 128 / 255) / 6)
    # Without a causal mask the first row sees both.
    open_ = bytes([85] * 9 + [128, 127] * 2 + [85] * 6)
    assert sharpness(OPENING, _frame(0, weights=open_))[0] == pytest.approx((5 + 2 * second) / 7)


@pytest.mark.parametrize(
    ("changes", "key", "forward"),
    [
        ({"causal": False}, "mask", True), ({"positions": "none"}, "positions", True),
        ({"positions": "learned"}, "learned-positions", True), ({"scaling": False}, "scaling-small", True),
        ({"heads": 1}, "heads", True), ({"d_k": 2}, "d_k", True), ({"d_k": 99}, "d_k", False),
        ({"layers": 1}, "size", True), ({"d_ff": 999}, "size", False), ({"dropout": 0.1}, "dropout", False),
        ({"smoothing": 0.1}, "smoothing", False), ({"residual": False}, "residual", True),
        ({"norm": "none"}, "norm", True),
        ({"norm": "pre"}, "pre-norm", False), ({"activation": "gelu"}, "", True),
        ({"warmup": 0}, "warmup", True),
        ({"peak_rate": 0.1}, "", True), ({"heads": 2}, "", True), ({"seed": 7}, "", True),
        ({"causal": False, "seed": 7}, "mask", True), ({"causal": False, "steps": 7}, "", True),
        ({"causal": False, "residual": False}, "", True), ({}, "", True),
    ],
)  # fmt: skip
def test_each_difference_has_its_prediction(changes: dict, key: str, forward: bool) -> None:
    other = dataclasses.replace(BASE, **changes)
    assert prediction(BASE, other)[0] == key == prediction(other, BASE)[0]
    if key:
        assert prediction(BASE, other)[1] is forward is not prediction(other, BASE)[1]
        assert PREDICTIONS[key][0] or key == "pre-norm"


def test_expectations_depend_on_task_and_width() -> None:
    wide = dataclasses.replace(BASE, heads=1)
    assert prediction(wide, dataclasses.replace(wide, scaling=False))[0] == "scaling"
    wide = dataclasses.replace(BASE, d_k=64)
    assert prediction(wide, dataclasses.replace(wide, scaling=False))[0] == "scaling"
    ordered = dataclasses.replace(BASE, task="sort")  # the order of its input changes no answer
    assert prediction(ordered, dataclasses.replace(ordered, positions="none"))[0] == ""


FAILS = (0.0, 0.0, 0.0, 0.0, 0.0)
LATE = (0.0, 0.0, 0.0, 0.0, 0.97)
HALF = (0.0, 0.2, 0.5, 0.6, 0.7)
LEARNED = (0.0, 0.5, None, 0.96, 1.0)
EARLY = (0.0, 0.97, 0.97, 1.0, 1.0)


@pytest.mark.parametrize(
    ("changes", "exact", "last", "agrees"),
    [
        ({"causal": False}, FAILS, {"forced": 1.0}, True),
        ({"causal": False}, FAILS, {"forced": 0.2}, False),  # the leak was not found
        ({"causal": False}, LEARNED, {"forced": 1.0}, False),
        ({"causal": False}, HALF, {"forced": 1.0}, False),
        ({"positions": "none"}, FAILS, {}, True), ({"positions": "none"}, LEARNED, {}, False),
        ({"positions": "none"}, HALF, {}, False),
        ({"positions": "learned"}, LEARNED, {}, True), ({"positions": "learned"}, HALF, {}, False),
        ({"heads": 1}, FAILS, {}, True), ({"heads": 1}, LATE, {}, True), ({"heads": 1}, LEARNED, {}, None),
        ({"heads": 1}, EARLY, {}, None), ({"residual": False}, HALF, {}, True),
        ({"scaling": False}, LATE, {}, True), ({"scaling": False}, FAILS, {}, False),  # d_k is 16: alike
        ({"dropout": 0.1}, EARLY, {}, True), ({"dropout": 0.1}, LATE, {}, None),
        ({"smoothing": 0.1}, EARLY, {"validation_loss": 0.5}, True),
        ({"smoothing": 0.1}, LEARNED, {"validation_loss": 0.5}, False),
        ({"smoothing": 0.1}, EARLY, {"validation_loss": 0.001}, False),
        ({"activation": "gelu"}, FAILS, {}, None), ({"causal": False, "heads": 1}, FAILS, {"forced": 1.0}, None),
    ],
)  # fmt: skip
def test_verdicts_compare_results_with_predictions(
    changes: dict, exact: tuple, last: dict, agrees: bool | None
) -> None:
    other = _run(dataclasses.replace(BASE, **changes), exact, **last)
    (found,) = findings([_run(), other])
    assert found.run == 1 and found.differs == BASE.differences(other[0]) and found.agrees is agrees
    assert found.reference == numbers(OPENING, _run()[2]) and found.here == numbers(OPENING, other[2])
    (turned,) = findings([other, _run()])  # the same two, the one without first
    assert turned.agrees is agrees and turned.prediction == found.prediction


def test_unfinished_and_undecided_runs_have_no_verdict() -> None:
    without = dataclasses.replace(BASE, positions="none")
    (found,) = findings([_run(), _run(without, FAILS, ended=False)])
    assert found.prediction == "positions" and found.agrees is None
    assert findings([_run(ended=False), _run(without, FAILS)])[0].agrees is None
    assert findings([_run(exact=FAILS), _run(without, FAILS)])[0].agrees is None  # nothing is learned with them either
    assert findings([_run(exact=HALF), _run(without, FAILS)])[0].agrees is None
    assert findings([]) == findings([(BASE, OPENING, [], False), _run()]) == ()
    assert findings([_run(), (without, OPENING, [], False)]) == ()


@pytest.mark.parametrize(
    ("run", "prediction", "agrees"),
    [
        (_run(), "complete", True), (_run(exact=FAILS), "complete", False), (_run(exact=HALF), "complete", None),
        (_run(ended=False), "complete", None), (_run(dataclasses.replace(BASE, causal=False)), "", None),
        (_run(dataclasses.replace(BASE, warmup=0)), "", None),
    ],
)  # fmt: skip
def test_a_run_alone_is_its_own_reference(run, prediction: str, agrees: bool | None) -> None:
    (found,) = findings([run])
    assert (found.run, found.differs, found.prediction, found.agrees) == (0, (), prediction, agrees)
    assert found.here is found.reference


def test_up_to_four_runs_are_each_laid_beside_the_first() -> None:
    runs = [_run(), *(_run(dataclasses.replace(BASE, **changes), FAILS, forced=1.0)
                      for changes in ({"causal": False}, {"heads": 1}, {"seed": 2}))]  # fmt: skip
    found = findings(runs)
    assert [one.run for one in found] == [1, 2, 3]
    assert [one.prediction for one in found] == ["mask", "heads", ""]
    assert [one.section for one in found] == ["3.2.3", "3.2.2, Table 3 (A)", ""]
