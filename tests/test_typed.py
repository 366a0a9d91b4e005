"""What people type: none of it may send the bundled model into repetition."""

from __future__ import annotations

from pathlib import Path

import pytest

import transformer
from transformer.analysis.tokens import repeats
from transformer.pretrained import Pretrained

# A sentence as it may be typed; then, by tabs, words its translation has ("wo|wann": one of them; capitals matter only
# where the list has capitals).
LINES = [line.split("\t") for line in (Path(__file__).parent / "typed.tsv").read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def model() -> Pretrained:
    return transformer.load("en-de")


@pytest.mark.parametrize(("source", "words"), [(line[0], line[1:]) for line in LINES], ids=[line[0] for line in LINES])
def test_it_ends_and_does_not_loop(model: Pretrained, source: str, words: list[str]) -> None:
    found = model.translate(source)
    assert found.tokens[-1] == "</s>", found.text
    assert repeats(found.tokens) <= max(3, repeats(model.tokenizer.encode(source))), found.text
    for either in words:
        assert any(
            word in (found.text if word != word.lower() else found.text.lower()) for word in either.split("|")
        ), found.text


def test_beam_search_does_not_loop_either(model: Pretrained) -> None:
    sources = [line[0] for line in LINES]
    for source, text in zip(sources, model.translate_all(sources, beams=4), strict=True):
        ids = model.tokenizer.encode(text)
        assert repeats(ids) <= max(3, repeats(model.tokenizer.encode(source))), (source, text)
