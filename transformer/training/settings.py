"""Settings of a training run, and its progress reports."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from transformer.checks import SHARE, TRUTH, check_fields, number, one_of, optional, whole
from transformer.texts import N_, Text, UserError
from transformer.training.augmentation import NO_AUGMENTATION, Augmentation


class TrainingError(UserError):
    """Invalid settings or an invalid saved state."""


RULES = {
    **dict.fromkeys(("steps", "warmup", "average", "save_every", "validate_every"), whole(1)),
    **dict.fromkeys(("cooldown", "validation_sentences", "snapshots", "seed"), whole(0)),
    "batch_tokens": whole(2),
    **dict.fromkeys(("ramp", "fused"), TRUTH),
    "smoothing": SHARE,
    "gain": number(lambda value: 0 < value <= 10, Text("a number above 0, up to 10")),
    **dict.fromkeys(
        ("clip", "sampling", "r_drop", "muon"),
        number(lambda value: 0 <= value < math.inf, Text("a number of at least 0")),
    ),
    "peak_rate": optional(
        number(lambda value: 0 < value < math.inf, Text("a number above 0")), N_("{allowed}, or none for the paper's")
    ),
    "precision": one_of(("float32", "bfloat16")),
}


@dataclass(frozen=True)
class Settings:
    """How to train; the defaults are the paper's where it gives one.

    steps: number of updates; batch_tokens: padded tokens per side in a batch
    peak_rate: peak learning rate; None: equation 3's, d_model^-0.5 warmup^-0.5; warmup, cooldown: steps
    ramp: raise the rate during the warm-up; False: start at the peak
    gain: factor on the initial value, output and feed-forward matrices, see `shrink_branches`
    smoothing: epsilon_ls of section 5.4; clip: largest norm of the gradient, 0: none
    r_drop: alpha of R-Drop, see `r_drop_loss`, which passes every batch twice; 0: one pass
    muon: rate of the matrices of layers with Muon, as a multiple of the rate; 0: Adam for them, too, as in the paper
    sampling: alpha of subword regularisation, or the dropout of BPE merges (`Tokenizer.sample`); 0: always the best
        segmentation
    augmentation: shares of the sentence pairs to vary, drawn again in every epoch
    precision: "float32" or "bfloat16" for the matrix products outside attention
    average: number of last saved states to average into the final weights (section 6.1)
    validation_sentences: sources to translate for the validation BLEU, 0: none
    fused: use PyTorch's fused attention kernel, which never computes the weights: faster, the same up to rounding
    save_every: steps between saved states; snapshots: number of log-spaced snapshots of the weights to keep
    """

    steps: int = 10_000
    batch_tokens: int = 3_000
    peak_rate: float | None = None
    warmup: int = 4_000
    cooldown: int = 0
    ramp: bool = True
    gain: float = 1.0
    smoothing: float = 0.1
    clip: float = 1.0
    r_drop: float = 0.0
    muon: float = 0.0
    sampling: float = 0.0
    augmentation: Augmentation = NO_AUGMENTATION
    precision: str = "float32"
    average: int = 5
    save_every: int = 500
    validate_every: int = 500
    validation_sentences: int = 500
    snapshots: int = 0
    fused: bool = False
    seed: int = 1

    def __post_init__(self) -> None:
        check_fields(self, RULES, TrainingError)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Settings:
        """The settings in a table from `dataclasses.asdict`; missing values keep their defaults."""
        try:
            return cls(**{**values, "augmentation": Augmentation(**values.get("augmentation", {}))})
        except TypeError as error:
            raise TrainingError("these training settings cannot be read: {error}", error=error) from error


@dataclass
class Progress:
    """One line of training.csv and of the progress bar. Loss and perplexity are per target token, in nats."""

    step: int
    epoch: int
    learning_rate: float
    loss: float
    tokens: int
    seconds: float
    validation_loss: float | None = None
    validation_perplexity: float | None = None
    validation_bleu: float | None = None


FIELDS = [field.name for field in dataclasses.fields(Progress)]


def snapshot_steps(steps: int, count: int) -> list[int]:
    """`count` steps from 0 to `steps`, log-spaced: 0, 1, ..., steps."""
    if count < 2:
        return [steps][:count]
    return sorted({0, *(round(steps ** (i / (count - 2))) for i in range(count - 1))}) if count > 2 else [0, steps]
