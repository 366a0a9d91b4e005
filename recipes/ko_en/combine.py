"""More Korean-English pairs from those of `pairs/`: other words in the same sentence, and numbers, dates and amounts in
sentences that were written for them.

`swapped` puts another word of the same class (swaps.tsv) into both languages: another fruit, town, name, day of the
week. `filled` fills the places of a frame (frames.tsv) at random: {date}, {things} and so on are those of SLOTS, and
{을} is the particle that fits the word before it. A word that stands in either language more than once stays as it is,
and so does one that CLASSES rule out in its sentence. A new sentence may be odd, but its translation is right.
"""

import calendar
import random
import re
from collections.abc import Callable
from functools import cache

from recipes.ko_en.check import read_table
from transformer.text.numerals import MONTHS, native, write_numeral

# Particles after a final consonant and after a vowel.
PAIRED = {
    "은": "는", "이": "가", "을": "를", "과": "와", "으로": "로", "이나": "나", "이랑": "랑", "이에요": "예요",
    "이야": "야", "이라서": "라서", "이었어요": "였어요", "이었습니다": "였습니다", "이고": "고", "이지만": "지만",
}  # fmt: skip
ALONE = ("", "에", "에서", "에는", "에서는", "에도", "에서도", "에게", "한테", "도", "만", "부터", "까지", "까지는",
         "보다", "하고", "의", "처럼", "밖에", "마다", "입니다", "께서", "께서는", "께")  # fmt: skip
WITH_FINAL = {other: own for own, other in PAIRED.items()} | {own: own for own in PAIRED}
TAIL = "|".join(sorted((*PAIRED, *PAIRED.values(), *ALONE), key=len, reverse=True))
# What a sentence needs for a class to be swapped, and what rules it out.
WEATHER = "눈|비[가는도 ]|춥|추[운워웠]|덥|더[운워웠]|따뜻|시원|꽃|봄|여름|가을|겨울|방학|크리스마스|설날|추석"
COUNTERS = "시간|시|명|마리|개|잔|병|권|장|켤레|번|달|살|분|편|가지"
CLASSES = {
    "job": (r"(이|가) (되|아니)|(이에요|예요|입니다|이다|이야|야|였어요|이었어요)[.?]", ""),
    "place": (r"에 (가|갔|갈|간|들[렀러르])|까지|으?로 (가|갔)| (앞|뒤|옆|근처)에", ""),
    "painted": ("", "하늘|바다|구름|눈|꽃|나무|바나나|딸기|사과|불|신호등|얼굴|머리|바람|피부"),
    "color": ("", "하늘|바다|눈|꽃|나무|신호등|불"),
    "month": ("", WEATHER),
    "drink": ("", "처럼|식[었은]"),
    "sweet": ("", "처럼|녹[았아은]"),
    "dish": ("", "넣"),
    "farm": ("", "타"),
    "subject": ("수업|시험|공부|배우|배웠|배울|선생님|교수님|숙제|책|좋아", ""),
    "goods": (r"(새|사|샀|산|살|팔|팔았|비싸|비싼|비쌌|싸|싼|고장)", ""),
    "carried": (r"잃어버|찾|놓|두고|가져|샀|사[고서려]|선물|새 ", "쓰"),
    "language": ("", "한국|영국|미국|중국|일본|독일|프랑스"),
    "country": ("", "어를|어로|어가|어는|서울|도쿄|베이징|런던|파리|뉴욕|베를린|한국어|수도"),
    "city": ("", "한국|중국|일본|영국|프랑스|미국|독일|바다|한강|남산|명동"),
}
FOLLOWED = {
    "hours": rf"(?= ({COUNTERS})({TAIL}|쯤|씩)(?![가-힣]))",
    "minutes": "(?= 분)", "floor": "(?= 층)", "ordinal": "(?= 번째)",
}  # fmt: skip
BY = ("ride",)  # swapped only in "by bus": with another verb the article would differ
VOWEL = re.compile(r"[aeioAEIO]|um|hour")


def has_final(word: str) -> bool:
    """Whether the last syllable ends in a consonant."""
    return (ord(word[-1]) - ord("가")) % 28 != 0


def particle(word: str, wanted: str) -> str:
    """The form of a particle after a word."""
    own = WITH_FINAL.get(wanted, wanted)
    if own == "으로" and (ord(word[-1]) - ord("가")) % 28 == 8:  # ㄹ
        return "로"
    return own if has_final(word) or own not in PAIRED else PAIRED[own]


@cache
def classes() -> dict[str, list[tuple[str, str, str]]]:
    """Class -> its words: Korean, English, and the plural in English, "" for a word without one."""
    found: dict[str, list[tuple[str, str, str]]] = {}
    for row in read_table("swaps.tsv"):
        found.setdefault(row["class"], []).append((row["korean"], row["english"], row["plural"]))
    return found


def _replaced(english: str, old: str, new: str) -> str | None:
    """The sentence with another word; None if the old one is not there exactly once."""
    first = f"[{old[0]}{old[0].upper()}]{re.escape(old[1:])}"
    found = list(re.finditer(rf"(?:\b([Aa]n?) )?(?<![\w-])({first})(?![\w-])", english))
    if len(found) != 1:
        return None
    (match,) = found
    article, word = match.groups()
    if article:
        new = f"{article[0]}{'n' if VOWEL.match(new) else ''} {new}"
    elif word != old:  # it begins the sentence
        new = new[0].upper() + new[1:]
    return english[: match.start()] + new + english[match.end() :]


def swapped(korean: str, english: str, draw: random.Random) -> tuple[str, str] | None:
    """The pair with other words wherever a class allows it; None if there is no such place."""
    before = korean
    for kind, words in classes().items():
        used: list[str] = []
        needs, rules_out = CLASSES.get(kind, ("", ""))
        if (needs and not re.search(needs, korean)) or (rules_out and re.search(rules_out, korean)):
            continue
        here = [word for word in words if re.search(rf"(?<![가-힣]){word[0]}", korean)]
        for old, *forms in here:
            ends = FOLLOWED.get(kind)
            pattern = rf"(?<![가-힣]){old}" + (ends if ends else rf"({TAIL})(?![가-힣])")
            match = re.search(pattern, korean)
            if match is None or len(re.findall(rf"(?<![가-힣]){old}", korean)) != 1:
                continue
            others = [
                word for word in words if word not in here and word[0] not in used and bool(word[2]) == bool(forms[1])
            ]
            if not others:
                continue
            new = draw.choice(others)
            place = "by {}" if kind in BY else "{}"
            changed = [
                found
                for one, other in zip(forms, new[1:], strict=True)
                if one and (found := _replaced(english, place.format(one), place.format(other))) is not None
            ]
            if len(changed) == 1:
                (english,) = changed
                used.append(new[0])
                end = "" if ends else particle(new[0], match[1])
                korean = korean[: match.start()] + new[0] + end + korean[match.end() :]
    return (korean, english) if korean != before else None


# -- frames -----------------------------------------------------------------------------------------------------------

ONES = re.findall(
    r"\w+",
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen",
)
TENS = re.findall(r"[\w-]+", "- ten twenty thirty forty fifty sixty seventy eighty ninety")
ORDINALS = re.findall(r"\w+", "first second third fourth fifth sixth seventh eighth ninth tenth")
NAMES = list(calendar.month_name)
Filling = tuple[str, str]  # what stands in the Korean and in the English sentence


def in_english(number: int) -> str:
    """A whole number below a million in words: twenty-five, one hundred five, fifteen thousand."""
    if number < 20:
        return ONES[number]
    if number < 100:
        return TENS[number // 10] + (f"-{ONES[number % 10]}" if number % 10 else "")
    name, size = ("hundred", 100) if number < 1000 else ("thousand", 1000)
    rest = number % size
    return f"{in_english(number // size)} {name}" + (f" {in_english(rest)}" if rest else "")


def _counted(kind: str) -> Callable[[random.Random], Filling]:
    rows = [row for row in read_table("counted.tsv") if row["kind"] == kind]

    def drawn(draw: random.Random) -> Filling:
        row, number = draw.choice(rows), draw.choice((1, 1, 2, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 20))
        english = f"one {row['english']}" if number == 1 else f"{in_english(number)} {row['plural']}"
        return f"{row['korean']} {native(number, counted=True)} {row['counter']}", english

    return drawn


def _month(draw: random.Random) -> Filling:
    number = draw.randint(1, 12)
    return draw.choice((f"{number}월", f"{MONTHS[number]}월")), NAMES[number]


def _date(draw: random.Random) -> Filling:
    month, day = draw.randint(1, 12), draw.randint(1, 28)
    if draw.random() < 0.3:
        return f"{MONTHS[month]}월 {write_numeral(day)} 일", f"{NAMES[month]} {day}"
    return f"{month}월 {day}일", f"{NAMES[month]} {day}"


def _time(draw: random.Random) -> Filling:
    hour, minute, half = draw.randint(1, 12), draw.choice((5, 10, 15, 20, 30, 40, 45, 50)), draw.random() < 0.5
    early, word = hour in range(6, 12) and half, native(hour, counted=True)
    part, clock = ("오전", "a.m.") if early else ("오후", "p.m.")
    when = "in the morning" if early else "in the afternoon"
    hour_name = f"{hour} {clock}"
    return draw.choice((
        (f"{part} {hour}시", hour_name), (f"{part} {hour}시", hour_name),
        (f"{part} {word} 시", f"{in_english(hour)} {when}"), (f"{part} {word} 시", f"{in_english(hour)} {when}"),
        (f"{word} 시", f"{in_english(hour)} o'clock"), (f"{hour}시", f"{hour} o'clock"),
        (f"{word} 시 반", f"half past {in_english(hour)}"), (f"{hour}시 {minute}분", f"{hour}:{minute:02}"),
        (f"{part} {hour}시 {minute}분", f"{hour}:{minute:02} {clock}"),
    ))  # fmt: skip


def _price(draw: random.Random) -> Filling:
    amount = draw.choice((500, 800, *range(1000, 10000, 500), *range(10000, 100000, 5000)))
    if draw.random() < 0.5:
        return f"{amount:,}원", f"{amount:,} won"
    return f"{write_numeral(amount)} 원", f"{in_english(amount)} won"


def _hours(draw: random.Random) -> Filling:
    number, minutes = draw.randint(2, 10), draw.randint(2, 10) * 5
    return draw.choice((
        (f"{native(number, counted=True)} 시간", f"{in_english(number)} hours"), (f"{number}시간", f"{number} hours"),
        (f"{write_numeral(minutes)} 분", f"{in_english(minutes)} minutes"), (f"{minutes}분", f"{minutes} minutes"),
        ("한 시간", "one hour"),
    ))  # fmt: skip


def _days(draw: random.Random) -> Filling:
    return draw.choice((("이틀", "two days"), ("사흘", "three days"), ("일주일", "a week"), ("며칠", "a few days")))


def _years(draw: random.Random) -> Filling:
    number = draw.randint(2, 10)
    return draw.choice((
        (f"{native(number, counted=True)} 달", f"{in_english(number)} months"),
        (f"{write_numeral(number)} 년", f"{in_english(number)} years"), (f"{number}년", f"{number} years"),
    ))  # fmt: skip


def _age(draw: random.Random) -> Filling:
    number = draw.randint(2, 89)
    return draw.choice((
        (f"{native(number, counted=True)} 살", f"{in_english(number)} years old"),
        (f"{number}살", f"{number} years old"),
    ))  # fmt: skip


def _floor(draw: random.Random) -> Filling:
    number = draw.randint(2, 10)
    return draw.choice((f"{number}층", f"{write_numeral(number)} 층")), f"the {ORDINALS[number - 1]} floor"


def _ordinal(draw: random.Random) -> Filling:
    number = draw.randint(1, 9)
    return ("첫 번째" if number == 1 else f"{native(number, counted=True)} 번째"), ORDINALS[number - 1]


def _of(kinds: str, prefix: Filling = ("", "")) -> Callable[[random.Random], Filling]:
    def drawn(draw: random.Random) -> Filling:
        korean, english, _ = draw.choice([word for kind in kinds.split(",") for word in classes()[kind]])
        return f"{prefix[0]}{korean}", f"{prefix[1]}{english}"

    return drawn


def _number(korean: str, english: str, least: int, most: int) -> Callable[[random.Random], Filling]:
    def drawn(draw: random.Random) -> Filling:
        number = draw.randint(least, most)
        return f"{number}{korean}", english.format(number)

    return drawn


SLOTS: dict[str, Callable[[random.Random], Filling]] = {
    "month": _month, "date": _date, "time": _time, "price": _price, "hours": _hours, "days": _days, "years": _years,
    "age": _age, "floor": _floor, "ordinal": _ordinal,
    **{kind: _counted(kind) for kind in ("foods", "things", "animals", "people")},
    "past": _number("년", "{}", 1950, 2025), "future": _number("년", "{}", 2027, 2060),
    "percent": _number("퍼센트", "{} percent", 2, 99), "line": _number("호선", "line {}", 1, 9),
    "page": _number("쪽", "page {}", 2, 300),
    "day": _of("day"), "next": _of("day", ("다음 주 ", "next ")), "last": _of("day", ("지난주 ", "last ")),
    "this": _of("day", ("이번 주 ", "this ")),
    "city": _of("city"), "country": _of("country"), "man": _of("man open,man closed"),
    "woman": _of("woman open,woman closed"), "fruit": _of("fruit"), "drink": _of("drink"), "dish": _of("dish"),
    "place": _of("place"), "language": _of("language"), "goods": _of("goods"), "carried": _of("carried"),
    "ball": _of("ball"), "subject": _of("subject"), "job": _of("job"), "color": _of("color"),
}  # fmt: skip
SLOT = re.compile(r"\{(\w+)\}")


def _put(text: str, values: dict[str, list[str]]) -> str:
    """A sentence of a frame with these values in its places, in their order."""
    left = {name: [*found] for name, found in values.items()}
    while match := SLOT.search(text):
        before, name, after = text[: match.start()], match[1], text[match.end() :]
        one = "a" if name == "a" else None
        text = before + (one or (left[name].pop(0) if name in left else particle(before, name))) + after
    text = re.sub(rf"\ba (?={VOWEL.pattern})", "an ", text)
    text = text.replace("..", ".")  # "p.m." at the end
    return text[0].upper() + text[1:]


def filled(korean: str, english: str, draw: random.Random) -> tuple[str, str]:
    """A frame with its places filled. The same place twice is filled twice, with different words; {a} in English is
    "a" or "an" after the word that follows it, {drink}{을} in Korean a word and its particle."""
    values: dict[str, list[Filling]] = {}
    for name in SLOT.findall(korean):
        if name in SLOTS:
            taken = values.setdefault(name, [])
            value = SLOTS[name](draw)
            while any(value[0].split()[0] == other[0].split()[0] for other in taken):
                value = SLOTS[name](draw)
            taken.append(value)
    first, second = ({name: [one[side] for one in found] for name, found in values.items()} for side in (0, 1))
    return _put(korean, first), _put(english, second)
