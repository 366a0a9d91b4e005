"""The training text of the bundled English-German model, from Tatoeba's pairs and our own.

    python -m recipes.en_de train.tsv.gz dev.tsv test.tsv runs/en-de.tsv

Leaves out every pair whose English is, whatever its case and punctuation, in the validation or test text or in the list
of what people type (benchmarks/typed.tsv), or whose German is in the validation or test text. The sentences on which
heads are measured (transformer/probing/data/: the probe set and the pairs with gold alignments) count as test text. Our
own pairs, beside this file, come TIMES times. Copies of letters with marks and of signs follow, so that the vocabulary
has all of them.
"""

import argparse
import string
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.typed import OWN, bare, typed_list
from transformer.files import write_whole
from transformer.probing.probes import PROBES, gold_pairs
from transformer.training.augmentation import MARKED
from transformer.training.data import Pair, read_pairs

TIMES = 5


def letters() -> list[Pair]:
    """Pairs of the same letters: names bring letters that no sentence has, and such a character would be <unk>."""
    marked = "".join(MARKED.values())
    found = dict.fromkeys(string.printable.split(maxsplit=1)[0] + marked + marked.upper())
    rows = ["".join(found)[start : start + 20] for start in range(0, len(found), 20)]
    return [(" ".join(row), " ".join(row)) for row in rows]


def measured() -> list[Pair]:
    """The pairs on which the package measures heads: its probe set, and the pairs with gold alignments."""
    return [*read_pairs(PROBES / "en-de.tsv"), *((gold.source, gold.target) for gold in gold_pairs())]


def training_text(train: Sequence[Pair], own: Sequence[Pair], held_out: Sequence[Pair]) -> list[Pair]:
    """The pairs of both without those that share a side with a pair held out or a source with the list."""
    listed = {bare(sentence.source) for sentence in typed_list()}
    sources = {bare(source) for source, _ in held_out} | listed
    targets = {bare(target) for _, target in held_out}
    return [pair for pair in [*train, *own * TIMES] if bare(pair[0]) not in sources and bare(pair[1]) not in targets]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("train", "validation", "test", "output"):
        parser.add_argument(name, type=Path)
    options = parser.parse_args(arguments)
    train, validation, test = (read_pairs(getattr(options, name)) for name in ("train", "validation", "test"))
    own = read_pairs(OWN)
    kept = training_text(train, own, [*validation, *test, *measured()])
    pairs = [*kept, *letters()]
    write_whole(options.output, "".join(f"{source}\t{target}\n" for source, target in pairs).encode())
    print(f"{options.output}: {len(pairs):,} pairs, {len(train) + TIMES * len(own) - len(kept):,} left out")
    return 0


if __name__ == "__main__":
    sys.exit(main())
