"""What the paper predicts about a change and what happened here, in sentences with the measured numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from pages.training.descriptions import phrase
from pages.training.runs import Watched
from transformer.live_training.experiment import Experiment
from transformer.live_training.findings import REACHED, Finding, findings
from transformer.texts import _, comma_list


def rows(runs: Sequence[Watched], names: Sequence[str]) -> list[dict[str, Any]]:
    """A row for each run but the first, as described in `view.training_pack`. names: of the runs."""
    started = [watched for watched in runs if watched.run.opening is not None and watched.run.frames]
    if not runs or runs[0] not in started:
        return []
    results = [
        (watched.experiment, watched.run.opening, tuple(watched.run.frames), watched.run.reason == "steps")
        for watched in started
    ]
    table = []
    for finding in findings(results):  # type: ignore[arg-type]
        watched, first = started[finding.run], started[0]
        both = all(run.run.reason == "steps" for run in (watched, first))
        table.append(
            {
                "run": watched.run.id,
                "title": names[runs.index(watched)],
                "predicts": predicts(finding, watched.experiment),
                "happened": happened(finding, names[0], both, watched.run.ended and first.run.ended),
                "section": finding.section,
                "verdict": {True: "as predicted", False: "differs", None: "open"}[finding.agrees],
            }
        )
    return table


def predicts(finding: Finding, experiment: Experiment) -> str:
    """What sections 3 to 6 predict, or why they predict nothing."""
    sentences = {
        "mask": _(
            "Without the mask every position sees the token it must predict. Fed the right answer, the model makes no "
            "mistake; free-running, where that token does not exist yet, it fails."
        ),
        "positions": _(
            "Without positions the model does not know the order of the input, so it does not learn what depends on it."
        ),
        "learned-positions": _("Learned and sinusoidal positions do about equally well."),
        "scaling": _(
            "Without the division by √d_k, products of large queries and keys push the softmax to where it has almost "
            "no gradient: learning is slow or stops."
        ),
        "scaling-small": _("At a small d_k the division matters little: both do about equally well."),
        "heads": _("A single head does worse than several."),
        "d_k": _("Smaller queries and keys do worse."),
        "size": _("The bigger model does better."),
        "dropout": _("Dropout helps: the model memorises less."),
        "smoothing": _("With label smoothing the loss on unseen inputs is larger, but more outputs are right."),
        "residual": _(
            "The paper has residual connections around every sub-layer, because deep networks are hard to train "
            "without them (He et al. 2016). Without them the model does worse."
        ),
        "norm": _(
            "The paper has LayerNorm after every sub-layer, which shortens training (Ba et al. 2016). Without it the "
            "model does worse."
        ),
    }
    if finding.prediction:
        return sentences[finding.prediction]
    differs = [name for name in finding.differs if name != "seed"]
    if not differs:
        return _("Nothing: this is the same experiment with other random numbers. Any difference is chance.")
    parts = list(dict.fromkeys(phrase(name, experiment) for name in differs))
    if len(parts) == 1:
        return _("Nothing: the paper says nothing about this ({what}).").format(what=parts[0])
    return _("{count} things differ at once ({what}), so their effects cannot be told apart.").format(
        count=len(parts), what=comma_list(parts)
    )


def percent(share: float | None) -> str:
    """A percentage with one decimal; half of a tenth is rounded up, as in the curves."""
    return "–" if share is None else f"{math.floor(1_000 * share + 0.5) / 10:.1f}".removesuffix(".0") + " %"


def _loss(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}" if value >= 0.0995 else f"{value:.4f}"


def happened(finding: Finding, first: str, both: bool, ended: bool) -> str:
    """The numbers of the run and of the first run. both: both made all their steps; ended: both ended, perhaps
    early."""
    here, there = finding.here, finding.reference
    sentences = []
    if not both:
        sentence = _("It ended early, at step {step}.") if ended else _("The run is at step {step}.")
        sentences.append(sentence.format(step=f"{here.step:,}"))
    sentences.append(
        _("Free-running exact match is {here}, against {there} for {first}.").format(
            here=percent(here.exact), first=first, there=percent(there.exact)
        )
    )
    if finding.prediction == "mask":
        sentences.append(
            _("Teacher-forced exact match is {here}, against {there}.").format(
                here=percent(here.forced), there=percent(there.forced)
            )
        )
    sentences.append(
        _("Loss on unseen inputs is {here}, against {there}.").format(
            here=_loss(here.validation_loss), there=_loss(there.validation_loss)
        )
    )
    reached = percent(REACHED)
    if here.reached is not None and there.reached is not None:
        sentence = _("{reached} exact match from step {here} on, against step {there}.")
        sentences.append(sentence.format(reached=reached, here=f"{here.reached:,}", there=f"{there.reached:,}"))
    elif there.reached is not None:
        sentence = _("{first} has {reached} exact match from step {there} on; this run never reached it.")
        sentences.append(sentence.format(first=first, reached=reached, there=f"{there.reached:,}"))
    elif here.reached is not None:
        sentence = _("{reached} exact match from step {here} on; {first} never reached it.")
        sentences.append(sentence.format(reached=reached, here=f"{here.reached:,}", first=first))
    if finding.prediction.startswith("scaling"):
        sentence = _("Before the first step, the largest weight of a row was {here} on average, against {there}.")
        sentences.append(sentence.format(here=f"{here.largest_first:.2f}", there=f"{there.largest_first:.2f}"))
    if both and finding.prediction and finding.agrees is None:
        sentences.append(_("Too little was learned to decide."))
    return " ".join(sentences)
