"""Augmentation: each variation does what it says, and both sides stay translations of each other."""

import dataclasses
import random
import re

import pytest

from transformer.training.augmentation import (
    LONGEST_JOINED,
    NO_AUGMENTATION,
    Augmentation,
    copied,
    invented_name,
    other_name,
    other_numbers,
    other_town,
    repeated,
    with_title,
)
from transformer.training.clock import STUNDEN
from transformer.training.data import DataError

PAIRS = [
    ("Tom isn't here.", "Tom ist nicht hier."),
    ("Is he coming?", "Kommt er?"),
    ("I have three cats.", "Ich habe drei Katzen."),
    ("Stop!", "Halt!"),
]


def test_no_switches_change_nothing() -> None:
    assert not NO_AUGMENTATION and NO_AUGMENTATION.apply(PAIRS, 1) == PAIRS


def test_the_same_seed_gives_the_same_epoch_and_another_another() -> None:
    everything = Augmentation(**{field.name: 0.3 for field in dataclasses.fields(Augmentation)})
    many = PAIRS * 50
    first = everything.apply(many, 7)
    assert first == everything.apply(many, 7) != everything.apply(many, 8)
    assert len(first) == len(many)


def test_case_and_punctuation_of_the_source_alone() -> None:
    for changed, (source, target) in zip(Augmentation(lower=1.0).apply(PAIRS * 30, 1), PAIRS * 30, strict=True):
        assert changed[0] in (source.lower(), source.lower().rstrip(".?!")) and changed[1] == target
    upper = Augmentation(upper=1.0).apply(PAIRS * 30, 1)
    assert {"IS HE COMING?", "IS HE COMING"} <= {source for source, _ in upper}
    assert Augmentation(bare=1.0).apply(PAIRS, 1)[1] == ("Is he coming", "Kommt er?")
    assert Augmentation(bare=1.0).apply([("?!", "?!")], 1) == [("?!", "?!")]  # nothing would be left
    assert Augmentation(curly=1.0).apply(PAIRS, 1)[0] == ("Tom isn’t here.", "Tom ist nicht hier.")


def test_quotation_marks_are_those_of_each_language() -> None:
    sources = set()
    for source, target in Augmentation(quoted=1.0).apply(PAIRS[1:2] * 40, 1):
        assert target == "„Kommt er?“"
        sources.add(source)
    assert sources == {'"Is he coming?"', "“Is he coming?”"}
    quoted = ('"No," he said.', "„Nein“, sagte er.")
    assert Augmentation(quoted=1.0).apply([quoted], 1) == [quoted]


def test_joined_pairs_come_from_the_text() -> None:
    german = dict(PAIRS)
    counts = set()
    for index, (source, target) in enumerate(Augmentation(joined=1.0).apply(PAIRS * 50, 1)):
        parts = re.findall(r"[^.?!]+[.?!]", source)
        assert parts[0] == PAIRS[index % len(PAIRS)][0]
        assert target == " ".join(german[part.strip()] for part in parts)
        counts.add(len(parts))
    assert counts == {2, 3, 4, 5}
    long = ("word " * LONGEST_JOINED).strip()
    assert Augmentation(joined=1.0).apply([(long, long)], 1) == [(long, long)]


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
    pair = ("I know that Mary is here.", "Ich weiß, dass Maria hier ist.")
    for _ in range(300):
        source, target = other_name(pair, [pair], rng)
        name = source.removeprefix("I know that ").removesuffix(" is here.")
        assert target == f"Ich weiß, dass {name} hier ist."
        names.add(name)
    assert len(names) > 80 and "Tom" not in names
    for pair in [("Tom and Tom.", "Tom und Tom."), ("Tom slept.", "Er schlief."), ("Tomorrow.", "Morgen.")]:
        assert other_name(pair, [pair], rng) == pair


def test_invented_names_are_many_and_begin_with_a_capital() -> None:
    rng = random.Random(4)
    text = [("The winter was long.", "Der Winter war lang."), ("He is worth it.", "Er ist es wert.")]
    names = {invented_name(rng, text) for _ in range(1000)}
    assert len(names) > 850 and all(re.fullmatch(r"[^\W\d_]+([- ][^\W\d_]+)?", name) for name in names)
    assert all(name[0] == name[0].upper() for name in names)
    assert any(name.startswith("Wint") and name != "Winter" for name in names)


def test_towns_are_exchanged_once_and_on_both_sides() -> None:
    rng = random.Random(7)
    towns, pair = set(), ("I live in Boston.", "Ich wohne in Boston.")
    for _ in range(200):
        source, target = other_town(pair, [pair], rng)
        towns.add(source.removeprefix("I live in "))
        assert target == f"Ich wohne in {source.removeprefix('I live in ')}"
    assert len(towns) > 90
    for pair in [("Boston and Boston.", "Boston und Boston."), ("From Boston.", "Von dort."), ("Here.", "Hier.")]:
        assert other_town(pair, [pair], rng) == pair


def test_titles_go_where_their_german_form_is_certain() -> None:
    rng, text = random.Random(8), [("He slept.", "Er schlief.")]
    first = {with_title(("Tom is here.", "Tom ist hier."), text, rng) for _ in range(200)}
    german = {"Mr.": "Herr", "Dr.": "Dr.", "Professor": "Professor"}
    for source, target in first:
        title, name = re.fullmatch(r"(Mr\.|Dr\.|Professor) (.+) is here\.", source).groups()  # type: ignore[union-attr]
        assert target == f"{german[title]} {name} ist hier."
    assert {source.split()[0] for source, _ in first} == set(german)
    within = {with_title(("I know Tom.", "Ich kenne Tom."), text, rng) for _ in range(50)}
    assert {source.split()[2] for source, _ in within} == {"Dr."}  # not "Herr": "ich kenne Herrn ..."
    assert {with_title(("I know Mary.", "Ich kenne Maria."), text, rng)[1].split()[2] for _ in range(50)} == {
        "Frau",
        "Dr.",
    }
    for pair in [("Tom, you lie.", "Tom, du lügst."), ("That's Tom's.", "Das ist Toms."), ("Hi.", "Hallo.")]:
        assert with_title(pair, text, rng) == pair


def test_copies_are_the_same_on_both_sides() -> None:
    rng = random.Random(5)
    text = [("My homework is late.", "Meine Hausaufgaben sind zu spät."), ("?", "?")]
    drawn = [copied(rng, text) for _ in range(200)]
    assert all(source == target for source, target in drawn)
    assert any(re.search(r"homework[._-]?\w*\.\w+", source) for source, _ in drawn)  # a file with a word of the text
    assert any(source.isdigit() for source, _ in drawn) and any(source.isalpha() for source, _ in drawn)


@pytest.mark.parametrize("share", [-0.1, 1.1, True, "0.5", float("nan")])
def test_shares_are_checked(share: object) -> None:
    with pytest.raises(DataError, match="lower is .*; choose a number from 0 to 1, a share of the pairs"):
        Augmentation(lower=share)  # type: ignore[arg-type]


def test_no_source_is_in_small_letters_and_capitals() -> None:
    with pytest.raises(DataError, match="lower and upper add up to 1.2; choose at most 1 together"):
        Augmentation(lower=0.5, upper=0.7)


def test_pairs_give_way_to_symbols_and_to_clock_times() -> None:
    symbols, times = (Augmentation(**{name: 1}).apply(PAIRS * 50, 1) for name in ("symbols", "times"))
    assert not set(symbols) & set(PAIRS) and sum(source == target for source, target in symbols) > 60
    assert all(any(hour.removesuffix("s") in target.lower() for hour in STUNDEN) for _, target in times)
