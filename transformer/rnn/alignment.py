"""How well attention weights match the right letters of the task `reverse`, which lie on the reversed diagonal."""

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True)
class Alignment:
    """One attention map compared with the correct letters.

    weight: mean weight on the right letter; hits: rows with their largest weight there; rows: number of rows with a
    right letter
    """

    weight: float
    hits: int
    rows: int


def right_cells(source: int, target: int) -> list[tuple[int, int]]:
    """(row, column) of the right letter at each step, which is the last letter first.

    source, target: number of tokens. The last source token is </s>, which is not a letter; steps after the last letter
    have no right letter.
    """
    letters = source - 1
    return [(row, letters - 1 - row) for row in range(min(letters, target))]


def alignment(weights: Tensor) -> Alignment:
    """weights: [target, source]; rows sum to 1, the last column is </s>. Raises ValueError if there is no letter."""
    cells = right_cells(weights.shape[1], weights.shape[0])
    if not cells:
        raise ValueError(f"weights of shape {list(weights.shape)} contain no letter")
    right = [float(weights[row, column]) for row, column in cells]
    hits = sum(int(weights[row].argmax()) == column for row, column in cells)
    return Alignment(sum(right) / len(right), hits, len(right))


def best_head(weights: Tensor) -> tuple[int, int]:
    """Layer and head, from 0, with the largest mean weight on the right letters; the first of equal ones.

    weights: [layer, head, target, source], as in `Trace.cross.weights`.
    """
    layers, heads = weights.shape[:2]
    all_heads = [(layer, head) for layer in range(layers) for head in range(heads)]
    return max(all_heads, key=lambda layer_and_head: alignment(weights[layer_and_head]).weight)
