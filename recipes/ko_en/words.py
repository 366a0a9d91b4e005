"""The words of the small Korean-English model for `transformer.text.words`, from its vocabulary and its text.

    python -m recipes.ko_en.words checkpoints/ko-en/words.json

An ending is what follows the beginnings of at least LEAST words in our own pairs.
"""

import sys
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from recipes.ko_en.check import read_table
from recipes.ko_en.text import own_pairs
from transformer.files import write_whole
from transformer.text.words import Words, letters, words_of, written

LEAST = 4  # of 55,000 pairs; with 3, 구워서 of no listed verb passed
CONTRACTED = {"ᅵ": "ᅧ", "ᅩ": "ᅪ", "ᅮ": "ᅯ", "ᅬ": "ᅫ"}  # with the ending 어 or 아: 마시 + 어 is 마셔


def beginnings(stem: str) -> set[str]:
    """The stem of a verb or an adjective in single letters, and what it becomes before some endings."""
    spelled = letters(stem)
    last, short = spelled[-1], spelled[:-1]
    found = {spelled}
    if stem.endswith("하"):
        found.add(letters(stem[:-1] + "해"))
    if stem.endswith("르") and len(stem) > 1:  # 모르 + 아 is 몰라
        found |= {spelled[:-2] + "ᆯ" + letters(end) for end in ("라", "러")}
    if last in CONTRACTED:
        found.add(short + CONTRACTED[last])
    if last == "ᅳ":  # 쓰 + 어 is 써, 바쁘 + 아 is 바빠
        found |= {short + "ᅡ", short + "ᅥ"}
    if last == "ᆸ":  # 춥 + 어 is 추워
        found |= {short + letters(end) for end in ("우", "와", "워")}
    if last == "ᆮ":  # 듣 + 어 is 들어
        found.add(short + "ᆯ")
    if last in "ᆺᇂᆯ":  # 짓 + 어 is 지어, 그렇 + ㄴ is 그런, 살 + 는 is 사는
        found.add(short)
    if last == "ᇂ":  # 그렇 + 어 is 그래
        found |= {spelled[:-2] + "ᅢ", spelled[:-2] + "ᅤ"}
    return found


def collect(rows: Iterable[dict[str, str]], texts: Iterable[str]) -> str:
    """words.json, of the rows of vocabulary.tsv and Korean texts within that vocabulary."""
    listed, starts = dict[str, None](), {kind: set[str]() for kind in ("noun", "verb", "counter")}
    for row in rows:
        listed[row["stem"]] = None
        for part in row["stem"].split():
            if row["kind"] in ("verb", "adjective") and part.endswith("다"):
                starts["verb"] |= beginnings(part[:-1])
                if part.endswith("하다") and len(part) > 2:  # 공부하다: 공부를 하다
                    starts["noun"].add(letters(part[:-2]))
            else:
                starts["noun"].add(letters(part))
                if row["kind"] == "counter":
                    starts["counter"].add(letters(part))
    seen = {word for text in texts for word in words_of(text)}
    parts = {kind: sorted(found) for kind, found in starts.items()}
    words = Words.read(written([], {"beginnings": parts, "endings": {}}, []))
    before: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for word in seen:
        for kind, beginning, rest in words.divisions(word):
            before[kind, rest].add(beginning)
    often = [key for key, found in before.items() if len(found) >= LEAST]
    both = {
        "beginnings": parts,
        "endings": {kind: sorted(e for k, e in often if k == kind) for kind in ("noun", "verb")},
    }
    words = Words.read(written(list(listed), both, []))
    return written(list(listed), both, [word for word in seen if not words.known(word)])


def main() -> int:
    text = collect(read_table("vocabulary.tsv"), (korean for korean, *_ in own_pairs()))
    write_whole(Path(sys.argv[1]), text.encode())
    return 0


if __name__ == "__main__":
    sys.exit(main())
