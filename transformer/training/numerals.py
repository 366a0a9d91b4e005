"""Numbers in Korean: 23,506 is 이만 삼천오백육, and people write 2만 3506, 2만 3천5백6 and 23,506원, too.

Four digits make a group: 천, 백, 십 (1000, 100, 10) set the places within it, 만 (10^4) and 억 (10^8) the group. A
zero is not named; only the number 0 is: 영. 일 (one) is left out before 천, 백 and 십, and before a 만 that begins the
number: 천백십일 is 1,111, 만 is 10,000, 십일만 is 110,000. It stays before 억 and before a 만 inside the number:
일억 일만 is 100,010,000. Written with a space after each group (Hangul orthography, rule 44).

Digits that begin with a zero are no amount but a row, read one by one with 공 for zero: 007 is 공공칠. Things
are counted in native numerals, which end at 99: 3개 is 세 개.
"""

from __future__ import annotations

import random
import re
import string
from collections.abc import Callable

DIGITS = "영일이삼사오육칠팔구"
PLACES = ("", "십", "백", "천")
GROUPS = ("", "만", "억")
LONGEST = len(PLACES) * len(GROUPS)  # digits
LARGEST = 10**LONGEST - 1
ONE, ZERO = DIGITS[1], "공"
# What stands for the same in both forms: 이 and 2.
WORDS = {
    one: frozenset({other}) for pair in zip(DIGITS, string.digits, strict=True) for one, other in (pair, pair[::-1])
}
WORDS |= {ZERO: frozenset("0"), "0": WORDS["0"] | {ZERO}}

NATIVE_ONES = ("", "하나", "둘", "셋", "넷", "다섯", "여섯", "일곱", "여덟", "아홉")
NATIVE_TENS = ("", "열", "스물", "서른", "마흔", "쉰", "예순", "일흔", "여든", "아흔")
BEFORE_COUNTER = {"하나": "한", "둘": "두", "셋": "세", "넷": "네"}
COUNTERS = {"개": 0, "명": 0, "원": 0, "년": 9999, "월": 12, "일": 31}  # and their largest number, if they have one
COUNTED_NATIVELY = ("개", "명")
MONTHS = {6: "유월", 10: "시월"}  # the others are regular
TOKEN = re.compile(r"\d{1,3}(?:,\d{3})+(?!\d)|\d+|\D")
ROW = re.compile(f"[{DIGITS}{ZERO}]{{2,}}|{ZERO}")
OF_LETTER = {ord(letter): str(index) for index, letter in enumerate(DIGITS)} | {ord(ZERO): "0"}


def _words(number: int, style: str = "groups") -> list[list[str]]:
    """The groups of a number above 0 from the highest on, each as one text per digit with its unit; the last text of
    a group carries 만 or 억. style: "spelled", 일 is written before every unit, as on a cheque; "bare": before none."""
    groups: list[list[str]] = []
    for power in range(len(GROUPS) - 1, -1, -1):
        digits = f"{number:0{LONGEST}d}"[::-1][4 * power : 4 * power + 4]
        texts = []
        for place in range(3, -1, -1):
            digit = int(digits[place])
            if digit:
                bare = digit == 1 and place > 0 and style != "spelled"
                texts.append(("" if bare else DIGITS[digit]) + PLACES[place])
        first = GROUPS[power] == "만" and not groups
        if texts == [ONE] and ((style == "bare" and power) or (style != "spelled" and first)):
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


def write_native(number: int, counting: bool = False) -> str:
    """A number from 1 to 99 in native numerals. counting: as before a counter, 스물한 instead of 스물하나."""
    tens, ones = NATIVE_TENS[number // 10], NATIVE_ONES[number % 10]
    if counting and number == 20:
        return "스무"
    return tens + (BEFORE_COUNTER.get(ones, ones) if counting else ones)


NATIVE = {write_native(number): number for number in range(1, 100)}
COUNTING = {write_native(number, counting=True): number for number in range(1, 100)}


def read_numeral(text: str) -> int:
    """The number that a Korean numeral names, with any spaces, its coefficients as words or digits (2만 3천506); 일 may
    stand before any unit (일만, 일천) or be missing. Raises ValueError for anything else, also for units in the wrong
    order."""
    if "".join(text.split()) == DIGITS[0]:
        return 0
    total = group = digit = 0
    place, power = len(PLACES), len(GROUPS)  # the last unit of this group, and the last group
    wrong = ValueError(f"{text!r} is not a Korean numeral")
    for token in (token for word in text.split() for token in TOKEN.findall(word)):
        if (token in DIGITS[1:] or token[0] in "123456789") and not digit and place:
            digit = DIGITS.index(token) if token in DIGITS else int(token.replace(",", ""))
            if digit >= 10**place:
                raise wrong
        elif token in PLACES[1:] and PLACES.index(token) < place and digit < 10:
            place = PLACES.index(token)
            group, digit = group + (digit or 1) * 10**place, 0
        elif token in GROUPS[1:] and GROUPS.index(token) < power:
            power = GROUPS.index(token)
            total += (group + digit or 1) * 10 ** (4 * power)
            group, digit, place = 0, 0, len(PLACES)
        else:
            raise wrong
    if not text.split():
        raise ValueError("there is no numeral")
    return total + group + digit


def _parts(text: str) -> tuple[str, str]:
    """Numeral and counter of a text; the counter may be empty. 일 counts days only after a digit: 이십일 is 21."""
    text = " ".join(text.split())
    for number, month in MONTHS.items():
        if text == month:
            return write_numeral(number), "월"
    for counter in COUNTERS:
        numeral = text.removesuffix(counter).rstrip()
        if text.endswith(counter) and numeral and (counter != "일" or numeral[-1].isdigit()):
            return numeral, counter
    return text, ""


def _is_digits(numeral: str) -> bool:
    return numeral.isascii() and TOKEN.fullmatch(numeral) is not None and numeral[0].isdigit()


def digits_of(text: str) -> str:
    """The number of a text in any spelling, in digits; a row keeps its zeros: 공공칠 is 007. Raises ValueError."""
    numeral, counter = _parts(text)
    joined = "".join(numeral.split())
    if _is_digits(numeral):
        digits = numeral.replace(",", "")
    elif ROW.fullmatch(numeral) and not counter:  # 삼 일 may be three days
        digits = numeral.translate(OF_LETTER)
    elif joined in (COUNTING if counter else NATIVE) and counter in ("", *COUNTED_NATIVELY):
        digits = str((COUNTING if counter else NATIVE)[joined])
    else:
        digits = str(read_numeral(numeral))
    most = COUNTERS.get(counter, 0)
    if len(digits) > LONGEST or (most and not 0 < int(digits) <= most):
        raise ValueError(f"{text!r} is a larger number than this language has")
    return digits


def number_of(text: str) -> int:
    """The number of a text in any spelling. Raises ValueError."""
    return int(digits_of(text))


def other_form(text: str) -> str:
    """Digits in Korean, a numeral with Korean words in digits; a counter stays. Raises ValueError."""
    digits, (numeral, counter) = digits_of(text), _parts(text)
    if not _is_digits(numeral):
        return digits + counter
    if not counter and len(digits) > 1 and digits[0] == "0":
        return "".join(ZERO if digit == "0" else DIGITS[int(digit)] for digit in digits)
    number = int(digits)
    if counter == "월":
        return MONTHS.get(number) or write_numeral(number) + counter
    if counter in COUNTED_NATIVELY and 0 < number < 100:
        return f"{write_native(number, counting=True)} {counter}"
    return f"{write_numeral(number)} {counter}".strip()


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


STYLES = ("groups", "joined", "places", "spelled", "bare")


def in_style(number: int, style: str) -> str:
    """A number in Korean as people write it: "groups", a space after each group (이만 삼천오백육); "joined", no space
    (이만삼천오백육); "places", a space after every unit (이만 삼천 오백 육); "spelled", 일 never left out (일만
    일천일백일십일); "bare", 일 left out before every unit (억 만 천백십일)."""
    if not number:
        return DIGITS[0]
    groups = _words(number, style)
    if style == "places":
        return " ".join(text for texts in groups for text in texts)
    return ("" if style == "joined" else " ").join("".join(texts) for texts in groups)


def mixed(number: int, write: Callable[[int], str], between: str = " ") -> str:
    """A number with 만 and 억, and `write` for the number before each of them and at the end: 2만 3506."""
    if not number:
        return "0"
    found = []
    for power in range(len(GROUPS) - 1, -1, -1):
        value = number // 10 ** (4 * power) % 10_000
        if value:
            found.append(write(value) + GROUPS[power])
    return between.join(found)


def with_units(value: int, between: str = "", bare: bool = False) -> str:
    """A number below 10,000 in digits, each with its unit: 3천5백6. bare: 천, not 1천."""
    digits = [(int(digit), place) for place, digit in zip(range(3, -1, -1), f"{value:04}", strict=True)]
    return between.join(
        ("" if bare and digit == 1 and place else str(digit)) + PLACES[place] for digit, place in digits if digit
    )


def row(digits: str, zero: str = ZERO) -> str:
    """Digits read one by one: 공일공 is 010."""
    return "".join(zero if digit == "0" else DIGITS[int(digit)] for digit in digits)


def _halves(number: int) -> str:
    """Digits before 만 and 억, words for the rest."""
    high, low = number // 10**4 * 10**4, number % 10**4
    return " ".join([mixed(high, str)] * (high > 0) + [write_numeral(low)] * (low > 0 or not high))


# How people write an amount.
SPELLINGS: dict[str, Callable[[int], str]] = {
    "digits": str,  # 23506
    "commas": lambda number: f"{number:,}",  # 23,506
    **{style: lambda number, style=style: in_style(number, style) for style in STYLES},  # type: ignore[misc]
    "mixed": lambda number: mixed(number, str),  # 2만 3506
    "mixed, commas": lambda number: mixed(number, "{:,}".format),  # 2만 3,506
    "mixed, joined": lambda number: mixed(number, str, ""),  # 2만3506
    "units": lambda number: mixed(number, lambda value: with_units(value, " ")),  # 2만 3천 5백 6
    "units by group": lambda number: mixed(number, with_units),  # 2만 3천5백6
    "units, joined": lambda number: mixed(number, with_units, ""),  # 2만3천5백6
    "units, bare": lambda number: mixed(number, lambda value: with_units(value, bare=True)),  # 만 천5백
    "digits and words": _halves,  # 2만 삼천오백육
    "row": lambda number: row(str(number)),  # 이삼오공육
    "zeros": lambda number: f"00{number}",  # 0023506
}  # fmt: skip


def _any_mixed(number: int, rng: random.Random) -> str:
    """Each group in a spelling of its own: 1억 2,345만 6천."""
    ways: tuple[Callable[[int], str], ...] = (
        str, str, "{:,}".format, with_units, lambda value: with_units(value, " "),
        lambda value: with_units(value, bare=True), write_numeral,
    )  # fmt: skip
    first, same = rng.choice(ways), rng.random() < 0.5
    return mixed(number, lambda value: (first if same else rng.choice(ways))(value), rng.choice((" ", " ", "")))


def _counted(text: str, number: int, rng: random.Random) -> str:
    """The text with a counter that suits its number, if one does."""
    suiting = [
        counter for counter, most in COUNTERS.items()
        if number and (not most or number <= most) and (counter != "일" or text[-1] in string.digits)
    ]  # fmt: skip
    if not suiting:
        return text
    return text + rng.choice((" ", "")) + rng.choice(suiting)


def draw_text(digits: int, rng: random.Random) -> str:
    """A random number with this many digits as a person may write it, a third in digits."""
    number, draw = draw_number(digits, rng), rng.random()
    if number and digits < 3 and draw < 0.3:
        if draw < 0.15:
            return write_native(number)
        return write_native(number, counting=True) + rng.choice((" ", "")) + rng.choice(COUNTED_NATIVELY)
    if digits > 1 and draw < 0.09:
        zeros = str(draw_number(rng.randint(1, digits - 1), rng)).zfill(digits)
        return zeros if draw < 0.05 else row(zeros, rng.choice((ZERO, ZERO, DIGITS[0])))
    if draw < 0.14:
        text = row(str(number), rng.choice((ZERO, ZERO, DIGITS[0])))
        return text if len(text) > 1 or text == ZERO else str(number)
    if draw < 0.42:
        text = SPELLINGS[rng.choice(("digits", "digits", "digits", "commas"))](number)
    elif draw < 0.72:
        text = in_style(number, rng.choices(STYLES, (4, 3, 2, 1, 1))[0])
    else:
        text = _any_mixed(number, rng)
    return _counted(text, number, rng) if rng.random() < 0.15 else text
