"""Numbers in Korean: 23,506 is 이만 삼천오백육, in digits and units 2만 3,506.

Four digits make a group: 천, 백, 십 (1000, 100, 10) set the places within it, 만 (10^4) and 억 (10^8) the group. A
zero is not named; only the number 0 is: 영. 일 (one) is left out before 천, 백 and 십, and before a 만 that begins the
number: 천백십일 is 1,111, 만 is 10,000, 십일만 is 110,000. It stays before 억 and before a 만 inside the number:
일억 일만 is 100,010,000. Written with a space after each group (Hangul orthography, rule 44).

The rule of the other form (`other_form`):

- Digits become words: 23506 and 23,506 are 이만 삼천오백육.
- Everything else becomes digits without commas: words, native numerals (스물셋), digits with units (2만 3천), and
  mixtures (이만 3506).
- Digits that begin with a zero are a code and not an amount, so each is named, zero as 공: 007 is 공공칠. Digits named
  one by one, zero as 공 or 영, become the same digits: 공공칠 is 007, 이공이육 is 2026.
- A counter at the end stays: 12개 is 열두 개, 3만 5천 원 is 35000원. In words, 개 and 명 take native numerals up to 99
  (스물한 개), Sino-Korean ones above; 원, 년, 월 and 일 Sino-Korean ones. 6월 is 유월, 10월 is 시월. A space stands
  between words and their counter (rule 43), but not in the names of the months.
- 일 is also the word for one, and 십 일 may be 11 or 10일. It counts days only where it cannot be the digit: 삼 일 is
  3일, 이십삼일 is 23일, but 십 일 is 11 and 삼일, named one by one, 31.
"""

import contextlib
import random
import re
import string
import unicodedata
from typing import NamedTuple

DIGITS = "영일이삼사오육칠팔구"
NAMES = "공" + DIGITS[1:]  # of digits named one by one
PLACES = ("", "십", "백", "천")
GROUPS = ("", "만", "억")
LONGEST = len(PLACES) * len(GROUPS)  # digits
LARGEST = 10**LONGEST - 1
ZEROS = 3  # most zeros in front of a number
ONE = DIGITS[1]
NATIVE_TENS = ("", "열", "스물", "서른", "마흔", "쉰", "예순", "일흔", "여든", "아흔")
NATIVE_ONES = ("", "하나", "둘", "셋", "넷", "다섯", "여섯", "일곱", "여덟", "아홉")
BEFORE_COUNTERS = {"하나": "한", "둘": "두", "셋": "세", "넷": "네"}  # 스물 is 스무, where no ones follow
MONTHS = ("", "일", "이", "삼", "사", "오", "유", "칠", "팔", "구", "시", "십일", "십이")  # before 월
NATIVE_COUNTERS, SINO_COUNTERS = "개명", "원년월일"  # things, people; won, years, months, days
COUNTERS = NATIVE_COUNTERS + SINO_COUNTERS
# 유월, 시월, 스무 개: nothing else teaches these names, so some of the small numbers with the counter are these.
IRREGULAR = {"월": ("6 10", 0.5), "개": ("20", 0.25), "명": ("20", 0.25)}
FIGURES = re.compile(r"[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+")
# What stands for the same in both forms: 이 and 2.
WORDS = {
    one: frozenset({other}) for pair in zip(DIGITS, string.digits, strict=True) for one, other in (pair, pair[::-1])
}


def native(number: int, counted: bool = False) -> str:
    """A number from 1 to 99 in native Korean; counted: as it stands before a counter, 스물한 and not 스물하나."""
    tens, ones = NATIVE_TENS[number // 10], NATIVE_ONES[number % 10]
    if counted:
        tens, ones = "스무" if number == 20 else tens, BEFORE_COUNTERS.get(ones, ones)
    return tens + ones


NATIVE = {native(number): number for number in range(1, 100)}
COUNTED = {native(number, counted=True): number for number in range(1, 100)}


class Style(NamedTuple):
    """How a number with units is written.

    form: "words", 삼천오백육; "units", the same with digits, 3천5백6; "figures", 3506 before the unit of the group;
    "commas", 3,506; "split", only the highest unit of a group, 3천506. rest: the form of the last four digits.
    ones: which 일 is written before a unit: "usual", see above; "all" (일만 일천일백, as on a cheque); "none" (억 만).
    gaps: a space after "groups", after "places" (삼천 오백 육), between all "letters", or "none".
    """

    form: str
    rest: str
    ones: str
    gaps: str


STYLES = {
    "groups": Style("words", "words", "usual", "groups"),
    "joined": Style("words", "words", "usual", "none"),
    "places": Style("words", "words", "usual", "places"),
    "letters": Style("words", "words", "usual", "letters"),
    "spelled": Style("words", "words", "all", "groups"),
    "bare": Style("words", "words", "none", "groups"),
    "figures": Style("figures", "figures", "all", "groups"),
    "figures joined": Style("figures", "figures", "all", "none"),
    "figures with commas": Style("commas", "commas", "all", "groups"),
    "units": Style("units", "units", "all", "groups"),
    "units joined": Style("units", "units", "all", "none"),
    "units apart": Style("units", "units", "all", "places"),
    "units bare": Style("units", "units", "usual", "groups"),
    "units split": Style("split", "split", "all", "groups"),
    "figures, then words": Style("figures", "words", "usual", "groups"),
    "words, then figures": Style("words", "figures", "usual", "groups"),
}
# Every spelling, with 23,506 in it; `spell` writes them. "zeros" and "named zeros" have one to three zeros in front.
SPELLINGS = {
    "digits": "23506",
    "commas": "23,506",
    "zeros": "0023506",
    "groups": "이만 삼천오백육",
    "joined": "이만삼천오백육",
    "places": "이만 삼천 오백 육",
    "letters": "이 만 삼 천 오 백 육",
    "spelled": "이만 삼천오백육",
    "bare": "이만 삼천오백육",
    "figures": "2만 3506",
    "figures joined": "2만3506",
    "figures with commas": "2만 3,506",
    "units": "2만 3천5백6",
    "units joined": "2만3천5백6",
    "units apart": "2만 3천 5백 6",
    "units bare": "2만 3천5백6",
    "units split": "2만 3천506",
    "figures, then words": "2만 삼천오백육",
    "words, then figures": "이만 3506",
    "named": "이삼오공육",
    "named 영": "이삼오영육",
    "named zeros": "공공이삼오공육",
    "native": "",  # up to 99: 스물셋
}
FROM_FIGURES = ("digits", "commas", "zeros")  # the spellings that become words


def _pattern() -> str:
    """A regular expression of all texts that `parts_of` reads, with one space where it allows some; of the digits 0 to
    9 and NFC. It has no anchors, and means the same in JavaScript."""
    word = f"[{DIGITS[1:]}]"
    one = f"(?:{word}|[1-9])"
    ten, hundred, thousand = (f"(?:{one} ?)?{place}" for place in PLACES[1:])
    group = (
        f"(?:(?:{thousand} ?)?(?:{hundred} ?)?{ten}(?: ?{one})?|(?:{thousand} ?)?{hundred}(?: ?(?:{word}|[1-9][0-9]?))?"
        f"|{thousand}(?: ?(?:{word}|[1-9][0-9]{{0,2}}))?|{word}|[1-9][0-9]{{0,3}}|[1-9],[0-9]{{3}})"
    )
    high, low = (f"(?:{group} ?)?{unit}" for unit in reversed(GROUPS[1:]))
    units = f"{high}(?: ?{low})?(?: ?{group})?|{low}(?: ?{group})?|{group}"
    commas = "[1-9][0-9]{0,2}(?:,[0-9]{3}){1,3}"
    code = f"0{{0,{ZEROS}}}(?:0|[1-9][0-9]{{0,{LONGEST - 1}}})"
    zero = f"[{NAMES[0]}{DIGITS[0]}]"
    named = f"{zero}{{0,{ZEROS}}}(?:{zero}|{word}(?:{zero}|{word}){{0,{LONGEST - 1}}})"
    counted = f"(?:0|{DIGITS[0]}|[1-9][0-9]{{0,{LONGEST - 1}}}|{commas}|{units}) ?[{COUNTERS.replace('월', '')}]"
    things = f"(?:{'|'.join(COUNTED)}) ?[{NATIVE_COUNTERS}]"
    months = f"(?:{'|'.join((*MONTHS[1:], *map(str, range(1, 13))))}) ?월"
    return "|".join((code, commas, named, *NATIVE, units, counted, things, months))


PATTERN = _pattern()


def _places(value: int, form: str, ones: str) -> list[str]:
    """The parts of a group from 1 to 9999: one text per digit with its place, or as figures."""
    if form in ("figures", "commas"):
        return [str(value) if form == "figures" else f"{value:,}"]
    if form == "split":
        place = len(str(value)) - 1
        rest = value % 10**place
        return [str(value // 10**place) + PLACES[place], *([str(rest)] if rest else [])]
    letters = DIGITS if form == "words" else string.digits
    return [
        ("" if digit == "1" and place and ones != "all" else letters[int(digit)]) + PLACES[place]
        for place, digit in zip(range(3, -1, -1), f"{value:04d}", strict=True)
        if digit != "0"
    ]


def _groups(number: int, style: Style) -> list[list[str]]:
    """The groups of a number above 0 from the highest on, each as `_places` gives it; the last text of a group carries
    만 or 억."""
    groups: list[list[str]] = []
    for power in range(len(GROUPS) - 1, -1, -1):
        value = number // 10 ** (4 * power) % 10**4
        if value:
            form = style.form if power else style.rest
            texts = _places(value, form, style.ones)
            alone = power and value == 1 and form in ("words", "units")
            if alone and (style.ones == "none" or (style.ones == "usual" and GROUPS[power] == "만" and not groups)):
                texts = [""]
            texts[-1] += GROUPS[power]
            groups.append(texts)
    return groups


def in_style(number: int, style: Style) -> str:
    """A number from 0 to 999,999,999,999 with units, or in words."""
    groups = _groups(number, style)
    if style.gaps == "places":
        return " ".join(text for texts in groups for text in texts) or DIGITS[0]
    text = ("" if style.gaps == "none" else " ").join("".join(texts) for texts in groups) or DIGITS[0]
    return " ".join(text.replace(" ", "")) if style.gaps == "letters" else text


def write_numeral(number: int, counter: str = "") -> str:
    """A number from 0 to 999,999,999,999 in Korean, with its counter. Raises ValueError."""
    if not 0 <= number <= LARGEST:
        raise ValueError(f"{number} is not a number from 0 to {LARGEST}")
    if counter == "월":
        if not 1 <= number <= 12:
            raise ValueError(f"{number} is not a month")
        return MONTHS[number] + counter
    if counter and counter in NATIVE_COUNTERS and 1 <= number <= 99:
        return f"{native(number, counted=True)} {counter}"
    return f"{in_style(number, STYLES['groups'])} {counter}".rstrip()


def read_numeral(text: str) -> int:
    """The number that a Korean numeral with units names: words, digits (with commas) or both before the units, with
    spaces anywhere but between two digits. 일 may stand before any unit or be left out. Raises ValueError for anything
    else, also for units in the wrong order and for digits without any unit."""
    letters = "".join(text.split())
    wrong = ValueError(f"{text!r} is not a Korean numeral" if letters else "there is no numeral")
    if letters == DIGITS[0]:
        return 0
    if not letters or FIGURES.fullmatch(letters) or re.search(r"[\d,]\s+[\d,]", text):
        raise wrong
    total = group = digit = 0
    place, power = len(PLACES), len(GROUPS)  # the last unit of this group, and the last group
    for part in re.findall(r"[\d,]+|.", letters):
        if FIGURES.fullmatch(part) and part[0] != "0" and not digit and int(part.replace(",", "")) < 10**place:
            digit = int(part.replace(",", ""))
        elif part in DIGITS[1:] and not digit and place:
            digit = DIGITS.index(part)
        elif part in PLACES[1:] and PLACES.index(part) < place and digit < 10:
            place = PLACES.index(part)
            group, digit = group + (digit or 1) * 10**place, 0
        elif part in GROUPS[1:] and GROUPS.index(part) < power:
            power = GROUPS.index(part)
            total += (group + digit or 1) * 10 ** (4 * power)
            group, digit, place = 0, 0, len(PLACES)
        else:
            raise wrong
    return total + group + digit


def _digits(text: str, counter: str) -> str:
    """The digits of a text without its counter, with the zeros in front of a code. Raises ValueError."""
    if counter == "월":
        months = {str(number): number for number in range(1, 13)} | {word: at for at, word in enumerate(MONTHS) if at}
        if text not in months:
            raise ValueError(f"{text!r} is not a month")
        return str(months[text])
    known = COUNTED if counter and counter in NATIVE_COUNTERS else {} if counter else NATIVE
    if text in known:
        return str(known[text])
    if not counter and re.fullmatch(f"[{NAMES}{DIGITS[0]}]+", text):
        text = "".join(str(max(NAMES.find(letter), 0)) for letter in text)
        figures = text
    else:
        figures = text.replace(",", "") if FIGURES.fullmatch(text) else str(read_numeral(text))
    if len(str(int(figures))) > LONGEST or len(figures) - len(str(int(figures))) > ZEROS:
        raise ValueError(f"{text!r} has too many digits")
    if figures != str(int(figures)) and (counter or "," in text):
        raise ValueError(f"{text!r} begins with a zero")
    return figures


def parts_of(text: str) -> tuple[str, str]:
    """The digits and the counter of a text in any spelling. Raises ValueError."""
    text = " ".join(unicodedata.normalize("NFKC", text).split())
    for counter in ("", *COUNTERS):  # 일 counts only where it is not the digit
        with contextlib.suppress(ValueError):
            if text.endswith(counter):
                return _digits(text.removesuffix(counter).rstrip(), counter), counter
    raise ValueError(f"{text!r} is not a Korean numeral")


def number_of(text: str) -> int:
    """The number of a text in any spelling, with a counter or not. Raises ValueError."""
    return int(parts_of(text)[0])


def other_form(text: str) -> str:
    """Digits in Korean words, everything else in digits; see above. Raises ValueError."""
    digits, counter = parts_of(text)
    if not re.match(rf"[\d,]+\s?[{COUNTERS}]?$", unicodedata.normalize("NFKC", text).strip()):
        return digits + counter
    if digits != str(int(digits)):
        return "".join(NAMES[int(digit)] for digit in digits)
    return write_numeral(int(digits), counter)


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


def spell(number: int, spelling: str, counter: str = "") -> str | None:
    """A number in one of `SPELLINGS`, with a counter; None where they do not go together: no unit in 7, 스물셋 only up
    to 99, and no counter after a code."""
    zeros = "0" * (1 + number % ZEROS)
    if spelling in ("zeros", "named", "named 영", "named zeros"):
        digits = f"{zeros if 'zeros' in spelling else ''}{number}"
        names = {"named 영": DIGITS, "zeros": string.digits}.get(spelling, NAMES)
        text = "".join(names[int(digit)] for digit in digits)
        return None if counter else text
    if counter == "월" and spelling in ("digits", "groups"):
        return (str(number) if spelling == "digits" else MONTHS[number]) + counter if 1 <= number <= 12 else None
    if counter == "월" or (spelling == "native" and not 1 <= number <= 99):
        return None
    if spelling in ("digits", "commas"):
        return (str(number) if spelling == "digits" else f"{number:,}") + counter
    if spelling == "native":
        text = native(number, counted=bool(counter))
        return None if counter and counter not in NATIVE_COUNTERS else f"{text} {counter}".rstrip()
    text = in_style(number, style := STYLES[spelling])
    if FIGURES.fullmatch(text) or (number < 10**4 and style.form != style.rest):
        return None
    text = f"{text}{'' if style.gaps == 'none' else ' '}{counter}".rstrip()
    return text if not counter or parts_of(text) == (str(number), counter) else None  # 십 일 is 11


def mixture(number: int, rng: random.Random) -> str | None:
    """Words, digits and units in any order, with any spaces: 1억2천 삼백만 4,567. None if no unit came."""
    texts = []
    for power in range(len(GROUPS) - 1, -1, -1):
        value = number // 10 ** (4 * power) % 10**4 * 10 ** (4 * power)
        if value:
            form = rng.choice(("words", "units", "figures", "commas", "split"))
            style = Style(form, form, rng.choice(("usual", "all")), rng.choice(("groups", "places", "none")))
            texts.append(in_style(value, style))
    text = rng.choice(("", " ")).join(texts)
    if rng.random() < 0.2:
        text = re.sub(r"(?<=[^\d,\s])(?=\S)|(?<=\S)(?=[^\d,\s])", lambda _: rng.choice(("", "", " ")), text)
    return None if not text or FIGURES.fullmatch(text) else text


def draw_text(digits: int, rng: random.Random) -> str:
    """A random number with this many digits as a person may write it: four in ten in digits, the others in words, in
    digits with units, or in both."""
    number = draw_number(digits, rng)
    counter = rng.choice(COUNTERS) if rng.random() < 0.2 else ""
    if digits < 3 and rng.random() < 0.6:
        counter = rng.choice((*IRREGULAR, ""))
        irregular, share = IRREGULAR.get(counter, ("", 0))
        named = [int(one) for one in irregular.split() if len(one) == digits]
        if named and rng.random() < share:
            number = rng.choice(named)
    if rng.random() < 0.4:
        (spelling,) = rng.choices(FROM_FIGURES, (6, 3, 2))
        text = spell(number, spelling, counter)
        if text and counter and rng.random() < 0.2:
            text = f"{text[:-1]} {counter}"
        return text or spell(number, "digits", counter) or str(number)
    if number < 100 and rng.random() < 0.4:
        text = spell(number, "native", counter) or spell(number, "groups", counter)
    elif rng.random() < 0.25 and not counter:
        text = mixture(number, rng)
    else:
        others = [name for name in SPELLINGS if name not in FROM_FIGURES and name != "native"]
        text = spell(number, rng.choice(others), counter)
    if text and counter and counter != "월" and rng.random() < 0.3:  # 열두개
        joined = text[:-1].rstrip() + counter
        text = joined if _is_same(joined, text) else text
    return text or spell(number, rng.choice(("groups", "joined", "places", "spelled"))) or ""


def _is_same(text: str, other: str) -> bool:
    with contextlib.suppress(ValueError):
        return parts_of(text) == parts_of(other)
    return False
