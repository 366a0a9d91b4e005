"""Numbers in Korean words: 23,506 is 이만 삼천오백육.

Four digits make a group: 천, 백, 십 (1000, 100, 10) set the places within it, 만 (10^4) and 억 (10^8) the group. A
zero is not named; only the number 0 is: 영. 일 (one) is left out before 천, 백 and 십, and before a 만 that begins the
number: 천백십일 is 1,111, 만 is 10,000, 십일만 is 110,000. It stays before 억 and before a 만 inside the number:
일억 일만 is 100,010,000. Written with a space after each group (Hangul orthography, rule 44).
"""

from __future__ import annotations

import random
import string

DIGITS = "영일이삼사오육칠팔구"
PLACES = ("", "십", "백", "천")
GROUPS = ("", "만", "억")
LONGEST = len(PLACES) * len(GROUPS)  # digits
LARGEST = 10**LONGEST - 1
ONE = DIGITS[1]
# What stands for the same in both forms: 이 and 2.
WORDS = {
    one: frozenset({other}) for pair in zip(DIGITS, string.digits, strict=True) for one, other in (pair, pair[::-1])
}


def _words(number: int, spelled: bool = False) -> list[list[str]]:
    """The groups of a number above 0 from the highest on, each as one text per digit with its unit; the last text of
    a group carries 만 or 억. spelled: 일 is written before every unit, as on a cheque."""
    groups: list[list[str]] = []
    for power in range(len(GROUPS) - 1, -1, -1):
        digits = f"{number:0{LONGEST}d}"[::-1][4 * power : 4 * power + 4]
        texts = []
        for place in range(3, -1, -1):
            digit = int(digits[place])
            if digit:
                bare = digit == 1 and place > 0 and not spelled
                texts.append(("" if bare else DIGITS[digit]) + PLACES[place])
        if texts == [ONE] and GROUPS[power] == "만" and not groups and not spelled:
            texts = [""]
        if texts:
            texts[-1] += GROUPS[power]
            groups.append(texts)
    return groups


def write_numeral(number: int) -> str:
    """A number from 0 to 999,999,999,999 in Korean. Raises ValueError."""
    if not 0 <= number <= LARGEST:
        raise ValueError(f"{number} is not a number from 0 to {LARGEST}")
    return " ".join("".join(texts) for texts in _words(number)) or DIGITS[0]


def read_numeral(text: str) -> int:
    """The number that a Korean numeral names, with any spaces; 일 may stand before any unit (일만, 일천), and before 억
    some digit must. Raises ValueError for anything else, also for units in the wrong order."""
    letters = "".join(text.split())
    if letters == DIGITS[0]:
        return 0
    total = group = digit = 0
    place, power = len(PLACES), len(GROUPS)  # the last unit of this group, and the last group
    for letter in letters:
        if letter in DIGITS[1:] and not digit and place:
            digit = DIGITS.index(letter)
        elif letter in PLACES[1:] and PLACES.index(letter) < place:
            place = PLACES.index(letter)
            group, digit = group + (digit or 1) * 10**place, 0
        elif letter in GROUPS[1:] and GROUPS.index(letter) < power:
            power = GROUPS.index(letter)
            group += digit
            if not group and (letter != "만" or total):
                raise ValueError(f"{text!r} is not a Korean numeral")
            total += (group or 1) * 10 ** (4 * power)
            group, digit, place = 0, 0, len(PLACES)
        else:
            raise ValueError(f"{text!r} is not a Korean numeral")
    if not letters:
        raise ValueError("there is no numeral")
    return total + group + digit


def _is_korean(text: str) -> bool:
    return any(letter in DIGITS or letter in PLACES[1:] or letter in GROUPS[1:] for letter in text)


def number_of(text: str) -> int:
    """The number of a text in digits, with commas or not, or in Korean. Raises ValueError."""
    return read_numeral(text) if _is_korean(text) else int(text.replace(",", ""))


def other_form(text: str) -> str:
    """Digits in Korean, a Korean numeral in digits. Raises ValueError."""
    return str(read_numeral(text)) if _is_korean(text) else write_numeral(number_of(text))


def draw_number(digits: int, rng: random.Random) -> int:
    """A random number with this many digits. In half of them each digit is equally likely; in the others zeros or ones
    are frequent: digits drawn evenly hardly ever make 1,000,000 or 일 that is left out."""
    if not 1 <= digits <= LONGEST:
        raise ValueError(f"{digits} digits; choose 1 to {LONGEST}")
    zeros, ones = (0.1, 0.1) if rng.random() < 0.5 else (rng.random(), 0.3 * rng.random())
    number = 0
    for place in range(digits):
        least = 1 if place == 0 and digits > 1 else 0
        chance = rng.random()
        digit = 1 if chance < ones else least if chance < ones + zeros else rng.randint(least, 9)
        number = 10 * number + digit
    return number


def draw_text(digits: int, rng: random.Random) -> str:
    """A random number with this many digits as a person may write it: half in digits, half in Korean."""
    number = draw_number(digits, rng)
    if rng.random() < 0.5:
        return f"{number:,}" if rng.random() < 0.2 else str(number)
    return in_style(number, rng.choices(STYLES, (4, 3, 2, 1))[0])


STYLES = ("groups", "joined", "places", "spelled")


def in_style(number: int, style: str) -> str:
    """A number in Korean as people write it: "groups", a space after each group (이만 삼천오백육); "joined", no space
    (이만삼천오백육); "places", a space after every unit (이만 삼천 오백 육); "spelled", 일 never left out (일만
    일천일백일십일)."""
    if not number:
        return DIGITS[0]
    groups = _words(number, spelled=style == "spelled")
    if style == "places":
        return " ".join(text for texts in groups for text in texts)
    return ("" if style == "joined" else " ").join("".join(texts) for texts in groups)
