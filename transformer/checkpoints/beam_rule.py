"""How beam search compares hypotheses; part of a checkpoint, because imported models were tuned with other rules."""

from collections.abc import Sequence
from dataclasses import dataclass

from transformer.checkpoints.constraints import FREE, Constraints

ALPHA = 0.6  # section 6.1: "beam search with a beam size of 4 and length penalty alpha = 0.6"


def length_penalty(length: int, alpha: float) -> float:
    """lp(Y) = ((5 + |Y|) / 6)^alpha of Wu et al. 2016, equation 14, which section 6.1 uses with alpha = 0.6."""
    return ((5 + length) / 6) ** alpha


@dataclass(frozen=True)
class BeamRule:
    """How beam search compares hypotheses and when it ends.

    penalty: the divisor of a sum of log-probabilities: "wu", ((5 + length) / 6)^alpha (Wu et al. 2016, equation 14), or
        "length", length^alpha.
    ends: the search for a sentence ends when "overtaken": no open hypothesis can still beat the best finished one;
        "present": as many hypotheses as beams are finished, and the best open one, at its present length, is not better
        than the worst of them; "full": as many hypotheses as beams are finished.
    renormalise: use log-probabilities among the tokens that may be written, not of the full softmax.
    cut: compare a hypothesis that reaches the limit with finished ones; otherwise it counts only if none is finished.
    constraints: what may not be written, or has to be; of greedy search and sampling, too.

    The defaults are section 6.1's. Hugging Face's `early_stopping` "never", False and True are the three ends.
    """

    penalty: str = "wu"
    ends: str = "overtaken"
    renormalise: bool = False
    cut: bool = False
    constraints: Constraints = FREE

    def divisor(self, length: int, alpha: float) -> float:
        return length**alpha if self.penalty == "length" else length_penalty(length, alpha)

    def ended(self, best: Sequence[float], beams: int, length: int, limit: int, going: float, alpha: float) -> bool:
        """Whether the search for a sentence ends after the step in which its hypotheses became `length` tokens long.

        best: scores of the finished hypotheses, best first, at most `beams` of them; limit: most tokens; going: highest
        sum of log-probabilities of the open ones.
        """
        if self.ends == "overtaken":
            # Sums only fall and a positive penalty only grows, so this bounds every open hypothesis.
            longest = limit if alpha > 0 else length + 1
            return bool(best) and best[0] >= going / self.divisor(longest, alpha)
        if len(best) < beams or self.ends == "full":
            return len(best) == beams
        return going / self.divisor(length, alpha) <= best[-1]


PAPER = BeamRule()
