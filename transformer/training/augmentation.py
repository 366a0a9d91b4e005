"""Augmentation for typed text, which differs from parallel text: other case, no full stop, quotation marks, new names.

In every variation, source and target stay translations of each other. Variations are drawn again in every epoch.
"""

import dataclasses
import functools
import random
import re
import string
from collections.abc import Sequence
from dataclasses import dataclass

from transformer.checks import check_fields, number
from transformer.texts import Text
from transformer.training.clock import clock_time
from transformer.training.data import DataError, Pair
from transformer.training.symbols import symbols

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
# Family names, for titles.
SURNAMES = (
    "Adams Ahmed Bauer Becker Brown Carter Chen Clark Cooper Costa Davis Diaz Evans Fischer Fernandez Garcia Green "
    "Hall Hansen Harris Hoffmann Hughes Ito Jackson Johnson Jones Kaya Keller Kim Klein Kowalski Kumar Lang Lee Lewis "
    "Lopez Martin Mayer Meyer Miller Moore Morris Murphy Nguyen Novak Park Patel Parker Peters Petrov Reed Richter "
    "Roberts Rossi Sanchez Sato Schmidt Schneider Scott Silva Singh Smith Suzuki Tanaka Taylor Thompson Turner Wagner "
    "Walker Wang Watson Weber White Williams Wilson Wolf Wong Wright Yamamoto Yilmaz Young"
)
# Title in English, title in German; a German one that changes its ending goes only where a sentence begins with it.
TITLES = {"Tom": (("Mr.", "Herr"), ("Dr.", "Dr."), ("Professor", "Professor")),
          "Mary": (("Mrs.", "Frau"), ("Ms.", "Frau"), ("Dr.", "Dr."))}  # fmt: skip
INVARIABLE = ("Frau", "Dr.")
FAMILIAR = re.compile(r"\b(?:du|dich|dir|dein\w*|euch|euer|eure\w*)\b", re.IGNORECASE)
# Towns that both languages write alike, to replace the frequent ones of our text.
FREQUENT_TOWNS = re.compile(r"\b(?:Boston|London|Paris|Chicago|Kyoto|Osaka|Harvard|Kobe)\b")
TOWNS = (
    "Aachen Amsterdam Ankara Atlanta Augsburg Bangkok Barcelona Berlin Bern Birmingham Bogota Bonn Boston Bremen "
    "Bristol Budapest Bukarest Busan Calgary Cambridge Canberra Chicago Dallas Delhi Denver Detroit Dortmund Dresden "
    "Dublin Edinburgh Essen Frankfurt Freiburg Glasgow Graz Hamburg Hannover Hanoi Heidelberg Helsinki Houston "
    "Innsbruck Istanbul Jakarta Jena Karlsruhe Kassel Kiel Kobe Kyoto Lagos Leeds Leipzig Lima Linz Liverpool London "
    "Lyon Madrid Mainz Manchester Mannheim Melbourne Miami Montreal Nagoya Nairobi Oslo Oxford Paris Passau Potsdam "
    "Quito Regensburg Rostock Salzburg Santiago Sapporo Seattle Seoul Stockholm Stuttgart Sydney Toronto Ulm Vancouver "
    "Weimar Yokohama"
)
# What invented names are made of: the beginnings, vowels and ends of syllables in many languages.
ONSETS = (
    "b b br bl c ch d d dr f fr fl g gr gl h h j k k kl kr kn l l l m m m n n n p pr ph qu r r r s s s sh sch sk sl sm "
    "st sp sw t t tr th ts v v w w y z zh"
)
VOWELS = "a e i o u a e i o u a e i o u a e i o a e i o a e i ai au ea ee ei ia ie io oo ou y ö ü ä é á"
CODAS = "n n r r s l m t k d ck ll nd ng nn rd rg rn rt ss st tt x z lm ff"
NAME_ENDS = (
    "a o i berg bach burg dorf ford ham heim holm hurst ia ina ington ino ito kin ko ley mann o ov ova ow sen shire "
    "son ski stad stein strand ton ura us vik ville wick wood worth yama"
)
# Letters with marks, of names that English and German leave as they are; the vocabulary has to have them.
MARKED = {
    "a": "áàâãåāăąäảạầấ", "c": "çćč", "d": "đď", "e": "éèêëēėęěểếệ", "g": "ğģ", "i": "íìîïīįı", "k": "ķ", "l": "łľļ",
    "n": "ñńňņ", "o": "óòôõøōőöơồốộ", "r": "řŕ", "s": "śšşș", "t": "ťţț", "u": "úùûüūůűųưừ", "y": "ýÿ", "z": "źżž",
}  # fmt: skip
# Names of files and products are made of words that stay as they are in a German sentence.
WORD, LETTERS = re.compile(r"[a-z]{3,12}"), re.compile(r"[^\W\d_]{4,12}")
FILE_ENDS = "txt pdf jpg png docx xlsx csv zip html py json mp3 yaml md"
CODE_LETTERS, JOINTS = "ABCDEFGHKLMNPQRSTVWXZ", ("-", "-", " ", "")


LONGEST_JOINED = 45  # words of a source: about 60 tokens
SHARES = number(lambda value: 0 <= value <= 1, Text("a number from 0 to 1, a share of the pairs"))


@dataclass(frozen=True)
class Augmentation:
    """Shares, from 0 to 1, of the sentence pairs to vary in an epoch; 0: never.

    lower, upper: source in small letters or in capitals; half of these also lose their final punctuation
    bare: source without its final punctuation; the target keeps it
    curly: source with curly apostrophes (’), as telephones type them
    quoted: both sides in quotation marks
    joined: one to four other pairs added on both sides, up to LONGEST_JOINED words
    repeated: pairs of up to three words per side, repeated two to four times
    copied: the pair replaced by a few numbers, unknown names or strings of letters, equal on both sides
    digits, names, towns: pairs with a number, the same first name or the same town on both sides get another
    titles: pairs with a first name on both sides get a title and a family name instead: Mr. Smith, Herr Smith
    symbols, times: the pair replaced by an address, a hashtag, code, a price or the like, or by a clock time in words

    quoted, digits, names, towns, titles, symbols and times are for English to German: its signs, words and names.
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
    towns: float = 0.0
    titles: float = 0.0
    symbols: float = 0.0
    times: float = 0.0

    def __post_init__(self) -> None:
        check_fields(self, {field.name: SHARES for field in dataclasses.fields(self)}, DataError)
        if self.lower + self.upper > 1:
            raise DataError(
                "the augmentation shares lower and upper add up to {sum:g}; choose at most 1 together",
                sum=self.lower + self.upper,
            )

    def __bool__(self) -> bool:
        return any(dataclasses.astuple(self))

    def apply(self, pairs: Sequence[Pair], seed: int, others: Sequence[Pair] | None = None) -> list[Pair]:
        """The pairs of one epoch, in the same number and order; the same for the same seed.

        others: what `joined` adds to a pair; None: the pairs themselves.
        """
        others = others or pairs
        rng = random.Random(seed)
        done = []
        for pair in pairs:
            if self.digits and rng.random() < self.digits:
                pair = other_numbers(pair, rng)
            if self.titles and rng.random() < self.titles:
                pair = with_title(pair, others, rng)
            if self.names and rng.random() < self.names:
                pair = other_name(pair, others, rng)
            if self.towns and rng.random() < self.towns:
                pair = other_town(pair, others, rng)
            if self.joined and rng.random() < self.joined:
                pair = joined(pair, others, rng)
            elif self.repeated and rng.random() < self.repeated:
                pair = repeated(pair, rng)
            if self.copied and rng.random() < self.copied:
                pair = copied(rng, others)
            if self.symbols and rng.random() < self.symbols:
                pair = symbols(rng, functools.partial(name_part, rng, others), others)
            if self.times and rng.random() < self.times:
                pair = clock_time(rng)
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


def _syllables(rng: random.Random) -> str:
    """One to three syllables of any language, with a capital."""
    count = rng.choice((1, 2, 2, 2, 3))
    onsets, vowels, codas = ONSETS.split(), VOWELS.split(), CODAS.split()
    syllables = (
        (rng.choice(onsets) if rng.random() < 0.95 else "")
        + rng.choice(vowels)
        + (rng.choice(codas) if rng.random() < 0.4 else "")
        for _ in range(count)
    )
    return "".join(syllables).capitalize()


def name_part(rng: random.Random, pairs: Sequence[Pair]) -> str:
    """A part of an invented name: syllables, or a word of any source, which the model must not translate here."""
    if rng.random() < 0.4:
        return _syllables(rng).lower()
    found = WORD.findall(pairs[rng.randrange(len(pairs))][0].lower())
    return rng.choice(found) if found else _syllables(rng).lower()


def _code(rng: random.Random, pairs: Sequence[Pair]) -> str:
    """What products are called: XR-2400, K9, Vela 3, LightMoor."""
    if rng.random() < 0.35:
        return name_part(rng, pairs).capitalize() + name_part(rng, pairs).capitalize()
    front = "".join(rng.choice(CODE_LETTERS) for _ in range(rng.randint(1, 3)))
    if rng.random() < 0.4:
        front = _syllables(rng)
    return front + rng.choice(JOINTS) + str(rng.randrange(10 ** rng.randint(1, 4)))


def _handle(rng: random.Random, pairs: Sequence[Pair]) -> str:
    """What files and accounts are called: @mara_lo, notes2.pdf."""
    parts = [name_part(rng, pairs) for _ in range(rng.choice((1, 1, 2)))]
    name = rng.choice("._-").join(parts) + (str(rng.randrange(10 ** rng.randint(1, 4))) if rng.random() < 0.4 else "")
    return f"@{name}" if rng.random() < 0.5 else f"{name}.{rng.choice(FILE_ENDS.split())}"


def _marked(name: str, rng: random.Random) -> str:
    """The name with marks on one or two of its letters."""
    places = [index for index, letter in enumerate(name) if letter.lower() in MARKED]
    for index in rng.sample(places, min(len(places), rng.choice((1, 1, 2)))):
        letter = rng.choice(MARKED[name[index].lower()])
        name = name[:index] + (letter.upper() if name[index].isupper() else letter) + name[index + 1 :]
    return name


def _blend(rng: random.Random, pairs: Sequence[Pair]) -> str:
    """The beginning of one word of the text and the end of another, of either language: its tokens mean something, but
    the name does not (Winterthur, Inverness)."""
    first, second = (LETTERS.findall(pairs[rng.randrange(len(pairs))][rng.randrange(2)]) for _ in range(2))
    if not first or not second:
        return _syllables(rng)
    start, end = rng.choice(first), rng.choice(second)
    return (start[: rng.randint(2, len(start))] + end[-rng.randint(2, min(6, len(end))) :]).capitalize()


def invented_name(rng: random.Random, pairs: Sequence[Pair]) -> str:
    """A name nobody has, of syllables, of any letters or of halves of words, at times of two parts or with marks: what
    a model can only copy. pairs: whose words are halved."""
    draw = rng.random()
    if draw < 0.12:
        name = "".join(rng.choice(string.ascii_lowercase) for _ in range(rng.randint(3, 10))).capitalize()
    elif draw < 0.4:
        name = _blend(rng, pairs)
    elif draw < 0.48:
        name = rng.choice(("-", " ")).join((_syllables(rng), _syllables(rng)))
    else:
        name = _syllables(rng) + (rng.choice(NAME_ENDS.split()) if draw > 0.75 else "")
    return _marked(name, rng) if rng.random() < 0.25 else name


def _invented(rng: random.Random, pairs: Sequence[Pair]) -> str:
    """An invented name, now and then of a product, a file or an account. pairs: whose words may be parts of it."""
    draw = rng.random()
    return _code(rng, pairs) if draw < 0.15 else _handle(rng, pairs) if draw < 0.35 else invented_name(rng, pairs)


def repeated(pair: Pair, rng: random.Random) -> Pair:
    """A pair of up to three words a side said two to four times, with or without punctuation; a longer one as it is."""
    if max(len(side.split()) for side in pair) > 3:
        return pair
    times = rng.randint(2, 4)
    if rng.random() < 0.5:
        pair = FINAL.sub("", pair[0]) or pair[0], FINAL.sub("", pair[1]) or pair[1]
    return " ".join([pair[0]] * times), " ".join([pair[1]] * times)


def copied(rng: random.Random, pairs: Sequence[Pair]) -> Pair:
    """One to three numbers, names nobody has or strings of letters, the same on both sides."""
    parts = []
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        draw = rng.random()
        part = rng.random()
        invented = (
            _code(rng, pairs) if part < 0.15 else _handle(rng, pairs) if part < 0.3 else invented_name(rng, pairs)
        )
        parts.append(_number(rng.randint(1, 10), rng) if draw < 0.4 else invented)
        if draw > 0.75:
            parts[-1] = parts[-1].lower()
    text = " ".join(parts) + rng.choice(("", "", ".", "!"))
    return text, text


def other_name(pair: Pair, pairs: Sequence[Pair], rng: random.Random) -> Pair:
    """Another first name in place of one that stands once on both sides; three in five are invented."""
    source, target = pair
    for (english, german), others in NAMES.items():
        in_source, in_target = re.compile(rf"\b{english}\b"), re.compile(rf"\b{german}\b")
        if len(in_source.findall(source)) == 1 == len(in_target.findall(target)):
            name = _invented(rng, pairs) if rng.random() < 0.6 else rng.choice(others.split())
            return in_source.sub(name, source), in_target.sub(name, target)
    return pair


def other_town(pair: Pair, pairs: Sequence[Pair], rng: random.Random) -> Pair:
    """Another town in place of one that stands once on both sides; three in four are invented."""
    source, target = pair
    found = FREQUENT_TOWNS.findall(source)
    if len(found) != 1 or FREQUENT_TOWNS.findall(target) != found:
        return pair
    town = invented_name(rng, pairs) if rng.random() < 0.75 else rng.choice(TOWNS.split())
    return source.replace(found[0], town), target.replace(found[0], town)


def with_title(pair: Pair, pairs: Sequence[Pair], rng: random.Random) -> Pair:
    """A title and a family name in place of a first name that stands once on both sides. Nobody who is called by a
    title is addressed with "du", and "Herr" would need another ending within a sentence."""
    source, target = pair
    if FAMILIAR.search(target):
        return pair
    for (english, german), _ in NAMES.items():
        in_source, in_target = re.compile(rf"\b{english}\b(?!')"), re.compile(rf"\b{german}\b")
        if len(in_source.findall(source)) == 1 == len(in_target.findall(target)):
            first = in_source.match(source) is not None and in_target.match(target) is not None
            titles = [title for title in TITLES[english] if first or title[1] in INVARIABLE]
            name = invented_name(rng, pairs) if rng.random() < 0.3 else rng.choice(SURNAMES.split())
            before, after = rng.choice(titles)
            return in_source.sub(f"{before} {name}", source), in_target.sub(f"{after} {name}", target)
    return pair


def joined(pair: Pair, pairs: Sequence[Pair], rng: random.Random) -> Pair:
    """Other pairs added on both sides: mostly one, at times up to four."""
    for _ in range(rng.choice((1, 1, 1, 2, 3, 4))):
        source, target = pairs[rng.randrange(len(pairs))]
        if len(f"{pair[0]} {source}".split()) > LONGEST_JOINED:
            break
        pair = f"{pair[0]} {source}", f"{pair[1]} {target}"
    return pair
