"""The training text of the small Korean-English model, from our own pairs and Tatoeba's.

    python -m recipes.ko_en.text train.tsv test.tsv runs/ko-en.tsv runs/ko-en.dev.tsv

Of our own pairs the first English comes TIMES times and every other accepted one once. The same sentence in other
styles of Korean (`styles.py`, which needs kiwipiepy) comes with the first English, once; so do SWAPS of every sentence
that allows other words, FILLINGS of every frame (`combine.py`), and TRANSFERS of every sentence of one clause in other
constructions (`transfer.py`, which needs lemminflect). Left out is every pair whose Korean is, whatever its spaces and
punctuation, in Tatoeba's test text or in the lists that measure the model (benchmarks/ko-en.tsv,
benchmarks/ko-en-outside.tsv). Every EVERY-th of our own pairs goes to the validation text.
"""

import argparse
import random
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from recipes.ko_en.check import FOLDER, make_kiwi, read_table
from recipes.ko_en.combine import filled, swapped
from recipes.ko_en.styles import restyled
from recipes.ko_en.transfer import transfers
from transformer.files import write_whole
from transformer.training.data import Pair, read_pairs

TIMES, EVERY, SWAPS, FILLINGS, TRANSFERS, SEED = 3, 50, 5, 15, 16, 1
LISTS = [FOLDER.parents[1] / "benchmarks" / name for name in ("ko-en.tsv", "ko-en-outside.tsv")]


def bare(text: str) -> str:
    """A Korean text without what says nothing: spaces and punctuation."""
    return re.sub(r"\W", "", text)


def own_pairs() -> list[list[str]]:
    """The columns of every line of our own pairs: Korean, English, other accepted English."""
    files = sorted((FOLDER / "pairs").glob("*.tsv"))
    return [line.split("\t") for file in files for line in file.read_text(encoding="utf-8").splitlines()]


def listed() -> set[str]:
    """The bare Korean of the sentences that measure the model."""
    return {bare(source) for file in LISTS for source, _ in read_pairs(file)}


def texts(
    own: Sequence[Sequence[str]],
    tatoeba: Sequence[Pair],
    held_out: set[str],
    in_styles: Callable[[str, Sequence[str]], Iterable[str]],
    frames: Sequence[Sequence[str]] = (),
    in_constructions: Callable[[Sequence[Sequence[str]]], Iterable[Pair]] = lambda pairs: (),
) -> tuple[list[Pair], list[Pair]]:
    """Pairs to train on, and to validate with. held_out: bare Korean that must be in neither; in_styles: gives a
    sentence with its translations in other styles; frames: Korean and English with places to fill;
    in_constructions: gives pairs made of those that are taught."""
    kept = [columns for columns in own if bare(columns[0]) not in held_out]
    validation = kept[::EVERY]
    unseen = held_out | {bare(columns[0]) for columns in validation}
    taught = [columns for number, columns in enumerate(kept) if number % EVERY]
    train = [(korean, english) for korean, first, *others in taught for english in [*[first] * TIMES, *others]]
    known = unseen | {bare(columns[0]) for columns in taught}
    styled = [(other, english[0]) for korean, *english in taught for other in in_styles(korean, english)]
    draw = random.Random(SEED)
    swaps = [swapped(korean, english, draw) for korean, english, *_ in taught for _ in range(SWAPS)]
    fillings = [filled(korean, english, draw) for korean, english in frames for _ in range(FILLINGS)]
    made = dict.fromkeys([*filter(None, swaps), *fillings, *in_constructions(taught)])
    train += [pair for pair in (*styled, *made) if bare(pair[0]) not in known]
    train += [pair for pair in tatoeba if bare(pair[0]) not in unseen]
    return train, [(columns[0], columns[1]) for columns in validation]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("train", "test", "output", "validation"):
        parser.add_argument(name, type=Path)
    options = parser.parse_args(arguments)
    held_out = listed() | {bare(source) for source, _ in read_pairs(options.test)}
    rows = read_table("vocabulary.tsv")
    kinds = {kind: {row["stem"] for row in rows if row["kind"] == kind} for kind in ("verb", "adjective")}
    verbs, kiwi = frozenset(kinds["verb"] - kinds["adjective"]), make_kiwi(rows)
    found = texts(
        own_pairs(),
        read_pairs(options.train),
        held_out,
        lambda korean, english: restyled(korean, english, kiwi, verbs).values(),
        [line.split("\t") for line in (FOLDER / "frames.tsv").read_text(encoding="utf-8").splitlines()],
        lambda pairs: transfers(pairs, kiwi, TRANSFERS, SEED),
    )
    for path, pairs in zip((options.output, options.validation), found, strict=True):
        write_whole(path, "".join(f"{source}\t{target}\n" for source, target in pairs).encode())
        print(f"{path}: {len(pairs):,} pairs")
    return 0


if __name__ == "__main__":
    sys.exit(main())
