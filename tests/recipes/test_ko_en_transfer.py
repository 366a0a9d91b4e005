"""The same Korean verb in other constructions, solved by hand."""

from typing import Any

import pytest

from recipes.ko_en.check import make_kiwi, odd_columns, read_table
from recipes.ko_en.transfer import clause, joined, table, transferred, transfers

BORROWED = ("저는 도서관에서 책을 빌렸어요.", "I borrowed a book at the library.")
SOME = {
    "저는 도서관에서 책을 빌리고 싶어요.": "I want to borrow a book at the library.",
    "나는 도서관에서 책을 빌린 적이 없다.": "I have never borrowed a book at the library.",
    "저는 도서관에서 책을 빌려야 했습니다.": "I had to borrow a book at the library.",
    "저는 도서관에서 책을 빌려도 됩니까?": "May I borrow a book at the library?",
}
LISTENED = {
    "집에서 음악을 들을래요?": "Would you like to listen to music at home?",
    "집에서 음악을 듣지 마.": "Don't listen to music at home.",
    "집에서 음악을 들어 주세요.": "Please listen to music at home.",
    "집에서 음악을 듣고 있습니까?": "Are you listening to music at home?",
    "집에서 음악을 들은 것 같아요.": None,  # the speaker knows
}
OTHERS = {
    "민수가 집에서 음악을 들은 것 같다.": "I think Minsu listened to music at home.",
    "민수가 집에서 음악을 듣고 있어요.": "Minsu is listening to music at home.",
    "민수가 집에서 음악을 듣고 싶어요.": None,  # the verb would be 싶어하다
}
LEFT = (  # no clause of their own, or one that means something else in another construction
    ("비가 와서 집에 있었어요.", "I was at home because it rained."),
    ("어제 친구를 만났어요.", "I met a friend yesterday."),
    ("따뜻한 국이 먹고 싶어요.", "I want to eat warm soup."),
    ("민수가 기다렸다고 했어요.", "Minsu said that he waited."),
    ("창문을 열어 봤어요.", "I tried opening the window."),
    ("글자가 잘 보여요.", "I see the letters well."),
)


@pytest.fixture(scope="module")
def kiwi() -> Any:
    pytest.importorskip("kiwipiepy")
    pytest.importorskip("lemminflect")
    return make_kiwi(read_table("vocabulary.tsv"))


@pytest.mark.parametrize(
    ("pair", "wanted"),
    [
        (BORROWED, SOME),
        (("집에서 음악을 들었어요.", "I listened to music at home."), LISTENED),
        (("집에서 음악을 들읍시다.", "Let's listen to music at home."), LISTENED),
        (("민수가 집에서 음악을 들었다.", "Minsu listened to music at home."), OTHERS),
    ],
)
def test_a_clause_in_other_constructions(kiwi: Any, pair: tuple[str, str], wanted: dict[str, str | None]) -> None:
    found = clause(*pair, kiwi)
    assert found is not None
    made = dict(transferred(found, kiwi))
    assert {korean: made.get(korean) for korean in wanted} == wanted
    assert not any(odd_columns(one) for one in made.items())


@pytest.mark.parametrize("pair", LEFT)
def test_what_is_left_alone(kiwi: Any, pair: tuple[str, str]) -> None:
    assert clause(*pair, kiwi) is None


def test_two_clauses(kiwi: Any) -> None:
    one, other = clause(*BORROWED, kiwi), clause("공원에서 운동을 했어요.", "I exercised in the park.", kiwi)
    assert one is not None and other is not None
    made = dict(joined(one, other, kiwi))
    assert made["저는 도서관에서 책을 빌린 후에 공원에서 운동을 했어요."] == (
        "I exercised in the park after I borrowed a book at the library."
    )
    assert made["저는 도서관에서 책을 빌렸지만 공원에서 운동을 했어요."].startswith(
        "I borrowed a book at the library, but I"
    )
    assert not dict(joined(other, one, kiwi))  # the second one would name its subject again


def test_the_same_seed_gives_the_same_sentences(kiwi: Any) -> None:
    pairs = [BORROWED, *LEFT]
    made = transfers(pairs, kiwi, 5, 1)
    assert made == transfers(pairs, kiwi, 5, 1) and len(set(made)) == 5
    assert made != transfers(pairs, kiwi, 5, 2)


def test_every_row_of_the_table_has_its_columns() -> None:
    names, *rows = table()
    assert names == ["해요", "합니다", "한다", "해", "english", "subject"]
    assert all(len(row) == 6 and any(row[:4]) and row[5] in ("any", "I", "you", "other") for row in rows)
