"""Lists of translated texts, and their width in a terminal."""

from collections.abc import Iterator

import pytest

from transformer.texts import (
    ENGLISH,
    Language,
    columns,
    comma_list,
    in_language,
    pad,
    semicolon_list,
    translate,
    use_language,
)


@pytest.fixture
def english_again() -> Iterator[None]:
    yield
    use_language(ENGLISH)


def test_a_list_of_no_one_or_several_texts_is_one_text() -> None:
    assert [comma_list(items) for items in ([], ["a"], ["a", "{b}", "c"])] == ["", "a", "a, {b}, c"]
    assert semicolon_list(f"{letter}, 1" for letter in "ab") == "a, 1; b, 1"


@pytest.mark.usefixtures("english_again")
def test_a_translation_chooses_the_separator() -> None:
    use_language(Language("zh", {"{first}, {second}": "{first}、{second}"}))
    assert comma_list("abc") == "a、b、c"


@pytest.mark.usefixtures("english_again")
def test_a_block_in_another_language_leaves_the_readers_own() -> None:
    use_language(Language("zh", {"yes": "是"}))
    with pytest.raises(RuntimeError), in_language(Language("de", {"yes": "ja"})):
        assert translate("yes") == "ja"
        raise RuntimeError
    assert translate("yes") == "是"


@pytest.mark.parametrize(
    "text, width",
    [
        ("", 0),
        ("head", 4),
        ("헤드 3", 6),
        ("Köpfe", 5),
        ("Ko\u0308pfe", 5),
        ("頭（１）", 8),
        ("√dₖ → 1", 7),
        ("42%\u2060를", 5),
    ],
)
def test_a_text_is_padded_by_the_columns_of_a_terminal(text: str, width: int) -> None:
    assert columns(text) == width
    assert pad(text, width + 3) == text + "   " and pad(text, width + 3, right=True) == "   " + text
    assert pad(text, 0) == text
