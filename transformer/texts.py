"""Texts for readers, in their language. Uses only the standard library.

English is the source. A text stands once in the code: in a call of `_` where it is shown, of `N_` in a table whose
texts are shown later, of `Text` with values that are known earlier, or as the message of a `UserError`.
`locale/<language>.po` holds translations, which `view/languages.py` reads; what it lacks stays English. Values go into
named places, so that a translation can order them its own way:

    _("Layer {layer}, head {head}", layer=2, head=6)
"""

import difflib
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import reduce

from transformer.particles import WithParticles, choose_particles


@dataclass(frozen=True)
class Language:
    """code: as in "ko" or "pt-BR"; translations: English -> translated."""

    code: str
    translations: Mapping[str, str] = field(repr=False, compare=False, default_factory=dict)


ENGLISH = Language("en")

_chosen: ContextVar[Language] = ContextVar("language")
_finder: list[Callable[[], Language]] = [lambda: ENGLISH]


def use_language(language: Language) -> None:
    """The reader's language in this thread from here on."""
    _chosen.set(language)


def find_language_with(find: Callable[[], Language]) -> None:
    """Ask this function in threads that chose none. Without it their texts are English."""
    _finder[0] = find


def reader_language() -> Language:
    """The language of whoever reads what this thread makes."""
    return _chosen.get(None) or _finder[0]()


@contextmanager
def in_language(language: Language) -> Iterator[None]:
    """Texts that are made in this block are in another language than the reader's."""
    before = _chosen.set(language)
    try:
        yield
    finally:
        _chosen.reset(before)


def translate(text: str, /, **values: object) -> str:
    """A text that is marked elsewhere, in the language of the reader; with values, filled in as `str.format` does."""
    language = reader_language()
    translated = language.translations.get(text, text)
    if language.code.startswith("ko"):
        translated = WithParticles(translated) if "{" in translated else choose_particles(translated)
    return translated.format(**values) if values else translated


_ = translate  # of a text that is written in the call, where `make texts` finds it


def N_(text: str, /) -> str:
    """The text as it is, marked for translation: `translate` does that where it is shown."""
    return text


class Text:
    """A text and its values, translated whenever it is shown: by str(), in an f-string, as a value of another text."""

    def __init__(self, text: str, /, **values: object) -> None:
        self.text, self.values = text, values

    def __str__(self) -> str:
        return translate(self.text, **self.values)

    def __format__(self, spec: str) -> str:
        return format(str(self), spec)


def any_of(names: Iterable[str], typed: object = None) -> Text | str:
    """ "a, b or c": the names one can choose from, which are not translated themselves.

    typed: what somebody wrote instead; a similar name is suggested: "a, b or c; did you mean c?".
    """
    *others, last = names
    choices = Text("{others} or {last}", others=", ".join(others), last=last) if others else last
    near = nearest(typed, (*others, last))
    return choices if near is None else Text("{choices}; did you mean {name}?", choices=choices, name=near)


def nearest(typed: object, names: Iterable[str]) -> str | None:
    """The name that is most like what somebody typed, or None if none is like it."""
    if not isinstance(typed, str) or len(typed) > 100:  # the comparison takes time that grows with the square
        return None
    by_case = {name.lower(): name for name in names}
    return next((by_case[name] for name in difflib.get_close_matches(typed.lower(), by_case, 1, 0.7)), None)


def no_attribute(owner: str, name: str, names: Iterable[str]) -> AttributeError:
    """Python's error with the nearest name, which only some shells add."""
    near = None if name.startswith("_") else nearest(name, [one for one in names if not one.startswith("_")])
    return AttributeError(f"{owner} has no attribute {name!r}" + (f"; did you mean {near!r}?" if near else ""))


def comma_list(items: Iterable[str]) -> str:
    """ "a, b, c": texts in the reader's language, whose translation chooses the separator."""
    return _list_of(N_("{first}, {second}"), items)


def semicolon_list(items: Iterable[str]) -> str:
    """ "a; b; c": the same for texts that contain commas themselves."""
    return _list_of(N_("{first}; {second}"), items)


def _list_of(pair: str, items: Iterable[str]) -> str:
    first, *others = [*items] or [""]
    return reduce(lambda listed, item: translate(pair, first=listed, second=item), others, first)


def columns(text: str) -> int:
    """How many columns of a terminal a text takes: two for a wide letter as in Hangul, none for a combining mark or
    a sign without a width."""
    drawn = (one for one in text if not unicodedata.combining(one) and unicodedata.category(one) != "Cf")
    return sum(1 + (unicodedata.east_asian_width(one) in ("W", "F")) for one in drawn)


def pad(text: str, width: int, *, right: bool = False) -> str:
    """The text filled up with spaces to so many columns of a terminal; right: it stands at the right."""
    spaces = " " * (width - columns(text))
    return spaces + text if right else text + spaces


class UserError(ValueError):
    """An error that a user can cause. Its message is a Text: what arrived, what is allowed, what to do."""

    def __init__(self, text: str, /, **values: object) -> None:
        super().__init__(text)
        self.message = Text(text, **values)

    def __str__(self) -> str:
        return str(self.message)
