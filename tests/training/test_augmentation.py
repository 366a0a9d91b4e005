"""Augmentation: each variation does what it says, and both sides stay translations of each other."""

from __future__ import annotations

import dataclasses
import random
import re

import pytest

from transformer.training.augmentation import (
    NO_AUGMENTATION,
    Augmentation,
    copied,
    invented_name,
    other_name,
    other_numbers,
    repeated,
)
from transformer.training.data import DataError

PAIRS = [
    ("Tom isn't here.", "Tom ist nicht hier."),
    ("Is he coming?", "Kommt er?"),
    ("I have three cats.", "Ich habe drei Katzen."),
    ("Stop!", "Halt!"),
]


def only(**share: float) -> Augmentation:
    return Augmentation(**share)


def test_no_switches_change_nothing() -> None:
    assert not NO_AUGMENTATION and NO_AUGMENTATION.apply(PAIRS, 1) == PAIRS


def test_the_same_seed_gives_the_same_epoch_and_another_another() -> None:
    everything = Augmentation(**{field.name: 0.3 for field in dataclasses.fields(Augmentation)})
    many = PAIRS * 50
    first = everything.apply(many, 7)
    assert first == everything.apply(many, 7) != everything.apply(many, 8)
    assert len(first) == len(many)


def test_case_and_punctuation_of_the_source_alone() -> None:
    for changed, (source, target) in zip(only(lower=1.0).apply(PAIRS * 30, 1), PAIRS * 30, strict=True):
        assert changed[0] in (source.lower(), source.lower().rstrip(".?!")) and changed[1] == target
    upper = only(upper=1.0).apply(PAIRS * 30, 1)
    assert {"IS HE COMING?", "IS HE COMING"} <= {source for source, _ in upper}
    assert only(bare=1.0).apply(PAIRS, 1)[1] == ("Is he coming", "Kommt er?")
    assert only(bare=1.0).apply([("?!", "?!")], 1) == [("?!", "?!")]  # nothing would be left
    assert only(curly=1.0).apply(PAIRS, 1)[0] == ("Tom isn’t here.", "Tom ist nicht hier.")


def test_quotation_marks_are_those_of_each_language() -> None:
    sources = set()
    for source, target in only(quoted=1.0).apply(PAIRS[1:2] * 40, 1):
        assert target == "„Kommt er?“"
        sources.add(source)
    assert sources == {'"Is he coming?"', "“Is he coming?”"}
    quoted = ('"No," he said.', "„Nein“, sagte er.")
    assert only(quoted=1.0).apply([quoted], 1) == [quoted]


def test_joined_pairs_come_from_the_text() -> None:
    for index, (source, target) in enumerate(only(joined=1.0).apply(PAIRS, 1)):
        first = PAIRS[index]
        joined = [(f"{first[0]} {second[0]}", f"{first[1]} {second[1]}") for second in PAIRS]
        assert joined.count((source, target)) == 1


def test_short_pairs_are_repeated() -> None:
    rng = random.Random(1)
    found = {repeated(("Stop!", "Halt!"), rng) for _ in range(100)}
    assert ("Stop! Stop!", "Halt! Halt!") in found and ("Stop Stop Stop", "Halt Halt Halt") in found
    assert repeated(("I have three cats.", "Ich habe drei Katzen."), rng)[0] == "I have three cats."


def test_numbers_are_exchanged_on_both_sides_alike() -> None:
    rng = random.Random(2)
    for _ in range(200):
        source, target = other_numbers(("I was 25 in 1990.", "1990 war ich 25."), rng)
        first, second = re.findall(r"\d+", source)
        assert re.findall(r"\d+", target) == [second, first] and int(first) >= 2 and first[0] != "0"
    words = {other_numbers(PAIRS[2], rng) for _ in range(200)}
    for source, target in words:
        (number,) = re.findall(r"\d+", source)
        assert target == f"Ich habe {number} Katzen."
    assert len(words) > 30


def test_people_s_numbers_are_drawn_more_often_than_chance_would() -> None:
    rng = random.Random(6)
    pair = "It was in 1990.", "Es war 1990."
    drawn = [re.findall(r"\d+", other_numbers(pair, rng)[0])[0] for _ in range(2000)]
    four = [number for number in drawn if len(number) == 4]
    assert {number for number in four if number.endswith("00")} > {"2000", "5000"}
    # Of all 9,000 numbers of four digits, 10% end in two equal digits; one in four is made to.
    assert 0.2 < sum(number[-2] == number[-1] for number in four) / len(four) < 0.45
    assert all(number[0] != "0" for number in drawn)


@pytest.mark.parametrize(
    "pair",
    [
        ("He is 25.", "Er ist fünfundzwanzig."),  # written out on one side
        ("Three and four.", "Drei und vier."),  # two words: which is whose
        ("The 3rd time.", "Das 3. Mal."),
        ("One man.", "Ein Mann."),
        ("I have 1 sister.", "Ich habe 1 Schwester."),  # another number would need a plural
    ],
)
def test_numbers_that_do_not_match_are_left(pair: tuple[str, str]) -> None:
    assert other_numbers(pair, random.Random(3)) == pair


def test_names_are_exchanged_once_and_on_both_sides() -> None:
    rng, names = random.Random(4), set()
    for _ in range(300):
        source, target = other_name(("I know that Mary is here.", "Ich weiß, dass Maria hier ist."), rng)
        name = source.split()[3]
        assert target == f"Ich weiß, dass {name} hier ist."
        names.add(name)
    assert len(names) > 80 and "Tom" not in names
    for pair in [("Tom and Tom.", "Tom und Tom."), ("Tom slept.", "Er schlief."), ("Tomorrow.", "Morgen.")]:
        assert other_name(pair, rng) == pair
    assert all(re.fullmatch(r"[A-Z][a-z]{2,9}", invented_name(rng)) for _ in range(200))


def test_copies_are_the_same_on_both_sides() -> None:
    rng = random.Random(5)
    drawn = [copied(rng) for _ in range(200)]
    assert all(source == target for source, target in drawn)
    assert any(source.isdigit() for source, _ in drawn) and any(source.isalpha() for source, _ in drawn)


@pytest.mark.parametrize("share", [-0.1, 1.1, True, "0.5", float("nan")])
def test_shares_are_checked(share: object) -> None:
    with pytest.raises(DataError, match="lower is .*; choose a number from 0 to 1, a share of the pairs"):
        Augmentation(lower=share)  # type: ignore[arg-type]


def test_no_source_is_in_small_letters_and_capitals() -> None:
    with pytest.raises(DataError, match="lower and upper add up to 1.2; choose at most 1 together"):
        Augmentation(lower=0.5, upper=0.7)
