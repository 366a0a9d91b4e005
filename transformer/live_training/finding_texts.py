"""What the paper predicts about a change and what happened here, in sentences with the measured numbers."""

import math
from collections.abc import Sequence
from typing import Any

from transformer.live_training.descriptions import phrase
from transformer.live_training.experiment import Experiment
from transformer.live_training.findings import LEARNED, REACHED, Finding, findings
from transformer.live_training.presets import label
from transformer.live_training.recordings import RecordedRun, recorded_names, recorded_runs
from transformer.texts import _, comma_list


def headline(name: str) -> str:
    """What the recorded run of a preset shows, from its first step to its last; "" without one."""
    runs = recorded_runs(name)
    if not runs:
        return ""
    start, end, there = (percent(exact) for exact in (runs[-1].frames[0].exact, _last(runs[-1]), _last(runs[0])))
    learned = {
        "reverse": _(
            "In {steps} steps a small Transformer learns to write {count} letters backwards: {start} "
            "right at first, {end} at the end."
        ),
        "copy": _(
            "In {steps} steps a small Transformer learns to copy {count} letters: {start} "
            "right at first, {end} at the end."
        ),
        "sort": _(
            "In {steps} steps a small Transformer learns to sort {count} letters: {start} "
            "right at first, {end} at the end."
        ),
        "shift": _(
            "In {steps} steps a small Transformer learns to replace each of {count} letters by another: {start} "
            "right at first, {end} at the end."
        ),
    }
    other = _("{preset}: after {steps} steps {end} of the answers are right ({first}: {there}).")
    return learned.get(name, other).format(
        preset=label(name),
        steps=f"{runs[-1].step:,}",
        start=start,
        end=end,
        first=recorded_names(runs)[0],
        there=there,
        count=runs[-1].experiment.longest,
    )


def _last(run: RecordedRun) -> float | None:
    """The share of right outputs at the end."""
    return next((frame.exact for frame in reversed(run.frames) if frame.exact is not None), None)


def rows(runs: Sequence[Any], names: Sequence[str]) -> list[dict[str, Any]]:
    """A row for each live or recorded run but the first, or for a run alone, as described in `view.training_pack`.
    names: of the runs."""
    started = [run for run in runs if run.opening is not None and run.frames]
    if not runs or runs[0] not in started:
        return []
    results = [(run.experiment, run.opening, tuple(run.frames), run.reason == "steps") for run in started]
    table = []
    for finding in findings(results):
        run, first = started[finding.run], started[0]
        both = all(one.reason == "steps" for one in (run, first))
        table.append(
            {
                "run": run.id,
                "title": names[runs.index(run)],
                "predicts": predicts(finding, run.experiment),
                "happened": happened(finding, names[0], both, run.ended and first.ended),
                "section": finding.section,
                "step": f"{finding.here.step:,}",
                "verdict": {True: "as predicted", False: "differs", None: "open"}[finding.agrees],
            }
        )
    return table


def predicts(finding: Finding, experiment: Experiment) -> str:
    """What sections 3 to 6 predict, or why they predict nothing."""
    sentences = {
        "complete": _(
            "Attention alone, without recurrence, is enough: the model learns which input position each output needs."
        ),
        "mask": _(
            "Without the mask every position sees the token it must predict. Fed the right answer, the model makes no "
            "mistake. Writing by itself, where that token does not exist yet, it fails."
        ),
        "positions": _(
            "Without positions the model does not know the order of the input, so it does not learn what depends on it."
        ),
        "learned-positions": _("Learned and sinusoidal positions do about equally well."),
        "scaling": _(
            "Without the division by √dₖ, products of large queries and keys push the softmax to where it has almost "
            "no gradient: learning is slow or stops."
        ),
        "scaling-small": _("At a small d_k the division matters little: both do about equally well."),
        "heads": _("A single head does worse than several."),
        "d_k": _("Smaller queries and keys do worse."),
        "size": _("The bigger model does better."),
        "dropout": _("Dropout helps: the model memorises less."),
        "smoothing": _("With label smoothing the loss on unseen inputs is larger, but more outputs are right."),
        "residual": _(
            "Residual connections let a deep network train (He et al. 2016). Without them the model does worse."
        ),
        "norm": _("LayerNorm shortens training (Ba et al. 2016). Without it the model does worse."),
        "pre-norm": _(
            "The paper has LayerNorm after each sub-layer. Later work (Xiong et al. 2020) predicts that deep models "
            "train more easily with LayerNorm before it."
        ),
        "warmup": _(
            "The paper raises the learning rate over the first 4,000 steps, and does not say why. Without this warm-up "
            "the model should do worse."
        ),
    }
    if finding.prediction:
        return sentences[finding.prediction]
    if finding.run == 0:
        return _("To see what a part does, train the same model with it and without it.")
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
    return "–" if share is None else f"{math.floor(1_000 * share + 0.5) / 10:.1f}".removesuffix(".0") + "%"


def _loss(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}" if value >= 0.0995 else f"{value:.4f}"


def happened(finding: Finding, first: str, both: bool, ended: bool) -> str:
    """The numbers of the run and of the first run. both: both made all their steps; ended: both ended, perhaps
    early."""
    here, there = finding.here, finding.reference
    alone = finding.run == 0
    sentences = []
    if not both:
        sentence = _("It ended early, at step {step}.") if ended else _("The run is at step {step}.")
        sentences.append(sentence.format(step=f"{here.step:,}"))
    if finding.prediction == "mask":
        sentence = _(
            "Fed the right answer, the model gets {forced} of the unseen inputs right. Writing by itself: {here} "
            "({first}: {there})."
        )
    elif alone:
        sentence = _("Writing by itself, the model gets {here} of the unseen inputs right.")
    else:
        sentence = _("Writing by itself, the model gets {here} of the unseen inputs right ({first}: {there}).")
    sentences.append(
        sentence.format(here=percent(here.exact), there=percent(there.exact), forced=percent(here.forced), first=first)
    )
    sentences.append(_reached(finding, first, alone))
    if finding.prediction == "smoothing":
        sentence = _("Loss on unseen inputs: {here}, against {there}.")
        sentences.append(sentence.format(here=_loss(here.validation_loss), there=_loss(there.validation_loss)))
    if finding.prediction.startswith("scaling"):
        sentence = _("Before the first step, the largest weight of a row was {here} on average, against {there}.")
        sentences.append(sentence.format(here=f"{here.largest_first:.2f}", there=f"{there.largest_first:.2f}"))
    if both and finding.prediction and finding.agrees is None:
        sentences.append(_undecided(finding))
    if finding.agrees is False:
        sentences.append(_("This is one run: train it with other seeds before you doubt the paper."))
    return " ".join(filter(None, sentences))


def _reached(finding: Finding, first: str, alone: bool) -> str:
    """From which step on a run is right nearly always."""
    here, there = finding.here, finding.reference
    values = {"reached": percent(REACHED), "here": f"{here.reached or 0:,}", "there": f"{there.reached or 0:,}"}
    if alone and here.reached is not None:
        return _("It reached {reached} at step {here}.").format(**values)
    if alone or finding.prediction == "mask":
        return ""
    if here.reached is not None and there.reached is not None:
        return _("It reached {reached} at step {here} ({first}: step {there}).").format(first=first, **values)
    return ""


def _undecided(finding: Finding) -> str:
    """Why two runs do not decide what the paper predicts."""
    learned = [(numbers.exact or 0.0) >= LEARNED for numbers in (finding.here, finding.reference)]
    if all(learned):
        return _("Both learn the task: it is too easy to tell them apart.")
    return _("Too little was learned to decide.")
