"""What the small Korean-English model is trained on, and what is kept away from it."""

from collections.abc import Sequence

from recipes.ko_en.check import odd_columns
from recipes.ko_en.text import EVERY, TIMES, bare, listed, own_pairs, texts


def test_no_pair_of_ours_is_odd_or_stands_twice_or_in_a_list_that_measures() -> None:
    own = own_pairs()
    assert len(own) >= 15_000 and not [problem for columns in own for problem in odd_columns(columns)]
    sources = {bare(columns[0]) for columns in own}
    assert len(sources) == len(own) and not sources & listed() and len(listed()) == 400


def test_every_fiftieth_pair_validates_and_what_is_held_out_is_in_no_text() -> None:
    own = [[f"문장 {number}.", f"Sentence {number}.", f"The sentence {number}."] for number in range(EVERY + 3)]

    def in_styles(korean: str, english: Sequence[str]) -> list[str]:
        assert english[1:] == [f"The {english[0].lower()}"]
        return {"문장 3.": ["문장 둘.", "문장2.", "문장 4."], "문장 51.": ["문장 쉰하나."]}.get(korean, [])

    tatoeba = [("문장51?", "It validates."), ("문장, 2.", "Held out."), ("새 문장.", "New.")]
    train, validation = texts(own, tatoeba, {bare("문장 2!")}, in_styles)
    assert validation == [("문장 0.", "Sentence 0."), ("문장 51.", "Sentence 51.")]
    assert train[: TIMES + 1] == [("문장 1.", "Sentence 1.")] * TIMES + [("문장 1.", "The sentence 1.")]
    assert train[-2:] == [("문장 둘.", "Sentence 3."), ("새 문장.", "New.")] and len(train) == EVERY * (TIMES + 1) + 2
