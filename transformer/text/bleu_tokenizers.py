"""Which of sacreBLEU's tokenizers suits a language. Apart from sacreBLEU, which takes 0.1 s to import."""

import importlib.util
import re

from transformer.texts import _, translate

USUAL = "13a"  # at blanks and punctuation marks
TOKENIZERS = (USUAL, "intl", "zh", "ja-mecab", "ko-mecab", "char", "flores200")
NEEDS = {"ja-mecab": ("MeCab", "sacrebleu[ja]"), "ko-mecab": ("mecab_ko", "sacrebleu[ko]")}  # module, what installs it
# Names and codes of languages (ISO 639, and those of Marian models) that 13a does not suit: in most a sentence has no
# blanks, and in Korean blanks may be left out.
LANGUAGES = {
    "zh": "chinese zh zho chi cmn",
    "ja-mecab": "japanese ja jpn jap",
    "ko-mecab": "korean ko kor",
    "char": "thai th tha lao lo khmer km khm burmese my mya",
}


def own_tokenizer(language: str) -> str:
    """The tokenizer for a language, as checkpoints name it: "Korean", "kor", "ko-KR" and "kor_Hang" are the same."""
    name = re.split("[^a-z]", language.lower())[0]
    return next((tokenizer for tokenizer, names in LANGUAGES.items() if name in names.split()), USUAL)


def usable(tokenizer: str) -> bool:
    """Whether the packages that it needs are installed."""
    return tokenizer not in NEEDS or importlib.util.find_spec(NEEDS[tokenizer][0]) is not None


def tokenizer_for(language: str) -> str:
    """The language's own tokenizer, or characters if that is not installed."""
    own = own_tokenizer(language)
    return own if usable(own) else "char"


def missing_tokenizer(language: str) -> str:
    """A sentence if characters stand in for the language's own tokenizer, else ""."""
    own = own_tokenizer(language)
    if usable(own):
        return ""
    return _(
        "BLEU counts characters (char): {own}, the tokenizer for {language}, is not installed; run pip install "
        "'{package}' for it",
        own=own, language=translate(language), package=NEEDS[own][1],
    )  # fmt: skip
