"""A translation reaches every text of every page, and the language follows whoever reads."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from tests.support.app import every_part, linked
from tests.support.build import SYLLABLES
from tests.support.locale_template import catalogue
from tests.support.pseudo import CODE, message_texts, untranslated, write_catalogue
from transformer.view.languages import languages, load_language

GERMAN = {
    "Heads": "Köpfe",
    "Big text": "Große Schrift",
    "Colours: weight {low} to weight {high}": "Farben von Gewicht {low} bis Gewicht {high}",
}


@pytest.fixture
def locale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of catalogues with the pseudo-language and a little German."""
    folder = tmp_path / "locale"
    folder.mkdir()
    write_catalogue(folder)
    (folder / "de.po").write_bytes(catalogue(GERMAN, "de"))
    monkeypatch.setenv("HEADSCOPE_LOCALE", str(folder))
    for cached in (languages, load_language):
        cached.cache_clear()
    yield folder
    monkeypatch.undo()
    for cached in (languages, load_language):
        cached.cache_clear()


def texts(app: AppTest) -> list[str]:
    return [text for element in app.main for text in message_texts(element.proto)]


@pytest.mark.parametrize("page, part", every_part())
def test_no_text_of_a_page_stays_english(open_page: Callable[..., AppTest], locale: Path, page: str, part: str) -> None:
    app = open_page(page, **linked(part), lang=CODE)
    assert not app.exception
    left = {text: words for text in texts(app) if (words := untranslated(text, [*SYLLABLES, "".join(SYLLABLES)]))}
    assert left == {}
