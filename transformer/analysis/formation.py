"""When heads formed: statistics of every head at recorded states of a training, and the state at which the first one of
a kind does what it is known for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from transformer.analysis.heads import HeadStatistics, Seen, WordList, seen, statistics
from transformer.tracing.trace import Trace

HALF = 0.5  # of the rows: a head that does one thing more often than everything else together
TIMES = 2.0  # the best untrained head: with few keys in sight chance alone looks like a habit
SOUGHT = (("aligned", "cross"), ("previous", "encoder_self"), ("previous", "decoder_self"), ("next", "encoder_self"))


@dataclass(frozen=True)
class Forming:
    """How one habit came into heads of one kind of attention.

    what: "aligned", "previous" or "next", of `HeadStatistics`; rows: what its shares are of. needed: the share that
    counts, HALF or TIMES the best head of the first state, whichever is more. state: index of the first state at which
    a head has it, None if none ever does; layer, head: that head, of several the one with the largest share, or without
    any the best head of the last state; shares: its share at every state. stays: it has the share at every later state
    too. first: the best share of any head at the first state. count: heads that have it at the last state.
    """

    what: str
    kind: str
    rows: int
    needed: float
    state: int | None
    layer: int
    head: int
    shares: tuple[float, ...]
    stays: bool
    first: float
    count: int


def recorded(weights: Mapping[str, np.ndarray], trace: Trace) -> Seen:
    """A sentence as it was recorded: kind -> uint8 [state, layer, head, query, key], weight times 255; words and masks
    are those of a trace of the same tokens.

    Rows are divided by their sum, which rounding moves off 255. Raises ValueError for shapes that are not the trace's.
    """
    like, found = seen(trace), {}
    for kind, mask in like.masks.items():
        if weights[kind].shape[1:] != mask.shape:
            raise ValueError(f"{kind} was recorded as {weights[kind].shape[1:]}; its tokens need {tuple(mask.shape)}")
        rows = torch.from_numpy(weights[kind]).double()
        found[kind] = rows / rows.sum(-1, keepdim=True).clamp(min=1)
    return Seen(found, like.masks, like.sources, like.targets)


def _rows(sentences: Sequence[Seen], found: HeadStatistics, what: str) -> int:
    """How many rows a share is of: those the list knows, or those that have such a neighbour in sight."""
    if what == "aligned":
        return found.links
    return sum(max(0, min(one.weights[found.kind].shape[-2:]) - 1) for one in sentences)


def _forming(sentences: Sequence[Seen], found: HeadStatistics, what: str) -> Forming:
    shares = getattr(found, what).nan_to_num(0.0)  # [state, layer, head]
    first = float(shares[0].max())
    needed = max(HALF, TIMES * first)
    states = (shares >= needed).flatten(1).any(-1).nonzero().flatten().tolist()
    state = states[0] if states else None
    layer, head = divmod(int(shares[-1 if state is None else state].argmax()), shares.shape[-1])
    own = shares[:, layer, head]
    return Forming(
        what,
        found.kind,
        _rows(sentences, found, what),
        needed,
        state,
        layer,
        head,
        tuple(own.tolist()),
        state is not None and bool((own[state:] >= needed).all()),
        first,
        int((shares[-1] >= needed).sum()),
    )


def formation(
    sentences: Sequence[Seen], words: WordList | None = None
) -> tuple[dict[str, HeadStatistics], tuple[Forming, ...]]:
    """Statistics [state, layer, head] of every kind, and how each habit sought came. words: for "aligned"; without
    them, or where they know no row, that is left out. Raises ValueError if there is no sentence."""
    found = statistics(sentences, words)
    sought = [one for one in SOUGHT if one[0] != "aligned" or found["cross"].links]
    return found, tuple(_forming(sentences, found[kind], what) for what, kind in sought)
