"""Sequence-level distillation (Kim and Rush 2016, sections 3.2 and 3.3): the training text in its teachers' words.

    python -m recipes.distil pairs.tsv out.tsv runs/teacher-1/checkpoint runs/teacher-2/checkpoint --beam 4

Every teacher translates every source with beam search. For each pair, the translation closest to the pair's own target
(chrF) becomes the new target: with one teacher its translation, with several the best of theirs.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import sacrebleu

from transformer.files import write_whole
from transformer.inference.pretrained import Pretrained, load
from transformer.training.data import Pair, read_pairs


def closest(candidates: Sequence[str], reference: str) -> str:
    """The candidate with the highest chrF against the reference; of equal ones the first."""
    return max(candidates, key=lambda text: sacrebleu.sentence_chrf(text, [reference]).score)


def distilled(teachers: Sequence[Pretrained], pairs: Sequence[Pair], beam: int) -> list[Pair]:
    """The sources with the teachers' translations. A pair whose translations are all empty keeps its target."""
    sources = [source for source, _ in pairs]
    said = [teacher.translate_all(sources, beam) for teacher in teachers]
    found = []
    for (source, target), candidates in zip(pairs, zip(*said, strict=True), strict=True):
        written = [one.text for one in candidates if one.text.strip()]
        found.append((source, closest(written, target) if written else target))
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pairs", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("teachers", nargs="+", metavar="CHECKPOINT")
    parser.add_argument("--beam", type=int, default=4, choices=range(1, 65), metavar="N")
    options = parser.parse_args(arguments)
    pairs = distilled([load(name) for name in options.teachers], read_pairs(options.pairs), options.beam)
    write_whole(options.output, "".join(f"{source}\t{target}\n" for source, target in pairs).encode())
    print(f"{options.output}: {len(pairs):,} pairs")
    return 0


if __name__ == "__main__":
    sys.exit(main())
