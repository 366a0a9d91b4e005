"""The training text of the bundled model: our own pairs, and what is kept out of it."""

import collections
import unicodedata
from pathlib import Path

import pytest

from benchmarks.typed import OWN, bare, rows, typed_list
from recipes.en_de import TIMES, letters, main, measured, training_text
from transformer.probing.probes import PROBES, gold_pairs
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


def test_the_training_text_shares_no_side_with_a_pair_on_which_heads_are_measured() -> None:
    gold = [(pair.source, pair.target) for pair in gold_pairs()]
    probes = read_pairs(PROBES / "en-de.tsv")
    assert measured() == [*probes, *gold] and len(gold) > 100 and len(probes) > 100
    train = [(source.upper().rstrip("."), "Etwas anderes.") for source, _ in gold]
    train += [("Something else.", target.lower().replace(",", "")) for _, target in gold]
    other = ("A sentence of its own.", "Ein Satz für sich.")
    assert training_text([*train, *gold, other], [], measured()) == [other]


@pytest.mark.parametrize("side", [0, 1], ids=["source", "target"])
def test_our_own_pairs_share_no_side_with_a_pair_on_which_heads_are_measured(side: int) -> None:
    """The recipe would leave them out."""
    taken = {bare(pair[side]) for pair in measured()}
    assert [pair for pair in read_pairs(OWN) if bare(pair[side]) in taken] == []


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
