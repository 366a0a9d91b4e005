"""Signs that a vocabulary lacks, in place of pieces that it does not need."""

import random

import pytest
import torch

import transformer
from recipes.new_signs import learn, lesson, with_new, with_signs
from tests.support.build import tiny_pretrained
from transformer.text.batching import make_batch
from transformer.training.data import DataError

PAIRS = [("I am here.", "Ich bin hier."), ("We go.", "Wir gehen.")]


def test_a_sign_takes_the_row_of_a_piece_and_other_text_stays() -> None:
    old = transformer.load("en-de").tokenizer
    new, rows = with_signs(old, {"₩": "▁Bruno"})  # type: ignore[arg-type]
    assert old.pieces(rows) == ["▁Bruno"] and new.pieces(rows) == ["₩"]
    assert new.pieces(new.encode("It costs ₩5."))[3:5] == ["₩", "5"] and new.decode(new.encode("₩5")) == "₩5"
    text = "Bremen is 5 € away; the dog sleeps."
    assert new.encode(text) == old.encode(text) and len(new) == len(old)
    assert new.decode(new.encode("Bruno")) == "Bruno"


@pytest.mark.parametrize("given", [{"₩": "▁notinthere"}, {"€": "▁Bruno"}])
def test_what_cannot_give_way_is_said(given: dict[str, str]) -> None:
    with pytest.raises(DataError, match="cannot give way to"):
        with_signs(transformer.load("en-de").tokenizer, given)  # type: ignore[arg-type]


def test_pairs_have_the_sign_on_both_sides() -> None:
    rng = random.Random(1)
    for _ in range(60):
        source, target = with_new(rng, PAIRS, ["₩", "£"])
        assert set("₩£") & set(source) == set("₩£") & set(target) and "€" not in source + target
    drawn = [lesson(rng, PAIRS, ["₩"]) for _ in range(200)]
    assert sum("₩" in source for source, _ in drawn) > 60 < sum("₩" not in source for source, _ in drawn)


def test_only_the_rows_learn() -> None:
    start = tiny_pretrained()
    before = {name: parameter.clone() for name, parameter in start.model.named_parameters()}
    texts = [make_batch([[7, 9]], [[9, 11]], start.config)] * 40
    first, last = (learn(start, [9, 11], iter(texts), updates) for updates in (1, 40))
    assert last < first
    for name, parameter in start.model.named_parameters():
        same = (parameter == before[name]).reshape(len(parameter), -1).all(1)
        changed = [9, 11] if parameter is start.model.embedding.weight else []
        assert torch.nonzero(~same).flatten().tolist() == changed
