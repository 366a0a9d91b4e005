"""How well attention weights for the task `reverse` match the letter that is written: the reversed diagonal."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True)
class Alignment:
    """One attention map compared with the correct letters.

    weight: mean weight on the right letter; hits: rows whose largest weight lies there; rows: how many have a right
    letter at all
    """

    weight: float
    hits: int
    rows: int


def right_places(source: int, target: int) -> list[tuple[int, int]]:
    """(row, column) of the letter to be written at each step: the last first.

    source, target: tokens read and written. The last of the source is </s>, which is never to be written, and steps
    beyond the letters have no right place.
    """
    letters = source - 1
    return [(row, letters - 1 - row) for row in range(min(letters, target))]


def alignment(weights: Tensor) -> Alignment:
    """weights: [target, source]; rows sum to 1, the last column is </s>. Raises ValueError if there is no letter."""
    places = right_places(weights.shape[1], weights.shape[0])
    if not places:
        raise ValueError(f"weights of shape {list(weights.shape)} contain no letter")
    right = [float(weights[row, column]) for row, column in places]
    hits = sum(int(weights[row].argmax()) == column for row, column in places)
    return Alignment(sum(right) / len(right), hits, len(right))


def best_head(weights: Tensor) -> tuple[int, int]:
    """Layer and head, from 0, with the largest mean weight on the right letters; of equals the first.

    weights: [layer, head, target, source], as in `Trace.cross.weights`.
    """
    layers, heads = weights.shape[:2]
    found = [(layer, head) for layer in range(layers) for head in range(heads)]
    return max(found, key=lambda place: alignment(weights[place]).weight)
