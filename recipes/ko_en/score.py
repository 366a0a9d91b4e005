"""Which sentences of the lists a Korean-English model translates into one of the accepted translations.

    python -m recipes.ko_en.score checkpoints/ko-en [--constructions]

`benchmarks/ko-en.tsv` has sentences within the vocabulary. In `benchmarks/ko-en-outside.tsv` each has one word outside
it, named in the second column; ___ in a translation stands for one to GAP words, and the rest has to be right.
`--constructions` needs kiwipiepy (`recipes.ko_en.check`).
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from benchmarks.typed import Typed, made_up, runs_away
from recipes.ko_en.check import make_kiwi, read_table, tagged
from recipes.ko_en.text import LISTS
from transformer.inference.pretrained import Pretrained, load

if TYPE_CHECKING:
    from kiwipiepy import Kiwi

GAP = 4


def rows(outside: bool) -> list[list[str]]:
    """The columns of each line of a list: Korean, with `outside` the word from outside, accepted translations."""
    return [line.split("\t") for line in LISTS[outside].read_text(encoding="utf-8").splitlines()]


def fits(translation: str, accepted: Sequence[str]) -> bool:
    """Whether the translation is one of the accepted ones, letter by letter but for the words in a gap."""
    gap = rf"\w[\w'-]*(?: [\w'-]+){{0,{GAP - 1}}}"
    return any(re.fullmatch(re.escape(one).replace("___", gap), translation) for one in accepted)


def constructions(source: str, kiwi: Kiwi, patterns: dict[str, re.Pattern[str]]) -> list[str]:
    text = tagged(kiwi.tokenize(source))
    return [name for name, pattern in patterns.items() if pattern.search(text)]


def translated(model: Pretrained, outside: bool) -> list[tuple[str, list[str], str, bool]]:
    """Source, accepted translations, translation and whether it is right, of each line of a list."""
    found = rows(outside)
    texts = [one.text for one in model.translate_all([columns[0] for columns in found])]
    return [
        (columns[0], accepted := columns[1 + outside :], text, fits(text, accepted))
        for columns, text in zip(found, texts, strict=True)
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkpoint")
    parser.add_argument("--constructions", action="store_true", help="also by construction")
    options = parser.parse_args(arguments)
    model = load(options.checkpoint)
    for outside in (False, True):
        results = translated(model, outside)
        right = sum(good for *_, good in results)
        print(f"\n{LISTS[outside].name}: {right} of {len(results)} right ({right / len(results):.1%})")
        away = [source for source, _, text, _ in results if runs_away(model, source, text)]
        invented = [
            word
            for source, accepted, text, _ in results
            for word in made_up(Typed("", source, frozenset(accepted)), text)
        ]
        print(f"run away: {len(away)}; made-up words: {len(invented)} {' '.join(invented)}\n")
        for source, accepted, text, good in results:
            if not good:
                print(f"- {source} {text} (accepted: {accepted[0]})")
        if options.constructions and not outside:
            kiwi = make_kiwi(read_table("vocabulary.tsv"))
            patterns = {row["name"]: re.compile(row["pattern"]) for row in read_table("constructions.tsv")}
            names = [constructions(source, kiwi, patterns) for source, *_ in results]
            every = Counter(name for found in names for name in found)
            fine = Counter(name for found, (*_, good) in zip(names, results, strict=True) if good for name in found)
            print("\n" + "; ".join(f"{name} {fine[name]} of {every[name]}" for name in patterns if every[name]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
