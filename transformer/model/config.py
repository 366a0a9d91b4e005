"""What a model is made of: one frozen, validated value, saved beside the weights."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from reprlib import repr as shown
from typing import Any

from transformer.checks import SHARE, TRUTH, check_fields, from_table, number, one_of, optional, whole
from transformer.texts import N_, Text, UserError

ACTIVATIONS = ("relu", "gelu", "swish")
NORMS = ("post", "pre", "none")
POSITIONS = ("sinusoidal", "learned", "none")
LAYOUTS = ("interleaved", "halves")

# Bounds for every whole number in a configuration. They are far above any model this project can show and keep a
# hostile config.json from asking for more memory than a machine has.
LIMITS = {
    "vocab_size": (5, 1_000_000),
    "d_model": (2, 8192),
    "d_ff": (1, 65_536),
    "heads": (1, 128),
    "encoder_layers": (1, 64),
    "decoder_layers": (1, 64),
    "max_positions": (2, 16_384),
}
RULES = {
    **{name: whole(*bounds) for name, bounds in LIMITS.items()},
    "d_k": optional(whole(1, LIMITS["d_model"][1]), N_("{allowed}, or none for d_model / heads")),
    "target_vocab_size": optional(whole(*LIMITS["vocab_size"]), N_("{allowed}, or none for one shared vocabulary")),
    **dict.fromkeys(("scaling", "embedding_scale", "tied_output", "output_bias", "residual", "causal"), TRUTH),
    **dict.fromkeys(("dropout", "attention_dropout"), SHARE),
    "layer_norm_eps": number(lambda value: 0 < value < 1, Text("a number between 0 and 1")),
    "activation": one_of(ACTIVATIONS),
    "norm": one_of(NORMS),
    "positions": one_of(POSITIONS),
    "layout": one_of(LAYOUTS),
}


class ConfigError(UserError):
    """A configuration that describes no model; the message says what arrived and what is allowed."""


@dataclass(frozen=True)
class ModelConfig:
    """Sizes and choices of one encoder-decoder Transformer (Vaswani et al. 2017, section 3 and Table 3).

    vocab_size:      pieces known to the tokenizer, shared by source and target
    target_vocab_size: pieces of the target where it has a vocabulary and a table of its own; None: shared, section 3.4
    d_model:         width of the residual stream
    d_ff:            inner width of the feed-forward sub-layer
    heads:           h; every head is d_head = d_model / h wide
    encoder_layers,
    decoder_layers:  N
    dropout:         P_drop of section 5.4, on each sub-layer's output and on the sums of embeddings and encodings
    attention_dropout: on the attention weights, an option the paper does not describe (its code has it)
    activation:      "relu" (equation 2), "gelu" (Hendrycks and Gimpel 2016) or "swish", z sigmoid(z) (Ramachandran et
                     al. 2017), which is SiLU by another name
    norm:            "post", LayerNorm(x + Sublayer(x)) as in section 3.1; "pre", x + Sublayer(LayerNorm(x)), and one
                     more LayerNorm at the end of each stack (Xiong et al. 2020); or "none", x + Sublayer(x)
    residual:        the connection around each sub-layer (section 3.1), "x +" above; False: what leaves a sub-layer is
                     Sublayer(x) alone, LayerNorm(Sublayer(x)) or Sublayer(LayerNorm(x)), as if there were none
    causal:          the decoder's self-attention hides the future (section 3.2.3); False: every position sees all that
                     the decoder is fed, in training and in use, as if that mask had been left out
    positions:       "sinusoidal" (section 3.5), "learned" (Table 3, row E), or "none"
    layout:          of sinusoidal positions: "interleaved", sine and cosine by turns as in section 3.5; or "halves",
                     all sines before all cosines, as in Marian: the same numbers in another order
    max_positions:   longest sequence, in tokens
    d_k:             width of a head's queries and keys; None: d_head, as in the paper but for rows B of Table 3
    scaling:         scores are divided by sqrt(d_k) (equation 1); False: not, as if section 3.2.1 had not been written
    embedding_scale: embeddings are multiplied by sqrt(d_model) (section 3.4); False: not
    tied_output:     the target's embedding table makes the logits too (section 3.4); False: a matrix of its own does
    output_bias:     a learned number is added to every logit; the paper has none
    pad_id, unk_id, start_id, end_id: ids of the special tokens <pad>, <unk>, <s>, </s>; start_id may be pad_id, as in
                     Marian, whose decoder is fed <pad> first

    Raises ConfigError, naming the field, what arrived and what is allowed.
    """

    vocab_size: int
    d_model: int = 256
    d_ff: int = 1024
    heads: int = 8
    encoder_layers: int = 4
    decoder_layers: int = 4
    dropout: float = 0.1
    attention_dropout: float = 0.0
    activation: str = "relu"
    norm: str = "post"
    positions: str = "sinusoidal"
    max_positions: int = 512
    d_k: int | None = None
    scaling: bool = True
    target_vocab_size: int | None = None
    layout: str = "interleaved"
    embedding_scale: bool = True
    tied_output: bool = True
    output_bias: bool = False
    residual: bool = True
    causal: bool = True
    layer_norm_eps: float = 1e-5
    pad_id: int = 0
    unk_id: int = 1
    start_id: int = 2
    end_id: int = 3

    def __post_init__(self) -> None:
        check_fields(self, RULES, ConfigError)
        if self.d_model % self.heads:
            raise ConfigError(
                "d_model {d_model} cannot be split into {heads} heads of equal width; choose heads that divide d_model",
                d_model=self.d_model,
                heads=self.heads,
            )
        if self.d_model % 2:
            raise ConfigError(
                "d_model is {d_model}; sines and cosines come in pairs, so it must be even", d_model=self.d_model
            )
        specials = (self.pad_id, self.unk_id, self.start_id, self.end_id)
        smaller = min(self.vocab_size, self.output_size)
        if any(type(i) is not int or not 0 <= i < smaller for i in specials):
            raise ConfigError(
                "special ids {specials} must be whole numbers below vocab_size {smaller}",
                specials=shown(specials),
                smaller=smaller,
            )
        others = (self.pad_id, self.unk_id, self.end_id)
        if len(set(others)) != 3 or self.start_id in (self.unk_id, self.end_id):
            raise ConfigError(
                "special ids {specials} must differ from each other, but for <s>, which may be <pad>", specials=specials
            )

    @property
    def d_head(self) -> int:
        """Width of one head, d_v of section 3.2.2, and d_k unless the configuration names another."""
        return self.d_model // self.heads

    @property
    def output_size(self) -> int:
        """Pieces that the decoder reads and writes."""
        return self.target_vocab_size or self.vocab_size

    @property
    def embedding_factor(self) -> float:
        """What embeddings are multiplied by: sqrt(d_model) of section 3.4, or 1."""
        return math.sqrt(self.d_model) if self.embedding_scale else 1.0

    @property
    def scale(self) -> float:
        """What Q K^T is multiplied by: 1 / sqrt(d_k) of equation 1, or 1 without scaling."""
        return (self.d_k or self.d_head) ** -0.5 if self.scaling else 1.0

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> ModelConfig:
        """The config a dictionary describes. Raises ConfigError for unknown or missing fields."""
        values = from_table(cls, values, ConfigError, Text("a model configuration"))
        if "vocab_size" not in values:
            raise ConfigError("the configuration does not say vocab_size, the number of pieces")
        return cls(**values)


# Rows of Table 3 of the paper, and the two sizes that run on a laptop. vocab_size of base and big: section 5.1's
# "shared source-target vocabulary of about 37000 tokens".
PRESETS: dict[str, dict[str, Any]] = {
    "tiny": dict(d_model=64, d_ff=128, heads=4, encoder_layers=2, decoder_layers=2, dropout=0.1),
    "small": dict(d_model=256, d_ff=1024, heads=8, encoder_layers=4, decoder_layers=4, dropout=0.1),
    "base": dict(d_model=512, d_ff=2048, heads=8, encoder_layers=6, decoder_layers=6, dropout=0.1),
    "big": dict(d_model=1024, d_ff=4096, heads=16, encoder_layers=6, decoder_layers=6, dropout=0.3),
}


def preset(name: str, vocab_size: int, **changes: Any) -> ModelConfig:
    """The named preset for a vocabulary, with any field changed. Raises ConfigError for an unknown name."""
    if name not in PRESETS:
        raise ConfigError(
            "there is no preset {name}; there are {presets}", name=shown(name), presets=", ".join(PRESETS)
        )
    return ModelConfig.from_dict({"vocab_size": vocab_size, **PRESETS[name], **changes})
