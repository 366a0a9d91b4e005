"""What the pages share between viewers."""

from __future__ import annotations

import pytest

from pages.runtime.memory import LEAST, Accountant, weigh
from pages.runtime.shared import SharedCache
from tests.support.build import tiny_pretrained
from transformer.tracing.trace import Trace


def traced(text: str) -> Trace:
    return tiny_pretrained().trace(text, "lo")


def trace_cache(room: int) -> SharedCache[Trace]:
    return SharedCache("traces", accountant=Accountant(room * LEAST, lambda: 10**12))


def test_the_trace_cache_keeps_the_most_recently_used() -> None:
    made: list[str] = []

    def make(text: str) -> Trace:
        made.append(text)
        return traced(text)

    cache_ = trace_cache(int(2.5 * weigh(traced("ka"))))
    for text in ("ka", "lo", "ka", "mi", "ka", "lo"):
        assert cache_.get(text, lambda text=text: make(text)).source_text == text  # type: ignore[misc]
        assert cache_.accountant.used <= cache_.accountant.room
    assert made == ["ka", "lo", "mi", "lo"]
    assert cache_.get("ka", lambda: make("ka")) is cache_.get("ka", lambda: make("ka"))


def test_errors_are_not_stored() -> None:
    cache_ = trace_cache(10**9)
    first = cache_.get("ka", lambda: traced("ka"))
    with pytest.raises(ValueError, match="the source text is empty"):
        cache_.get("", lambda: traced(""))
    assert cache_.get("ka", lambda: traced("ka")) is first
