"""Experiments for a class, and the preset to compare each with. Results: docs/playground.md."""

from __future__ import annotations

from dataclasses import replace

from transformer.live_training.experiment import Experiment

BASE = Experiment()
# One head with wide queries and keys, which needs section 3.2.1's factor most.
WIDE = replace(BASE, heads=1, d_k=128)

PRESETS: dict[str, Experiment] = {
    "reverse": BASE,
    "copy": replace(BASE, task="copy"),
    "sort": replace(BASE, task="sort"),
    "shift": replace(BASE, task="shift"),
    "no-mask": replace(BASE, causal=False),
    "no-positions": replace(BASE, positions="none"),
    "wide": WIDE,
    "wide-unscaled": replace(WIDE, scaling=False),
    "one-head": replace(BASE, heads=1),
    "no-residual": replace(BASE, residual=False),
    "no-norm": replace(BASE, norm="none"),
    "pre-norm": replace(BASE, norm="pre"),
    "no-warmup": replace(BASE, warmup=0),
    "learned-positions": replace(BASE, positions="learned"),
}
REFERENCES = ("reverse", "copy", "sort", "shift", "wide")


def partner(name: str) -> str | None:
    """The preset to compare with; None for the reference presets."""
    if name in REFERENCES:
        return None
    return "wide" if name == "wide-unscaled" else "reverse"
