"""The presets in words: the paper's model, the same model without one part, other tasks."""

from __future__ import annotations

from dataclasses import replace

from transformer.live_training.experiment import Experiment, ExperimentError
from transformer.live_training.presets import PRESETS, partner
from transformer.texts import _

OWN = "own"  # not in PRESETS, because a person types its pairs
FIRST = "reverse"


def names() -> list[str]:
    """The presets to choose from; one that only serves as a reference is left out."""
    return [*(name for name in PRESETS if name != "wide"), OWN]


def preset(name: str) -> Experiment | None:
    """The experiment of a preset; None for own pairs."""
    return PRESETS.get(name)


def base(name: str) -> Experiment:
    """The experiment whose values the fields of a preset start with."""
    return PRESETS.get(name) or PRESETS[FIRST]


def reference(name: str, experiment: Experiment) -> Experiment | None:
    """The experiment to compare with: the same, but with the part that the preset takes away. None if there is none."""
    partner_name = partner(name) if name in PRESETS else None
    if partner_name is None:
        return None
    back = {field: getattr(PRESETS[partner_name], field) for field in PRESETS[name].differences(PRESETS[partner_name])}
    try:
        changed = replace(experiment, **back)
    except ExperimentError:  # the other changes do not fit the reference
        return None
    return changed if changed.differences(experiment) else None


def plain() -> Experiment:
    """The small version of the paper's model, which names of runs refer to."""
    return replace(PRESETS[FIRST])


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
    """What to watch while it trains, in one line."""
    return {
        "reverse": _(
            "A small version of the paper's model. Cross-attention turns from a grey field into a diagonal from "
            "corner to corner, and with it free-running exact match climbs from 0 to 100 %."
        ),
        "copy": _("The diagonal of cross-attention runs the other way: output 1 reads input 1."),
        "sort": _("No diagonal: every output looks for the next symbol in order, wherever it is in the input."),
        "shift": _("Cross-attention does the same as for copy; each letter is then replaced by another."),
        "no-mask": _(
            "Every position sees the token it must write. Teacher-forced, everything is right and the loss is small; "
            "free-running, where that token does not exist yet, nothing is right."
        ),
        "no-positions": _("Attention cannot tell equal letters apart by their position: the diagonal never appears."),
        "wide-unscaled": _(
            "One head with wide queries and keys, and no division by √d_k: scores are large from the start, rows of "
            "attention are nearly black and white, and the softmax has almost no gradient there."
        ),
        "one-head": _("One head must do the work that four heads share. Does this task need more than one?"),
        "no-residual": _("What a sub-layer does not pass on is lost. Does the model learn anything, and how late?"),
        "pre-norm": _("LayerNorm before each sub-layer, as in most later models. Watch the first steps."),
        "no-norm": _(
            "Without LayerNorm nothing keeps the numbers between layers in bounds. Does such a shallow model need it?"
        ),
        "no-warmup": _("The largest learning rate from the first step, on random weights. Does it matter here?"),
        "learned-positions": _("A learned table instead of sine and cosine, as random at first as all other weights."),
        OWN: _("Paste inputs and answers. A tenth of them is kept aside and never trained on."),
    }.get(name, "")
