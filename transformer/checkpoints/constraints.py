"""What a search may not write, or has to write; part of a checkpoint, because imported models were tuned with it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor


@dataclass(frozen=True)
class Constraints:
    """Changes of the scores of the next token, as Hugging Face's `generate` makes them before it chooses.

    barred: sequences of ids that are never completed; barred_first: ids that are not written first, or not right after
        `first`.
    first, last: the first token, and the one at the limit, whatever the model computes; None: the model's.
    shortest: </s> comes after so many tokens at the earliest.
    repetition: the score of a token that was written before is divided by it, or multiplied below 0 (Keskar et al.
        2019, section 4.1).
    n_gram: no sequence of so many tokens is written twice (Paulus et al. 2017, section 2.5); 0: any may be.
    """

    barred: tuple[tuple[int, ...], ...] = ()
    barred_first: tuple[int, ...] = ()
    first: int | None = None
    last: int | None = None
    shortest: int = 0
    repetition: float = 1.0
    n_gram: int = 0

    @property
    def before_the_limit(self) -> bool:
        """Whether they change more than the last token of an output that is cut off."""
        return replace(self, last=None) != FREE

    def apply(self, scores: Tensor, ids: Sequence[int], end_id: int, full: bool = False) -> None:
        """Change the scores, [vocab], of the token after these ids. full: it is the last one within the limit."""
        written = tuple(ids)
        if self.repetition != 1:
            seen = torch.tensor(sorted(set(written)), dtype=torch.long, device=scores.device)
            before = scores[seen]
            scores[seen] = torch.where(before < 0, before * self.repetition, before / self.repetition)

        def follows(sequence: tuple[int, ...]) -> bool:
            """Whether the next token can complete the sequence."""
            return written[len(written) - len(sequence) + 1 :] == sequence[:-1]

        n = self.n_gram
        repeated = [written[at : at + n] for at in range(len(written) - n + 1)] if n else []
        barred = {sequence[-1] for sequence in (*self.barred, *repeated) if follows(sequence)}
        if len(written) < self.shortest:
            barred.add(end_id)
        if len(written) == (self.first is not None):
            barred.update(self.barred_first)
        scores[list(barred)] = -torch.inf
        forced = self.last if full and self.last is not None else None if written else self.first
        if forced is not None:
            scores.fill_(-torch.inf)[forced] = 0.0


FREE = Constraints()
