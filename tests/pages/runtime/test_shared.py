"""The cache shared by all viewers, and fingerprints of values."""

import itertools
import threading
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import pytest
import torch

from pages.components import figure
from pages.runtime.queue import TurnQueue
from pages.runtime.shared import SharedCache, clear_caches, fingerprint, shared
from tests.pages.runtime.test_queue import nobody_left, until
from tests.support.build import tiny_pretrained
from transformer.figures.drawing import Drawing
from transformer.figures.style import label_axis
from transformer.inference.pretrained import Pretrained
from transformer.tracing.trace import Trace


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


def test_different_values_have_different_keys() -> None:
    for first, second in itertools.combinations(DIFFERENT, 2):
        assert fingerprint(*first) != fingerprint(*second), (first, second)


def test_the_same_values_have_the_same_name() -> None:
    for values in DIFFERENT:
        assert fingerprint(*values) == fingerprint(*values) and len(fingerprint(*values)) == 16
    numbers = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert (
        fingerprint(numbers)
        == fingerprint(torch.tensor(numbers))
        == fingerprint(np.asfortranarray(numbers))
        == fingerprint(numbers.copy())
    )
    assert fingerprint(numbers) != fingerprint(numbers.T) and fingerprint(np.float64(0.5)) == fingerprint(0.5)
    assert fingerprint(("a", "b")) == fingerprint(["a", "b"])  # plotly draws either alike


@pytest.mark.parametrize("value", [object(), {1, 2}, np.array(["a", None], object), lambda: None, Pair])
def test_a_value_without_a_fingerprint_is_an_error(value: object) -> None:
    with pytest.raises(TypeError, match="no fingerprint"):
        fingerprint("a", [value])


def test_concurrent_calls_with_the_same_arguments_run_once() -> None:
    called, together = [], threading.Barrier(8, timeout=20)

    @shared()
    def double(number: int, add: int = 0) -> int | None:
        called.append((number, add))
        time.sleep(0.05)
        if number < 0:
            raise ValueError
        return 2 * number + add or None

    def ask() -> int | None:
        together.wait()
        return double(3)

    with ThreadPoolExecutor(8) as pool:
        assert {future.result() for future in [pool.submit(ask) for _ in range(8)]} == {6}
    assert called == [(3, 0)]
    assert double(0) is None is double(0) and double(3, add=1) == 7 == double(3, add=1)
    assert called == [(3, 0), (0, 0), (3, 1)]
    for _ in range(2):
        with pytest.raises(ValueError):
            double(-1)
    assert called[-2:] == [(-1, 0)] * 2
    clear_caches()
    assert double(3) == 6 and called[-1] == (3, 0)


def test_two_calls_that_wait_for_a_turn_make_a_value_once(monkeypatch: pytest.MonkeyPatch) -> None:
    queue, cache, made = TurnQueue(1), SharedCache[str]("test"), []
    monkeypatch.setattr("pages.runtime.shared.MODEL_QUEUE", queue)
    ask = lambda: cache.get("key", lambda: made.append(1) or "value", queued=True)  # noqa: E731
    with ThreadPoolExecutor(2) as pool:
        with queue.turn(nobody_left):
            asked = [pool.submit(ask) for _ in range(2)]
            until(lambda: queue.waiting == 2)
        assert [one.result() for one in asked] == ["value"] * 2 and made == [1]


def test_models_and_traces_have_keys_by_content() -> None:
    @shared()
    def pair(model: Pretrained, trace: Trace) -> tuple[Pretrained, Trace]:
        return model, trace

    model = tiny_pretrained()
    first, again, different = model.trace("ka", "lo"), model.trace("ka", "lo"), model.trace("ka", "mi")
    assert pair(model, first) is pair(model, again) and pair(model, different)[1] is different


def test_a_figure_is_made_once_for_the_same_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    cache_: SharedCache[figure.Built] = SharedCache("figures")
    monkeypatch.setattr(figure, "FIGURES", cache_)
    made: list[float] = []

    def make(
        values: np.ndarray,
        labels: list[str],
        title: str = "",
        *,
        theme: str = "",
        texts: Mapping[str, str] = MappingProxyType({}),
    ) -> Drawing:
        made.append(float(values[0]))
        return label_axis(Drawing().add_scatter(y=values), "x", labels, most=2)

    first = figure.built(make, np.array([1.0, 2.0]), ["a", "b", "c"])
    assert figure.built(make, np.array([1.0, 2.0]), ["a", "b", "c"]) is first and made == [1.0]
    assert first.frames == 0 and first.thinned == ((3, 2),) and '"y"' in first.text
    second = figure.built(make, np.array([1.0, 2.0]), ["a", "b"])
    assert second.thinned == () and len(made) == 2
    figure.built(make, np.array([3.0, 2.0]), ["a", "b"])
    figure.built(make, np.array([3.0, 2.0]), ["a", "b"], title="another")
    assert made == [1.0, 1.0, 3.0, 3.0]
