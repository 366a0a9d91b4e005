"""English and German of any number of tokens, each different, for a checkpoint's own tokenizer."""

import itertools
import random

from transformer.text.tokenizer import Tokenizer

ENGLISH = (
    "the man who called me yesterday is my brother and he lives in a small house by the sea with two old dogs , "
    "she did not know what to say when we asked her about the letter that came this morning because it was late"
)
GERMAN = (
    "der Mann der mich gestern angerufen hat ist mein Bruder und er wohnt in einem kleinen Haus am Meer mit zwei alten "
    "Hunden , sie wusste nicht was sie sagen sollte als wir sie nach dem Brief fragten weil es schon zu spät war"
)
SUBJECTS = (
    "the teacher", "my sister", "our neighbour", "the old man", "the girl", "a friend", "the doctor", "his boss",
    "the dog", "everyone",
)  # fmt: skip
DEEDS = ("found", "forgot", "wanted", "saw", "lost", "looked for")
THINGS = ("the red key", "a good book", "the last train", "an answer", "her umbrella", "the way home")
WHEN = ("yesterday", "this morning", "in the garden", "after the rain", "without a word")
SHORT = ("a", "I", "in", "o", ".")  # to fill up the last places


def of_length(tokenizer: Tokenizer, tokens: int, seed: int, text: str = ENGLISH) -> str:
    """Words in an order the seed chooses, `tokens` long with </s>: the length that counts in the pictures."""
    rng, words = random.Random(f"{seed} {tokens}"), text.split()
    for _ in range(1000):
        order = itertools.chain.from_iterable(rng.sample(words, len(words)) for _ in itertools.count())
        text = ""
        while len(tokenizer.encode(text)) + 1 < tokens:
            text = f"{text} {next(order)}".strip()
        for last in ("", *SHORT):
            trial = " ".join((*text.split()[: -1 if last else None], *last.split()))
            if len(tokenizer.encode(trial)) + 1 == tokens:
                return trial
    raise ValueError(f"no text of {tokens} tokens was found; this tokenizer cuts {words[0]!r} into unexpected pieces")


def pairs(tokenizer: Tokenizer, tokens: int, count: int, seed: int = 0) -> list[tuple[str, str]]:
    """Different sources and one target, all `tokens` long."""
    target = of_length(tokenizer, tokens, seed, GERMAN)
    found: dict[str, None] = {}
    number = seed * 10_000
    while len(found) < count:
        found.setdefault(of_length(tokenizer, tokens, number))
        number += 1
    return [(source, target) for source in found]


def typed(count: int, seed: int = 0) -> list[str]:
    """Different sentences as a person may type them, about ten tokens each; at most 1800."""
    found = [" ".join(parts) + "." for parts in itertools.product(SUBJECTS, DEEDS, THINGS, WHEN)]
    return [text[0].upper() + text[1:] for text in random.Random(seed).sample(found, count)]
