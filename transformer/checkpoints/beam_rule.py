"""How beam search compares hypotheses: part of a checkpoint, since imported models were tuned with their own rule."""

from __future__ import annotations

from dataclasses import dataclass

ALPHA = 0.6  # section 6.1: "beam search with a beam size of 4 and length penalty alpha = 0.6"


def length_penalty(length: int, alpha: float) -> float:
    """lp(Y) = ((5 + |Y|) / 6)^alpha of Wu et al. 2016, equation 14, which section 6.1 uses with alpha = 0.6."""
    return ((5 + length) / 6) ** alpha


@dataclass(frozen=True)
class BeamRule:
    """How beam search compares hypotheses and when it has found enough.

    penalty: a sum of log-probabilities is divided by "wu", ((5 + length) / 6)^alpha (Wu et al. 2016, equation 14), or
        by "length", length^alpha.
    ends: with a sentence once "overtaken", no open hypothesis can still overtake its best finished one; "present", as
        many hypotheses as beams are finished and the best open one, at its present length, is not above the worst of
        them; or "full", as many as beams are finished.
    renormalise: log-probabilities are those among the tokens that may be written, not under the full softmax.
    cut: a hypothesis that the limit cuts off is compared with finished ones; else it counts only where there is none.

    The defaults are section 6.1's. Hugging Face's `early_stopping` "never", False and True are the three ends.
    """

    penalty: str = "wu"
    ends: str = "overtaken"
    renormalise: bool = False
    cut: bool = False

    def divisor(self, length: int, alpha: float) -> float:
        return length**alpha if self.penalty == "length" else length_penalty(length, alpha)


PAPER = BeamRule()
