"""The log of a checkpoint's training, training.csv."""

from __future__ import annotations

import csv
import io

from transformer.checkpoints.folder import LARGEST_BESIDE, LOG
from transformer.inference.pretrained import Pretrained


def training_log(model: Pretrained) -> list[dict[str, str]] | None:
    """Its rows; None if there is no log. Raises ValueError if it cannot be read."""
    try:
        text = model.beside(LOG, LARGEST_BESIDE[LOG])
        return None if text is None else list(csv.DictReader(io.StringIO(text.decode("utf-8"), newline="")))
    except (OSError, csv.Error) as error:
        raise ValueError(str(error)) from error
