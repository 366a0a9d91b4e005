"""Experiments for a class, in words too, and the preset to compare each with. Results: docs/playground.md."""

from dataclasses import replace

from transformer.live_training.experiment import Experiment, ExperimentError
from transformer.texts import _

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
PARTNERS = {  # preset -> the one to compare it with, which differs in one setting
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
OWN = "own"  # pairs that a person types, which is not in PRESETS
FIRST = "reverse"
HIGHLIGHTS = (FIRST, "no-mask", "no-positions", "wide-unscaled", "no-residual")  # shown first: their pictures say most
REFERENCES_ONLY = ("wide", "shallow", "deep", "fast")  # presets that only serve for comparison


def names() -> list[str]:
    """The presets to choose from; one that only serves as a reference is left out."""
    return [*(name for name in PRESETS if name not in REFERENCES_ONLY), OWN]


def base(name: str) -> Experiment:
    """The experiment whose values the fields of a preset start with."""
    return PRESETS.get(name) or PRESETS[FIRST]


def reference(name: str, experiment: Experiment) -> Experiment | None:
    """The experiment to compare with: the same, but with the part that the preset takes away. None if there is none."""
    if name not in PARTNERS:
        return None
    partner = PRESETS[PARTNERS[name]]
    back = {field: getattr(partner, field) for field in PRESETS[name].differences(partner)}
    try:
        changed = replace(experiment, **back)
    except ExperimentError:  # the other changes do not fit the reference
        return None
    return changed if changed.differences(experiment) else None


def label(name: str) -> str:
    return {
        "reverse": _("Reverse"),
        "copy": _("Copy"),
        "sort": _("Sort"),
        "shift": _("Shift"),
        "no-mask": _("No causal mask"),
        "no-positions": _("No positions"),
        "wide-unscaled": _("No scaling"),
        "one-head": _("One head"),
        "no-residual": _("No residuals"),
        "pre-norm": _("Pre-norm"),
        "no-norm": _("No LayerNorm"),
        "no-warmup": _("No warm-up"),
        "learned-positions": _("Learned positions"),
        OWN: _("Your own pairs"),
    }.get(name, name)


def look_for(name: str) -> str:
    """What is trained and what to watch, in one line."""
    return {
        "reverse": _("Watch cross-attention: an even blur becomes a diagonal."),
        "copy": _("The diagonal runs the other way: output 1 reads input 1."),
        "sort": _("No diagonal: every output looks for the next letter, wherever it is."),
        "shift": _("Cross-attention does the same as for copy."),
        "no-mask": _(
            "Every position sees the token that it must write. Watch decoder self-attention: it learns to look there."
        ),
        "no-positions": _(
            "Reverse without positions: attention cannot tell the places of equal letters apart. Watch for a diagonal."
        ),
        "wide-unscaled": _(
            "Reverse with one wide head and no division by √dₖ: scores are large from the start, and rows of "
            "attention are nearly black and white."
        ),
        "one-head": _("Sort with one layer and one head: every output must compare all the letters."),
        "no-residual": _("Reverse without residual connections: what a sub-layer does not pass on is lost."),
        "pre-norm": _("Reverse with 4 + 4 layers, and LayerNorm before each sub-layer, as in most later models."),
        "no-norm": _("Reverse with 4 + 4 layers and no LayerNorm: nothing keeps the numbers between layers in bounds."),
        "no-warmup": _("Reverse with a high learning rate from the first step on, when all weights are still random."),
        "learned-positions": _(
            "Reverse with a learned table of positions, random at first, instead of sine and cosine."
        ),
        OWN: _("Paste inputs and answers. A tenth of them is kept aside and never trained on."),
    }.get(name, "")
