"""The words that a model with a closed vocabulary was taught, and which words of a text are none of them.

Korean words change their ends, and a final consonant or a vowel of the stem with them: 마시다, 마셔요, 마실. So a word
of a text is known if it is a known beginning and a known ending, both written in single letters (Unicode's decomposed
form). `recipes/ko_en/words.py` collects both from the text that the model was trained on.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from transformer.text.tokenizer import composed
from transformer.texts import N_, translate

EDGES = re.compile(r"^\W+|\W+$")
TENS, ONES = "열|스물|서른|마흔|쉰|예순|일흔|여든|아흔", "하나|한|둘|두|셋|세|넷|네|다섯|여섯|일곱|여덟|아홉"
NUMBER = re.compile(rf"[0-9][0-9.,:]*|(?:{TENS})(?:{ONES})?|{ONES}|스무|[영공일이삼사오육칠팔구십백천만억조]+")
MOST, LONGEST = 10_000, 40  # words of a list; syllables of a word that is looked for
ALIKE = 0.65  # share of the letters of two words that has to be the same for one to be near the other
NAMED, NEAR = 4, 2  # most words that a message names, and most near ones of each
OUTSIDE = N_("Not in this model's vocabulary: {words}")


def letters(text: str) -> str:
    """The text in single letters: 실 is ㅅ, ㅣ and ㄹ."""
    return unicodedata.normalize("NFD", text)


def words_of(text: str) -> list[str]:
    """The words of a text, without punctuation."""
    return [word for part in composed(text).split() if (word := EDGES.sub("", part))]


@dataclass(frozen=True)
class Words:
    """words: as a dictionary has them; beginnings, endings: kind -> those that go together, in single letters (noun,
    verb; counter: what counts, such as 명 and 시); forms: words that are no such pair. A number may stand before an
    ending or a counter."""

    words: tuple[str, ...]
    beginnings: Mapping[str, frozenset[str]]
    endings: Mapping[str, frozenset[str]]
    forms: frozenset[str]

    @classmethod
    def read(cls, text: str) -> Words:
        """From words.json, which may be anybody's. Raises ValueError."""
        try:
            data = json.loads(text)
            beginnings, endings = (
                {kind: frozenset(map(letters, parts)) for kind, parts in data[key].items()}
                for key in ("beginnings", "endings")
            )
            words, forms = (tuple(map(composed, data[key])) for key in ("words", "forms"))
            " ".join(words).encode()  # half of a surrogate pair cannot be shown
        except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
            raise ValueError(f"no list of words: {error!r}") from error
        if len(words) > MOST:
            raise ValueError(f"{len(words):,} words; at most {MOST:,} are allowed")
        return cls(words, beginnings, endings, frozenset(forms))

    def divisions(self, word: str) -> Iterator[tuple[str, str, str]]:
        """(kind, beginning, rest) of a word, for every known beginning; the rest need not be an ending."""
        spelled = letters(word)
        for end in range(1, len(spelled) + 1):
            for kind, beginnings in self.beginnings.items():
                if spelled[:end] in beginnings:
                    yield kind, spelled[:end], spelled[end:]

    def known(self, word: str) -> bool:
        """Whether this is a form of a known word, or a number."""
        if len(word) > LONGEST:
            return False
        word = unicodedata.normalize("NFKC", word)  # as the tokenizer reads it: full-width digits
        if word in self.forms or any(rest in self.endings.get(kind, ()) for kind, _, rest in self.divisions(word)):
            return True
        number = NUMBER.match(word)
        after = word[number.end() :] if number else word
        ends = {letters(after), *(rest for kind, _, rest in self.divisions(after) if kind == "counter")}
        return after != word and (not after or not ends.isdisjoint(self.endings.get("noun", ())))

    def outside(self, text: str) -> list[str]:
        """The words of a text that are none of these, each once."""
        return [word for word in dict.fromkeys(words_of(text)) if not self.known(word)]

    def near(self, word: str, most: int = NEAR) -> list[str]:
        """Known words that begin like this one, the nearest first, then the longest. Words of one syllable are near to
        too many, but for stems that end in a consonant: 먹다 is near 먹엇어요."""
        word = word[:LONGEST]
        begins = letters(word)[:1]
        found = sorted(
            (
                (
                    1.0 if is_short(known) and word[0] == known[0] else alike(stem_of(known), word),
                    len(known),
                    -place,
                    known,
                )
                for place, known in enumerate(self.words)
                if len(known) > 1 and letters(known[0])[0] == begins
            ),
            reverse=True,
        )
        return [known for share, _, _, known in found[:most] if share >= ALIKE]

    def told(self, text: str) -> str:
        """What to tell a reader of the words of a text that are none of these; "" if there are none."""
        found = self.outside(text)
        named = [
            translate(N_("{word} (near: {words})"), word=word, words=", ".join(near)) if near else word
            for word, near in ((word[:LONGEST], self.near(word)) for word in found[:NAMED])
        ]
        return translate(OUTSIDE, words=", ".join([*named, *["…"][: len(found) - NAMED]])) if found else ""


def stem_of(known: str) -> str:
    """What a word of the list begins with in every form, more or less: 마시 of 마시다."""
    return known.removesuffix("다") if len(known) > 2 else known


def is_short(known: str) -> bool:
    """Whether this is a verb or an adjective with a stem of one syllable that ends in a consonant, as 먹다."""
    return known[1:] == "다" and len(letters(known[0])) == 3


def alike(stem: str, word: str) -> float:
    """The share of letters that a stem and the beginning of a word have in common, from 0 to 1: 1 - the fewest letters
    to insert, remove or exchange / the letters of the longer one. The beginning is that of as many whole syllables as
    gives most."""
    spelled, best, read = letters(stem), 0.0, 0
    row = list(range(len(spelled) + 1))  # letters to change between what is read of the word and each beginning of stem
    for syllable in word[: len(stem) + 1]:
        for letter in letters(syllable):
            read, above, row = read + 1, row, [read + 1]
            for place, other in enumerate(spelled):
                row.append(min(above[place] + (letter != other), above[place + 1] + 1, row[place] + 1))
        best = max(best, 1 - row[-1] / max(read, len(spelled), 1))
    return best


def written(words: Sequence[str], parts: Mapping[str, Mapping[str, Sequence[str]]], forms: Sequence[str]) -> str:
    """The text of words.json. parts: "beginnings" and "endings"."""
    data = {"words": list(words), **parts, "forms": sorted(forms)}
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")) + "\n"
