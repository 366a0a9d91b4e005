"""Everything that the methods say about one output token, and what ships of it with a checkpoint for its examples.

python -m transformer.attribution.one_token CHECKPOINT      # writes attributions.json beside its weights
"""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from transformer.attribution.agreement import agreement
from transformer.attribution.contributions import Contributions
from transformer.attribution.faithfulness import DRAWS, Removal, removable, removal_curve
from transformer.attribution.gradients import completeness
from transformer.attribution.methods import METHODS, attribute
from transformer.cancellation import Progress
from transformer.checkpoints.folder import ATTRIBUTIONS, EXAMPLES, LARGEST_BESIDE
from transformer.files import write_whole
from transformer.inference.pretrained import Pretrained, load
from transformer.tracing.trace import Trace

RANDOM = "random"  # what `removal_curve` calls the random orders
PARTS = 10_000  # the numbers that ship are whole, in parts of 1
CURVES = len(METHODS) + DRAWS


@dataclass(frozen=True)
class Attributed:
    """What all methods, and perhaps one head, say about one step. rows: name -> share of every source token and token
    fed in, [source + target]; removed: with the random order; taus: name -> agreement with each; added, wanted: what
    integrated gradients add up to, and what they have to, in nats."""

    rows: Mapping[str, tuple[float, ...]]
    removed: Mapping[str, Removal]
    taus: Mapping[str, Mapping[str, float]]
    added: float
    wanted: float


def shares(trace: Trace, step: int, found: Mapping[str, Contributions]) -> dict[str, tuple[float, ...]]:
    """Each row of a step, divided by the sum of its absolute values."""
    rows = {name: one.joined()[step].double() for name, one in found.items()}
    seen = len(trace.source_ids) + step + 1
    return {name: tuple((row / float(row[:seen].abs().sum() or 1.0)).tolist()) for name, row in rows.items()}


def taus(trace: Trace, step: int, rows: Mapping[str, Sequence[float]]) -> dict[str, dict[str, float]]:
    """How far every two rows agree on the order of the tokens that the step can do without."""
    columns = removable(trace, step)
    found = agreement([torch.tensor(row, dtype=torch.float64)[columns] for row in rows.values()])
    return {name: dict(zip(rows, of, strict=True)) for name, of in zip(rows, found.tolist(), strict=True)}


def of_methods(
    model: Pretrained,
    trace: Trace,
    step: int,
    progress: Progress = lambda done, total: True,
    of_all_steps: Callable[[str, Progress], Contributions] | None = None,
) -> Attributed:
    """Every method on one output token of a trace. progress: a method counts as much as a removal curve. of_all_steps:
    remembers the contributions of a method that finds those to all output tokens at once."""
    parts = len(METHODS) + CURVES
    found: dict[str, Contributions] = {}

    def report(_done: int, _total: int) -> bool:
        return progress(len(found), parts)

    for name, method in METHODS.items():
        found[name] = (
            of_all_steps(name, report)
            if of_all_steps and not method.by_step
            else attribute(model, trace, name, [step], report)
        )
    added, wanted = (float(one[step]) for one in completeness(model, trace, found["integrated"]))

    def report_curves(done: int, total: int) -> bool:
        return progress(len(METHODS) + CURVES * done // total, parts)

    removed = removal_curve(model, trace, step, found, progress=report_curves)
    rows = shares(trace, step, found)
    return Attributed(rows, removed, taus(trace, step, rows), added, wanted)


def add_row(trace: Trace, step: int, name: str, one: Contributions, removed: Removal, to: Attributed) -> Attributed:
    """With another row, the first, such as the weights of one head."""
    rows = {**shares(trace, step, {name: one}), **to.rows}
    return replace(to, rows=rows, removed={name: removed, **to.removed}, taus=taus(trace, step, rows))


def votes(trace: Trace, step: int, found: Attributed) -> list[int]:
    """For each column, how many methods put it first of those that can be hidden."""
    columns = removable(trace, step)
    counts = [0] * (len(trace.source_ids) + len(trace.target_in_ids))
    for name in METHODS:
        counts[max(columns, key=lambda column: found.rows[name][column])] += 1
    return counts


def to_dict(found: Attributed) -> dict[str, Any]:
    """The numbers as JSON, in parts of PARTS; `taus` follow from the rows."""

    def plain(values: Sequence[float]) -> list[int]:
        return [round(PARTS * value) for value in values]

    return {
        "rows": {name: plain(row) for name, row in found.rows.items()},
        "removed": {name: plain(one.probabilities) for name, one in found.removed.items()},
        "sum": plain((found.added, found.wanted)),
    }


def from_dict(trace: Trace, step: int, data: Mapping[str, Any]) -> Attributed:
    """From `to_dict`. Raises ValueError, TypeError, KeyError for other data."""

    def plain(values: Sequence[int]) -> tuple[float, ...]:
        return tuple(value / PARTS for value in values)

    rows = {name: plain(data["rows"][name]) for name in METHODS}
    removed = {name: Removal(plain(data["removed"][name])) for name in (*METHODS, RANDOM)}
    width, curve = len(trace.source_ids) + len(trace.target_in_ids), len(removable(trace, step)) + 1
    if {*map(len, rows.values())} != {width} or {len(one.probabilities) for one in removed.values()} != {curve}:
        raise ValueError(f"rows of other lengths than {width} and {curve}")
    added, wanted = plain(data["sum"])
    return Attributed(rows, removed, taus(trace, step, rows), added, wanted)


def least_sure(trace: Trace) -> int:
    """The output token that the model was least sure of among those it writes: the one a page opens on."""
    steps = len(trace.target_out_ids)
    last = steps - 1 if trace.complete and steps > 1 else steps
    return min(range(last), key=lambda step: float(trace.probabilities[step]))


def shipped(trace: Trace, step: int, data: Sequence[Mapping[str, Any]]) -> Attributed | None:
    """What `measured` found for a trace without switches; None if it is not there."""
    if trace.interventions or trace.edits:
        return None
    place = [list(trace.source_ids), list(trace.target_out_ids), step]
    try:
        found = next((one for one in data if one["place"] == place), None)
        return None if found is None else from_dict(trace, step, found)
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


def measured(model: Pretrained, pairs: Sequence[tuple[str, str]]) -> list[dict[str, Any]]:
    """The token that a page opens on, of every sentence pair; a blank target is the model's own translation."""
    found = []
    for source, target in pairs:
        trace = model.trace(source, target)
        step = least_sure(trace)
        place = [trace.source_ids, trace.target_out_ids, step]
        found.append({"place": place, **to_dict(of_methods(model, trace, step))})
    return found


def main(name: str) -> None:
    torch.set_num_threads(1)
    model = load(name)
    examples = json.loads(model.beside(EXAMPLES, LARGEST_BESIDE[EXAMPLES]) or b"[]")
    found = measured(model, [(one["source"], one.get("target", "")) for one in examples])
    write_whole(model.path / ATTRIBUTIONS, (json.dumps(found, separators=(",", ":")) + "\n").encode())


if __name__ == "__main__":
    main(*sys.argv[1:])
