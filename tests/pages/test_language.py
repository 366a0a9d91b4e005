"""A translation reaches every text of every page, and the language follows whoever reads."""

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from babel.messages.pofile import PoFileError
from streamlit.testing.v1 import AppTest

from pages.runtime.language import MENU
from tests.support.app import (
    EXAMPLE,
    address,
    components,
    every_part,
    figures,
    linked,
    messages,
    open_page,
    switch_page,
)
from tests.support.build import tiny_pretrained
from tests.support.english import english
from tests.support.locale_template import catalogue
from tests.support.payloads import unpack
from tests.support.pseudo import CODE, html_texts, message_texts, untranslated, untranslated_output, write_catalogue
from transformer.__main__ import COMMANDS, main
from transformer.inference.pretrained import InputError
from transformer.texts import ENGLISH, use_language
from transformer.view.languages import best_language, languages, load_language, script_texts

LENGTH = "length ‖·‖"  # of a figure
PICTURE = next(text for text in script_texts("explorer") if "{low}" in text)
GERMAN = {"Heads": "Köpfe", LENGTH: "Länge", PICTURE: "Farben von {low} bis {high}"}


@contextmanager
def catalogues(folder: Path) -> Iterator[Path]:
    """A folder of catalogues with the pseudo-language and a little German, in place of the project's own."""
    folder.mkdir()
    write_catalogue(folder)
    (folder / "de.po").write_bytes(catalogue(GERMAN, "de"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADSCOPE_LOCALE", str(folder))
        for cached in (languages, load_language):
            cached.cache_clear()
        yield folder
        use_language(ENGLISH)  # commands choose one for this thread
    for cached in (languages, load_language):
        cached.cache_clear()


@pytest.fixture
def locale(tmp_path: Path) -> Iterator[Path]:
    with catalogues(tmp_path / "locale") as folder:
        yield folder


@pytest.fixture(scope="class")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """As `locale`, written and read once for all tests of a class, which must not change it."""
    with catalogues(tmp_path_factory.mktemp("kept") / "locale") as folder:
        yield folder


def texts(app: AppTest) -> list[str]:
    return [text for node in app.main if node.proto is not None for text in message_texts(node.proto)]


@pytest.mark.usefixtures("kept")
class TestEveryPart:
    @pytest.mark.parametrize("page, part", every_part())
    def test_no_text_of_a_page_stays_english(self, page: str, part: str) -> None:
        app = open_page(page, **linked(part), lang=CODE)
        left = {text: words for text in texts(app) if (words := untranslated(text))}
        assert left == {}


@pytest.mark.slow
@pytest.mark.parametrize("page, part", every_part())
def test_no_english_is_left_on_a_korean_page(page: str, part: str) -> None:
    found = texts(open_page(page, **linked(part), lang="ko"))
    assert any("헤드" in text for text in found)
    examples = html_texts(" ".join((EXAMPLE["title"], EXAMPLE["look"])))
    assert {text: left for text in found if text not in examples and (left := english(text))} == {}


def test_errors_notices_and_link_messages_are_translated(locale: Path) -> None:
    app = open_page(lang=CODE, source="ka " * 200, layer="99", zero="cross.9.9", checkpoint="gone", open="x")
    assert "hs-message" in messages(app, notes=True)
    assert [words for text in html_texts(messages(app, notes=True)) if (words := untranslated(text))] == []


@pytest.mark.slow
@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_no_help_text_of_the_command_line_stays_english(command: str, locale: Path, capsys: Any) -> None:
    with pytest.raises(SystemExit):
        main([*command.split(), "--help", "--language", CODE])
    printed = capsys.readouterr().out
    assert "⟦" in printed and untranslated_output(printed) == ""


OUTPUTS = {
    "describe --sentence 123 --checkpoint reverse": 0,
    "describe --all --checkpoint reverse": 0,
    "evaluate --data {data} --checkpoint reverse": 0,
    "translate": 2,
    "translate --checkpoint": 2,
    "evaluate --checkpoint tiny --beam x": 2,
    "train --output tiny --preset huge": 2,
    "train --output tiny --source tiny": 2,
    "describe --checkpoint gone": 2,
    "describe --target tiny": 2,
}


@pytest.mark.parametrize("command", OUTPUTS)
def test_tables_and_errors_of_the_command_line_are_translated(
    command: str, locale: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setenv("HEADSCOPE_LANGUAGE", CODE)
    (tmp_path / "data").write_text("ka\tak\n")
    with suppress(SystemExit):
        assert main(command.format(data=tmp_path / "data").split()) == OUTPUTS[command]
    printed = capsys.readouterr()[OUTPUTS[command] != 0]
    assert "⟦" in printed and untranslated_output(printed) == ""


def test_a_german_catalogue_of_a_few_texts_shows_on_a_page_in_a_picture_and_in_an_error(locale: Path) -> None:
    app = open_page(lang="de")
    header = unpack(components(app, "pack")[0].bytes)[0]
    assert header["texts"] == {PICTURE: GERMAN[PICTURE]}
    assert "Köpfe" in " ".join(texts(app)) and "Paper" in " ".join(texts(app))
    with pytest.raises(InputError) as empty:
        tiny_pretrained().encode("")
    (locale / "de.po").write_bytes(catalogue({empty.value.message.text: "Der Quelltext ist leer"}, "de"))
    load_language.cache_clear()
    assert "Der Quelltext ist leer" in messages(open_page(lang="de", source=" "))


def test_the_language_is_that_of_the_link_the_menu_or_the_server(locale: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app = open_page(lang="de")
    assert "lang" not in address(app) and app.selectbox(key=MENU).value == "de"
    switch_page(switch_page(app, "lab").run(), "heads").run()
    assert "Köpfe" in " ".join(texts(app))
    app.selectbox(key=MENU).set_value("en").run()
    assert "Köpfe" not in " ".join(texts(app)) and "Heads" in " ".join(texts(app))
    assert app.selectbox(key=MENU).options == ["English", "Deutsch", CODE]
    monkeypatch.setenv("HEADSCOPE_LANGUAGE", "de")  # the server's, until a viewer selects one
    assert "Köpfe" in " ".join(texts(open_page())) and "Köpfe" not in " ".join(texts(open_page(lang="en")))
    for file in locale.iterdir():
        file.unlink()
    languages.cache_clear()
    app = open_page(lang="de")
    assert MENU not in [menu.key for menu in app.selectbox] and "Heads" in " ".join(texts(app))


def test_shared_results_appear_in_each_viewers_language(locale: Path) -> None:
    for code in ("de", "en", "de"):
        figure = next(iter(figures(open_page("embeddings", part="norms", lang=code)).values()))
        assert ("Länge" in json.dumps(figure["layout"], ensure_ascii=False)) == (code == "de")


def test_a_catalogue_that_is_damaged_is_named(locale: Path) -> None:
    (locale / "fr.po").write_text('msgid "Heads\n', encoding="utf-8")
    languages.cache_clear()
    with pytest.raises(PoFileError):
        load_language("fr")


@pytest.mark.parametrize(
    "asked, found", [(["ko-KR", "de-AT"], "de"), (["de_DE"], "de"), (["ko"], None), ([], None), (["EN-us"], "en")]
)
def test_the_best_language_is_the_first_available(locale: Path, asked: list[str], found: str | None) -> None:
    assert best_language(asked) == found
