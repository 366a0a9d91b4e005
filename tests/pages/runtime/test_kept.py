"""What is kept for all viewers, and its names."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import pytest
import torch

from pages.components import figure
from pages.runtime.kept import Kept, named
from transformer.figures.style import Figure, label_axis


@dataclass(frozen=True)
class Pair:
    one: object
    two: object


DIFFERENT = [
    (), (None,), ("",), (0,), (0.0,), (False,), ("0",), (b"0",), ("a", "b"), ("ab",), ("a", "b", ""), (["a", "b"],),
    (["a"], ["b"]), ([["a"], "b"],), ({"a": "b"},), ({"b": "a"},), (Pair("a", "b"),), (Pair("b", "a"),), ("\ud800",),
    (np.zeros(4, np.float32),), (np.zeros((2, 2), np.float32),), (np.zeros(8, np.float16),), (np.zeros(2),),
    (np.zeros(4, np.int32),), (np.array([0, 0, 0, 1e-45], np.float32),), (np.array([0, 0, 0, -0.0], np.float32),),
    (1,), (True,), (1.0,), (float("nan"),), (float("inf"),),
]  # fmt: skip


def test_other_values_have_other_names() -> None:
    for one, other in itertools.combinations(DIFFERENT, 2):
        assert named(*one) != named(*other), (one, other)


def test_the_same_values_have_the_same_name() -> None:
    for values in DIFFERENT:
        assert named(*values) == named(*values) and len(named(*values)) == 16
    numbers = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert named(numbers) == named(torch.tensor(numbers)) == named(np.asfortranarray(numbers)) == named(numbers.copy())
    assert named(numbers) != named(numbers.T) and named(np.float64(0.5)) == named(0.5)
    assert named(("a", "b")) == named(["a", "b"])  # plotly draws either alike


@pytest.mark.parametrize("value", [object(), {1, 2}, np.array(["a", None], object), lambda: None, Pair])
def test_what_has_no_such_name_is_an_error(value: object) -> None:
    with pytest.raises(TypeError, match="no name"):
        named("a", [value])


def test_the_last_used_stay_while_there_is_room() -> None:
    kept: Kept[str] = Kept(5, len)
    assert kept.find("a") is None
    kept.keep("a", "aa")
    kept.keep("b", "bb")
    assert kept.find("a") == "aa" and kept.used == 4
    assert kept.keep("a", "a") == "a" == kept.find("a") and kept.used == 3  # the newest counts
    kept.keep("a", "aa")
    kept.keep("c", "cc")
    assert kept.find("b") is None and kept.find("a") == "aa" and kept.find("c") == "cc" and kept.used == 4
    kept.keep("large", "l" * 9)
    assert kept.find("large") == "l" * 9 and kept.used == 9 and kept.find("a") is None


def test_a_figure_is_made_once_for_the_same_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    kept: Kept[figure.Built] = Kept(10**6, lambda one: len(one.text))
    monkeypatch.setattr(figure, "_kept", lambda: kept)
    made: list[float] = []

    def make(values: np.ndarray, labels: list[str], title: str = "") -> Figure:
        made.append(float(values[0]))
        return label_axis(Figure({"data": [{"type": "scatter", "y": values}]}), "x", labels, most=2)

    first = figure.built(make, np.array([1.0, 2.0]), ["a", "b", "c"])
    assert figure.built(make, np.array([1.0, 2.0]), ["a", "b", "c"]) is first and made == [1.0]
    assert first.frames == 0 and first.thinned == ((3, 2),) and '"y"' in first.text
    second = figure.built(make, np.array([1.0, 2.0]), ["a", "b"])
    assert second.thinned == () and len(made) == 2
    figure.built(make, np.array([3.0, 2.0]), ["a", "b"])
    figure.built(make, np.array([3.0, 2.0]), ["a", "b"], title="another")
    assert made == [1.0, 1.0, 3.0, 3.0]
