"""Preparations of text before the tokenizer, which can be undone afterwards; for comparison with published results.

The bundled models read text as typed. Published tables often score lower-cased text, tokenised by the Moses scripts;
"moses-lowercase" does that with sacremoses.
"""

from collections.abc import Callable, Sequence

from transformer.texts import any_of
from transformer.training.data import DataError, Pair

PREPARATIONS = ("none", "moses-lowercase")


def _moses(language: str) -> tuple[Callable[[str], str], Callable[[str], str]]:
    try:
        from sacremoses import MosesDetokenizer, MosesPunctNormalizer, MosesTokenizer
    except ImportError as error:
        raise DataError("moses-lowercase needs sacremoses; install the project with its extra [train]") from error
    normalizer, cut, join = MosesPunctNormalizer(language), MosesTokenizer(language), MosesDetokenizer(language)
    return (
        lambda text: cut.tokenize(normalizer.normalize(text.lower()), escape=False, return_str=True),
        lambda text: join.detokenize(text.split()),
    )


class Preparation:
    """A named preparation for one pair of languages, given by their codes ("en", "de").

    Raises DataError for an unknown name.
    """

    def __init__(self, name: str, languages: tuple[str, str]) -> None:
        if name not in PREPARATIONS:
            raise DataError(
                "unknown preparation {name!r}; choose {preparations}",
                name=name,
                preparations=any_of(PREPARATIONS),
            )
        self.name = name
        if name == "none":
            self.source = self.target = self.restore = lambda text: text
        else:
            self.source, _ = _moses(languages[0])
            self.target, self.restore = _moses(languages[1])

    def pairs(self, pairs: Sequence[Pair]) -> list[Pair]:
        """Every pair prepared, in the same order."""
        return [(self.source(source), self.target(target)) for source, target in pairs]
