"""A queue that trains nothing."""

from collections.abc import Iterator

import pytest

from pages.runtime.shared import clear_caches
from tests.support.fake_queue import FakeQueue
from transformer.live_training import training_queue


@pytest.fixture(autouse=True)
def queue(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeQueue]:
    found = FakeQueue()
    monkeypatch.setattr(training_queue, "_shared", [found])
    clear_caches()
    yield found
    clear_caches()
