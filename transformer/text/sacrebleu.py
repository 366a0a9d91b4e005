"""What we use of sacreBLEU. Import it where it is needed, because that takes 0.1 s.

sacreBLEU imports portalocker, which asks for the folder of temporary files while it is imported. Where no file can be
written, as on a full disk, Python raises FileNotFoundError then; nothing that we use writes there.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator


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

__all__ = ["BLEU", "CHRF", "corpus_bleu", "sentence_chrf"]
