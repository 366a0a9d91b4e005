"""Which translations of the Korean-English lists count as right."""

import pytest

from recipes.ko_en.score import fits, rows, translated


@pytest.mark.parametrize(
    ("translation", "right"),
    [
        ("I put a little cinnamon in coffee.", True),
        ("I put a little ground black-brown cinnamon in coffee.", True),
        ("I put a little of the good old cinnamon in coffee.", False),  # six words in the gap
        ("I put a little  in coffee.", False),
        ("I put a little cinnamon in tea.", False),
        ("I put a little cinnamon, salt in coffee.", False),
        ("I put a little cinnamon in coffee. Yes.", False),
        ("I add cinnamon to coffee.", True),
    ],
)
def test_only_the_words_in_a_gap_are_free(translation: str, right: bool) -> None:
    assert fits(translation, ["I put a little ___ in coffee.", "I add cinnamon to coffee."]) is right


def test_marks_of_a_translation_are_no_pattern() -> None:
    assert fits("Really? (Yes.)", ["Really? (Yes.)"])
    assert not fits("Reall (YesX)", ["Really? (Yes.)"])


@pytest.mark.parametrize("outside", [False, True])
def test_every_line_is_judged_by_its_own_translations(outside: bool) -> None:
    class Knows:
        """Answers each source with the last of its accepted translations, and the first source with nothing."""

        def translate_all(self, sources: list[str]) -> list[object]:
            of = {columns[0]: columns[-1].replace("___", "one") for columns in rows(outside)}
            return [type("", (), {"text": of[source] if place else ""}) for place, source in enumerate(sources)]

    judged = translated(Knows(), outside)  # type: ignore[arg-type]
    assert [right for *_, right in judged] == [False] + [True] * (len(rows(outside)) - 1)
    assert len(judged) == (100 if outside else 300)
