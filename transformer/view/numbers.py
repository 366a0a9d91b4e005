"""Numbers for JSON."""

import math
from typing import Any

from torch import Tensor


def rounded(tensor: Tensor, digits: int) -> Any:
    """Nested lists of rounded numbers; None for NaN and infinity, which JSON lacks."""

    def one(value: Any) -> Any:
        if isinstance(value, list):
            return [one(part) for part in value]
        return round(value, digits) if math.isfinite(value) else None

    return one(tensor.tolist())
