"""Distillation: the teachers' translations in place of the targets."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

import transformer
from recipes.distil import closest, distilled, main
from transformer import Translation
from transformer.training.data import read_pairs


def test_the_candidate_closest_to_the_reference_wins() -> None:
    candidates = ["Der Hund.", "Die Katze schläft.", "Eine Katze schläft."]
    assert closest(candidates, "Die Katze schlief.") == candidates[1]
    assert closest(["Ja.", "Ja."], "Nein.") == "Ja."


def test_one_teacher_gives_its_own_beam_translation() -> None:
    reverse = transformer.load("reverse")
    pairs = [("a b c", "x"), ("d e f g", "x")]
    wanted = [(source, reverse.translate(source, 3).text) for source, _ in pairs]
    assert distilled([reverse], pairs, 3) == wanted != pairs


def test_of_two_teachers_the_better_one_is_taken_pair_by_pair() -> None:
    says = (["Der Hund bellt.", "Nein.", ""], ["Ein Tier.", "Ja.", " "])
    teachers = [SimpleNamespace(translate_all=lambda texts, beam, said=said: map(Translation, said)) for said in says]
    pairs = [("The dog barks.", "Der Hund bellte."), ("Yes.", "Jawohl."), ("No.", "Nein.")]
    found = distilled(cast(Any, teachers), pairs, 4)
    assert [target for _, target in found] == ["Der Hund bellt.", "Ja.", "Nein."]


def test_the_command_writes_pairs_that_training_reads(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text, out = tmp_path / "pairs.tsv", tmp_path / "out.tsv"
    text.write_text("a b c\tx\nb c d\ty\n", encoding="utf-8")
    assert main([str(text), str(out), "reverse", "--beam", "2"]) == 0
    assert [source for source, _ in read_pairs(out)] == ["a b c", "b c d"]
    assert "2 pairs" in capsys.readouterr().out
