"""Clock times in words: "half past eight" is "halb neun". German counts halves, and minutes around them, towards the
next hour, which a model of little text does not learn from the few that it sees."""

import random

from transformer.training.data import Pair

HOURS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
STUNDEN = ("eins", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun", "zehn", "elf", "zwölf")
PAST = {"five": "fünf nach", "ten": "zehn nach", "a quarter": "Viertel nach", "quarter": "Viertel nach",
        "twenty": "zwanzig nach"}  # fmt: skip
TO = {minutes: german.replace("nach", "vor") for minutes, german in PAST.items()}
FRAMES = (
    ("It's {}.", "Es ist {}."), ("It is {} now.", "Jetzt ist es {}."), ("It's already {}.", "Es ist schon {}."),
    ("It's almost {}.", "Es ist fast {}."), ("It's exactly {}.", "Es ist genau {}."),
    ("Is it {} yet?", "Ist es schon {}?"),
    ("at {}", "um {}"), ("At {}.", "Um {}."), ("until {}", "bis {}"), ("after {}", "nach {}"), ("before {}", "vor {}"),
    ("about {}", "gegen {}"), ("around {}", "gegen {}"), ("since {}", "seit {}"), ("at about {}", "gegen {}"),
    ("I got up at {}.", "Ich bin um {} aufgestanden."), ("The bus leaves at {}.", "Der Bus fährt um {} ab."),
    ("Come at {}!", "Komm um {}!"), ("We eat at {}.", "Wir essen um {}."),
    ("School begins at {}.", "Die Schule beginnt um {}."),
    ("She called at {}.", "Sie hat um {} angerufen."), ("He came home at {}.", "Er kam um {} nach Hause."),
    ("I waited until {}.", "Ich habe bis {} gewartet."), ("The shop is open until {}.", "Der Laden hat bis {} auf."),
    ("We left before {}.", "Wir sind vor {} losgefahren."), ("I'm free after {}.", "Nach {} habe ich Zeit."),
    ("See you at {}.", "Bis um {}."), ("Shall we meet at {}?", "Wollen wir uns um {} treffen?"),
    ("My train arrives at {}.", "Mein Zug kommt um {} an."), ("Wake me at {}, please.", "Weck mich bitte um {}."),
    ("at {} in the morning", "um {} morgens"), ("at {} in the evening", "um {} abends"),
)  # fmt: skip


def in_words(hour: int, minutes: str) -> Pair:
    """The time so many minutes past or to an hour from 1 to 12: "past half", "past ten", "to a quarter"; "" on the
    hour."""
    side, _, minutes = minutes.partition(" ")
    this, following = STUNDEN[hour - 1], STUNDEN[hour % 12]
    if not side:
        return f"{HOURS[hour - 1]} o'clock", f"{this.removesuffix('s') if hour == 1 else this} Uhr"
    german = {
        "past half": f"halb {following}",
        "past twenty-five": f"fünf vor halb {following}",
        "to twenty-five": f"fünf nach halb {this}",
    }.get(f"{side} {minutes}")
    return f"{minutes} {side} {HOURS[hour - 1]}", german or f"{(PAST if side == 'past' else TO)[minutes]} {this}"


KINDS = (
    "",
    "past half",
    *(f"past {one}" for one in PAST),
    *(f"to {one}" for one in TO),
    "past twenty-five",
    "to twenty-five",
)
WEIGHTS = (4, 5, *[2] * len(PAST), *[2] * len(TO), 1, 1)


def clock_time(rng: random.Random) -> Pair:
    """A time of day, alone or in a sentence."""
    source, target = in_words(rng.randint(1, 12), rng.choices(KINDS, WEIGHTS)[0])
    draw = rng.random()
    if draw < 0.5:
        before, after = rng.choice(FRAMES)
        return before.format(source), after.format(target)
    if draw < 0.6:
        source, target = source.capitalize(), target[0].upper() + target[1:]
    mark = rng.choice((".", "!", "?")) if draw < 0.7 else ""
    return source + mark, target + mark
