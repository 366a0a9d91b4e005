"""Texts a person reads go through `_`; English is the source, translations lie in `locale/`."""

from __future__ import annotations

import gettext
from functools import cache

from transformer.places import app_folder


@cache
def _catalogue(language: str) -> gettext.NullTranslations:
    return gettext.translation("headscope", app_folder() / "locale", [language], fallback=True)


def _(text: str) -> str:
    """The text in the language of the page."""
    return _catalogue("en").gettext(text)
