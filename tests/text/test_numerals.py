"""Numbers in Korean: cases written by hand, and every spelling of a number read back."""

import random
import re

import pytest

from transformer.text.numerals import (
    COUNTERS,
    FIGURES,
    FROM_FIGURES,
    LARGEST,
    LONGEST,
    NATIVE,
    PATTERN,
    SPELLINGS,
    draw_number,
    draw_text,
    mixture,
    number_of,
    other_form,
    parts_of,
    read_numeral,
    spell,
    write_numeral,
)

READ_BY_HAND = {
    0: "영",
    1: "일",
    10: "십",
    11: "십일",
    20: "이십",
    100: "백",
    101: "백일",
    111: "백십일",
    1_000: "천",
    1_010: "천십",
    2_026: "이천이십육",
    9_999: "구천구백구십구",
    10_000: "만",
    11_111: "만 천백십일",
    20_506: "이만 오백육",
    23_506: "이만 삼천오백육",
    110_000: "십일만",
    1_000_000: "백만",
    10_010_000: "천일만",
    100_000_000: "일억",
    100_000_001: "일억 일",
    100_010_000: "일억 일만",
    200_110_000: "이억 십일만",
    1_000_000_000: "십억",
    1_234_567_891: "십이억 삼천사백오십육만 칠천팔백구십일",
    10_000_000_000: "백억",
    999_999_999_999: "구천구백구십구억 구천구백구십구만 구천구백구십구",
}
BY_HAND = {
    # words, digits with units, and both
    "1억 2천만": "120000000", "3만 5천": "35000", "2천": "2000", "10만": "100000", "12만 3,456": "123456",
    "2억 3506만": "235060000", "삼만 5천": "35000", "3만 오천": "35000", "3천500": "3500", "1,200만": "12000000",
    "십만": "100000", "만 천": "11000", "이억 만": "200010000", "억": "100000000", "억 천만": "110000000",
    "십 억 십 삼": "1000000013", "１２만": "120000",
    # digits named one by one, and codes
    "공": "0", "영": "0", "공공칠": "007", "공일공": "010", "영일": "01", "이공이육": "2026", "일영": "10",
    "007": "공공칠", "010": "공일공", "01012345678": "공일공일이삼사오육칠팔", "0": "영", "1,234": "천이백삼십사",
    # native numerals
    "하나": "1", "열둘": "12", "스물": "20", "스물셋": "23", "쉰": "50", "아흔아홉": "99",
    # counters
    "1개": "한 개", "2명": "두 명", "3개": "세 개", "4개": "네 개", "5개": "다섯 개", "12개": "열두 개",
    "20개": "스무 개", "21명": "스물한 명", "30개": "서른 개", "99개": "아흔아홉 개", "100개": "백 개", "0개": "영 개",
    "123명": "백이십삼 명",
    "12 개": "열두 개", "열두 개": "12개", "열두개": "12개", "십이 개": "12개", "스무 명": "20명", "스물한 개": "21개",
    "2026년": "이천이십육 년", "이천이십육 년": "2026년", "이천이십육년": "2026년", "35,000원": "삼만 오천 원",
    "3만 5천 원": "35000원", "3만5천원": "35000원", "삼만 오천 원": "35000원",
    "1월": "일월", "6월": "유월", "10월": "시월", "12월": "십이월", "유월": "6월", "시월": "10월", "십일월": "11월",
    # 일 is one, or it counts days
    "3일": "삼 일", "20일": "이십 일", "삼 일": "3일", "이십삼일": "23일", "이십 삼 일": "23일", "2천3일": "2003일",
    "십 일": "11", "이십 일": "21", "삼일": "31", "일 일": "1일",
}  # fmt: skip


@pytest.mark.parametrize(("number", "numeral"), READ_BY_HAND.items())
def test_a_number_is_written_and_read_as_by_hand(number: int, numeral: str) -> None:
    assert write_numeral(number) == numeral
    assert read_numeral(numeral) == number if number > 9 else number_of(numeral) == number
    assert other_form(str(number)) == numeral and other_form(numeral) == str(number)


def test_other_forms_by_hand() -> None:
    assert {text: other_form(text) for text in BY_HAND} == BY_HAND


def test_native_numerals_by_hand() -> None:
    tens = ["열", "스물", "서른", "마흔", "쉰", "예순", "일흔", "여든", "아흔"]
    assert [word for word, number in NATIVE.items() if number % 10 == 0] == tens
    assert list(NATIVE)[:11] == ["하나", "둘", "셋", "넷", "다섯", "여섯", "일곱", "여덟", "아홉", "열", "열하나"]
    assert list(NATIVE.values()) == list(range(1, 100))


def test_the_spellings_of_two_numbers() -> None:
    assert {name: spell(23_506, name) or "" for name in SPELLINGS} == SPELLINGS
    assert {name: spell(11_111, name) for name in ("groups", "joined", "places", "letters", "spelled", "bare")} == {
        "groups": "만 천백십일", "joined": "만천백십일", "places": "만 천 백 십 일", "letters": "만 천 백 십 일",
        "spelled": "일만 일천일백일십일", "bare": "만 천백십일",
    }  # fmt: skip
    assert (spell(100_010_000, "bare"), spell(100_010_000, "units bare")) == ("억 만", "1억 1만")
    assert (spell(15_000, "units bare"), spell(15_000, "units")) == ("만 5천", "1만 5천")
    assert (spell(7, "native"), spell(7, "native", "개"), spell(7, "groups", "개")) == ("일곱", "일곱 개", "칠 개")
    # No unit in 7, no native numeral for 100, no thirteenth month, and 십 일 is 11.
    assert not any((spell(7, "units"), spell(7, "figures"), spell(100, "native"), spell(13, "digits", "월")))
    assert spell(10, "groups", "일") is None and spell(10, "digits", "일") == "10일"


def test_every_spelling_of_every_length_is_read_back() -> None:
    drawn = random.Random(1)
    for digits in range(1, LONGEST + 1):
        for _ in range(40):
            number = draw_number(digits, drawn)
            assert len(str(number)) == digits
            for name in SPELLINGS:
                for counter in ("", *COUNTERS):
                    if text := spell(number, name, counter):
                        assert (number_of(text), parts_of(text)[1]) == (number, counter), text
                        assert FIGURES.match(other_form(text)) is None or name not in FROM_FIGURES
            if text := mixture(number, drawn):
                assert other_form(text) == str(number), text


OUTSIDE = [
    "", " ", "안녕", "3.14", "-3", "+3", "1조", "일조", "만만", "십백", "만 억", "이 이", "백백", "삼만 이만",
    "일억 억",
    "일억 만 만", "이 1", "3 5만", "12천", "10000만", "0,123", "1,23", "00000", "1234567890123", "13월", "0월", "육월",
    "05월", "하나 개", "하나 년", "스물 개", "열둘 개", "공 개", "한", "열두", "개", "한 두 개", "1/2", "2 + 2",
]  # fmt: skip


@pytest.mark.parametrize("text", OUTSIDE)
def test_other_texts_are_no_numerals(text: str) -> None:
    with pytest.raises(ValueError, match="numeral"):
        number_of(text)
    assert not re.fullmatch(PATTERN, text)


def test_the_pattern_fits_what_is_read_and_nothing_else() -> None:
    rng = random.Random(3)
    letters = sorted(set("".join([*SPELLINGS.values(), *BY_HAND, "., "])) - set("１２"))
    counts = [0, 0]
    for index in range(6000):
        text, at = draw_text(1 + index % LONGEST, rng), rng.randrange(20)
        if index % 2:
            text = text[:at] + rng.choice(letters) + text[at + rng.randrange(2) :]
        elif index % 3:
            text = "".join(rng.choices(letters, k=rng.randrange(1, 6)))
        text = " ".join(text.split()) or "x"
        try:
            parts_of(text)
            reads = True
        except ValueError:
            reads = False
        assert bool(re.fullmatch(PATTERN, text)) == reads, text
        counts[reads] += 1
    assert min(counts) > 1000


def test_numbers_out_of_range_are_refused() -> None:
    for number in (-1, LARGEST + 1):
        with pytest.raises(ValueError, match="is not a number from 0 to 999999999999"):
            write_numeral(number)
    with pytest.raises(ValueError, match="13 digits; choose 1 to 12"):
        draw_number(13, random.Random(1))


def test_what_is_drawn_has_both_directions_all_spellings_and_round_numbers() -> None:
    drawn = random.Random(1)
    texts = [draw_text(7, drawn) for _ in range(4000)]
    counted = [text for text in texts if text[-1] in COUNTERS]
    assert 300 < len(counted) < 1000 and {text[-1] for text in counted} >= set(COUNTERS) - {"월"}
    for name in SPELLINGS:
        assert name == "native" or sum(text == spell(number_of(text), name) for text in texts) > 30, name
    assert sum(str(number_of(text)).count("0") >= 4 for text in texts) > 400
    small = [draw_text(2, drawn) for _ in range(2000)]
    assert len(set(NATIVE) & set(small)) > 60 and sum(text[-1] == "월" for text in small) > 10
