"""Translators get every text of the app, and the catalogues that ship fit it."""

from __future__ import annotations

import string
from pathlib import Path

import pytest

from tests.support.locale_template import all_texts, catalogue, texts
from transformer.figures import positions
from transformer.view.languages import languages, load_language


def test_the_template_has_texts_of_pages_figures_errors_and_scripts() -> None:
    found = catalogue()
    for text in ("Big text", positions.LABELS["encoding"], "whole target in sight", "Attention explorer"):
        assert text.encode() in found


def test_texts_are_found_in_every_kind_of_call() -> None:
    code = """
f"<p>{escape(_('first'))}</p>"; _("sec" "ond", n=1); f(N_("third")); gettext("no"); '_("no")'; Text("fourth {n}", n=2)
def f():
    raise CheckpointError("fifth {n}", n=3) from None
    raise ValueError("for programmers")
"""
    assert texts(code) == ["first", "second", "third", "fourth {n}", "fifth {n}"]
    with pytest.raises(ValueError, match=r"^line 1: _\(word\) needs a text as it stands$"):
        texts("_(word)")


def places(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}


@pytest.mark.parametrize("code", [code for code in languages() if code != "en"])
def test_a_translation_has_the_places_of_its_text_and_nothing_that_is_gone(code: str) -> None:
    translations = load_language(code).translations
    assert set(translations) <= set(all_texts())
    for text, translated in translations.items():
        assert places(translated) == places(text), text


def test_a_catalogue_is_one_file() -> None:
    assert {path.suffix for path in (Path(__file__).parents[2] / "locale").iterdir()} <= {".md", ".po", ".pot"}
