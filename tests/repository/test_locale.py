"""Translators get every text of the app, and the catalogues that ship fit it."""

import re
import string
from pathlib import Path

import pytest
from babel.messages.pofile import read_po

from tests.support.locale_template import all_texts, catalogue, texts, update
from transformer.particles import WithParticles
from transformer.view.languages import languages, load_language


def test_the_template_has_texts_of_pages_figures_errors_and_scripts() -> None:
    found = catalogue()
    for text in (
        "Big text",
        "The {d_model} numbers added to each token",
        "whole target in sight",
        "Attention explorer",
    ):
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
def test_a_language_has_every_text_and_nothing_that_is_gone(code: str) -> None:
    translations = load_language(code).translations
    assert set(translations) == set(all_texts()), "make texts, then translate what waits"
    for text, translated in translations.items():
        assert places(translated) == places(text), text


@pytest.mark.parametrize("code", [code for code in languages() if code != "en"])
def test_a_language_is_as_make_texts_writes_it(code: str, tmp_path: Path) -> None:
    """Without placeholders for people, and without dates, which would change in every commit."""
    shipped = (Path(__file__).parents[2] / "locale" / f"{code}.po").read_bytes()
    again = tmp_path / f"{code}.po"
    again.write_bytes(shipped)
    update(again)
    assert again.read_bytes() == shipped, "make texts"
    header = shipped.partition(b"\n\n")[0]
    assert (
        not re.search(rb"ADDRESS|FULL NAME|YEAR|li\.org|-Date", header) and b"Project-Id-Version: Headscope" in header
    )


def test_no_line_breaks_before_a_korean_particle() -> None:
    """Browsers break lines after a bracket or a percent sign; particles are chosen as without the joiner."""
    found = load_language("ko").translations.values()
    assert any("(cross-attention)\N{WORD JOINER}은" in text for text in found)
    assert [text for text in found if re.search(r"(?:[A-Za-z]\)|%)[가-힣]", text)] == []
    assert WithParticles("{n}%\N{WORD JOINER}을(를)").format(n=3) == "3%\N{WORD JOINER}를"


def test_a_catalogue_is_one_file() -> None:
    assert {path.suffix for path in (Path(__file__).parents[2] / "locale").iterdir()} <= {".md", ".po", ".pot", ".tsv"}


def test_a_file_keeps_its_translations_and_loses_those_of_texts_that_are_gone(tmp_path: Path) -> None:
    first, second = all_texts()[:2]
    path = tmp_path / "de.po"
    path.write_bytes(catalogue({first: "eins"}, "de"))
    with path.open("ab") as file:
        file.write(b'\nmsgid "a text that is gone"\nmsgstr "weg"\n')
    assert update(path) == len(all_texts()) - 1
    with path.open("rb") as file:
        found = {str(entry.id): str(entry.string) for entry in read_po(file) if entry.id}
    assert found[first] == "eins" and found[second] == "" and set(found) == set(all_texts())
