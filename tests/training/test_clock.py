"""Clock times in words: read by hand, and drawn."""

import random

import pytest

from transformer.training.clock import FRAMES, HOURS, KINDS, STUNDEN, WEIGHTS, clock_time, in_words


@pytest.mark.parametrize(
    ("hour", "minutes", "pair"),
    [
        (8, "past half", ("half past eight", "halb neun")),
        (12, "past half", ("half past twelve", "halb eins")),
        (9, "to quarter", ("quarter to nine", "Viertel vor neun")),
        (1, "to a quarter", ("a quarter to one", "Viertel vor eins")),
        (3, "past ten", ("ten past three", "zehn nach drei")),
        (12, "past twenty-five", ("twenty-five past twelve", "fünf vor halb eins")),
        (7, "to twenty-five", ("twenty-five to seven", "fünf nach halb sieben")),
        (1, "", ("one o'clock", "ein Uhr")),
        (6, "", ("six o'clock", "sechs Uhr")),
    ],
)
def test_times_by_hand(hour: int, minutes: str, pair: tuple[str, str]) -> None:
    assert in_words(hour, minutes) == pair


def test_every_time_is_drawn_alone_and_in_sentences() -> None:
    rng = random.Random(1)
    pairs = [clock_time(rng) for _ in range(5000)]
    assert {in_words(hour, kind) for hour in range(1, 13) for kind in KINDS} <= set(pairs)
    assert len(KINDS) == len(WEIGHTS) and len(HOURS) == len(STUNDEN) == 12
    for before, _ in FRAMES:
        assert any(
            source.startswith(before.split("{}")[0]) and source.endswith(before.split("{}")[1]) for source, _ in pairs
        )
