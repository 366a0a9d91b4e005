"""The languages of the app: English, and one file `locale/<language>.po` for each other one."""

import json
import os
import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

from babel import Locale
from babel.core import UnknownLocaleError, negotiate_locale
from babel.messages.pofile import read_po

from transformer.paths import app_folder
from transformer.texts import ENGLISH, Language, translate
from transformer.view.bundle import FOLDER

VARIABLE = "HEADSCOPE_LOCALE"  # another folder of catalogues, for translators
# Browsers break lines between a term in brackets, a quotation or a percent sign and a particle; U+2060 forbids it.
_BEFORE_PARTICLE = re.compile(r"(?:(?<=[A-Za-z]\))|(?<=[”%]))(?=[가-힣])")


def catalogue_folder() -> Path:
    return Path(os.environ.get(VARIABLE) or app_folder() / "locale")


@cache
def languages() -> Mapping[str, str]:
    """Language code -> the language's own name for itself, English first."""
    codes = [ENGLISH.code, *sorted(path.stem for path in catalogue_folder().glob("*.po"))]
    return {code: _own_name(code) for code in codes}


def _own_name(code: str) -> str:
    try:
        return Locale.parse(code, sep="-").get_display_name() or code
    except (ValueError, UnknownLocaleError):
        return code


@cache
def load_language(code: str) -> Language:
    """One of `languages()`. Raises ValueError if its catalogue is damaged."""
    if code == ENGLISH.code:
        return ENGLISH
    with (catalogue_folder() / f"{code}.po").open("rb") as file:
        catalogue = read_po(file, abort_invalid=True)
    found = {str(entry.id): str(entry.string) for entry in catalogue if entry.id and entry.string and not entry.fuzzy}
    return Language(code, {text: _BEFORE_PARTICLE.sub("\N{WORD JOINER}", other) for text, other in found.items()})


def best_language(asked: Iterable[str]) -> str | None:
    """The first language asked for that the app has: "ko-KR" finds "ko"."""
    found = negotiate_locale([code.replace("_", "-") for code in asked], list(languages()), sep="-")
    return next((code for code in languages() if found and code.lower() == found.lower()), None)


@cache
def _script_texts() -> Mapping[str, tuple[str, ...]]:
    found = json.loads((FOLDER / "texts.json").read_text(encoding="utf-8"))
    return {entry: tuple(texts) for entry, texts in found.items()}


def script_texts(entry: str) -> tuple[str, ...]:
    """The English texts in the script of an entry of the frontend, as `make frontend` lists them."""
    return _script_texts()[entry]


def browser_texts(entry: str) -> dict[str, str]:
    """What the script of an entry needs to speak the reader's language: English -> translated; empty for English."""
    translated = {text: translate(text) for text in script_texts(entry)}
    return {text: other for text, other in translated.items() if other != text}
