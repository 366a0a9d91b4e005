"""Check Korean-English pairs against the written vocabulary of the small Korean model.

    python -m recipes.ko_en.check pairs.tsv more.tsv [--constructions] [--below 8]

A line is `korean<TAB>english[<TAB>another accepted english]...`. Reports words outside vocabulary.tsv, repeated
sources, odd columns and odd characters; then rare stems, and on request the pairs of every construction. Counts go
by spelling: 배 (ship), 배 (pear) and 배 (belly) share one. Needs `pip install kiwipiepy`.
"""

from __future__ import annotations

import argparse
import csv
import re
import sys
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kiwipiepy import Kiwi, Token

FOLDER = Path(__file__).parent
TAGS = {"verb": "VV", "adjective": "VA", "name": "NNP", "place": "NNP", "adverb": "MAG", "pronoun": "NP"}
CONTENT = ("NNG", "NNP", "NP", "NNB", "VV", "VA", "VCN", "XR", "MAG", "MAJ", "MM", "IC", "SL", "UN")
FREE = frozenset("것거수적중줄뿐지데등쯤") | {"때문", "대로", "만큼"}  # bound nouns of constructions
CONTRACTED = {"제": "저", "내": "나", "네": "너"}  # pronoun and 의 in one syllable
SCORE = 6.0  # of a word added to Kiwi; at 0 it still reads 어제 친구 as 어 + 제 친구
TENS, UNITS = "열|스물|서른|마흔|쉰|예순|일흔|여든|아흔", "하나|한|둘|두|셋|세|넷|네|다섯|여섯|일곱|여덟|아홉"
NUMERAL = re.compile(rf"(?=.)({TENS})?({UNITS})?|스무|[영공일이삼사오육칠팔구십백천만억조]+")
FINALS = str.maketrans("\u11ab\u11af\u11b7\u11b8", "ㄴㄹㅁㅂ")  # Kiwi writes final consonants as conjoining letters
KOREAN = re.compile(r"[가-힣0-9 .,?!:%'\"-]+")
ENGLISH = re.compile(r"[A-Za-z0-9 .,?!:%'\"-]+")


def read_table(name: str) -> list[dict[str, str]]:
    """The rows of a table beside this file, by column."""
    with (FOLDER / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def make_kiwi(rows: Iterable[dict[str, str]]) -> Kiwi:
    """Kiwi, with the words of the vocabulary added that it would split. Short ones would spoil other words."""
    from kiwipiepy import Kiwi

    kiwi = Kiwi()
    missing = []  # added at the end: Kiwi builds its dictionary again at the first analysis after an addition
    for row in rows:
        is_predicate = row["kind"] in ("verb", "adjective")
        stem = row["stem"].removesuffix("다") if is_predicate else row["stem"]
        pieces = [token for token in kiwi.tokenize(row["stem"]) if token.tag != "EF"]
        # 어제 is 어 + 제 before some words, 놀이공원 is 놀이 + 공원
        is_split = row["kind"] in ("adverb", "pronoun") or len(pieces) > 1 or len(stem) > 3
        is_long = len(stem) > (2 if is_predicate else 1) and row["kind"] != "counter"
        if is_split and is_long and not (is_predicate and pieces[-1].tag.startswith("XS")):
            missing.append((stem, TAGS.get(row["kind"], "NNG")))
    for stem, tag in missing:
        kiwi.add_user_word(stem, tag, SCORE)
    for stem in ("계", "드", "주무"):  # Kiwi takes the -세요 of 계시다, 드시다 and 주무시다 for another word
        kiwi.add_pre_analyzed_word(stem + "세요", [(stem + "시", "VV"), ("어요", "EF")], SCORE)
    return kiwi


def candidates(tokens: Sequence[Token], position: int) -> list[str]:
    """The dictionary forms one content morpheme may belong to, the longest first."""
    form, tag = tokens[position].form, tokens[position].tag.partition("-")[0]
    if tag in ("VV", "VA", "VCN"):
        return [form + "다"]
    forms = [form, form + "하다", CONTRACTED.get(form, form), form.removesuffix("이")]  # 지훈이: the name 지훈
    for following in tokens[position + 1 : position + 2]:
        if following.tag.startswith(("XSV", "XSA", "XSN")):
            forms.insert(0, form + following.form + ("" if following.tag == "XSN" else "다"))
    return forms


def stems_of(tokens: Sequence[Token], stems: frozenset[str]) -> tuple[list[str], list[str]]:
    """The stems of the vocabulary in an analysed sentence, and the words outside it."""
    inside, outside = [], []
    for position, token in enumerate(tokens):
        form, tag = token.form, token.tag
        if not tag.startswith(CONTENT) or (tag.startswith("N") and form in FREE):
            continue
        forms = candidates(tokens, position)
        listed = next((word for word in forms if word in stems), None)
        if listed:
            inside.append(listed)
        elif tag == "NNP" and form[0] in stems and form[1:] in stems:  # surname and given name
            inside += [form[0], form[1:]]
        elif not (tag in ("MM", "NNG") and NUMERAL.fullmatch(form)):
            outside.append(forms[0])
    return inside, outside


def tagged(tokens: Iterable[Token]) -> str:
    """The analysis as text, as the patterns of constructions.tsv read it: ` 먹/VV 고/EC 싶/VX 어요/EF ./SF `."""
    return " " + "".join(f"{token.form}/{token.tag.partition('-')[0]} " for token in tokens).translate(FINALS)


def odd_columns(columns: Sequence[str]) -> list[str]:
    """What is wrong with the form of one line."""
    if len(columns) < 2:
        return ["needs a Korean and an English column"]
    found = [f"odd spaces: {text!r}" for text in columns if text != " ".join(text.split()) or not text]
    found += [f"not NFC: {text!r}" for text in columns if unicodedata.normalize("NFC", text) != text]
    for text, allowed in zip(columns, [KOREAN] + [ENGLISH] * len(columns), strict=False):
        odd = "".join(dict.fromkeys(letter for letter in text if not allowed.fullmatch(letter)))
        found += [f"odd characters {odd!r}: {text}"] if odd else []
    found += [f"no final . ? or !: {text}" for text in columns if not text.endswith((".", "?", "!"))]
    found += ["question mark on one side only"] * (len({text.endswith("?") for text in columns}) > 1)
    return found + ["the same translation twice"] * (len(set(columns)) < len(columns))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--constructions", action="store_true", help="count the pairs of every construction")
    parser.add_argument("--below", type=int, default=8, help="list the stems used less often (default: 8)")
    options = parser.parse_args(arguments)
    rows = read_table("vocabulary.tsv")
    stems, kiwi = frozenset(row["stem"] for row in rows), make_kiwi(rows)
    first_seen: dict[str, str] = {}
    uses, matches, problems, pairs = Counter(dict.fromkeys(stems, 0)), Counter[str](), 0, 0
    patterns = [(row["name"], re.compile(row["pattern"])) for row in read_table("constructions.tsv")]
    for path in options.files:
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            pairs += 1
            columns, tokens = line.split("\t"), kiwi.tokenize(line.split("\t")[0])
            inside, outside = stems_of(tokens, stems)
            uses.update(inside)
            matches.update(name for name, pattern in patterns if pattern.search(tagged(tokens)))
            found = odd_columns(columns) + [f"{word} is not in the vocabulary: {columns[0]}" for word in outside]
            here, bare = f"{path}:{number}", re.sub(r"[\W_]", "", columns[0])
            if first_seen.setdefault(bare, here) != here:
                found.append(f"source repeats {first_seen[bare]}: {columns[0]}")
            problems += len(found)
            sys.stdout.writelines(f"{here}: {problem}\n" for problem in found)
    print(f"{pairs} pairs, {len(first_seen)} distinct sources, {problems} problems")
    print(f"{len(+uses)} of {len(stems)} stems used ({len(+uses) / len(stems):.0%})")
    for count in range(options.below):
        rare = [row["stem"] for row in rows if uses[row["stem"]] == count]
        print(f"used {count} times ({len(rare)}): {' '.join(dict.fromkeys(rare))}")
    if options.constructions:
        print("\n".join(f"{matches[name]:6} {name}" for name, _ in patterns))
    return int(problems > 0)


if __name__ == "__main__":
    sys.exit(main())
