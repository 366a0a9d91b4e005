"""Queues of fake workers."""

from collections.abc import Iterator

import pytest

from tests.support.training_queues import Start, training_queues


@pytest.fixture
def start() -> Iterator[Start]:
    with training_queues() as make:
        yield make
