"""One sentence pair before and after the switches, the same tokens in both."""

from __future__ import annotations

from dataclasses import dataclass

from pages.shared import cache
from pages.shared.begin import Begun, message
from pages.shared.state import max_tokens
from transformer.interventions import NONE, InterventionError, Interventions, Pad
from transformer.pretrained import InputError, Pretrained
from transformer.trace import Trace


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
    """Both traces. Switches that cannot be set together on this sentence get a sentence on the page and are not."""
    limit = begun.model.token_limit(max_tokens())
    pads = Interventions(tuple(one for one in interventions.switches if isinstance(one, Pad)))
    try:
        before = cache.retrace(begun.model, trace, pads, limit)
        after = cache.retrace(begun.model, before, interventions, limit)
    except (InterventionError, InputError) as error:
        text = str(error)
        message(text[:1].upper() + text[1:] + ".", "error")
        return Compared(begun.model, trace, trace, NONE, limit)
    return Compared(begun.model, before, after, interventions, limit)
