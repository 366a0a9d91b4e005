"""Text that a translation leaves as it is: addresses, hashtags, @names, paths, code, formulas; and numbers with units
and text in brackets, of which it changes a part. Parallel text has next to none of it.

The subwords of single signs occur in no other training text, so some texts here are signs drawn at random.
"""

import random
import string
from collections.abc import Callable, Sequence
from pathlib import Path

from transformer.training.data import Pair

Word = Callable[[], str]  # a word in small letters, known or invented
Draw = Callable[[random.Random, Word], str]

SCHEMES = ("https://", "https://", "https://www.", "http://", "www.", "", "ftp://")
DOMAINS = "com org net de at ch eu io co.uk edu info fr ac.jp gov"
SIGNS = string.punctuation + "€°"
UNITS = (
    "km m cm mm g kg mg t l ml cl % °C °F ° K V W kW kWh A Hz MHz GHz kB MB GB TB km/h m/s mph px dpi s ms min h "
    "Mbit/s mA Pa hPa bar kcal dB"
)
EMOTICONS = ":-) :) ;-) ;) :-( :( :D :P <3 xD ^^ :/ :-D =) :o"
OPERATORS = "+ - * / = == < > <= >= != & && ^ -> => ~ : ||"
TAGS = "br p b i div span pad unk s html body h1 li ul a"
COMMANDS = "ls cd git npm pip python echo cat grep make sudo curl ssh docker import def return print SELECT"
BRACKETS = (("(", ")"), ("(", ")"), ("[", "]"))  # what stands in others is code
PAIRS: dict[str, list[Pair]] = {}  # kind -> (English, German); {} in a frame is a text that stays as it is
for _line in (Path(__file__).with_suffix(".tsv")).read_text(encoding="utf-8").splitlines():
    _kind, _english, _german = _line.split("\t")
    PAIRS.setdefault(_kind, []).append((_english, _german))
QUANTITIES = {  # unit -> the kind of frames that it goes with
    **dict.fromkeys(("km", "m", "cm", "mm"), "distance"), **dict.fromkeys(("g", "kg", "mg", "t"), "weight"),
    **dict.fromkeys(("kB", "MB", "GB", "TB"), "data"), **dict.fromkeys(("°C", "°F", "°"), "temperature"),
    "%": "percent",
}  # fmt: skip


def _written(rng: random.Random, word: Word) -> str:
    """A word as people write it in names of things: plain, with a capital, in capitals, or a number."""
    draw = rng.random()
    if draw < 0.15:
        return str(rng.randrange(10 ** rng.randint(1, 4)))
    text = word()
    return text.capitalize() if draw < 0.25 else text.upper() if draw < 0.3 else text


def _chain(rng: random.Random, word: Word, joints: str, most: int) -> str:
    text = _written(rng, word)
    for _ in range(rng.randint(0, most - 1)):
        text += rng.choice(joints) + _written(rng, word)
    return text


def _domain(rng: random.Random, word: Word) -> str:
    names = [word() for _ in range(rng.choice((1, 1, 1, 2)))]
    return rng.choice("-.").join(names) + "." + rng.choice(DOMAINS.split())


def address(rng: random.Random, word: Word) -> str:
    host = _domain(rng, word)
    if rng.random() < 0.1:
        host = rng.choice((".".join(str(rng.randrange(256)) for _ in range(4)), "localhost"))
    text = rng.choice(SCHEMES) + host
    if rng.random() < 0.1:
        text += f":{rng.choice((80, 443, 3000, 8000, 8080, rng.randrange(1000, 10000)))}"
    for _ in range(rng.choice((0, 0, 1, 1, 2, 3))):
        text += "/" + _chain(rng, word, "-_.", 2)
    if rng.random() < 0.3:
        text += rng.choice(("/", ".html", "/", ".php", ".pdf"))
    if rng.random() < 0.2:
        pairs = (f"{_written(rng, word)}={_chain(rng, word, '+%-,', 2)}" for _ in range(rng.choice((1, 1, 2, 3))))
        text += "?" + "&".join(pairs)
    return text + (f"#{_written(rng, word)}" if rng.random() < 0.08 else "")


def mail(rng: random.Random, word: Word) -> str:
    text = f"{_chain(rng, word, '..._-+', 2)}@{_domain(rng, word)}"
    if rng.random() < 0.1:
        text = rng.choice((text.upper(), f"mailto:{text}", f"{word().capitalize()} <{text}>"))
    return text


def _tags(rng: random.Random, word: Word, sign: str, joints: str) -> str:
    """One hashtag or @name or some: of words with or without something between them, a capital on each or on none."""
    found = []
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        words = [word() for _ in range(rng.choice((1, 1, 2, 2, 3)))]
        name = rng.choice(("", "", *joints)).join([one.capitalize() for one in words] if rng.random() < 0.3 else words)
        if rng.random() < 0.2:
            name = str(rng.randrange(1, 3000)) if rng.random() < 0.3 else name + str(rng.randrange(2030))
        found.append(sign + (name.upper() if rng.random() < 0.1 else name))
    return " ".join(found)


def hashtag(rng: random.Random, word: Word) -> str:
    return _tags(rng, word, "#", "_") + (f" {handle(rng, word)}" if rng.random() < 0.1 else "")


def handle(rng: random.Random, word: Word) -> str:
    return _tags(rng, word, "@", "_.-") + (rng.choice(("_", "__")) if rng.random() < 0.05 else "")


def path(rng: random.Random, word: Word) -> str:
    parts = [_chain(rng, word, "-_.", 2) for _ in range(rng.choice((1, 2, 2, 3)))]
    if rng.random() < 0.35:
        return rng.choice("CDE") + ":\\" + "\\".join(parts)
    end = rng.choice(("", "/", ".txt", ".py", ".jpg", ".pdf", ".csv", ".js", ".json", ".html"))
    return rng.choice(("/", "~/", "./", "../", "", "", "", "$HOME/")) + "/".join(parts) + end


def code(rng: random.Random, word: Word) -> str:
    name, letter, tag = _chain(rng, word, "__.", 2), rng.choice(string.ascii_letters), rng.choice(TAGS.split())
    operator, command = rng.choice(OPERATORS.split()), rng.choice(COMMANDS.split())
    value = rng.choice((str(rng.randrange(100)), word(), f'"{word()}"', f"'{word()}'"))
    return rng.choice((
        f"{name}()", f"{name}({value})", f"{name}({word()}, {value})", f"{name}[{rng.randrange(20)}]", f"{name};",
        f"{name} = {value}", f"{name}={value}", f"{name} {operator} {value}", f"if ({name} {operator} {value})",
        f"for {letter} in {name}:", f"{{{word()}: {value}}}", f"{{{word()}}}", f"// {word()}", f"# {word()}",
        f"{command} {name}", f"{command} -{letter} {name}", f"{command} {word()} --{word()}", f"--{word()}",
        f"-{letter}", f"${word().upper()}", f"{word()}@{word()}:~$", f'<{tag} {word()}="{word()}">', f"<{word()}>",
        f"<{tag}>", f"</{tag}>",
    ))  # fmt: skip


def formula(rng: random.Random, _word: Word) -> str:
    """Letters and numbers with operators between them: x^2 + 3 = 12."""

    def term() -> str:
        text = rng.choice(string.ascii_letters) if rng.random() < 0.5 else str(rng.randrange(10 ** rng.randint(1, 3)))
        return text + (f"^{rng.randrange(2, 10)}" if rng.random() < 0.15 else "")

    blank, text = rng.choice((" ", " ", "")), term()
    for _ in range(rng.choice((1, 1, 2, 3))):
        text += blank + rng.choice(OPERATORS.split()) + blank + term()
    return f"({text})" if rng.random() < 0.1 else text


def signs(rng: random.Random, word: Word) -> str:
    """Signs at random, alone, repeated or among letters and digits; also faces."""
    draw = rng.random()
    if draw < 0.15:
        return rng.choice(EMOTICONS.split())
    if draw < 0.3:
        return rng.choice(SIGNS) * rng.randint(1, 5)
    if draw < 0.5:
        return rng.choice((" ", "", "")).join(rng.choice(SIGNS) for _ in range(rng.randint(2, 6)))
    if draw < 0.75:
        return "".join(rng.choice((rng.choice(SIGNS), rng.choice(SIGNS), word(), str(rng.randrange(100))))
                       for _ in range(rng.randint(2, 5)))  # fmt: skip
    return "".join(rng.choice(SIGNS + string.ascii_letters + string.digits) for _ in range(rng.randint(3, 12)))


def number(rng: random.Random, _word: Word) -> str:
    """Numbers that both languages write alike: of telephones, versions, dates, books, scores."""
    digits = lambda count: "".join(rng.choices(string.digits, k=count))  # noqa: E731
    return rng.choice((
        f"+{rng.randint(1, 99)} {digits(3)} {digits(rng.randint(5, 8))}", f"{digits(3)}-{digits(4)}",
        f"({digits(rng.randint(3, 5))}) {digits(rng.randint(4, 7))}", f"0{digits(4)}/{digits(6)}",
        f"v{rng.randrange(10)}.{rng.randrange(20)}.{rng.randrange(20)}", f"{rng.randrange(100)}/{rng.randrange(100)}",
        f"{rng.randrange(20)}:{rng.randrange(20)}", f"{rng.randint(1900, 2040)}-{rng.randint(1, 12):02}-{digits(2)}",
        f"{rng.randint(1, 28)}/{rng.randint(1, 12)}/{rng.randint(1900, 2040)}", f"#{rng.randrange(1000)}",
        f"{digits(3)}-{digits(1)}-{digits(2)}-{digits(6)}-{digits(1)}",
        f"{digits(3)}.{digits(3)}.{digits(1)}.{digits(2)}",
        f"~{rng.randrange(1000)}", f"-{rng.randrange(100)}", f"{rng.randrange(50)}-{rng.randrange(50, 100)}",
    ))  # fmt: skip


COPIES: tuple[Draw, ...] = (
    handle, number, *[address] * 4, *[mail] * 3, *[hashtag] * 2, *[path] * 2,
    *[code] * 5, *[formula] * 2, *[signs] * 4,  # for the rare signs
)  # fmt: skip


def repeating(text: str, rng: random.Random) -> str:
    """The text with one letter or digit more than once in a row, as in www and 1999: a model that looks for the letter
    it wrote last loses count."""
    at = rng.randrange(len(text))
    return text[:at] + text[at] * rng.randint(1, 2) + text[at:]


def _amount(rng: random.Random) -> int:
    """A number up to a million, as often round as not."""
    zeros = rng.choice((0, 0, 0, 1, 2, 3))
    return int(rng.randrange(1, 10 ** rng.choice((1, 2, 2, 3))) * 10**zeros)


def _decimal(rng: random.Random) -> Pair:
    """A number as English and as German write it: 1,234.5 and 1.234,5."""
    text = f"{_amount(rng):,}"
    if rng.random() < 0.4:
        text += "." + "".join(rng.choices(string.digits, k=rng.choice((1, 1, 2, 3, 5))))
    return text, text.translate(str.maketrans(",.", ".,"))


def measure(rng: random.Random) -> Pair:
    """A number with its unit: 3.5 kg, 3,5 kg."""
    (english, german), unit = _decimal(rng), rng.choice(UNITS.split())
    blank = rng.choice(("", " ")) if unit in ("%", "°C", "km", "GB") else "" if unit == "°" else " "
    if rng.random() < 0.05:
        unit += f" x {rng.randrange(1, 300)} {unit}"
    minus = "-" if rng.random() < 0.1 else ""
    return f"{minus}{english}{blank}{unit}", f"{minus}{german}{blank}{unit}"


def price(rng: random.Random) -> Pair:
    """An amount with its currency: $3.50 is 3,50 Dollar, €3.20 and €3,20 are 3,20 €."""
    whole = f"{_amount(rng):,}" if rng.random() < 0.7 else str(_amount(rng))
    cents = f"{rng.randrange(100):02}" if rng.random() < 0.5 else ""
    english, german = whole + (cents and f".{cents}"), whole.replace(",", ".") + (cents and f",{cents}")
    if rng.random() < 0.35 and "," not in whole:
        english = german
    if rng.random() < 0.25:
        name = rng.choice((("euros", "Euro"), ("dollars", "Dollar")))
        return f"{english} {name[0]}", f"{german} {name[1]}"
    sign, after = rng.choice((("$", "Dollar"), ("€", "€"), ("€", "€")))
    if sign == "€" and rng.random() < 0.4:
        return rng.choice(((f"{english} €", f"{german} €"), (f"{english}€", f"{german}€")))
    return sign + english, f"{german} {after}"


def numbered(rng: random.Random) -> Pair:
    """A noun and its number: page 7, Seite 7."""
    (english, german), number = rng.choice(PAIRS["numbered"]), rng.randint(1, 10 ** rng.randint(1, 3))
    if rng.random() < 0.3:
        english = english.capitalize()
    return f"{english} {rng.choice(('', '', '', '#'))}{number}", f"{german} {number}"


def bracketed(rng: random.Random, pairs: Sequence[Pair]) -> Pair:
    """A note or a short pair of the text in brackets, or a pair with a note after it or before its full stop."""
    (opening, closing), note = rng.choice(BRACKETS), rng.choice(PAIRS["note"])
    if rng.random() < 0.3:
        note = rng.choice((measure, price, numbered))(rng)
        if rng.random() < 0.5:
            about = rng.choice(PAIRS["about"])
            note = about[0] + note[0], about[1] + note[1]
    if rng.random() < 0.3:
        same = rng.choice((str(rng.randint(1, 2100)), rng.choice(string.ascii_letters)))
        note = same, same
    draw, several = rng.random(), [pairs[rng.randrange(len(pairs))] for _ in range(50)]
    if draw < 0.4:
        source, target = min(several[: rng.randint(1, 50)], key=lambda pair: len(pair[0]))
        if rng.random() < 0.6:
            source, target = source.rstrip(".!"), target.rstrip(".!")
        return f"{opening}{source}{closing}", f"{opening}{target}{closing}"
    source, target = several[0]
    if draw < 0.6 and source[-1:] == target[-1:] == ".":
        return f"{source[:-1]} ({note[0]}).", f"{target[:-1]} ({note[1]})."
    if rng.random() < 0.3:
        note = note[0].capitalize(), note[1].capitalize()
    return f"{opening}{note[0]}{closing}", f"{opening}{note[1]}{closing}"


def symbols(rng: random.Random, word: Word, pairs: Sequence[Pair]) -> Pair:
    """A pair with such a text, alone or in a sentence. word: draws a word; pairs: sentences to put beside it."""
    kinds: tuple[str, ...]
    draw = rng.random()
    if draw < 0.14:
        return bracketed(rng, pairs)
    if draw < 0.17:
        return rng.choice(PAIRS["sentence"])
    if draw < 0.19:
        return numbered(rng)
    if draw < 0.28:
        source, target = measure(rng)
        unit = source.lstrip("-0123456789.,").split()[0]
        kinds = ("measure", QUANTITIES.get(unit, "measure"))
    elif draw < 0.37:
        (source, target), kinds = price(rng), ("price",)
    else:
        drawn, draw_word = rng.choice(COPIES), (lambda: repeating(word(), rng)) if rng.random() < 0.2 else word
        source = target = drawn(rng, draw_word)
        kinds = (drawn.__name__, "any") if f"frame.{drawn.__name__}" in PAIRS else ("any",)
    if rng.random() < 0.35:
        before, after = rng.choice(PAIRS[f"frame.{rng.choice(kinds)}"])
        return before.format(source), after.format(target)
    if rng.random() < 0.05:
        face = rng.choice(EMOTICONS.split())
        source, target = pairs[rng.randrange(len(pairs))]
        return f"{source} {face}", f"{target} {face}"
    return source, target
