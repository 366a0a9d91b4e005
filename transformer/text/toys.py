"""What the bundled toy models read. Whatever else is typed has an output, too, but it means nothing.

As a pattern and not as a program, because the browser says the same of a text (`frontend/src/site/check.js`).
"""

import re
import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

from transformer.text import numerals
from transformer.texts import N_

OUTSIDE = N_("This text is outside what this model reads: {language}. Its output means nothing.")


class Reads(NamedTuple):
    """pattern: of a whole text, as `plain` gives it; what: the same in words, for a person."""

    pattern: str
    what: str


_LETTERS = Reads("[a-z ]+", N_("the letters a to z and spaces"))
# (source, target) as checkpoints call them -> what is read
TOYS = {
    ("letters", "reversed"): _LETTERS,
    ("letters", "copied"): _LETTERS,
    ("letters", "shifted by 3"): _LETTERS,
    ("digits", "sorted"): Reads("[0-9]+", N_("the digits 0 to 9")),
    ("digits or Korean numerals", "Korean numerals or digits"): Reads(
        numerals.PATTERN,
        N_("whole numbers below 10^12, without a sign or a decimal point, in digits, in Korean or in both"),
    ),
}


def plain(text: str) -> str:
    """The text as the tokenizers of the toys read it: full-width and decomposed characters are the usual ones, capitals
    are small letters."""
    return " ".join(unicodedata.normalize("NFKC", text).lower().split())


def outside(text: str, languages: Sequence[str]) -> Reads | None:
    """What a toy with these languages reads, if the text is something else; None for any other model, and for a blank
    text."""
    reads, text = TOYS.get((languages[0], languages[1])), plain(text)
    return reads if reads and text and not re.fullmatch(reads.pattern, text) else None
