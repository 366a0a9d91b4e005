"""Switches that are refused."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from transformer.interventions.sets import InterventionError


def refusal(make: Callable[[], object], *words: str) -> str:
    """The one sentence with which a switch is refused; every word must be in it."""
    with pytest.raises(InterventionError) as error:
        make()
    message = str(error.value)
    assert "\n" not in message and len(message) < 400, message
    for word in words:
        assert word in message, message
    return message
