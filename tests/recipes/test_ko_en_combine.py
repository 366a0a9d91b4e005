"""More pairs from ours: words of a class exchanged in both languages, and the places of frames filled."""

import random
import re

import pytest

from recipes.ko_en.check import FOLDER, odd_columns, read_table
from recipes.ko_en.combine import SLOT, SLOTS, classes, filled, in_english, particle, swapped

FRAMES = [line.split("\t") for line in (FOLDER / "frames.tsv").read_text(encoding="utf-8").splitlines()]


def outcomes(korean: str, english: str) -> set[tuple[str, str] | None]:
    return {swapped(korean, english, random.Random(seed)) for seed in range(60)}


def test_a_word_is_exchanged_with_its_particle_its_article_and_its_number() -> None:
    found = outcomes("사과를 먹었어요.", "I ate an apple.")
    assert {("배를 먹었어요.", "I ate a pear."), ("수박을 먹었어요.", "I ate a watermelon.")} < found
    assert ("오렌지를 먹었어요.", "I ate an orange.") in found and len(found) == len(classes()["fruit"]) - 1
    assert ("강아지들이 왔어요.", "The puppies came.") not in outcomes("고양이들이 왔어요.", "The cats came.")
    assert ("토끼가 두 마리 있어요.", "There are two rabbits.") not in outcomes("새가 왔어요.", "Birds came.")
    assert ("개가 왔어요.", "Dogs came.") in outcomes("새가 왔어요.", "Birds came.")


@pytest.mark.parametrize(
    ("korean", "english", "expected"),
    [
        ("서울로 가요.", "I go to Seoul.", ("부산으로 가요.", "I go to Busan.")),
        ("저는 의사예요.", "I am a doctor.", ("저는 경찰이에요.", "I am a police officer.")),
        ("책을 세 권 샀어요.", "I bought three books.", ("책을 네 권 샀어요.", "I bought four books.")),
        ("버스로 왔어요.", "I came by bus.", ("지하철로 왔어요.", "I came by subway.")),
        ("월요일에 쉽니다.", "We rest on Mondays.", ("화요일에 쉽니다.", "We rest on Tuesdays.")),
        ("은행에 가요.", "I go to the bank.", ("영화관에 가요.", "I go to the movie theater.")),
    ],
)
def test_the_classes_fit_their_places(korean: str, english: str, expected: tuple[str, str]) -> None:
    assert expected in outcomes(korean, english)


@pytest.mark.parametrize(
    ("korean", "english"),
    [
        ("파란 하늘을 봤어요.", "I saw the blue sky."),
        ("의사가 약을 줬어요.", "The doctor gave me medicine."),  # a reporter would not
        ("버스를 탔어요.", "I took the bus."),  # but a taxi
        ("배가 아파요.", "My stomach hurts."),  # not the pear
        ("사과가 사과보다 싸요.", "This apple is cheaper than that apple."),
        ("세 번째 줄이에요.", "It is the three."),
        ("은행에서 일해요.", "I work at a bank."),
    ],
)
def test_what_would_mean_something_else_stays(korean: str, english: str) -> None:
    assert outcomes(korean, english) == {None}


def test_particles_follow_the_last_sound() -> None:
    told = {word: [particle(word, one) for one in ("을", "는", "와", "으로", "에서")] for word in ("물", "차", "밥")}
    assert told["물"] == ["을", "은", "과", "로", "에서"]
    assert told["차"] == ["를", "는", "와", "로", "에서"]
    assert told["밥"] == ["을", "은", "과", "으로", "에서"]


def test_numbers_have_english_names() -> None:
    told = {7: "seven", 12: "twelve", 40: "forty", 99: "ninety-nine", 105: "one hundred five", 500: "five hundred"}
    told |= {15000: "fifteen thousand", 32500: "thirty-two thousand five hundred"}
    assert {number: in_english(number) for number in told} == told


def test_every_word_of_the_tables_is_in_the_vocabulary() -> None:
    stems = {row["stem"] for row in read_table("vocabulary.tsv")}
    painted = {
        "빨간",
        "파란",
        "노란",
        "하얀",
        "검은",
        "두",
        "세",
        "네",
        "오",
        "십",
        "십오",
        "이십",
        "삼십",
        "사십",
        "이",
        "삼",
    }
    words = {korean for rows in classes().values() for korean, *_ in rows} - painted
    words |= {row[column] for row in read_table("counted.tsv") for column in ("korean", "counter")}
    assert words - stems <= {"다섯", "여섯", "일곱", "여덟", "아홉", "열", "사", "육"}


def test_a_frame_is_filled_with_the_same_in_both_languages() -> None:
    draw = random.Random(1)
    for _ in range(200):
        korean, english = filled(
            "{past}에 산 {goods}{은} {price}{이었어요}.", "The {goods} that I bought in {past} was {price}.", draw
        )
        assert re.findall(r"\d{4}(?=년)", korean) == re.findall(r"in (\d{4})", english)
        words = {word: told for word, told, _ in classes()["goods"]}
        assert [told for word, told in words.items() if f"산 {word}" in korean] == [
            told for told in words.values() if f"The {told} that" in english
        ]
    for _ in range(50):
        korean, english = filled("{fruit}{이나} {fruit}{을} 먹자.", "Let's eat {a} {fruit} or {a} {fruit}.", draw)
        assert len(set(re.findall(r"\ban? (\w+)", english))) == 2
        assert not re.search(r"\ban [^aeio]|\ba [aeio]", english)
    assert {filled("{time}에 와.", "Come at {time}.", draw)[1].count(".") for _ in range(50)} == {1, 2}


@pytest.mark.parametrize(("korean", "english"), FRAMES)
def test_frames_name_the_same_places_and_fill_them_whole(korean: str, english: str) -> None:
    own, other = ([name for name in SLOT.findall(text) if name in SLOTS] for text in (korean, english))
    assert sorted(own) == sorted(other) and own
    for seed in range(5):
        pair = filled(korean, english, random.Random(seed))
        assert not odd_columns(pair), pair
