"""What people type: none of it may send the bundled model into repetition."""

import re
from pathlib import Path

import pytest

import transformer
from transformer.analysis.tokens import repeats
from transformer.inference.pretrained import Pretrained

FOLDER = Path(__file__).parent


def lines(name: str) -> list[list[str]]:
    """A sentence as it may be typed; then, by tabs, words its translation has: "wo|wann", one of them, whole; "katze*",
    a word that begins so; "„", a mark. Capitals matter only where the list has capitals."""
    rows = (FOLDER / name).read_text(encoding="utf-8").splitlines()
    return [[field for number, field in enumerate(row.split("\t")) if field or not number] for row in rows]


TYPED = lines("typed.tsv")
# What it cannot do yet, said in its card: each must fail, so that this list shrinks when the model learns.
MISSED = [pytest.param(*row[:1], row[1:], marks=pytest.mark.xfail, id=row[0]) for row in lines("typed.missed.tsv")]


@pytest.fixture(scope="module")
def model() -> Pretrained:
    return transformer.load("en-de")


def has(text: str, either: str) -> bool:
    for word in either.split("|"):
        begin = re.escape(word.removesuffix("*"))
        whole = (r"(?<!\w)" if word[0].isalnum() else "") + begin + (r"(?!\w)" if word[-1].isalnum() else "")
        if re.search(whole, text if word != word.lower() else text.lower()):
            return True
    return False


def test_words_are_whole() -> None:
    assert has("Ist er da?", "sie|er") and not has("Aber sicher!", "sie|er")
    assert has("Die Katzen", "katze*") and not has("Die Katzen", "katze") and has("„Ja“", "„") and not has("tom", "Tom")


@pytest.mark.parametrize(("source", "words"), [*(pytest.param(row[0], row[1:], id=row[0]) for row in TYPED), *MISSED])
def test_typed_sentences_end_and_do_not_loop(model: Pretrained, source: str, words: list[str]) -> None:
    found = model.translate(source)
    assert found.tokens[-1] == "</s>", found.text
    assert repeats(found.tokens) <= max(3, repeats(model.tokenizer.encode(source))), found.text
    for either in words:
        assert has(found.text, either), found.text


@pytest.mark.slow
def test_beam_search_does_not_loop_either(model: Pretrained) -> None:
    for source, *_ in TYPED:
        found = model.translate(source, beam=4)
        assert found.tokens[-1] == "</s>", (source, found.text)
        assert repeats(found.tokens) <= max(3, repeats(model.tokenizer.encode(source))), (source, found.text)
