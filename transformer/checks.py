"""Checks of dataclass fields, with one-sentence errors. Uses only the standard library."""

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from reprlib import repr as shown  # a file may hold a megabyte where a number belongs; messages stay short
from typing import Any

from transformer.texts import Text, UserError, any_of


class WrongTypeError(UserError, TypeError):
    """An argument of a wrong type. The message says what is allowed and what arrived."""


def expect(value: object, kind: type | tuple[type, ...], name: Text | str, allowed: Text | str) -> None:
    """Raises WrongTypeError unless the value is of this type; True and False are not numbers."""
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise WrongTypeError(
            "{name} must be {allowed}; this is {value}, of type {type}",
            name=name, allowed=allowed, value=shown(value), type=type(value).__name__,
        )  # fmt: skip


Rule = tuple[Callable[[Any], bool], Text | str]  # whether a value is allowed; the allowed values as text


def whole(low: int, high: int | None = None) -> Rule:
    """A whole number from low to high, both included."""
    text = Text("a whole number of at least {low}", low=low)
    if high is not None:
        text = Text("a whole number from {low} to {high:,}", low=low, high=high)
    return lambda value: type(value) is int and low <= value and (high is None or value <= high), text


def number(fits: Callable[[float], bool], allowed: Text | str) -> Rule:
    """A number, whole or not, for which `fits` is true."""
    return lambda value: type(value) in (int, float) and fits(value), allowed


def one_of(choices: Iterable[str]) -> Rule:
    """One of two texts or more."""
    names = tuple(choices)
    return lambda value: isinstance(value, str) and value in names, any_of(names)


def optional(rule: Rule, otherwise: str) -> Rule:
    """None, or a value that the rule allows. otherwise: the text for both, with the placeholder {allowed}."""
    fits, allowed = rule
    return lambda value: value is None or fits(value), Text(otherwise, allowed=allowed)


SHARE = number(lambda value: 0 <= value < 1, Text("a number from 0 up to, not including, 1"))
TRUTH: Rule = (lambda value: type(value) is bool, Text("true or false"))


def check_fields(value: object, rules: Mapping[str, Rule], error: type[UserError]) -> None:
    """Check the fields that have a rule, in the order of the rules. Raises the error for the first invalid field."""
    for name, (fits, allowed) in rules.items():
        if not fits(field := getattr(value, name)):
            raise error("{name} is {value}; choose {allowed}", name=name, value=shown(field), allowed=allowed)


def from_table(kind: Any, values: Any, error: type[UserError], what: Text) -> dict[str, Any]:
    """The values of a table, if all its names are fields of a dataclass. what: the table's name in messages."""
    if not isinstance(values, Mapping):
        raise error("{what} must be a table of names and values; this is {type}", type=type(values).__name__, what=what)
    known = [field.name for field in dataclasses.fields(kind)]
    if unknown := sorted(str(name) for name in set(values) - set(known)):
        raise error(
            "{what} has no field {name}; choose from {names}",
            what=what,
            name=shown(unknown[0]),
            names=any_of(known, unknown[0]),
        )
    return dict(values)
