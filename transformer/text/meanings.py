"""What words mean: a list written by hand, for readers who know one of a translator's languages, or neither.

`locale/meanings.tsv` has a row for each word: the language of the word, the word, the sentence in which it has this
meaning (empty: in every other one), and one column for each language of a reader. A word needs no meaning for those who
read its language, so that cell is empty; every other cell is filled.
"""

from collections.abc import Mapping, Sequence
from functools import cache

from transformer.files import read_text
from transformer.paths import app_folder

FILE = "meanings.tsv"
LARGEST, MOST, LONGEST, LONGEST_SENTENCE = 1_000_000, 10_000, 40, 400  # bytes, rows, characters of a word or a meaning
COLUMNS = ("language", "word", "sentence")
LANGUAGES = {  # how checkpoints call the languages of our texts; Marian's and NLLB's use codes
    name: code
    for code, names in {"en": ("English", "eng"), "de": ("German", "deu"), "ko": ("Korean", "kor")}.items()
    for name in (code, *names)
}
NUMERALS = ("digits or Korean numerals", "Korean numerals or digits")  # digits need no meaning
# Of the languages of the list. Its Korean words are numerals and counters: 개 counts items there, and is also a dog.
CODES = {name: code for name, code in LANGUAGES.items() if code != "ko"} | dict.fromkeys(NUMERALS, "ko")


class Meanings:
    """The list. readers: codes of the languages that it explains words in; rows: (language, word, sentence) -> code ->
    meaning."""

    def __init__(self, readers: tuple[str, ...], rows: Mapping[tuple[str, str, str], Mapping[str, str]]) -> None:
        self.readers, self.rows = readers, rows
        self.languages = frozenset(language for language, _, _ in rows)

    def reader(self, language: str, reader: str) -> str | None:
        """The code of the column for a reader of the words of a language, English if the list has none for this reader;
        None: there is nothing to tell."""
        column = reader if reader in self.readers else "en"
        return column if language in self.languages and column != language else None

    def row(self, language: str, word: str, sentence: str) -> tuple[str, str, str] | None:
        """The row of a word as it stands in a sentence; a word in the list is found in capitals, too."""
        forms = dict.fromkeys((word, word[:1].lower() + word[1:], word.lower()))
        keys = [(language, form, where) for form in forms for where in (sentence, "")]
        return next((key for key in keys if key in self.rows), None)

    def of(self, language: str, words: Sequence[str], sentence: str, reader: str) -> list[str | None] | None:
        """The meaning of each word of a sentence, None for those not in the list; None: there is nothing to tell.

        language: as checkpoints call it; reader: the code of the reader's language.
        """
        code = CODES.get(language, "")
        column = self.reader(code, reader)
        if column is None:
            return None
        found = [self.row(code, word, sentence) for word in words]
        return [None if key is None else self.rows[key][column] for key in found]


def parse_meanings(text: str) -> Meanings:
    """Read the list. Raises ValueError with the line at fault."""
    lines = text.splitlines()
    if len(lines) - 1 > MOST:
        raise ValueError(f"{len(lines) - 1:,} rows; at most {MOST:,} are allowed")
    headings = tuple(lines[0].split("\t")) if lines else ()
    readers = headings[len(COLUMNS) :]
    if headings[: len(COLUMNS)] != COLUMNS or "en" not in readers or len(set(readers)) < len(readers):
        raise ValueError(f"line 1: the columns are {', '.join(COLUMNS)}, en and other languages, not {headings}")
    rows: dict[tuple[str, str, str], dict[str, str]] = {}
    for number, line in enumerate(lines[1:], start=2):
        cells = line.split("\t")
        if len(cells) != len(headings):
            raise ValueError(f"line {number}: {len(cells)} cells under {len(headings)} headings")
        language, word, sentence = key = (cells[0], cells[1], cells[2])
        told = dict(zip(readers, cells[len(COLUMNS) :], strict=True))
        if language not in CODES.values() or not word or max(map(len, (word, *told.values()))) > LONGEST:
            raise ValueError(
                f"line {number}: unknown language {language[:20]!r}, no word, or over {LONGEST} characters"
            )
        if len(sentence) > LONGEST_SENTENCE:
            raise ValueError(f"line {number}: over {LONGEST_SENTENCE} characters")
        if any(cell != cell.strip() or not cell.isprintable() for cell in cells):
            raise ValueError(f"line {number}: odd characters, or spaces around a cell")
        if key in rows:
            raise ValueError(f"line {number}: {word!r} is there twice")
        for reader, meaning in told.items():
            if bool(meaning) == (reader == language):
                raise ValueError(f"line {number}: {word!r} needs a meaning in every language but its own")
        rows[key] = told
    return Meanings(readers, rows)


@cache
def load_meanings() -> Meanings:
    """The list of the app. Raises OSError, ValueError."""
    return parse_meanings(read_text(app_folder() / "locale" / FILE, LARGEST))
