"""What is refused, and with which sentence."""

from collections.abc import Callable

import pytest


def refused(act: Callable[[], object], error: type[Exception], *words: str, most: int = 600) -> str:
    """The one sentence with which this is refused; every word must be in it. most: characters it may have."""
    with pytest.raises(error) as caught:
        act()
    message = str(caught.value)
    assert "\n" not in message and len(message) < most, message
    assert all(word in message for word in words), message
    return message
