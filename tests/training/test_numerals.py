"""Korean numerals: cases read by hand, and every style of a number read back."""

from __future__ import annotations

import random

import pytest

from transformer.training.numerals import (
    LARGEST,
    LONGEST,
    STYLES,
    draw_number,
    draw_text,
    in_style,
    number_of,
    other_form,
    read_numeral,
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
    ]
    assert [in_style(0, style) for style in STYLES] == ["영"] * 4
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
        "억",
        "일억 억",
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


def test_what_is_drawn_has_both_directions_all_styles_and_round_numbers() -> None:
    drawn = random.Random(1)
    texts = [draw_text(7, drawn) for _ in range(2000)]
    korean = [text for text in texts if text[0] not in "0123456789"]
    assert 900 < len(korean) < 1100
    assert any("," in text for text in texts) and any("일만" in text for text in korean)
    for style in STYLES:
        assert sum(text == in_style(number_of(text), style) for text in korean) > 50
    assert sum(str(number_of(text)).count("0") >= 4 for text in texts) > 200
