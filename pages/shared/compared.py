"""One sentence pair before and after the switches, the same tokens in both."""

from __future__ import annotations

from dataclasses import dataclass

from pages.shared import cache
from pages.shared.begin import Begun, capital, message
from pages.shared.state import max_tokens
from pages.shared.texts import _
from pages.shared.words import in_words
from transformer.interventions import NONE, Hide, InterventionError, Interventions, Pad
from transformer.pretrained import InputError, Pretrained
from transformer.trace import Trace


def of_page(switches: Interventions, sorts: tuple[type, ...], model: Pretrained) -> Interventions:
    """The switches that a page has; of others that are set, a sentence says that they wait."""
    others = switches.without(*sorts)
    if others:
        sentence = _("Switches of other pages wait there: {switches}.")
        message(sentence.format(switches=in_words(others, model.config)), "note")
    return switches.only(*sorts)


@dataclass(frozen=True)
class Compared:
    """before: nothing switched but the padding of the source; after: everything. Without switches both are one trace.

    limit: tokens allowed a side.
    """

    model: Pretrained
    before: Trace
    after: Trace
    interventions: Interventions
    limit: int


def compare(begun: Begun, trace: Trace, interventions: Interventions) -> Compared:
    """Both traces. Of switches that cannot be set together on this sentence, hidden tokens go first, then padding, with
    a sentence on the page; the others hold."""
    limit = begun.model.token_limit(max_tokens())
    asked = [interventions, interventions.without(Hide), interventions.without(Pad), interventions.without(Hide, Pad)]
    for number, switches in enumerate(asked):
        pads = Interventions(tuple(one for one in switches.switches if isinstance(one, Pad)))
        try:
            before = cache.retrace(begun.model, trace, pads, limit)
            after = cache.retrace(begun.model, before, switches, limit)
            return Compared(begun.model, before, after, switches, limit)
        except (InterventionError, InputError) as error:
            if number == 0:
                sentence = _("{reason}. It is left out; your other switches hold.")
                message(sentence.format(reason=capital(error)), "error")
    return Compared(begun.model, trace, trace, NONE, limit)
