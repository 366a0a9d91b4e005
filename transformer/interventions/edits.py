"""Interventions as edits of a pass."""

from __future__ import annotations

from collections.abc import Mapping

from transformer.interventions.sets import Interventions
from transformer.model.config import ModelConfig
from transformer.model.tap import Edit


def joined(first: Mapping[str, Edit], second: Mapping[str, Edit]) -> dict[str, Edit]:
    """Edits of both; where a name is in both, the second's edit gets what the first's returned."""

    def one_after_the_other(before: Edit, after: Edit) -> Edit:
        return lambda tensor: after(before(tensor))

    both = {name: one_after_the_other(first[name], second[name]) for name in first.keys() & second.keys()}
    return {**first, **second, **both}


def edits_of(interventions: Interventions, config: ModelConfig) -> dict[str, Edit]:
    """The edits of one pass, by the names of `transformer.model.tap`: made anew for each, for they remember its masks.

    Nothing that is not switched is edited. Raises InterventionError for a place the model has not; the edit of a mask
    raises it when a row would have nothing left.
    """
    interventions.check(config)
    edits: dict[str, Edit] = {}
    for sort, switches in interventions.by_class():
        edits = joined(edits, sort.edits(switches, config))
    return edits
