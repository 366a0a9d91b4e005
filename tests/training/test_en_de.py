"""The training text of the bundled model: our own pairs, and what is kept out of it."""

from __future__ import annotations

import collections
import unicodedata
from pathlib import Path

import pytest

from benchmarks.typed import rows, typed_list
from recipes.en_de import OWN, TIMES, bare, letters, main, measured, training_text
from transformer.training.data import read_pairs


def test_what_is_held_out_is_left_out_whatever_its_case_and_punctuation() -> None:
    train = [
        ("Hello!", "Hallo!"),
        ("Good day.", "Guten Tag."),
        ("Go on.", "Weiter."),
        ("NICE TO MEET YOU", "Freut mich."),
    ]
    own = [("Well done.", "Gut gemacht."), ("hello", "Hallo.")]
    held_out = [("Hello.", "Grüß Gott."), ("Keep going.", "Weiter!")]
    assert training_text(train, own, held_out) == [train[1], *[own[0]] * TIMES]


def test_the_command_writes_the_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [tmp_path / name for name in ("train.tsv", "dev.tsv", "test.tsv", "out.tsv")]
    probe = "The cat is sleeping on the sofa."  # in the package's probe set
    train = f"One.\tEins.\nTwo.\tZwei.\n{probe}\tDie Katze schläft.\n"
    for file, text in zip(files, (train, "One!\tEins!\n", "Six.\tSechs.\n"), strict=False):
        file.write_text(text, encoding="utf-8")
    assert main(list(map(str, files))) == 0
    written = read_pairs(files[-1])
    assert written[0] == ("Two.", "Zwei.") and ("One.", "Eins.") not in written
    assert probe in [source for source, _ in measured()] and probe not in [source for source, _ in written]
    assert all(source == target for source, target in letters())
    copied = {letter for source, _ in letters() for letter in source.split()}
    assert {"@", "_", "ó", "Š", "ā"} <= copied and set(letters()) <= set(written)
    assert f"{len(written):,} pairs" in capsys.readouterr().out


def test_our_own_pairs_are_many_different_and_not_of_the_list() -> None:
    lines = [line.split("\t") for line in OWN.read_text(encoding="utf-8").splitlines()]
    assert len(lines) >= 2000 and all(len(line) == 3 and all(line) for line in lines)
    assert all(text == unicodedata.normalize("NFC", " ".join(text.split())) for line in lines for text in line)
    sources = collections.Counter(source for source, _target, _kind in lines)
    assert sources.most_common(1)[0][1] == 1
    words = {bare(source) for source in sources}
    assert not words & {bare(sentence.source) for sentence in typed_list()}
    names = {bare(name) for _kind, name, _sentence in rows("names.tsv")}
    assert not [word for word in words for name in names if f" {name} " in f" {word} "]
