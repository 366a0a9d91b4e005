"""What a field of a dataclass may be, checked and said in one sentence. Standard library only."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from reprlib import repr as shown  # a file may hold a megabyte where a number belongs; messages stay short
from typing import Any

Rule = tuple[Callable[[Any], bool], str]  # whether a value may be so, and how that is said


def whole(low: int, high: int | None = None) -> Rule:
    """A whole number, its bounds included."""
    bounds = f"of at least {low}" if high is None else f"from {low} to {high:,}"
    return lambda value: type(value) is int and low <= value and (high is None or value <= high), (
        f"a whole number {bounds}"
    )


def number(fits: Callable[[float], bool], bounds: str) -> Rule:
    """A number, whole or not, for which `fits` holds; NaN never does."""
    return lambda value: type(value) in (int, float) and fits(value), f"a number {bounds}"


def one_of(choices: Iterable[str]) -> Rule:
    """One of two texts or more."""
    *others, last = choices
    return lambda value: isinstance(value, str) and value in (*others, last), f"{', '.join(others)} or {last}"


def optional(rule: Rule, otherwise: str) -> Rule:
    """None, or what another rule allows. otherwise: what None means."""
    fits, says = rule
    return lambda value: value is None or fits(value), f"{says}, or none for {otherwise}"


SHARE = number(lambda value: 0 <= value < 1, "from 0 up to, not including, 1")
TRUTH: Rule = (lambda value: type(value) is bool, "true or false")


def check_fields(value: object, rules: Mapping[str, Rule], error: type[Exception]) -> None:
    """Check the fields that have a rule, in the order of the rules. Raises the error for the first that breaks its."""
    for name, (fits, says) in rules.items():
        if not fits(arrived := getattr(value, name)):
            raise error(f"{name} is {shown(arrived)}; choose {says}")


def from_table(kind: Any, values: Any, error: type[Exception], what: str) -> dict[str, Any]:
    """The values of a table, if all its names are fields of a dataclass. what: how that is called in sentences."""
    if not isinstance(values, Mapping):
        raise error(f"{type(values).__name__} arrived; a table of names and values is {what}")
    known = [field.name for field in dataclasses.fields(kind)]
    if unknown := sorted(str(name) for name in set(values) - set(known)):
        raise error(f"{what} has no field {shown(unknown[0])}; choose from {', '.join(known)}")
    return dict(values)
