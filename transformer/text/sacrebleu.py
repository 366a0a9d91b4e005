"""What we use of sacreBLEU. Import it where it is needed, because that takes 0.1 s.

sacreBLEU imports portalocker, which asks for the folder of temporary files while it is imported. Where no file can be
written, as on a full disk, Python raises FileNotFoundError then; nothing that we use writes there.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator, Sequence


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
    from sacrebleu import corpus_bleu, sentence_chrf
    from sacrebleu.metrics import BLEU, CHRF

__all__ = ["BLEU", "CHRF", "corpus_bleu", "score", "sentence_chrf", "statistics"]


def statistics(metric: BLEU | CHRF, hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> list[int]:
    """Whole numbers that make the score. Of several parts of a test set they add up to those of the whole.

    sacreBLEU has no public name for them; a test compares with its `corpus_score`."""
    return [sum(column) for column in zip(*metric._extract_corpus_statistics(hypotheses, references), strict=True)]


def score(metric: BLEU | CHRF, sums: list[int], references: int = 1) -> tuple[float, str]:
    """The score of `statistics`, and its signature. references: of a sentence, at most."""
    metric.num_refs = references
    return metric._aggregate_and_compute([sums]).score, str(metric.get_signature())
