"""Which words of a text a model with a closed vocabulary was taught."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest

from recipes.ko_en import words as recipe
from transformer.text.words import Words, words_of

LISTS = Path(__file__).parents[2] / "benchmarks"
ROWS = [
    {"stem": stem, "kind": kind}
    for stem, kind in {
        "학교": "noun", "사과": "noun", "친구": "noun", "마시다": "verb", "듣다": "verb", "춥다": "adjective",
        "모르다": "verb", "명": "counter", "공부하다": "verb",
    }.items()
]  # fmt: skip
TEXTS = (
    "학교에 가요.", "사과에 물을", "친구에 대해", "마셔요 들어요 추워요 몰라요", "공부를 마셨다", "학교를 사과를",
    "학교 사과 친구",
)  # fmt: skip


@pytest.fixture(scope="module")
def words() -> Words:
    return Words.read(recipe.collect(ROWS, TEXTS))


@pytest.fixture(scope="module")
def shipped() -> Words:
    return Words.read((Path(__file__).parents[2] / "checkpoints" / "ko-en" / "words.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("stem", "became"),
    [
        ("마시", ["마시", "마셔"]), ("가", ["가"]), ("춥", ["춥", "추우", "추와", "추워"]), ("듣", ["듣", "들"]),
        ("모르", ["모르", "몰라", "몰러", "모라", "모러"]), ("쓰", ["쓰", "싸", "써"]),
        ("공부하", ["공부하", "공부해"]), ("살", ["살", "사"]),
        ("그렇", ["그렇", "그러", "그래", "그럐"]), ("배우", ["배우", "배워"]),
    ],
)  # fmt: skip
def test_a_stem_has_every_form_it_takes(stem: str, became: list[str]) -> None:
    assert {unicodedata.normalize("NFC", form) for form in recipe.beginnings(stem)} == set(became)


def test_a_word_is_a_known_beginning_with_an_ending_seen_after_three(words: Words) -> None:
    assert words.words == tuple(row["stem"] for row in ROWS)
    assert words.outside("친구를 학교에! 마셔요 공부를") == []  # 를 follows three of the words, though never 친구
    assert words.outside("자전거를 친구처럼 타요, 타요") == ["자전거를", "친구처럼", "타요"]
    assert words.outside(unicodedata.normalize("NFD", "사과를 당근을")) == ["당근을"]


@pytest.mark.parametrize("number", ["3명", "12", "1,234명에", "스물한 명", "삼십오", "세명", "오에"])
def test_a_number_is_known_alone_and_before_what_counts(words: Words, number: str) -> None:
    assert not words.outside(number)
    assert words.outside("3자전거 삼자전거") == ["3자전거", "삼자전거"]


def test_a_mistyped_word_has_the_right_one_near(words: Words) -> None:
    assert words.near("학꾜를")[0] == "학교"
    assert words.near("사괴")[0] == "사과"
    assert not words.near("xyz")
    assert len(words.near("친구", most=1)) == 1


def test_words_are_read_without_their_punctuation() -> None:
    assert words_of('"학교에, 가요?" ...') == ["학교에", "가요"]


def test_what_the_bundled_model_knows_is_told_from_what_it_does_not(shipped: Words) -> None:
    inside = [line.split("\t")[0] for line in (LISTS / "ko-en.tsv").read_text(encoding="utf-8").splitlines()]
    said = [word for text in inside for word in shipped.outside(text)]
    assert len(said) <= 3, said  # of 1,463 words, none of which is outside
    outside = [line.split("\t")[:2] for line in (LISTS / "ko-en-outside.tsv").read_text(encoding="utf-8").splitlines()]
    found = [(word, shipped.outside(text)) for text, word in outside]
    assert all(len(said) <= 1 for _, said in found)
    assert sum(bool(said) for _, said in found) >= 90  # the others are short: 꿀 is also a form of 꾸다
