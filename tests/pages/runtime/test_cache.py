"""What the pages share between viewers."""

import sys
import time

import pytest

import transformer
from pages.runtime import cache
from pages.runtime.memory import LEAST_SHARE, MEMORY, Accountant, weigh
from pages.runtime.queue import MODEL_QUEUE
from pages.runtime.shared import SharedCache, clear_caches
from tests.support.build import tiny_pretrained
from transformer.tracing.trace import Trace


def traced(text: str) -> Trace:
    return tiny_pretrained().trace(text, "lo")


def trace_cache(room: int) -> SharedCache[Trace]:
    return SharedCache("traces", accountant=Accountant(int(room / LEAST_SHARE), lambda: 10**12))


def test_the_trace_cache_keeps_the_most_recently_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.thread_time", lambda: 0.0)  # all of the same worth
    made: list[str] = []

    def make(text: str) -> Trace:
        made.append(text)
        return traced(text)

    cache_ = trace_cache(int(2.5 * weigh(traced("ka"))))
    for text in ("ka", "lo", "ka", "mi", "ka", "lo"):
        assert cache_.get(text, lambda text=text: make(text)).source_text == text  # type: ignore[misc]
        assert cache_.accountant.used <= cache_.accountant.cache_limit
    assert made == ["ka", "lo", "mi", "lo"]
    assert cache_.get("ka", lambda: make("ka")) is cache_.get("ka", lambda: make("ka"))


def test_errors_are_not_stored() -> None:
    cache_ = trace_cache(10**9)
    first = cache_.get("ka", lambda: traced("ka"))
    with pytest.raises(ValueError, match="the source text is empty"):
        cache_.get("", lambda: traced(""))
    assert cache_.get("ka", lambda: traced("ka")) is first


def test_what_drafts_translations_is_made_in_idle_time_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ctranslate2", reason="pip install '.[fast]'")
    clear_caches()
    monkeypatch.setattr(cache, "DRAFT_AFTER", 0.2)
    path = str(cache.checkpoints()["reverse"])
    with MODEL_QUEUE.turn():
        model = cache.load("reverse", path)
        alone = MEMORY.used
        assert not model._draft
    for _ in range(100):
        if MEMORY.used > alone:
            break
        time.sleep(0.1)
    (draft,) = model._draft
    assert model._drafting() is draft  # hooks that only wait for others change nothing
    assert MEMORY.used - alone >= sys.getsizeof(draft) > model.model.parameter_count()
    assert cache.load("reverse", path) is model
    ours = cache.trace(model, "reverse", "headscope", "", 64)
    assert ours.target_out_ids == transformer.load("reverse").trace("headscope").target_out_ids
    cache.MODELS.clear()
    cache._prepare_draft(("reverse", path, "gone"))  # the model had to go
    assert not MEMORY.cache_keys(cache.MODELS)
