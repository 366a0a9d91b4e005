"""Interventions as edits of a pass."""

from collections.abc import Mapping

from transformer.interventions.sets import Interventions
from transformer.interventions.switch import Reference, no_reference
from transformer.model.config import ModelConfig
from transformer.model.tap import Edit, reads


def joined(first: Mapping[str, Edit], second: Mapping[str, Edit]) -> dict[str, Edit]:
    """The edits of both; where both edit the same tensor, the second edit gets the result of the first."""

    def one_after_the_other(before: Edit, after: Edit) -> Edit:
        if not (reads(before) or reads(after)):
            return lambda tensor: after(before(tensor))
        first, second = (one if reads(one) else lambda tensor, seen, one=one: one(tensor) for one in (before, after))
        return lambda tensor, seen: second(first(tensor, seen), seen)

    both = {name: one_after_the_other(first[name], second[name]) for name in first.keys() & second.keys()}
    return {**first, **second, **both}


def edits_of(interventions: Interventions, config: ModelConfig, reference: Reference = no_reference) -> dict[str, Edit]:
    """The edits of one pass, by the names of `transformer.model.tap`. Make new ones for each pass, because they
    remember its masks. reference: head outputs of other sentences; `Pretrained.edits` has those of its model.

    Only what is switched is edited. Raises InterventionError for a layer, head, neuron or position that the model
    lacks; the edit of a mask raises it when a row would have no visible key.
    """
    interventions.check(config)
    edits: dict[str, Edit] = {}
    for switch_class, switches in interventions.by_class():
        edits = joined(edits, switch_class.edits(switches, config, reference))
    return edits
