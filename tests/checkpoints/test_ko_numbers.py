"""The model of Korean numerals: its answers, number by number, and what its card says of its heads."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest

import transformer
from transformer.inference.pretrained import Pretrained
from transformer.interventions.sets import Interventions
from transformer.text.numerals import DIGITS, GROUPS, PLACES, STYLES, draw_number, in_style, write_numeral
from transformer.training.recording import Recording

CARD = Path(__file__).resolve().parents[2] / "checkpoints" / "ko-numbers" / "README.md"
UNITS = frozenset(PLACES[1:] + GROUPS[1:])
COUNT = 600  # numbers that the card's shares were counted on


@pytest.fixture(scope="module")
def model() -> Pretrained:
    return transformer.load("ko-numbers")


def inputs(number: int) -> dict[str, str]:
    """Every way to write a number that the model was trained on, with its answer."""
    words = write_numeral(number)
    return {str(number): words, f"{number:,}": words} | {in_style(number, style): str(number) for style in STYLES}


def wrong(model: Pretrained, numbers: Iterable[int]) -> list[tuple[str, str]]:
    """The inputs that the model answers wrongly, with its answers."""
    asked = sorted((pair for number in numbers for pair in inputs(number).items()), key=lambda pair: len(pair[0]))
    answers = [one.text for one in model.translate_all([source for source, _ in asked])]
    return [(source, answer) for (source, right), answer in zip(asked, answers, strict=True) if answer != right]


def test_small_numbers_and_large_ones_are_right_in_both_directions(model: Pretrained) -> None:
    """Digits with commas and without; words with spaces, without, and with every 일."""
    rng = random.Random(26)
    assert sorted(inputs(11_111)) == sorted(
        ["11111", "11,111", "만 천백십일", "만천백십일", "만 천 백 십 일", "일만 일천일백일십일"]
    )
    large = [rng.randrange(1000, 10**10 + 1) for _ in range(150)]
    large += [draw_number(digits, rng) for digits in range(4, 11) for _ in range(30)]  # many zeros, many ones
    assert wrong(model, [*range(1000), *large]) == []


@pytest.mark.long
def test_every_number_below_100_000_is_right(model: Pretrained) -> None:
    """In every way of writing it."""
    assert wrong(model, range(100_000)) == []


def test_the_mistake_that_the_card_names(model: Pretrained) -> None:
    assert wrong(model, [1_000_000_013]) == [("십억십삼", "1000000033")]
    assert "`십억십삼`" in CARD.read_text(encoding="utf-8")


def test_the_units_alone_are_read_as_the_card_says(model: Pretrained) -> None:
    units = ["십", "백", "천", "만", "일억", "억"]
    assert [one.text for one in model.translate_all(units)] == ["10", "100", "1000", "10000", "100000000", "000000000"]
    assert "억 alone becomes 000000000" in card()


def test_left_out_ones_that_no_text_in_training_had(model: Pretrained) -> None:
    """일 left out before the 억 that begins the number, and before a 만 inside it."""
    rng = random.Random(26)
    first = [rng.randrange(10**8, 2 * 10**8) for _ in range(300)]
    inside = [rng.randrange(1, 100) * 10**8 + 10**4 + rng.randrange(10**4) for _ in range(300)]
    for numbers, one, bare, told in (
        (first, "일억", "억", "as in `억 천만`, # of 300"),
        (inside, " 일만", " 만", "as in `이억 만`, # of 300"),
    ):
        pairs = [(in_style(number, "groups"), str(number)) for number in numbers]
        assert all(one in source for source, _ in pairs)
        answers = [one.text for one in model.translate_all([source.replace(one, bare) for source, _ in pairs])]
        mistakes = sum(answer != right for answer, (_, right) in zip(answers, pairs, strict=True))
        assert told.replace("#", str(mistakes)) in card()


def test_inputs_that_it_has_not_learned(model: Pretrained) -> None:
    """Digits with units, native numerals, digits that begin with a zero, signs: the answers that the card names."""
    answers = {
        "3만": "삼00000", "10억": "백00000000", "2억 5천만": "이110000000", "하나": "", "스물셋": "", "공": "",
        "공일공": "1", "007": "영칠십", "05": "영오십오", "-3": "사", "3.5": "삼백",
    }  # fmt: skip
    assert dict(zip(answers, [one.text for one in model.translate_all(list(answers))], strict=True)) == answers
    assert [text for pair in answers.items() for text in pair if text and f"`{text}`" not in card()] == []


def test_digits_with_units_and_zeros_in_front_are_wrong_as_often_as_the_card_says(model: Pretrained) -> None:
    rng = random.Random(26)
    mixed, padded = {}, []
    for _ in range(300):
        high, low = rng.randrange(1, 10**4), rng.randrange(1, 10**4)
        mixed |= {f"{high}만": str(high * 10**4), f"{high}억 {low}만": str(high * 10**8 + low * 10**4)}
    for _ in range(300):
        number = rng.randrange(1, 10 ** rng.randrange(1, 7))
        padded.append(("0" * rng.randrange(1, 4) + str(number), write_numeral(number)))
    for pairs, told in (
        (list(mixed.items()), "Of # random ones such as `3506만` and `2억 3506만`, none is right"),
        (padded, "Of 300 random numbers with one to three zeros in front, # are wrong"),
    ):
        answers = [one.text for one in model.translate_all([source for source, _ in pairs])]
        mistakes = sum(answer != right for answer, (_, right) in zip(answers, pairs, strict=True))
        assert told.replace("#", str(mistakes)) in card()


# -- heads ------------------------------------------------------------------------------------------------------------


def named(text: str) -> tuple[dict[int, int], dict[int, int]]:
    """What a numeral names: power of ten -> index of its digit, and of its unit."""
    digits, units = {}, {}
    power = place = 0
    for at, letter in reversed(list(enumerate(text))):
        if letter in GROUPS[1:]:
            power, place = 4 * GROUPS.index(letter), 0
            units[power] = at
        elif letter in PLACES[1:]:
            place = PLACES.index(letter)
            units[power + place] = at
        elif letter in DIGITS:
            digits[power + place] = at
    return digits, units


def test_what_a_numeral_names_by_hand() -> None:
    #                     0123456789
    assert named("이만 삼천오백육") == ({4: 0, 3: 3, 2: 5, 0: 7}, {4: 1, 3: 4, 2: 6})
    assert named("십일억 천칠만 이십") == ({8: 1, 4: 5, 1: 8}, {9: 0, 8: 2, 7: 4, 4: 6, 1: 9})
    assert named("만") == ({}, {4: 0})


@pytest.fixture(scope="module")
def drawn() -> list[int]:
    rng = random.Random(7)
    return [draw_number(rng.randint(2, 10), rng) for _ in range(COUNT)]


def card() -> str:
    """The text of the card on one line."""
    return " ".join(CARD.read_text(encoding="utf-8").split())


def share(pattern: str) -> float:
    """The percentage in a sentence of the card, which stands for the # of the pattern."""
    (found,) = re.findall(pattern.replace("#", r"(\d+\.\d)%"), card())
    return float(found)


@pytest.mark.slow
def test_where_a_digit_and_a_zero_look(model: Pretrained, drawn: list[int]) -> None:
    """From words to digits, rows read by the token predicted. The last unit before a zero is one of its place or of a
    higher one: in 십만 the first zero stands for the 만 itself."""
    right, asked = Counter[str](), Counter[str]()
    for number in drawn:
        text, written = in_style(number, "groups"), str(number)
        trace = model.trace(text)
        assert trace.target_text == written and len(trace.source_ids) == len(text) + 1
        digits, units = named(text)
        looks = trace.cross.weights[1].argmax(-1).tolist()  # [head][row]
        for row, digit in enumerate(written):
            power = len(written) - 1 - row
            if digit == "0":
                asked["zero"] += 1
                right["its unit"] += looks[2][row] == max(at for unit, at in units.items() if unit >= power)
                right["a unit"] += text[looks[2][row] : looks[2][row] + 1] in UNITS
            elif power in digits:
                asked["digit"] += 1
                right["digit"] += looks[0][row] == digits[power]
    assert f"{asked['digit']:,} digits" in card() and f"{asked['zero']:,} zeros" in card()
    assert share("at the word for it: #") == round(100 * right["digit"] / asked["digit"], 1)
    assert share("at the last unit before it: #") == round(100 * right["its unit"] / asked["zero"], 1)
    assert share("at one of the units: #") == round(100 * right["a unit"] / asked["zero"], 1)


@pytest.mark.slow
def test_where_a_word_for_a_digit_and_a_unit_look(model: Pretrained, drawn: list[int]) -> None:
    """From digits to words, rows read by the token predicted."""
    right, asked = Counter[str](), Counter[str]()
    for number in drawn:
        trace = model.trace(str(number))
        assert trace.target_text == write_numeral(number)
        digits, units = named(trace.target_text)
        last = len(str(number))  # of the end token
        looks = trace.cross.weights.argmax(-1).tolist()  # [layer][head][row]
        for power, row in digits.items():
            asked["digit"] += 1
            right["digit"] += all(looks[1][head][row] == last - 1 - power for head in (0, 2, 3))
        for row in units.values():
            asked["unit"] += 1
            right["end"] += looks[0][2][row] == last
    assert f"{asked['digit']:,} words for digits" in card() and f"{asked['unit']:,} units" in card()
    assert share("all three at their digit: #") == round(100 * right["digit"] / asked["digit"], 1)
    assert share("at the end token: #") == round(100 * right["end"] / asked["unit"], 1)


def test_without_one_head_the_zeros_are_wrong(model: Pretrained, drawn: list[int]) -> None:
    """The share of right answers without layer 2, head 3, and without any other head of that layer."""
    pairs = [(in_style(number, "groups"), str(number)) for number in drawn if "0" in str(number)]
    found = []
    for head in range(1, 5):
        off = Interventions.parse(f"zero=cross.2.{head}")
        answers = [one.text for one in model.translate_all([source for source, _ in pairs], interventions=off)]
        found.append(round(100 * sum(a == b for a, (_, b) in zip(answers, pairs, strict=True)) / len(pairs), 1))
    assert f"{len(pairs)} of these numbers have a zero" in card()
    assert share("right answers to them fall to #;") == found[2]
    assert share("heads of the layer, to # at the lowest") == min(found[0], found[1], found[3])


def test_the_recording_has_the_shares_that_the_card_names() -> None:
    recording = Recording.from_file(CARD.with_name("learning.npz"))
    exact = {step: score["exact"] for step, score in zip(recording.steps, recording.scores, strict=True)}
    sentence = r"([\d.]+)% are right after (\d+) steps, ([\d.]+)% after ([\d,]+) and ([\d.]+)% after ([\d,]+)"
    (found,) = re.findall(sentence, card())
    for percent, step in zip(found[::2], found[1::2], strict=True):
        assert exact[int(step.replace(",", ""))] == pytest.approx(float(percent))
