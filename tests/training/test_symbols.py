"""Text that is copied: both sides agree, its parts are what their names say, and every sign comes up."""

import random
import re
import string

import pytest

from benchmarks.typed import rows
from transformer.training import symbols
from transformer.training.symbols import COPIES, SIGNS, bracketed, measure, price
from transformer.training.symbols import symbols as drawn

PAIRS = [("I see him.", "Ich sehe ihn."), ("Hello!", "Hallo!"), ("He has a brother.", "Er hat einen Bruder.")]
WORDS = ("house", "attention", "kalo", "miruta", "x")


def word_of(rng: random.Random) -> symbols.Word:
    return lambda: rng.choice(WORDS)


@pytest.mark.parametrize(
    ("draw", "form"),
    [
        (symbols.address, r"(https?://|ftp://|www\.)*[\w.-]+(:\d+)?(/\S*|\.\w+)?(\?\S+)?(#\w+)?"),
        (symbols.mail, r"(mailto:|\w+ <)?[\w.+-]+@[\w.-]+\.[\w.]+>?"),
        (symbols.hashtag, r"#\w+( [#@][\w.-]+)*"),
        (symbols.handle, r"@[\w.-]+( @[\w.-]+)*"),
        (symbols.path, r"([C-E]:\\|/|~/|\.\.?/|\$HOME/)?[\w.\-/\\]+"),
    ],
)
def test_what_is_drawn_has_its_form(draw: symbols.Draw, form: str) -> None:
    rng = random.Random(1)
    texts = {draw(rng, word_of(rng)) for _ in range(500)}
    assert len(texts) > 100
    for text in texts:
        assert re.fullmatch(form, text), text


def test_numbers_change_their_point_and_comma_and_signs_their_place() -> None:
    rng = random.Random(1)
    for _ in range(500):
        source, target = measure(rng)
        assert source.translate(str.maketrans(",.", ".,")) == target
        source, target = price(rng)
        assert re.sub(r"\D", "", source) == re.sub(r"\D", "", target)
        assert (
            ("Dollar" in target)
            == ("$" in source or "dollars" in source)
            == ("€" not in target and "Euro" not in target)
        )
        assert re.fullmatch(r"(\d+|\d{1,3}(\.\d{3})+)(,\d\d)? ?(Dollar|Euro|€)", target), target


def test_brackets_are_kept_around_translated_text() -> None:
    rng, seen = random.Random(1), set[str]()
    for _ in range(2000):
        source, target = bracketed(rng, PAIRS)
        signs = [re.sub(r"[^][(){}<>]", "", side) for side in (source, target)]
        assert signs[0] == signs[1] != ""
        seen.add(source)
    assert (
        "(I see him.)" in seen
        and any(f"({english})" in seen for english, _ in symbols.PAIRS["note"])
        and any(text.endswith(").") for text in seen)
    )


def test_every_sign_comes_up_and_every_text_is_one_line() -> None:
    rng = random.Random(1)
    pairs = [drawn(rng, word_of(rng), PAIRS) for _ in range(5000)]
    together = "".join(target for _, target in pairs)
    assert set(SIGNS) <= set(together) and set(string.digits) <= set(together)
    for source, target in pairs:
        assert source == " ".join(source.split()) and target == " ".join(target.split()) and source and target
    alike = sum(source == target for source, target in pairs)
    assert len(COPIES) and 0.35 < alike / len(pairs) < 0.75


def test_no_sentence_of_the_list_is_a_frame() -> None:
    """No line of benchmarks/symbols.tsv is trained on."""
    listed = [source for _kind, source, *_ in rows("symbols.tsv")]
    for kind, pairs in symbols.PAIRS.items():
        for english, german in pairs:
            assert english.count("{}") == german.count("{}") == kind.startswith("frame."), english
            form = re.compile(re.escape(english).replace(r"\{\}", r"\S+"))
            assert not any(len(english) > 10 and form.fullmatch(source) for source in listed), english
    assert not {f"({english})" for english, _ in symbols.PAIRS["note"]} & set(listed)
