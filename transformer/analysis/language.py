"""Whether a text is in the language that a model reads: by its letters, and by common words of English and German.

Good enough to warn somebody whose text a model cannot read; not a language detector.
"""

import re
import unicodedata
from collections import Counter

from transformer.text.tokenizer import composed
from transformer.texts import N_

# Common words and letters that the other language does not have.
_ENGLISH = """
the and is are were not i you she it we they of at for with have has do does did what where who how why can must please
thank yes my your her this that there here if but very hello good me him them us be been would could
"""
_GERMAN = """
der das und ist nicht ich du er sie es wir ihr ein eine einen einem dem den mit auf für von zu im bin bist sind habe
haben wie wo wer warum kann muss bitte danke ja nein guten morgen tag hallo wenn aber auch sehr mein meine dein kein
keine mich dich uns heute
"""
WORDS = {N_("English"): frozenset(_ENGLISH.split()), N_("German"): frozenset(_GERMAN.split())}
LETTERS = {"English": frozenset[str](), "German": frozenset("äöüß")}


def script(text: str) -> str | None:
    """The script of most letters of a text, as Unicode names it ("LATIN", "HANGUL"); None without letters."""
    names = Counter(unicodedata.name(letter, "?").split()[0] for letter in text if letter.isalpha())
    return names.most_common(1)[0][0] if names else None


def other_language(text: str, language: str) -> str | None:
    """The language that a text seems to be in, "English" or "German", if it is not this one of the two; else None."""
    if language not in WORDS:
        return None
    text = composed(text).casefold()
    words = re.findall(r"[^\W\d_]+", text)
    found = {name: sum(word in common for word in words) for name, common in WORDS.items()}
    for name, letters in LETTERS.items():
        found[name] += bool(letters & set(text))
    other = next(name for name in WORDS if name != language)
    return other if found[other] > found[language] and 4 * found[other] >= len(words) else None
