"""Experiments for a class, and the preset to compare each with. Results: docs/playground.md."""

from __future__ import annotations

from dataclasses import replace

from transformer.live_training.experiment import Experiment

BASE = Experiment()
# One head with wide queries and keys, which needs section 3.2.1's factor most.
WIDE = replace(BASE, heads=1, d_k=128)
# One layer sorts: every output must compare all inputs, which one head does worse than four.
SHALLOW = replace(BASE, task="sort", layers=1)
# Deep, and with twice the usual learning rate, so that the place of LayerNorm matters. Six letters keep it quick.
DEEP = replace(BASE, shortest=6, longest=6, layers=4, peak_rate=0.008)
# Twice the usual learning rate, which needs the warm-up.
FAST = replace(BASE, peak_rate=0.008)

PRESETS: dict[str, Experiment] = {
    "reverse": BASE,
    "copy": replace(BASE, task="copy"),
    "sort": replace(BASE, task="sort"),
    "shift": replace(BASE, task="shift"),
    "no-mask": replace(BASE, causal=False),
    "no-positions": replace(BASE, positions="none"),
    "wide": WIDE,
    "wide-unscaled": replace(WIDE, scaling=False),
    "shallow": SHALLOW,
    "one-head": replace(SHALLOW, heads=1),
    "no-residual": replace(BASE, residual=False),
    "deep": DEEP,
    "pre-norm": replace(DEEP, norm="pre"),
    "no-norm": replace(DEEP, norm="none"),
    "fast": FAST,
    "no-warmup": replace(FAST, warmup=0),
    "learned-positions": replace(BASE, positions="learned"),
}
PARTNERS = {
    "no-mask": "reverse",
    "no-positions": "reverse",
    "wide-unscaled": "wide",
    "one-head": "shallow",
    "no-residual": "reverse",
    "pre-norm": "deep",
    "no-norm": "pre-norm",
    "no-warmup": "fast",
    "learned-positions": "reverse",
}
BESIDE_ONLY = ("wide", "shallow", "deep", "fast")  # presets that only serve for comparison


def partner(name: str) -> str | None:
    """The preset to compare with, which differs in one setting; None for presets that are compared with none."""
    return PARTNERS.get(name)
