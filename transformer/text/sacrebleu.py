"""What we use of sacreBLEU. Import it where it is needed, because that takes 0.1 s.

sacreBLEU imports portalocker, which asks for the folder of temporary files while it is imported. Where no file can be
written, as on a full disk, Python raises FileNotFoundError then; nothing that we use writes there.
"""

import contextlib
import os
import tempfile
from collections.abc import Iterator, Sequence
from typing import Any

from transformer.text.bleu_tokenizers import NEEDS, USUAL
from transformer.text.tokenizer import composed
from transformer.texts import UserError


@contextlib.contextmanager
def _any_temporary_folder() -> Iterator[None]:
    """Inside, `tempfile.gettempdir` names a folder, whether or not it can be written to."""
    before = tempfile.tempdir
    try:
        tempfile.gettempdir()
    except FileNotFoundError:
        tempfile.tempdir = os.curdir
    try:
        yield
    finally:
        tempfile.tempdir = before


with _any_temporary_folder():
    import sacrebleu.metrics
    from sacrebleu.metrics.bleu import BLEUScore

__all__ = ["BLEU", "CHRF", "score", "statistics"]


class BLEU(sacrebleu.metrics.BLEU):
    """sacreBLEU's BLEU of texts in NFC, and at most 100: of equal texts it is 100.00000000000004 there.

    tokenize: of TOKENIZERS, or "none". Raises UserError if it cannot be used here."""

    def __init__(self, tokenize: str = USUAL, **options: Any) -> None:
        try:
            super().__init__(tokenize=tokenize, **options)
        except (RuntimeError, ImportError, OSError) as error:  # no package; "flores200" fetches a file
            if tokenize not in NEEDS:
                raise UserError(
                    "sacreBLEU's tokenizer {name} cannot be used here ({reason}); choose char",
                    name=tokenize, reason=error,
                ) from error  # fmt: skip
            raise UserError(
                "sacreBLEU's tokenizer {name} is not installed; run pip install '{package}', or choose char",
                name=tokenize, package=NEEDS[tokenize][1],
            ) from error  # fmt: skip

    def _preprocess_segment(self, sent: str) -> str:
        return super()._preprocess_segment(composed(sent))

    @staticmethod
    def compute_bleu(*args: Any, **options: Any) -> BLEUScore:
        found = sacrebleu.metrics.BLEU.compute_bleu(*args, **options)
        found.score = min(found.score, 100.0)
        return found


class CHRF(sacrebleu.metrics.CHRF):
    """sacreBLEU's chrF of texts in NFC."""

    def _preprocess_segment(self, sent: str) -> str:
        return super()._preprocess_segment(composed(sent))


def statistics(metric: BLEU | CHRF, hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> list[int]:
    """Whole numbers that make the score. Of several parts of a test set they add up to those of the whole.

    sacreBLEU has no public name for them; a test compares with its `corpus_score`."""
    return [sum(column) for column in zip(*metric._extract_corpus_statistics(hypotheses, references), strict=True)]


def score(metric: BLEU | CHRF, sums: list[int], references: int = 1) -> tuple[float, str]:
    """The score of `statistics`, and its signature. references: of a sentence, at most."""
    metric.num_refs = references
    return metric._aggregate_and_compute([sums]).score, str(metric.get_signature())
