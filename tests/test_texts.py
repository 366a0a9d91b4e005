"""Lists of translated texts."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from transformer.texts import ENGLISH, Language, comma_list, in_language, semicolon_list, translate, use_language


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
