"""Is an attribution right about the model? Remove the tokens that it names, and watch the probability fall."""

import random
from collections.abc import Mapping
from dataclasses import dataclass

from transformer.attribution.contributions import Contributions
from transformer.attribution.leaving_out import after_removing
from transformer.cancellation import Progress
from transformer.inference.pretrained import Pretrained
from transformer.tracing.rerun import check_steps
from transformer.tracing.trace import Trace

DRAWS = 10  # random orders


@dataclass(frozen=True)
class Removal:
    """probabilities: of the output token, with no token removed, with the most important one removed, with two, ...; of
    the random orders the mean. area: their mean, smaller for a method that names what the model needs."""

    probabilities: tuple[float, ...]

    @property
    def area(self) -> float:
        return sum(self.probabilities) / len(self.probabilities)


def removable(trace: Trace, step: int) -> list[int]:
    """Columns of `Contributions.joined` that the step can do without: the source's words, and the tokens fed in before
    this step, but for <s>. What the step itself is fed stays: without it there is no step."""
    sources = len(trace.source_ids)
    words = [column for column, token in enumerate(trace.source_tokens) if token not in ("</s>", "<pad>")]
    return [*words, *range(sources + 1, sources + step)]


def removal_curve(
    model: Pretrained,
    trace: Trace,
    step: int,
    methods: Mapping[str, Contributions],
    seed: int | None = 1,
    progress: Progress = lambda done, total: True,
) -> dict[str, Removal]:
    """For each method, the tokens removed from the most to the least important one; "random": the mean of ten orders.

    Removed: hidden from all queries (`log_probs_without`). seed: None for no random orders. progress:
    as there. Raises UserError for a step that the trace lacks.
    """
    check_steps(trace, [step])
    columns = removable(trace, step)
    orders = []
    for found in methods.values():
        row = found.joined()[step]
        orders.append(sorted(columns, key=lambda column: -float(row[column])))
    if seed is not None:
        rng = random.Random(seed)
        orders += [rng.sample(columns, len(columns)) for _ in range(DRAWS)]
    curves = after_removing(model, trace, step, orders, progress)
    removed = {name: Removal(tuple(curve)) for name, curve in zip(methods, curves, strict=False)}
    if drawn := curves[len(methods) :]:
        removed["random"] = Removal(tuple(sum(values) / len(values) for values in zip(*drawn, strict=True)))
    return removed
