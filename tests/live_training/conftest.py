"""Workshops of fake workers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.workshops import Start, workshops


@pytest.fixture
def start() -> Iterator[Start]:
    with workshops() as make:
        yield make
