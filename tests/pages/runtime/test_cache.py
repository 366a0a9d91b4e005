"""What the pages share between viewers."""

from __future__ import annotations

import pytest

from pages.runtime.cache import size
from pages.runtime.shared import SharedCache
from tests.support.build import tiny_pretrained
from transformer.tracing.trace import Trace


def traced(text: str) -> Trace:
    return tiny_pretrained().trace(text, "lo")


def test_a_trace_is_as_large_as_its_tensors() -> None:
    short, long = traced("ka"), traced("ka lo mi nu re")
    assert size(short.logits) == 4 * short.logits.numel()
    assert size(short.cross) == sum(size(getattr(short.cross, name)) for name in vars(short.cross))
    assert size(short) > size(short.cross) + size(short.logits) and size(long) > size(short)
    assert size(short.source_text) == 0


def test_the_trace_cache_keeps_the_most_recently_used() -> None:
    made: list[str] = []

    def make(text: str) -> Trace:
        made.append(text)
        return traced(text)

    cache_ = SharedCache[Trace](2 * size(traced("ka")), size)
    for text in ("ka", "lo", "ka", "mi", "ka", "lo"):
        assert cache_.get(text, lambda text=text: make(text)).source_text == text  # type: ignore[misc]
        assert cache_.used <= cache_.capacity
    assert made == ["ka", "lo", "mi", "lo"]
    assert cache_.get("ka", lambda: make("ka")) is cache_.get("ka", lambda: make("ka"))


def test_a_trace_larger_than_the_cache_is_stored_alone_and_errors_are_not_stored() -> None:
    cache_ = SharedCache[Trace](1, size)
    first = cache_.get("ka", lambda: traced("ka"))
    assert cache_.get("ka", lambda: traced("ka")) is first and cache_.used == size(first)
    with pytest.raises(ValueError, match="the source text is empty"):
        cache_.get("", lambda: traced(""))
    assert cache_.get("ka", lambda: traced("ka")) is first
