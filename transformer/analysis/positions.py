"""The rows of a table of positions, sinusoidal (section 3.5) or learned, in float64; positions count from 0.

What the page says of the formula alone, the browser computes (frontend/src/positions/numbers.js)."""

from torch import Tensor


def row_norms(table: Tensor) -> Tensor:
    """Length of every row of [position, d_model]: [position]. Sinusoidal: sqrt(d_model / 2) everywhere."""
    return table.detach().double().norm(dim=-1)


def neighbour_cosines(table: Tensor) -> Tensor:
    """Cosine between rows p and p + 1: [position - 1]; NaN if one of them is zero.

    Sinusoidal: the same everywhere, 2 / d_model times the sum over i of cos(10000^(-2i/d_model)).
    """
    rows = table.detach().double()
    rows = rows / rows.norm(dim=-1, keepdim=True)  # 0 / 0 is NaN, on purpose
    return (rows[:-1] * rows[1:]).sum(-1)
