"""The log of a checkpoint's training, training.csv."""

import csv
import io
import math
from dataclasses import dataclass

from transformer.checkpoints.folder import LARGEST_BESIDE, LOG
from transformer.inference.pretrained import Pretrained


def training_log(model: Pretrained) -> list[dict[str, str]] | None:
    """Its rows; None if there is no log. Raises ValueError if it cannot be read."""
    try:
        text = model.beside(LOG, LARGEST_BESIDE[LOG])
        return None if text is None else list(csv.DictReader(io.StringIO(text.decode("utf-8"), newline="")))
    except (OSError, csv.Error) as error:
        raise ValueError(str(error)) from error


@dataclass(frozen=True)
class Cost:
    """What a training took: seconds; tokens of its targets; operations, 6 for each parameter and token: 2 forwards, 4
    backwards."""

    seconds: float
    tokens: float
    operations: float


def training_cost(model: Pretrained) -> Cost | None:
    """That of the open model, from its log; None without a log that can be read."""
    try:
        rows = training_log(model)
        numbers = [(float(row["seconds"]), float(row["tokens"])) for row in rows or ()]
    except (ValueError, KeyError, TypeError):
        return None
    if not numbers or not all(
        math.isfinite(seconds + tokens) and min(seconds, tokens) >= 0 for seconds, tokens in numbers
    ):
        return None
    tokens = sum(tokens for _seconds, tokens in numbers)
    return Cost(numbers[-1][0], tokens, 6 * model.model.parameter_count() * tokens)
