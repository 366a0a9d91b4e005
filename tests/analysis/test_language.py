"""Which language a text seems to be in."""

import pytest

from transformer.analysis.language import other_language, script
from transformer.probing.probes import PROBES
from transformer.training.data import read_pairs


@pytest.mark.parametrize(
    ("text", "expected"),
    [("Hello", "LATIN"), ("안녕하세요, Tom", "HANGUL"), ("Привет!", "CYRILLIC"), ("你好", "CJK"), ("12 + 3", None)],
)
def test_the_script_of_most_letters(text: str, expected: str | None) -> None:
    assert script(text) == expected


@pytest.mark.parametrize("text", ["Guten Morgen!", "Danke", "Ich bin müde.", "Wo ist der Bahnhof?", "Schönes Wetter!"])
def test_german_is_recognised_where_english_is_read(text: str) -> None:
    assert other_language(text, "English") == "German" and other_language(text, "German") is None


@pytest.mark.parametrize("text", ["Time flies.", "No", "Jürgen is here.", "asdf", "He will die.", "12"])
def test_english_and_what_is_no_language_pass(text: str) -> None:
    assert other_language(text, "English") is None


def test_no_probe_is_taken_for_the_other_language() -> None:
    for english, german in read_pairs(PROBES / "en-de.tsv"):
        assert other_language(english, "English") is None, english
        assert other_language(german, "German") is None, german
    assert other_language("Guten Morgen!", "Korean") is None
