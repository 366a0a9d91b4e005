"""The configuration of a recurrent encoder-decoder, saved beside the weights."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from reprlib import repr as shown
from typing import Any

from transformer.checks import TRUTH, check_fields, from_table, whole
from transformer.model.config import ConfigError
from transformer.texts import Text

KIND = "recurrent"
RULES = {
    "vocab_size": whole(5, 1_000_000),
    **dict.fromkeys(("d_embedding", "d_state", "d_align"), whole(1, 8192)),
    "max_positions": whole(2, 16_384),
    "attention": TRUTH,
    "kind": (lambda value: value == KIND, repr(KIND)),
}


@dataclass(frozen=True)
class RecurrentConfig:
    """Sizes of the model of Bahdanau, Cho and Bengio 2015, "Neural Machine Translation by Jointly Learning to Align and
    Translate", with the symbols of its appendix A (the sizes of the paper, appendix A.2.3, in brackets).

    vocab_size:      pieces known to the tokenizer, shared by source and target, K
    d_embedding:     m, width of an embedding, and l, width of the maxout layer, which are equal here (620 and 500)
    d_state:         n, width of a recurrent state; an annotation h_j, both directions side by side, is 2 n wide (1000)
    d_align:         n', hidden width of the alignment model (1000)
    attention:       False: every step of the decoder gets the same context (Cho et al. 2014), and d_align has no use
    max_positions:   longest source or target, in tokens; the architecture itself has no limit
    kind:            always "recurrent", as in checkpoints
    pad_id, unk_id, start_id, end_id: ids of the four special tokens <pad>, <unk>, <s>, </s>

    Raises ConfigError with the field, its value and the allowed values.
    """

    vocab_size: int
    d_embedding: int = 64
    d_state: int = 64
    d_align: int = 64
    attention: bool = True
    max_positions: int = 64
    kind: str = KIND
    pad_id: int = 0
    unk_id: int = 1
    start_id: int = 2
    end_id: int = 3

    def __post_init__(self) -> None:
        check_fields(self, RULES, ConfigError)
        specials = (self.pad_id, self.unk_id, self.start_id, self.end_id)
        if any(type(i) is not int or not 0 <= i < self.vocab_size for i in specials):
            raise ConfigError(
                "the special ids are {specials}; each must be a whole number below vocab_size, {vocab_size}",
                specials=shown(specials),
                vocab_size=self.vocab_size,
            )
        if len(set(specials)) != len(specials):
            raise ConfigError("the special ids are {specials}; they must differ from each other", specials=specials)

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> RecurrentConfig:
        """The configuration in a dictionary. Raises ConfigError for unknown or missing fields."""
        values = from_table(cls, values, ConfigError, Text("a recurrent model"))
        if "vocab_size" not in values:
            raise ConfigError("the configuration has no vocab_size; give the number of pieces")
        return cls(**values)
