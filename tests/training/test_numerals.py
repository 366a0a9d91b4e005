"""Korean numerals: cases read by hand, and every style of a number read back."""

from __future__ import annotations

import random

import pytest

from transformer.training.numerals import (
    COUNTING,
    LARGEST,
    LONGEST,
    NATIVE,
    SPELLINGS,
    STYLES,
    digits_of,
    draw_number,
    draw_text,
    in_style,
    number_of,
    other_form,
    read_numeral,
    write_native,
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


@pytest.mark.parametrize(("number", "numeral"), READ_BY_HAND.items())
def test_a_number_is_written_and_read_as_by_hand(number: int, numeral: str) -> None:
    assert write_numeral(number) == numeral
    assert read_numeral(numeral) == number
    assert other_form(str(number)) == numeral and other_form(numeral) == str(number)


def test_the_styles_of_one_number() -> None:
    assert [in_style(11_506, style) for style in STYLES] == [
        "만 천오백육",
        "만천오백육",
        "만 천 오백 육",
        "일만 일천오백육",
        "만 천오백육",
    ]
    assert in_style(200_010_000, "bare") == "이억 만" and in_style(100_000_001, "bare") == "억 일"
    assert [in_style(0, style) for style in STYLES] == ["영"] * 5
    assert other_form("11,506") == "만 천오백육"


def test_every_style_of_every_length_is_read_back() -> None:
    drawn = random.Random(1)
    for digits in range(1, LONGEST + 1):
        for _ in range(200):
            number = draw_number(digits, drawn)
            assert len(str(number)) == digits
            assert {read_numeral(in_style(number, style)) for style in STYLES} == {number}
            assert number_of(f"{number:,}") == number


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "일억 억",
        "만만",
        "35천",
        "3만 5만",
        "2만 30506",
        "1,23만",
        "03만",
        "십백",
        "만 억",
        "이이",
        "영일",
        "일영",
        "백백",
        "삼만 이만",
        "일억 만 만",
        "하나",
        "이 1",
    ],
)
def test_other_texts_are_no_numerals(text: str) -> None:
    with pytest.raises(ValueError, match="numeral"):
        read_numeral(text)


def test_numbers_out_of_range_are_refused() -> None:
    for number in (-1, LARGEST + 1):
        with pytest.raises(ValueError, match="is not a number from 0 to 999999999999"):
            write_numeral(number)
    with pytest.raises(ValueError, match="13 digits; choose 1 to 12"):
        draw_number(13, random.Random(1))


# As people type numbers, with the answer and the number in digits.
TYPED_BY_HAND = {
    "1억 2천만": ("120000000", "120000000"),
    "3만 5천": ("35000", "35000"),
    "2천": ("2000", "2000"),
    "10만": ("100000", "100000"),
    "12만 3,456": ("123456", "123456"),
    "1억 2,345만 6천": ("123456000", "123456000"),
    "2만3천5백6": ("23506", "23506"),
    "2만 삼천오백육": ("23506", "23506"),
    "3 만": ("30000", "30000"),
    "억": ("100000000", "100000000"),
    "1,234": ("천이백삼십사", "1234"),
    "007": ("공공칠", "007"),
    "공공칠": ("007", "007"),
    "영영칠": ("007", "007"),
    "공": ("0", "0"),
    "이공이육": ("2026", "2026"),
    "하나": ("1", "1"),
    "열둘": ("12", "12"),
    "아흔아홉": ("99", "99"),
    "세 개": ("3개", "3"),
    "스무명": ("20명", "20"),
    "스물한 개": ("21개", "21"),
    "이십 개": ("20개", "20"),
    "3개": ("세 개", "3"),
    "20 명": ("스무 명", "20"),
    "123명": ("백이십삼 명", "123"),
    "35000원": ("삼만 오천 원", "35000"),
    "3만 5천 원": ("35000원", "35000"),
    "2026년": ("이천이십육 년", "2026"),
    "이천이십육년": ("2026년", "2026"),
    "5월": ("오월", "5"),
    "6월": ("유월", "6"),
    "시월": ("10월", "10"),
    "십이월": ("12월", "12"),
    "3일": ("삼 일", "3"),
    "이십일": ("21", "21"),
}


@pytest.mark.parametrize(("text", "answer", "digits"), [(text, *wanted) for text, wanted in TYPED_BY_HAND.items()])
def test_what_people_type_is_read_as_by_hand(text: str, answer: str, digits: str) -> None:
    assert other_form(text) == answer
    assert digits_of(text) == digits and number_of(text) == int(digits)


@pytest.mark.parametrize(
    "text",
    ["3.14", "-3", "1조", "13월", "삼 일", "스물 개", "하나 개", "열둘셋", "안녕", "12,34", "개", "1234567890123"],
)
def test_what_is_outside_the_language_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="numeral|number"):
        other_form(text)


def test_every_spelling_of_every_length_is_read_back() -> None:
    assert [spell(23_506) for spell in SPELLINGS.values()] == [
        "23506", "23,506", "이만 삼천오백육", "이만삼천오백육", "이만 삼천 오백 육", "이만 삼천오백육",
        "이만 삼천오백육", "2만 3506", "2만 3,506", "2만3506", "2만 3천 5백 6", "2만 3천5백6", "2만3천5백6",
        "2만 3천5백6", "2만 삼천오백육", "이삼오공육", "0023506",
    ]  # fmt: skip
    drawn = random.Random(1)
    for digits in range(1, LONGEST - 1):
        for _ in range(50):
            number = draw_number(digits, drawn)
            assert {number_of(spell(number)) for spell in SPELLINGS.values()} == {number}


def test_native_numerals_and_counters() -> None:
    assert (
        len(NATIVE) == len(COUNTING) == 99 and NATIVE["서른셋"] == COUNTING["서른세"] == 33 and "스물" not in COUNTING
    )
    for number in range(1, 100):
        assert other_form(write_native(number)) == str(number)
        assert other_form(other_form(f"{number}개")) == f"{number}개"


def test_what_is_drawn_can_be_read_and_has_its_length() -> None:
    drawn = random.Random(1)
    texts = {digits: [draw_text(digits, drawn) for _ in range(500)] for digits in range(1, LONGEST + 1)}
    for digits, several in texts.items():
        for text in several:
            assert len(digits_of(text)) == digits, text
            if not text.endswith("일") or text[-2:-1].isalpha():  # 삼 일 is not read back
                assert digits_of(other_form(text)) == digits_of(text), text
    assert set(texts[1]) > {"하나", "공", "영", "3", "삼"} and {text[-1] for text in texts[1]} > set("개명원년월일")
    assert any(text[0] == "0" for text in texts[5]) and any(text[0] == "공" for text in texts[5])


def test_what_is_drawn_has_both_directions_all_styles_and_round_numbers() -> None:
    drawn = random.Random(1)
    texts = [draw_text(7, drawn) for _ in range(2000)]
    korean = [text for text in texts if not text.replace(",", "").isdigit()]
    assert 1200 < len(korean) < 1500
    assert any("," in text for text in texts) and any("일만" in text for text in korean)
    assert sum(any(letter.isdigit() for letter in text) for text in korean) > 500
    for style in STYLES:
        assert sum(text == in_style(number_of(text), style) for text in korean) > 30
    assert sum(str(number_of(text)).count("0") >= 4 for text in texts) > 200
