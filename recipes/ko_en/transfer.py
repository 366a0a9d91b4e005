"""The same verb with its objects in other constructions: of `I borrowed a book` also `Did you borrow a book?`.

A sentence of one clause, whose English is a subject, a verb and the rest, gives one for each row of transfers.tsv that
fits its subject, and two of them give a sentence of two clauses (JOINS). A row has the ending of the Korean verb in
every style, and the English. kiwipiepy conjugates the Korean verb, lemminflect (pip install lemminflect) the English
one. A new sentence may be odd, but its translation is right.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from recipes.ko_en.check import FOLDER
from recipes.ko_en.styles import HUMBLE, PLAIN, POLITE, with_pronouns

if TYPE_CHECKING:
    from kiwipiepy import Kiwi, Token

ENDS = (("요", "해요"), ("니다", "합니다"), ("니까", "합니다"), ("시오", "합니다"), ("다", "한다"))
LETTERS = str.maketrans("ㄴㄹㅂ", "\u11ab\u11af\u11b8")  # kiwipiepy writes final consonants as conjoining letters
MODAL = (
    "want to|wanted to|don't want to|have to|had to|will have to|will|won't|can|can't|could|couldn't|didn't|don't|"
    "am going to|was going to|know how to|don't know how to"
)
ASKED = (
    "Please don't|Please|Let's|Shall we|Did you|Do you want to|Do you have to|Do you|Will you|Can you|May I|"
    "Would you like to|You must not|Don't"
)
STATEMENT = re.compile(rf"(I|[A-Z][a-z]+|(?:My|The) (?:older |younger )?[a-z]+) (?:({MODAL}) )?([a-z]+)((?: .*)?)\.")
REQUEST = re.compile(rf"(?:{ASKED}) ([a-z]+)((?: .*)?)[.?]")
# What goes with few tenses, asks, joins or negates.
KOREAN = re.compile(
    "어제|그저께|오늘|내일|모레|지금|아까|방금|벌써|이미|아직|이따가|항상|자주|매[일주]|가끔|보통|지난|다음|작년|올해|내년|요즘|"
    "이번|전에|후에|때|동안|마다|처음|마지막|드디어|결국|또|다시|점점|갑자기|안 |못 |밖에|아무|별로|전혀|[왜뭐]|언제|"
    "어디|어느|어떻|누구|누가|무엇|무슨|얼마|몇|그럼|그래서|하지만|그러|[다라자냐]고 |,"
)
ENGLISH = re.compile(
    r"\b(because|when|if|while|but|before|after|ago|so|yesterday|last|yet|already|ever|never|always|often|usually|"
    r"and \w+ed|myself|himself|herself|yourself|your|you|me|us|said|told|suggested|try|make|made)\b|,|\?."
)
OWN = re.compile(r"\b(me|my|mine|our|us|I)\b")
ODD = re.compile(  # goes with few constructions
    "be|have|want|know|like|become|get|lose|forget|fall|die|break|wake|let|come|think|must|may|will|can|seem|hope"
)
PRONOUN = re.compile("It|He|She|They|We|This|That|There|These|Those|You|What|Who|Please|Let|Does|.*s")  # or a plural
STATES = ("보이", "들리", "나", "생기", "남")  # what a person sees or has is their Korean subject
HONORED = ("먹", "마시", "자", "있", "말", "죽", "모르", "되", "주", "보", "드시", "계시", "주무시")  # not in requests
OWNERS = ("", "저는 ", "나는 ", "제가 ", "내가 ")
# What may follow the main verb: tags, and of some only these words.
AFTER = ("EP", "EC", "ETM", "NNB", "VX", "VA", "VV", "VCP", "EF", "SF", "JX", "JKS", "JKO")
USUAL = {
    "VV": ("알", "모르", "되", "하"), "VX": ("싶", "있", "않", "못하", "말", "하", "되", "주"),
    "EC": ("고", "지", "어야", "어도", "면", "려고", "으려고", "어"),
}  # fmt: skip
JOINS = [  # of two sentences of `I`: how the first one ends, its tail, the English
    ("기/ETN", "전에", "{second} before {first}"),
    ("ㄴ/ETM", "후에", "{second} after {first}"),
    ("었/EP 지만/EC", "", "{first}, but {second}"),
    ("었/EP 기/ETN", "때문에", "{second} because {first}"),
    ("었/EP 을/ETM", "때", "{second} when {first}"),
]


@dataclass(frozen=True)
class Clause:
    """before: Korean up to the verb; verb: its morphemes and tags; subject, rest: of the English; forms of its verb."""

    before: str
    verb: tuple[tuple[str, str], ...]
    style: str
    tokens: tuple[Token, ...]
    subject: str
    rest: str
    forms: dict[str, str]


@cache
def table() -> list[list[str]]:
    lines = (FOLDER / "transfers.tsv").read_text(encoding="utf-8").splitlines()
    return [line.split("\t") for line in lines]


def forms_of(verb: str, is_past: bool) -> dict[str, str] | None:
    """The forms of an English verb in the past tense, or as it stands in the dictionary; None if it is none, or a verb
    that goes with few constructions."""
    from lemminflect import getInflection, getLemma

    tag = "VBD" if is_past else "VB"
    lemmas = getLemma(verb, "VERB", lemmatize_oov=False)
    base = next((one for one in lemmas if verb in getInflection(one, tag, inflect_oov=False)), None)
    if base is None or ODD.fullmatch(base):
        return None
    tags = {"past": "VBD", "ing": "VBG", "pp": "VBN"}
    found = {name: getInflection(base, tag, inflect_oov=False) for name, tag in tags.items()}
    return {"base": base} | {name: one[0] for name, one in found.items()} if all(found.values()) else None


def main_verb(tokens: Sequence[Token]) -> int | None:
    """The position of the verb that the endings and auxiliaries at the end belong to; None if it is not clear, or if
    an auxiliary changes what it means."""
    tags = [token.tag.partition("-")[0] for token in tokens]
    place = max((number for number, tag in enumerate(tags) if tag not in AFTER), default=-1)  # a noun, an adverb
    if tags[place] != "XSV":
        place = next((number for number in range(place + 1, len(tags)) if tags[number] == "VV"), 0)
    rest = list(zip((token.form for token in tokens[place + 1 :]), tags[place + 1 :], strict=True))
    fits = all(form in USUAL.get(tag, (form,)) for form, tag in rest)
    return place if place and fits and tags.count("EF") == 1 and "EC" not in tags[:place] else None


def clause(korean: str, english: str, kiwi: Kiwi) -> Clause | None:
    """The parts of a sentence of one clause; None for any other sentence."""
    request, statement = REQUEST.fullmatch(english), STATEMENT.fullmatch(english)
    if KOREAN.search(korean) or ENGLISH.search(english[9:] if request else english) or not (request or statement):
        return None
    if request:
        subject, modal, verb, rest = "I", "", request[1], request[2]
    elif statement and not PRONOUN.fullmatch(statement[1]):
        subject, modal, verb, rest = statement[1], statement[2], statement[3], statement[4]
    else:
        return None
    tokens = kiwi.tokenize(korean)
    is_past = modal is None and any(token.form == "었" for token in tokens)
    forms, place = forms_of(verb, is_past), main_verb(tokens)
    if forms is None or place is None or (modal is None and not is_past and subject != "I"):
        return None
    begin = korean.rfind(" ", 0, tokens[place].start + 1) + 1
    before = tuple(token for token in tokens if token.start < begin)
    names_itself = subject == "I" and before and before[-1].tag == "JKS"  # 국이 먹고 싶어요
    if names_itself or tokens[place].form in STATES or korean[:begin] in OWNERS:
        return None
    stem = tuple((token.form, token.tag) for token in tokens[: place + 1] if token.start >= begin)
    end = tokens[-2].form
    style = next((name for ending, name in ENDS if end.endswith(ending)), "해")
    return Clause(korean[:begin], stem, style, before, subject, rest, forms)


def conjugated(kiwi: Kiwi, verb: Sequence[tuple[str, str]], ending: str) -> str:
    """The verb with an ending such as `고/EC 싶어요.`: morphemes with tags, then words as they stand, then the mark."""
    parts = ending.translate(LETTERS).rstrip(".?").split(" ")
    tagged = [tuple(part.split("/")) for part in parts if "/" in part]
    words = [part for part in parts if "/" not in part]
    form = kiwi.join([*verb, *tagged]).replace(" ", "")
    return " ".join([form, *words]) + ending[-1:].strip("CEFMNPT")


def lowered(subject: str) -> str:
    """A subject in the middle of a sentence."""
    return subject[0].lower() + subject[1:] if subject.startswith(("My", "The")) else subject


def transferred(found: Clause, kiwi: Kiwi) -> Iterator[tuple[str, str]]:
    """The clause in every construction of the table that fits it, in every style that fits its words."""
    names, *rows = table()
    is_own, has_pronoun = found.subject == "I", any(token.tag == "NP" for token in found.tokens)
    for *cells, english, subject in rows:
        if (subject == "I" and not is_own) or (subject == "other" and is_own):
            continue
        if subject == "you" and (not is_own or has_pronoun or OWN.search(found.rest)):
            continue
        if english.startswith("Please") and found.verb[-1][0] in HONORED:
            continue
        filled = english.format(
            s=lowered(found.subject) if english.startswith("I think") else found.subject,
            am="am" if is_own else "is", **found.forms,
        ) + found.rest  # fmt: skip
        for style, cell in zip(names, cells, strict=False):
            if not cell:
                continue
            before = found.before
            if (style in POLITE) != (found.style in POLITE):
                before = with_pronouns(before, found.tokens, HUMBLE if style in POLITE else PLAIN)
            yield before + conjugated(kiwi, found.verb, cell), filled[0].upper() + filled[1:] + cell[-1]


def joined(first: Clause, second: Clause, kiwi: Kiwi) -> Iterator[tuple[str, str]]:
    """Two clauses of `I` in one sentence; the second one must not name its subject."""
    if first.subject != "I" or second.subject != "I" or any(token.tag == "NP" for token in second.tokens):
        return
    if (first.style in POLITE) != (second.style in POLITE):
        return
    end = {"해요": "어요", "합니다": "습니다", "한다": "다", "해": "어"}[second.style]
    last = second.before + conjugated(kiwi, second.verb, f"었/EP {end}/EF.")
    one, two = (f"I {clause.forms['past']}{clause.rest}" for clause in (first, second))
    for ending, tail, english in JOINS:
        korean = " ".join(filter(None, (first.before + conjugated(kiwi, first.verb, ending), tail, last)))
        yield korean, english.format(first=one, second=two) + "."


def transfers(pairs: Sequence[Sequence[str]], kiwi: Kiwi, each: int, seed: int) -> list[tuple[str, str]]:
    """`each` sentences at random of every pair that allows it, and one of it with another pair."""
    draw = random.Random(seed)
    found = [one for korean, english, *_ in pairs if (one := clause(korean, english, kiwi)) is not None]
    made = []
    for one in found:
        every = list(transferred(one, kiwi))
        made += draw.sample(every, min(each, len(every)))
        both = list(joined(one, draw.choice(found), kiwi))
        made += draw.sample(both, min(1, len(both)))
    return made
