"""One sentence pair before and after the switches, with the same tokens in both."""

import itertools
from dataclasses import dataclass

from pages.components.descriptions import in_words
from pages.frame.messages import capital, message
from pages.frame.state import max_tokens
from pages.runtime import cache
from transformer.inference.pretrained import InputError, Pretrained
from transformer.interventions.sets import NONE, InterventionError, Interventions, Pad, Switch
from transformer.texts import _
from transformer.tracing.trace import Trace
from transformer.view.shared_texts import say


def switches_of_page(switches: Interventions, switch_classes: tuple[type, ...], model: Pretrained) -> Interventions:
    """The switches that a page applies; a note names the others that are set."""
    others = switches.without(*switch_classes)
    if others:
        message(say("others", switches=in_words(others, model.config)), "note")
    return switches.only(*switch_classes)


@dataclass(frozen=True)
class Compared:
    """before: no switches but the padding of the source; after: all switches. Without switches both are the same trace.

    limit: tokens allowed per side.
    """

    model: Pretrained
    before: Trace
    after: Trace
    interventions: Interventions
    limit: int


def _groups(interventions: Interventions) -> list[Interventions]:
    """Switches that may not fit a sentence, in groups that are left out together, in the order in which this is
    tried."""
    groups: dict[tuple[int, ...], list[Switch]] = {}
    for switch in interventions.switches:
        if switch.sentence_group is not None:
            groups.setdefault(switch.sentence_group, []).append(switch)
    return [Interventions(tuple(groups[key])) for key in sorted(groups)]


def compare(model: Pretrained, trace: Trace, interventions: Interventions) -> Compared:
    """Both traces. If the switches cannot be set together on this sentence, as few as possible are left out, with a
    message on the page: hidden tokens first, then padding, then moved positions."""
    limit = model.token_limit(max_tokens())
    groups = _groups(interventions)
    reason = ""
    for count in range(len(groups) + 1):
        for out in itertools.combinations(groups, count):
            left = {switch for group in out for switch in group.switches}
            switches = Interventions(tuple(switch for switch in interventions.switches if switch not in left))
            try:
                before = cache.retrace(model, trace, switches.only(Pad), limit)
                after = cache.retrace(model, before, switches, limit)
            except (InterventionError, InputError) as error:
                reason = reason or capital(error)
                continue
            if left:
                _left_out(reason, Interventions(tuple(left)), switches, model)
            return Compared(model, before, after, switches, limit)
    return Compared(model, trace, trace, NONE, limit)


def _left_out(reason: str, left: Interventions, holding: Interventions, model: Pretrained) -> None:
    sentence = (
        _("{reason}. Not applied: {switches}. Your other switches still apply.")
        if holding
        else _("{reason}. Not applied: {switches}. No switch is on now.")
    )
    message(sentence.format(reason=reason, switches=in_words(left, model.config)), "error")
