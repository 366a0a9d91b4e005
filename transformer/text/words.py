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
from difflib import SequenceMatcher

EDGES = re.compile(r"^\W+|\W+$")
ALIKE = 0.6  # how much of two words has to be the same, from 0 to 1, for one to be near the other


def letters(text: str) -> str:
    """The text in single letters: 실 is ㅅ, ㅣ and ㄹ."""
    return unicodedata.normalize("NFD", text)


def words_of(text: str) -> list[str]:
    """The words of a text, without punctuation."""
    return [word for part in unicodedata.normalize("NFC", text).split() if (word := EDGES.sub("", part))]


@dataclass(frozen=True)
class Words:
    """words: as a dictionary has them; beginnings, endings: kind -> those that go together, in single letters (noun,
    verb; counter: what counts, such as 명 and 시); forms: words that are no such pair; number: the pattern of a number,
    which may stand before an ending or a counter."""

    words: tuple[str, ...]
    beginnings: Mapping[str, frozenset[str]]
    endings: Mapping[str, frozenset[str]]
    forms: frozenset[str]
    number: re.Pattern[str]

    @classmethod
    def read(cls, text: str) -> Words:
        """From words.json."""
        data = json.loads(text)
        beginnings, endings = (
            {kind: frozenset(map(letters, parts)) for kind, parts in data[key].items()}
            for key in ("beginnings", "endings")
        )
        return cls(tuple(data["words"]), beginnings, endings, frozenset(data["forms"]), re.compile(data["number"]))

    def divisions(self, word: str) -> Iterator[tuple[str, str, str]]:
        """(kind, beginning, rest) of a word, for every known beginning; the rest need not be an ending."""
        spelled = letters(word)
        for end in range(1, len(spelled) + 1):
            for kind, beginnings in self.beginnings.items():
                if spelled[:end] in beginnings:
                    yield kind, spelled[:end], spelled[end:]

    def known(self, word: str) -> bool:
        """Whether this is a form of a known word, or a number."""
        if word in self.forms or any(rest in self.endings.get(kind, ()) for kind, _, rest in self.divisions(word)):
            return True
        number = self.number.match(word)
        after = word[number.end() :] if number else word
        ends = {letters(after), *(rest for kind, _, rest in self.divisions(after) if kind == "counter")}
        return after != word and (not after or not ends.isdisjoint(self.endings["noun"]))

    def outside(self, text: str) -> list[str]:
        """The words of a text that are none of these, each once."""
        return [word for word in dict.fromkeys(words_of(text)) if not self.known(word)]

    def near(self, word: str, most: int = 3) -> list[str]:
        """Known words that begin much like this one, the nearest first."""
        spelled = letters(word)

        def alike(known: str) -> float:
            other = letters(known.removesuffix("다") if len(known) > 2 else known)
            return SequenceMatcher(None, spelled[: len(other) + 1], other, autojunk=False).ratio()

        found = sorted(((alike(known), -place, known) for place, known in enumerate(self.words)), reverse=True)
        return [known for ratio, _, known in found[:most] if ratio >= ALIKE]


def written(
    words: Sequence[str], parts: Mapping[str, Mapping[str, Sequence[str]]], forms: Sequence[str], number: str
) -> str:
    """The text of words.json. parts: "beginnings" and "endings"."""
    data = {"words": list(words), **parts, "forms": sorted(forms), "number": number}
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")) + "\n"
