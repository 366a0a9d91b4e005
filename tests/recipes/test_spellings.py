"""Further training of the model of Korean numbers."""

import random
from pathlib import Path

import pytest
import torch

import transformer
from recipes import spellings
from transformer.text.numerals import FROM_FIGURES, other_form


@pytest.mark.parametrize("run", spellings.RUNS)
def test_inputs_are_numbers_and_many_of_them_long_in_the_spellings_of_the_run(run: spellings.Run) -> None:
    rng = random.Random(1)
    texts = [spellings.draw(run, rng) for _ in range(400)]
    assert all(other_form(text) for text in texts)  # fails for what is no number
    apart = [text for text in texts if text.count(" ") > 12]  # a space after every letter
    assert len(apart) > 10 and "letters" in run.spellings and "letters" not in FROM_FIGURES


def test_a_run_changes_the_weights_and_hardly_the_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spellings, "DRAWN", 60)
    monkeypatch.setattr(spellings, "RUNS", (spellings.Run(4, 1e-5, {"letters": 1}),))
    assert spellings.main(["ko-numbers", str(tmp_path / "run")]) == 0
    before, after = transformer.load("ko-numbers"), transformer.load(tmp_path / "run")
    assert after.config == before.config
    assert not torch.equal(before.model.embedding.weight, after.model.embedding.weight)
    assert after.translate("3만 5천").text == "35000"
