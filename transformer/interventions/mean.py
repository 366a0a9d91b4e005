"""Mean ablation of heads."""

from __future__ import annotations

from dataclasses import dataclass

from transformer.interventions.substitute import Substitute
from transformer.interventions.switch import Where


@dataclass(frozen=True)
class Mean(Substitute):
    """Heads whose output is replaced with its mean over all rows of all reference sentences (`Pretrained.reference`,
    by default the package's probe set), without switches: one vector a head, the same for every sentence and row.

    Rows are source tokens with </s> for encoder self-attention, and the tokens fed in, from <s> on, for the decoder;
    all rows weigh the same, and padding does not count. `KnockOut` and `Resample` win over it.
    """

    where: Where

    PARAMS = ("mean",)
    EXAMPLES = ("mean=cross.2.1", "mean=all.1")
    BARE = True

    @classmethod
    def read(cls, setting: str, where: Where, param: str) -> Mean:
        return cls(where)

    @property
    def wanted(self) -> None:
        return None
