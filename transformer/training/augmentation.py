"""Augmentation for typed text, which differs from parallel text: other case, no full stop, quotation marks, new names.

In every variation, source and target stay translations of each other. Variations are drawn again in every epoch.
"""

from __future__ import annotations

import dataclasses
import random
import re
import string
from collections.abc import Sequence
from dataclasses import dataclass

from transformer.checks import check_fields, number
from transformer.texts import Text
from transformer.training.data import DataError, Pair

# Number words that need no agreement in German (unlike "ein"), and their values.
NUMBER_WORDS = {
    "two": ("zwei", 2), "three": ("drei", 3), "four": ("vier", 4), "five": ("fünf", 5), "six": ("sechs", 6),
    "seven": ("sieben", 7), "eight": ("acht", 8), "nine": ("neun", 9), "ten": ("zehn", 10), "eleven": ("elf", 11),
    "twelve": ("zwölf", 12), "twenty": ("zwanzig", 20), "thirty": ("dreißig", 30),
}  # fmt: skip
GERMAN_NUMBER = {source: target for source, (target, _) in NUMBER_WORDS.items()}
NUMBER = re.compile(r"(?<![\w.,:])\d+(?!\w)")
FINAL = re.compile(r"\s*[.!?…]+$")
# First names that English and German share, to replace the two frequent names of our text.
NAMES: dict[tuple[str, str], str] = {
    ("Tom", "Tom"): (
        "Adam Albert Alex Andreas Anton Arthur Ben Bernd Boris Bruno Carlos Christian Daniel David Dennis Dirk Eric "
        "Ethan Felix Finn Frank Fritz George Greg Hans Harald Henry Hugo Igor Ivan Jack Jakob James Jan Jens Jim Joe "
        "Jonas Josef Juan Karl Kenji Kevin Klaus Konrad Lars Leo Leon Liam Louis Lukas Marco Mark Martin Matthias Max "
        "Mehmet Michael Mike Nico Niklas Noah Oliver Omar Oscar Otto Pablo Patrick Paul Pedro Peter Philipp Rafael "
        "Ralf Richard Robert Robin Rolf Sam Sebastian Simon Stefan Steve Sven Theo Thomas Tim Timo Tobias Uwe Victor "
        "Walter Werner William Wolfgang Yusuf"
    ),
    ("Mary", "Mary"): (
        "Alice Amelia Andrea Angela Anita Anna Antonia Astrid Barbara Beate Birgit Carla Carmen Carol Charlotte Chloe "
        "Clara Claudia Diana Doris Elena Elisabeth Ella Emily Emma Eva Fatima Flora Franziska Frieda Gabi Gisela Grace "
        "Greta Hanna Heidi Helen Helga Ines Ingrid Irene Isabel Jana Jane Jasmin Jennifer Jessica Johanna Judith Julia "
        "Karin Katharina Kathrin Laila Laura Lena Lily Linda Lisa Lucia Luise Magda Marie Marta Mei Mia Michelle "
        "Monika Nadia Natalie Nicole Nina Nora Olga Olivia Paula Petra Pia Renate Rita Rosa Ruth Sabine Sandra Sara "
        "Silvia Simone Sofia Sonja Stella Susanne Svenja Tanja Ursula Vanessa Vera Yuki Yvonne Zoe"
    ),
}
NAMES["Mary", "Maria"] = NAMES["Mary", "Mary"]
SYLLABLES = "ba be bo da di do ga go ka ke ki ko la le li lo ma mi mo na ne no ra ri ro sa so ta te ti va vi wa zo"


SHARES = number(lambda value: 0 <= value <= 1, Text("a number from 0 to 1, a share of the pairs"))


@dataclass(frozen=True)
class Augmentation:
    """Shares, from 0 to 1, of the sentence pairs to vary in an epoch; 0: never.

    lower, upper: source in small letters or in capitals; half of these also lose their final punctuation
    bare: source without its final punctuation; the target keeps it
    curly: source with curly apostrophes (’), as telephones type them
    quoted: both sides in quotation marks
    joined: another pair added on both sides
    repeated: pairs of up to three words per side, repeated two to four times
    copied: the pair replaced by a few numbers, unknown names or strings of letters, equal on both sides
    digits, names: pairs with a number, or the same first name, on both sides, get another number or name

    quoted, digits and names are for English to German: its quotation marks, number words and names.
    """

    lower: float = 0.0
    upper: float = 0.0
    bare: float = 0.0
    curly: float = 0.0
    quoted: float = 0.0
    joined: float = 0.0
    repeated: float = 0.0
    copied: float = 0.0
    digits: float = 0.0
    names: float = 0.0

    def __post_init__(self) -> None:
        check_fields(self, {field.name: SHARES for field in dataclasses.fields(self)}, DataError)
        if self.lower + self.upper > 1:
            raise DataError(
                "the augmentation shares lower and upper add up to {sum:g}; choose at most 1 together",
                sum=self.lower + self.upper,
            )

    def __bool__(self) -> bool:
        return any(dataclasses.astuple(self))

    def apply(self, pairs: Sequence[Pair], seed: int) -> list[Pair]:
        """The pairs of one epoch, in the same number and order; the same for the same seed."""
        rng = random.Random(seed)
        done = []
        for pair in pairs:
            if self.digits and rng.random() < self.digits:
                pair = other_numbers(pair, rng)
            if self.names and rng.random() < self.names:
                pair = other_name(pair, rng)
            if self.joined and rng.random() < self.joined:
                second = pairs[rng.randrange(len(pairs))]
                pair = f"{pair[0]} {second[0]}", f"{pair[1]} {second[1]}"
            elif self.repeated and rng.random() < self.repeated:
                pair = repeated(pair, rng)
            if self.copied and rng.random() < self.copied:
                pair = copied(rng)
            source, target = pair
            draw = rng.random()
            changed = draw < self.lower + self.upper
            if changed:
                source = source.lower() if draw < self.lower else source.upper()
            # Two draws whatever happened: a share that is changed leaves the other draws where they were.
            half, whole = rng.random() < 0.5, rng.random() < self.bare
            if (changed and half) or whole:
                source = FINAL.sub("", source) or source
            if self.curly and rng.random() < self.curly:
                source = source.replace("'", "’")
            if self.quoted and rng.random() < self.quoted and '"' not in source and "„" not in target:
                source = f"“{source}”" if rng.random() < 0.2 else f'"{source}"'
                target = f"„{target}“"
            done.append((source, target))
        return done


NO_AUGMENTATION = Augmentation()


def _number(digits: int, rng: random.Random) -> str:
    """A number of so many digits, at least 2 (German and English both use the plural then).

    One in four ends in one digit over and over, as people's numbers do: 100, 25000, 1999. All digits drawn alike, a
    model seldom has to count equal ones, and drops some.
    """
    if digits > 1 and rng.random() < 0.25:
        front = rng.randint(1, digits - 1)
        start = str(rng.randrange(10 ** (front - 1), 10**front))
        return start + rng.choice(("0", "0", start[-1])) * (digits - front)
    return str(rng.randrange(max(2, 10 ** (digits - 1)), 10**digits))


def other_numbers(pair: Pair, rng: random.Random) -> Pair:
    """Other numbers on both sides: where the same numbers stand on both, or one number word and its translation.

    Mostly as many digits as before, now and then one to ten.
    """
    source, target = pair
    found = NUMBER.findall(source)
    if found and "1" not in found and sorted(found) == sorted(NUMBER.findall(target)):  # 1 goes with a singular
        drawn = {
            old: _number(len(old) if rng.random() < 0.7 else rng.randint(1, 10), rng) for old in dict.fromkeys(found)
        }
        return (
            NUMBER.sub(lambda match: drawn[match[0]], source),
            NUMBER.sub(lambda match: drawn[match[0]], target),
        )
    words = [word for word in re.findall(r"\w+", source.lower()) if word in GERMAN_NUMBER]
    if len(words) == 1:
        german, value = NUMBER_WORDS[words[0]]
        if len(re.findall(rf"\b{german}\b", target, re.IGNORECASE)) == 1:
            number = str(value) if rng.random() < 0.4 else _number(rng.choice((1, 2, 2, 2, 3, 4)), rng)
            return (
                re.sub(rf"\b{words[0]}\b", number, source, flags=re.IGNORECASE),
                re.sub(rf"\b{german}\b", number, target, flags=re.IGNORECASE),
            )
    return pair


def invented_name(rng: random.Random) -> str:
    """A name nobody has, of two or three syllables or of any letters: what a model can only copy."""
    if rng.random() < 0.2:
        return "".join(rng.choice(string.ascii_lowercase) for _ in range(rng.randint(3, 10))).capitalize()
    return "".join(rng.choice(SYLLABLES.split()) for _ in range(rng.randint(2, 3))).capitalize()


def repeated(pair: Pair, rng: random.Random) -> Pair:
    """A pair of up to three words a side said two to four times, with or without punctuation; a longer one as it is."""
    if max(len(side.split()) for side in pair) > 3:
        return pair
    times = rng.randint(2, 4)
    if rng.random() < 0.5:
        pair = FINAL.sub("", pair[0]) or pair[0], FINAL.sub("", pair[1]) or pair[1]
    return " ".join([pair[0]] * times), " ".join([pair[1]] * times)


def copied(rng: random.Random) -> Pair:
    """One to three numbers, names nobody has or strings of letters, the same on both sides."""
    parts = []
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        draw = rng.random()
        parts.append(_number(rng.randint(1, 10), rng) if draw < 0.5 else invented_name(rng))
        if draw > 0.75:
            parts[-1] = parts[-1].lower()
    text = " ".join(parts) + rng.choice(("", "", ".", "!"))
    return text, text


def other_name(pair: Pair, rng: random.Random) -> Pair:
    """Another first name in place of one that stands once on both sides; one in four is invented."""
    source, target = pair
    for (english, german), others in NAMES.items():
        in_source, in_target = re.compile(rf"\b{english}\b"), re.compile(rf"\b{german}\b")
        if len(in_source.findall(source)) == 1 == len(in_target.findall(target)):
            name = invented_name(rng) if rng.random() < 0.25 else rng.choice(others.split())
            return in_source.sub(name, source), in_target.sub(name, target)
    return pair
