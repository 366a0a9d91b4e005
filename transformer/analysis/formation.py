"""How heads formed: statistics of every head in each snapshot of a training, and the first snapshot in which a head has
a known habit, such as attending to the previous token."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from transformer.analysis.heads import READINGS, HeadStatistics, Seen, Splitter, WordList, seen, statistics, words_of
from transformer.tracing.trace import Trace

HALF = 0.5  # share of the rows: the head does this more often than everything else together
TIMES = 2.0  # and twice as often as the best untrained head: with few visible keys, chance looks like a habit
SOUGHT = (
    *((reading, "cross") for reading in READINGS),
    ("previous", "encoder_self"),
    ("previous", "decoder_self"),
    ("next", "encoder_self"),
)


@dataclass(frozen=True)
class Forming:
    """How one habit formed in the heads of one kind of attention. A state is a snapshot of the training.

    what: "aligned_out", "aligned_in", "previous" or "next", a field of `HeadStatistics`; rows: number of rows behind
    its shares. needed: the share that counts as the habit, HALF or TIMES the best head of the first state, whichever is
    larger. state: index of the first state with such a head, or None; layer, head: that head (the one with the largest
    share, or the best head of the last state if there is none); shares: its share in every state. stays: whether it
    keeps the needed share in every later state. first: the best share in the first state. count: heads with the habit
    in the last state.
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


def recorded(weights: Mapping[str, np.ndarray], trace: Trace, words: Splitter = words_of) -> Seen:
    """A recorded sentence, with the words and masks of a trace of the same tokens. weights: kind -> uint8 [state,
    layer, head, query, key], weight times 255. words: gives the word of every token.

    Rows are divided by their sum, because rounding changes it from 255. Raises ValueError if a shape does not fit.
    """
    like, by_kind = seen(trace, words), {}
    for kind, mask in like.masks.items():
        if weights[kind].shape[1:] != mask.shape:
            raise ValueError(
                f"the recorded {kind} weights have shape {weights[kind].shape[1:]}, but need {tuple(mask.shape)}"
            )
        rows = torch.from_numpy(weights[kind]).double()
        by_kind[kind] = rows / rows.sum(-1, keepdim=True).clamp(min=1)
    return Seen(by_kind, like.masks, like.sources, like.targets_in, like.targets_out)


def _rows(sentences: Sequence[Seen], measured: HeadStatistics, what: str) -> int:
    """The number of rows behind a share: rows with a word of the list, or rows that can see such a neighbour."""
    if what in READINGS:
        return measured.links
    return sum(max(0, min(sentence.weights[measured.kind].shape[-2:]) - 1) for sentence in sentences)


def _forming(sentences: Sequence[Seen], measured: HeadStatistics, what: str) -> Forming:
    shares = getattr(measured, what).nan_to_num(0.0)  # [state, layer, head]
    first = float(shares[0].max())
    needed = max(HALF, TIMES * first)
    states = (shares >= needed).flatten(1).any(-1).nonzero().flatten().tolist()
    state = states[0] if states else None
    layer, head = divmod(int(shares[-1 if state is None else state].argmax()), shares.shape[-1])
    head_shares = shares[:, layer, head]
    return Forming(
        what,
        measured.kind,
        _rows(sentences, measured, what),
        needed,
        state,
        layer,
        head,
        tuple(head_shares.tolist()),
        state is not None and bool((head_shares[state:] >= needed).all()),
        first,
        int((shares[-1] >= needed).sum()),
    )


def formation(
    sentences: Sequence[Seen], words: WordList | None = None
) -> tuple[dict[str, HeadStatistics], tuple[Forming, ...]]:
    """Statistics [state, layer, head] of every kind of attention, and how each habit formed. words: the word list for
    alignment, which is left out if no row has a word of the list. Raises ValueError if there is no sentence."""
    by_kind = statistics(sentences, words)
    habits = [(what, kind) for what, kind in SOUGHT if what not in READINGS or by_kind["cross"].links]
    return by_kind, tuple(_forming(sentences, by_kind[kind], what) for what, kind in habits)
