"""Korean particles after inserted text. Uses only the standard library.

A particle depends on the last sound of the word before it: 헤드는, 토큰은. A translation writes both forms after a
place that is filled in, "{name}은(는)", as Korean texts do where the word is not known; `choose_particles` keeps the
right one, and both where the spelling does not tell: "cat" is read 캣, "hat" in a German sentence 하트.
`frontend/src/core/particles.js` does the same in the browser.
"""

import re
import unicodedata
from typing import Any

# with a final consonant, without one; "(으)로" is 로 after ㄹ, too
FORMS = {
    "은(는)": ("은", "는"), "이(가)": ("이", "가"), "을(를)": ("을", "를"), "와(과)": ("과", "와"),
    "(으)로": ("으로", "로"), "(이)라": ("이라", "라"),
}  # fmt: skip
_PLACE = re.compile(rf"(?<!\}})(?:{'|'.join(map(re.escape, FORMS))})")  # a place not filled in yet keeps both
_TAG = re.compile(r"<[^<>]*>")
_BRACKETS = re.compile(r"(?<=[가-힣])\s?\([^()]*\)\W*$")  # the particle follows the word before them
_UNSURE = re.compile(r"[aeiouy][bckpt]k?$")  # of a Latin word: the last consonant may be one in Korean, too
_READ = re.compile(r"[^\W_]|%")  # what is read aloud; quotation marks and brackets are not
DIGITS = "영일이삼사오육칠팔구"
UNITS = ("", "십", "백", "천", "만", "만", "만", "만", "억")  # of the zeros at the end of a number
RIEUL = 8  # ㄹ


def _final(syllable: str) -> int:
    """The final consonant of a Hangul syllable, 0 for none (Unicode, section 3.12)."""
    return (ord(syllable) - 0xAC00) % 28


def last_sound(text: str) -> int | None:
    """The final consonant with which a Korean reads the end of a text, 0 for none, None if the spelling does not tell.

    Numbers are read in Sino-Korean, words in Latin letters roughly as in English: those that end in l, m, n or ng have
    one, those that end in a vowel with b, c, k, p or t may have one. Of capitals the last one's name is read.
    """
    text = _BRACKETS.sub("", unicodedata.normalize("NFKC", _TAG.sub("", text)))
    places = [match.start() for match in _READ.finditer(text)]
    if not places:
        return 0
    text = text[: places[-1] + 1]
    last = text[-1]
    if "가" <= last <= "힣":
        return _final(last)
    if last.isdecimal() and last.isascii():
        number = re.search(r"(\d|(?<=\d),(?=\d))+$", text, re.ASCII)
        digits = number[0].replace(",", "") if number else last
        fraction = number is not None and text[: number.start()].endswith(".")
        zeros = len(digits) - len(digits.rstrip("0"))
        if zeros == 0 or fraction or zeros == len(digits):
            return _final(DIGITS[int(last)])
        return _final(UNITS[min(zeros, len(UNITS) - 1)])
    if last == "ε":  # 엡실론; the names of other Greek letters in use end in a vowel
        return _final("론")
    word = (re.search(r"[A-Za-z]+$", text) or [""])[0]
    if len(word) == 1 or word.isupper():
        return _final({"l": "엘", "r": "알", "m": "엠", "n": "엔"}.get(last.lower(), "에"))
    word = word.lower()
    if _UNSURE.search(word):
        return None
    endings = {"l": "엘", "m": "엠", "n": "엔", "ng": "잉"}
    return next((_final(read) for end, read in endings.items() if word.endswith(end)), 0)


def choose_particles(text: str) -> str:
    """The text with one form of every particle that is written in both."""

    def choose(match: re.Match[str]) -> str:
        sound = last_sound(text[: match.start()])
        if sound is None:
            return match[0]
        with_final, without = FORMS[match[0]]
        return without if sound == 0 or (match[0] == "(으)로" and sound == RIEUL) else with_final

    return _PLACE.sub(choose, text)


class WithParticles(str):
    """A translation whose `format` chooses the particles after what it fills in."""

    def format(self, *values: Any, **named: Any) -> str:
        return choose_particles(super().format(*values, **named))
