"""Korean particles after inserted text."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from transformer.particles import DIGITS, choose_particles, last_sound
from transformer.texts import ENGLISH, Language, translate, use_language

CASES = json.loads(Path(__file__).with_name("particles.json").read_text(encoding="utf-8"))  # read by Node's tests, too


@pytest.fixture
def english_again() -> Iterator[None]:
    yield
    use_language(ENGLISH)


@pytest.mark.parametrize("both, one", CASES)
def test_the_particle_follows_the_last_sound(both: str, one: str) -> None:
    assert choose_particles(both) == one


def test_a_number_ends_as_it_is_read() -> None:
    for number in range(1, 1000):
        read = DIGITS[number % 10] if number % 10 else ("십" if number % 100 else "백")
        assert last_sound(str(number)) == last_sound(read) == (ord(read) - ord("가")) % 28


@pytest.mark.usefixtures("english_again")
def test_a_translation_is_filled_in_with_the_right_particles() -> None:
    use_language(Language("ko", {"{head} rests.": "{head}은(는) 쉽니다.", "Both": "둘은(는)"}))
    assert translate("{head} rests.").format(head="헤드") == "헤드는 쉽니다."
    assert translate("{head} rests.", head="2층") == "2층은 쉽니다."
    assert translate("Both") == "둘은"
    use_language(Language("de", {"{head} rests.": "{head} ruht (은(는))."}))
    assert translate("{head} rests.", head="a") == "a ruht (은(는))."
