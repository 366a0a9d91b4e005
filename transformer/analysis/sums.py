"""Numbers that add up over the parts of a corpus, as JSON."""

from typing import Any


def added(first: Any, second: Any) -> Any:
    """The sum of two numbers; of two lists or dictionaries of such, value by value. What only one has stays."""
    if isinstance(first, dict):
        both = {name: added(value, second[name]) for name, value in first.items() if name in second}
        return {**first, **second, **both}
    return list(map(added, first, second)) if isinstance(first, list) else first + second
