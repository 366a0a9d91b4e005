"""What small models trained with several seeds show: their ranges, and whether a change had the paper's effect."""

from collections.abc import Sequence

from transformer.texts import _


def direction(values: Sequence[float], base: Sequence[float]) -> int:
    """-1, 0 or 1: below the base, no difference that the seeds could show (the ranges overlap), or above it."""
    return (min(values) > max(base)) - (max(values) < min(base))


def agreement(ours: int, paper: int) -> str:
    """How the direction here compares with that of the paper: "same"; "unclear", if there is no clear difference here
    where the paper has one; "other"."""
    if ours == paper:
        return "same"
    return "other" if ours else "unclear"


def answers() -> dict[str, str]:
    """For each result of `agreement`, what a table answers to "as in the paper?"."""
    return {"same": _("yes"), "unclear": _("no clear difference here"), "other": _("no")}


def ranged(values: Sequence[float], decimals: int, unit: str = "") -> str:
    """Mean and range, as in 98.0% (97.7–98.3)."""
    mean, low, high = (f"{value:.{decimals}f}" for value in (sum(values) / len(values), min(values), max(values)))
    return f"{mean}{unit} ({low}–{high})"
