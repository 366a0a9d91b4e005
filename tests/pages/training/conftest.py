"""A workshop that trains nothing."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pages.runtime.shared import clear_caches
from tests.support.fake_workshop import Shop
from transformer.live_training import workshop


@pytest.fixture(autouse=True)
def shop(monkeypatch: pytest.MonkeyPatch) -> Iterator[Shop]:
    found = Shop()
    monkeypatch.setattr(workshop, "_shared", [found])
    clear_caches()
    yield found
    clear_caches()
