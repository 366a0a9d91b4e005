"""What people type first: 300 sentences with every accepted translation, 200 others, 200 names that have to be copied,
200 inputs with signs (addresses, hashtags, units, brackets, code), 48 clock times, and 500 long inputs made of the 300.

`typed.tsv` and `blind.tsv` have a kind, a sentence and its accepted translations in each line, `names.tsv` a kind, a
name and a sentence with it, `symbols.tsv` what `typed.tsv` has, but no translations where the input is to be copied.
All were written for this project, `blind.tsv` without sight of `typed.tsv` and of the training text; no line of the
others is trained on, and no name is in the training text.
"""

import itertools
import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from benchmarks.report import Table
from transformer.analysis.tokens import repeats
from transformer.inference.pretrained import Pretrained
from transformer.interventions.sets import NONE
from transformer.training.clock import in_words

FOLDER = Path(__file__).parent
RIGHT, COPIED, TOLD = 0.85, 0.90, 0.95  # shares wanted
TIMES = ("past half", "to quarter", "past ten", "")  # kinds of clock times, each at twelve hours
MOST_REPEATS = 3  # of a block of tokens in a row
BEAMS = 4
JOINED, SHORTEST, LONGEST = 500, 41, 60  # long inputs, and their tokens
LOOPING = 0.01  # share of them that may run away
GROUP = re.compile(r"\{(?:(\d):)?([^{}]*)\}")
OWN = FOLDER.parent / "recipes" / "en-de.own.tsv"  # our own training pairs
NEAR = 0.75  # overlap of words
WORD = re.compile(r"[^\W\d_]+")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Typed:
    """accepted: every translation that counts as right, written as templates (`expand`)."""

    kind: str
    source: str
    accepted: frozenset[str]


def expand(template: str) -> Iterator[str]:
    """Every text of a template: `{a|b|}` stands for any of the alternatives, one of which may be empty; groups with the
    same number, `{1:du|Sie} ... {1:dir|Ihnen}`, take the alternative at the same place. Raises ValueError."""
    groups = [(number, body.split("|")) for number, body in GROUP.findall(template)]
    numbers = list(dict.fromkeys(number or f"group {index}" for index, (number, _) in enumerate(groups)))
    sizes: dict[str, int] = {}
    for index, (number, choices) in enumerate(groups):
        if sizes.setdefault(number or f"group {index}", len(choices)) != len(choices):
            raise ValueError(f"the groups {number} of {template!r} have different numbers of alternatives")
    if re.search(r"[{}|]", GROUP.sub("", template)):
        raise ValueError(f"{template!r} has a brace or a bar outside a group")
    for picked in itertools.product(*(range(sizes[number]) for number in numbers)):
        of = dict(zip(numbers, picked, strict=True))
        texts = iter([choices[of[number or f"group {index}"]] for index, (number, choices) in enumerate(groups)])
        yield " ".join(GROUP.sub(lambda _match, texts=texts: next(texts), template).split())


def rows(name: str) -> list[list[str]]:
    """The columns of each line of a file beside this module."""
    return [line.split("\t") for line in (FOLDER / name).read_text(encoding="utf-8").splitlines()]


def listed(name: str) -> list[Typed]:
    """The sentences of a file beside this module; one without translations is to be copied."""
    found = []
    for kind, source, *accepted in rows(name):
        templates = [one for each in accepted for one in each.split(" || ")]
        found.append(
            Typed(kind, source, frozenset(text for one in templates for text in expand(one)) or frozenset({source}))
        )
    return found


def typed_list() -> list[Typed]:
    return listed("typed.tsv")


def clock_times() -> list[Typed]:
    """Every time of TIMES alone, in small letters; the model may begin with a capital and end with a full stop."""
    return [Typed(kind or "the hour", *told(hour, kind)) for kind in TIMES for hour in range(1, 13)]


def told(hour: int, kind: str) -> tuple[str, frozenset[str]]:
    """A time, and how it may be told in German: Viertel vor neun and dreiviertel neun."""
    source, target = in_words(hour, kind)
    forms = {
        target,
        *(target.replace("Viertel vor", other) for other in ("viertel vor", "dreiviertel", "drei viertel")),
    }
    forms |= {form[0].upper() + form[1:] for form in forms}
    return source, frozenset(form + mark for form in forms for mark in ("", "."))


def runs_away(model: Pretrained, source: str, translation: str) -> bool:
    """Whether the translation repeats a block more often than its source, or is cut off at the longest length."""
    said, written = model.tokenizer.encode(source), model.tokenizer.encode(translation)
    return repeats(written) > max(MOST_REPEATS, repeats(said)) or len(written) >= model.output_limit(NONE, None)


def known(word: str) -> bool:
    """Whether a large list of German or English words has it."""
    from wordfreq import zipf_frequency  # a package of `make bench`

    return any(zipf_frequency(word, language) > 0 for language in ("de", "en"))


def made_up(sentence: Typed, translation: str, known: Callable[[str], bool] = known) -> list[str]:
    """Words of the translation that are not known, in none of the accepted translations and not in the source. German
    joins words freely: a word of two known ones, with or without "s" between them, is known."""

    def joined(word: str) -> bool:
        cuts = [(word[:at], word[at:]) for at in range(3, len(word) - 2)]
        return any(known(last) and (known(first) or known(first.removesuffix("s"))) for first, last in cuts)

    fine = {word.lower() for text in (sentence.source, *sentence.accepted) for word in WORD.findall(text)}
    words = [word for word in WORD.findall(translation) if word.lower() not in fine]
    return [word for word in words if not known(word) and not joined(word)]


def copied(name: str, translation: str) -> bool:
    """Whether the name stands in the translation letter by letter, as words of its own."""
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", translation) is not None


def measure(model: Pretrained, quick: bool = False) -> list[Table]:
    step = 10 if quick else 1
    sentences, blind = typed_list()[::step], listed("blind.tsv")[::step]
    title = "translations that are exactly one of the accepted ones"
    return [
        sentences_table(f"What people type: {title}", model, sentences),
        near_table(model, sentences),
        sentences_table(f"The blind list: {title}", model, blind),
        near_table(model, blind),
        names_table(model, rows("names.tsv")[::step]),
        exact_table(model, "Signs: addresses, units, brackets, code", listed("symbols.tsv")[::step], COPIED),
        exact_table(model, "Clock times in words", clock_times()[::step], TOLD),
        joined_table(model, joined([one.source for one in typed_list()], model.tokenizer.encode, JOINED // step)),
    ]


def joined(sources: Sequence[str], encode: Callable[[str], Sequence[int]], count: int, seed: int = 1) -> list[str]:
    """`count` texts of SHORTEST to LONGEST tokens, each of sentences drawn at random."""
    rng, texts = random.Random(seed), list[str]()
    while len(texts) < count:
        drawn = [rng.choice(sources)]
        while len(encode(" ".join(drawn))) < SHORTEST:
            drawn.append(rng.choice(sources))
        if len(encode(" ".join(drawn))) <= LONGEST:
            texts.append(" ".join(drawn))
    return texts


def written(model: Pretrained, sources: list[str], beam: int = 1) -> list[str]:
    return [one.text for one in model.translate_all(sources, beam)]


def by_kind(kinds: Iterable[str], results: Iterable[Result]) -> dict[str, list[Result]]:
    """The results of each kind, and of all together."""
    found: dict[str, list[Result]] = {}
    for kind, result in zip(kinds, results, strict=True):
        found.setdefault(kind, []).append(result)
    return {**found, "all": [result for results in found.values() for result in results]}


def share(count: int, of: int) -> str:
    return f"{count} ({count / max(1, of):.0%})"


def sentences_table(title: str, model: Pretrained, sentences: list[Typed]) -> Table:
    sources = [sentence.source for sentence in sentences]
    table = Table(title, ("kind", "sentences", "greedy", f"beam {BEAMS}", "run away", "made-up words"))
    found = [
        (first in one.accepted, best in one.accepted, runs_away(model, one.source, first), made_up(one, first))
        for one, first, best in zip(sentences, written(model, sources), written(model, sources, BEAMS), strict=True)
    ]
    for kind, results in by_kind([sentence.kind for sentence in sentences], found).items():
        right, with_beams, away = (sum(result[place] for result in results) for place in range(3))
        invented = [word for *_, words in results for word in words]
        good = right >= RIGHT * len(results) and not away and not invented if kind == "all" else None
        shares = (share(count, len(results)) for count in (right, with_beams))
        table.add(kind, len(results), *shares, away, len(invented) if kind == "all" else " ".join(invented), good=good)
    table.notes.append(
        f"Wanted of greedy decoding: {RIGHT:.0%}, none that runs away (a block of tokens more than "
        f"{MOST_REPEATS} times in a row, or no end), and no made-up word (`made_up` in `typed.py`)."
    )
    return table


def bare(text: str) -> str:
    """Without case and punctuation."""
    return " ".join(re.findall(r"\w+", text.lower()))


def overlap(first: str, second: str) -> float:
    """The F1 of two texts' words: twice those they share, over those of both."""
    one, other = first.split(), second.split()
    return 2 * (Counter(one) & Counter(other)).total() / max(1, len(one) + len(other))


def near(sentence: Typed, pairs: Sequence[tuple[str, str]]) -> bool:
    """Whether one of the pairs, texts as `bare` gives them, is like the sentence: its target is an accepted
    translation, or its source shares most words with the sentence (`overlap` of at least NEAR)."""
    accepted, words = {bare(text) for text in sentence.accepted}, bare(sentence.source)
    return any(target in accepted or overlap(words, source) >= NEAR for source, target in pairs)


def near_table(model: Pretrained, sentences: list[Typed]) -> Table:
    """Do sentences that the model was trained with on purpose, and that are like the list's, make the score?"""
    table = Table(
        f"The same with and without a sentence like it among our own training pairs ({OWN.name})",
        ("a pair like it", "sentences", "greedy"),
    )
    lines = (line.split("\t") for line in OWN.read_text(encoding="utf-8").splitlines())
    pairs = [(bare(source), bare(target)) for source, target, _kind in lines]
    found: dict[bool, list[bool]] = {True: [], False: []}
    translations = written(model, [sentence.source for sentence in sentences])
    for sentence, translation in zip(sentences, translations, strict=True):
        found[near(sentence, pairs)].append(translation in sentence.accepted)
    for like, right in found.items():
        table.add("yes" if like else "no", len(right), share(sum(right), len(right)))
    table.notes.append(
        "Like it: the pair's target is an accepted translation, or its source shares most words with the sentence "
        f"(F1 of at least {NEAR:g}), both without case and punctuation."
    )
    return table


def shares_table(title: str, things: str, wanted: float, kinds: list[str], ways: dict[str, list[bool]]) -> Table:
    """How many of each kind are right by each way of decoding. wanted: the share of greedy decoding, the first way."""
    table = Table(title, ("kind", things, *ways))
    for kind, results in by_kind(kinds, zip(*ways.values(), strict=True)).items():
        counts = [sum(way) for way in zip(*results, strict=True)]
        good = counts[0] >= wanted * len(results) if kind == "all" else None
        table.add(kind, len(results), *(share(count, len(results)) for count in counts), good=good)
    table.notes.append(f"Wanted: {wanted:.0%} with greedy decoding.")
    return table


def names_table(model: Pretrained, names: list[list[str]]) -> Table:
    kinds, copies, sources = map(list, zip(*names, strict=True))
    ways = {
        way: list(map(copied, copies, written(model, sources, beams)))
        for way, beams in (("greedy", 1), (f"beam {BEAMS}", BEAMS))
    }
    title = "Names that are not in the training text: copied letter by letter"
    return shares_table(title, "names", COPIED, kinds, ways)


def exact_table(model: Pretrained, title: str, sentences: list[Typed], wanted: float) -> Table:
    title, kinds = f"{title}: exactly one of the accepted translations", [sentence.kind for sentence in sentences]
    translations = written(model, [one.source for one in sentences])
    right = [text in one.accepted for one, text in zip(sentences, translations, strict=True)]
    return shares_table(title, "inputs", wanted, kinds, {"greedy": right})


def joined_table(model: Pretrained, sources: list[str]) -> Table:
    table = Table(
        f"Several of these sentences in one input, {SHORTEST} to {LONGEST} tokens: translations that run away",
        ("inputs", "greedy", f"beam {BEAMS}"),
    )
    away = [
        sum(runs_away(model, source, found) for source, found in zip(sources, translations, strict=True))
        for translations in (written(model, sources), written(model, sources, BEAMS))
    ]
    table.add(
        len(sources), *(f"{count} ({count / len(sources):.1%})" for count in away),
        good=away[0] <= LOOPING * len(sources),
    )  # fmt: skip
    table.notes.append(f"Wanted: at most {LOOPING:.0%} with greedy decoding.")
    return table
