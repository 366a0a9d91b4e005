"""English left in a translated text: Latin words in a row which are not data, code, names, or terms of the language."""

import re
from functools import cache

from tests.support.pseudo import COMMAND_NAMES, DATA, FORMULA
from tests.support.terms import terms

WORD = r"[A-Za-z][a-z]+(?:['’-][A-Za-z]+)*"
RUN = re.compile(rf"(?<![\w.]){WORD}(?: {WORD})+(?!\w)")
QUOTED = re.compile(r"“[^“”]{,40}”|‘[^‘’]{,40}’")  # a word of a sentence, a few words of the paper
CITED = re.compile(r"[A-Z]\w+ et al\b|(?:[A-Z]\w+, )*[A-Z]\w+ and [A-Z]\w+(?= \(?\d{4})")
TITLES = (
    "Attention Is All You Need",
    "Gaussian Error Linear Units",
    "Searching for Activation Functions",
    "Stabilizing Transformer Training by Preventing Attention Entropy Collapse",
    "The Lazy Neuron Phenomenon",
)
NAMES = re.compile(
    rf"{'|'.join(TITLES)}|Hugging Face(?: Hub)?|attention please|esaelp noit\w+|softmaxj|pip install \S+|\w+=\w+|"
    r"예: (?:en de|English German)"
)


@cache
def _allowed(language: str) -> tuple[re.Pattern[str], ...]:
    found = sorted({english for term in terms(language) for english in term.english}, key=len, reverse=True)
    in_brackets = re.compile(rf"\((?:[^()]+, )?(?:{'|'.join(map(re.escape, found))})[,)]")
    return FORMULA, in_brackets, QUOTED, CITED, NAMES, COMMAND_NAMES


def english(text: str, language: str = "ko") -> list[str]:
    """The runs of two or more English words in a text; variables with an index (wi, si) are no words."""
    text = " ".join(text.split())
    for pattern in _allowed(language):
        text = pattern.sub(" · ", text)
    return [run for run in RUN.findall(text) if not _is_data(run.split())]


def _is_data(words: list[str]) -> bool:
    """Variables, or what a tiny model wrote, where some words end in any letters."""
    written = any(len(word) > 4 and DATA.fullmatch(word) for word in words)
    return written or sum(len(word) < 3 or bool(DATA.fullmatch(word)) for word in words) >= 0.8 * len(words)
