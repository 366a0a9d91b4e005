"""The configuration of a model: one frozen, validated object, saved beside the weights."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from reprlib import repr as shown
from typing import Any

from transformer.checks import SHARE, TRUTH, check_fields, from_table, number, one_of, optional, whole
from transformer.texts import N_, Text, UserError, any_of

ACTIVATIONS = ("relu", "gelu", "gelu_new", "swish")
NORMS = ("post", "pre", "none")
POSITIONS = ("sinusoidal", "learned", "relative", "none")
LAYOUTS = ("interleaved", "halves", "fairseq")

# Bounds of every whole number in a configuration. They are far above any model this project can show, and they stop a
# hostile config.json from requesting more memory than a machine has.
LIMITS = {
    "vocab_size": (5, 1_000_000),
    "d_model": (2, 8192),
    "d_ff": (1, 65_536),
    "heads": (1, 128),
    "encoder_layers": (1, 64),
    "decoder_layers": (1, 64),
    "max_positions": (2, 16_384),
    "buckets": (4, 1024),
    "farthest": (4, 16_384),
}
RULES = {
    **{name: whole(*bounds) for name, bounds in LIMITS.items()},
    "d_k": optional(whole(1, LIMITS["d_model"][1]), N_("{allowed}, or none for d_model / heads")),
    "d_v": optional(whole(1, LIMITS["d_model"][1]), N_("{allowed}, or none for d_model / heads")),
    "source_end_id": optional(whole(0, LIMITS["vocab_size"][1]), N_("{allowed}, or none for end_id")),
    "target_vocab_size": optional(whole(*LIMITS["vocab_size"]), N_("{allowed}, or none for one shared vocabulary")),
    **dict.fromkeys(("scaling", "embedding_scale", "tied_output", "output_bias", "residual", "causal"), TRUTH),
    **dict.fromkeys(("embedding_norm", "separate_positions", "biases", "gated", "rms_norm"), TRUTH),
    **dict.fromkeys(("dropout", "attention_dropout"), SHARE),
    "layer_norm_eps": number(lambda value: 0 < value < 1, Text("a number between 0 and 1")),
    "activation": one_of(ACTIVATIONS),
    "norm": one_of(NORMS),
    "positions": one_of(POSITIONS),
    "layout": one_of(LAYOUTS),
}


class ConfigError(UserError):
    """An invalid configuration. The message names the field, its value and what is allowed."""


@dataclass(frozen=True)
class ModelConfig:
    """Sizes and options of an encoder-decoder Transformer (Vaswani et al. 2017, section 3 and Table 3).

    vocab_size:      pieces of the tokenizer, shared by source and target
    target_vocab_size: pieces of a separate target vocabulary with its own table; None: shared, section 3.4
    d_model:         width of the residual stream
    d_ff:            inner width of the feed-forward sub-layer
    heads:           h; each head has width d_head = d_model / h
    encoder_layers,
    decoder_layers:  N
    dropout:         P_drop of section 5.4, on each sub-layer's output and on the sums of embeddings and encodings
    attention_dropout: on the attention weights; the paper does not describe it, but its code has it
    activation:      "relu" (equation 2), "gelu" (Hendrycks and Gimpel 2016), "gelu_new", the approximation of it by
                     tanh in the same paper, or "swish", z sigmoid(z) (Ramachandran et al. 2017), also known as SiLU
    gated:           multiply what the activation returns by a second product, x V (Shazeer 2020)
    biases:          add b_1, b_2 (equation 2) and the biases of the attention's projections; False: T5 has none
    norm:            "post", LayerNorm(x + Sublayer(x)) as in section 3.1; "pre", x + Sublayer(LayerNorm(x)), and one
                     more LayerNorm at the end of each stack (Xiong et al. 2020); or "none", x + Sublayer(x)
    rms_norm:        RMSNorm in place of every LayerNorm: no mean is subtracted, and there is no beta (Zhang and
                     Sennrich 2019)
    residual:        the residual connection around each sub-layer (section 3.1), "x +" above; False: a sub-layer
                     returns only Sublayer(x), LayerNorm(Sublayer(x)) or Sublayer(LayerNorm(x))
    causal:          the decoder's self-attention hides the future (section 3.2.3); False: every position sees the whole
                     decoder input, in training and in use
    positions:       "sinusoidal" (section 3.5), "learned" (Table 3, row E), "none", or "relative": nothing is added to
                     the embeddings; self-attention adds a learned number to each score, by head and distance (Raffel et
                     al. 2020, section 2.1)
    buckets, farthest: of relative positions: how many numbers a head has, and the distance from which all have one
    layout:          order of sinusoidal positions: "interleaved", sines and cosines alternate as in section 3.5; or
                     "halves", all sines before all cosines, as in Marian (the same numbers in another order); or
                     "fairseq", in halves too, with other wavelengths and the first token at position 2, as in M2M-100
    separate_positions: the decoder has a learned table of its own, as in BART
    embedding_norm:  LayerNorm of the sums of embeddings and positions, before the first layer of each stack, as in BART
    max_positions:   longest sequence, in tokens
    d_k:             width of a head's queries and keys; None: d_head, as in the paper except rows B of Table 3
    d_v:             width of a head's values; None: d_model / heads, as in the paper
    scaling:         divide the scores by sqrt(d_k) (equation 1)
    embedding_scale: multiply the embeddings by sqrt(d_model) (section 3.4)
    tied_output:     the target's embedding table also makes the logits (section 3.4); False: a separate output matrix
    output_bias:     add a learned number to every logit; the paper has none
    pad_id, unk_id, start_id, end_id: ids of the special tokens <pad>, <unk>, <s>, </s>; start_id may be pad_id, as in
                     Marian, whose decoder reads <pad> first, or end_id, as in BART, whose decoder reads </s> first
    source_end_id:   what ends a source in place of </s>: in mBART, the code of its language; None: end_id

    Raises ConfigError.
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
    d_v: int | None = None
    scaling: bool = True
    target_vocab_size: int | None = None
    layout: str = "interleaved"
    embedding_scale: bool = True
    tied_output: bool = True
    output_bias: bool = False
    separate_positions: bool = False
    embedding_norm: bool = False
    residual: bool = True
    causal: bool = True
    biases: bool = True
    gated: bool = False
    rms_norm: bool = False
    buckets: int = 32
    farthest: int = 128
    layer_norm_eps: float = 1e-5
    pad_id: int = 0
    unk_id: int = 1
    start_id: int = 2
    end_id: int = 3
    source_end_id: int | None = None

    def __post_init__(self) -> None:
        check_fields(self, RULES, ConfigError)
        if self.d_v is None and self.d_model % self.heads:
            raise ConfigError(
                "d_model is {d_model} with {heads} heads; choose a d_model that is divisible by the number of heads",
                d_model=self.d_model,
                heads=self.heads,
            )
        if self.d_model % 2:
            raise ConfigError(
                "d_model is {d_model}; sinusoidal positions pair sines with cosines, so choose an even number",
                d_model=self.d_model,
            )
        if self.positions == "relative" and self.farthest <= self.buckets // 2:
            raise ConfigError(
                "farthest is {farthest} with {buckets} buckets of relative positions; choose a distance above {half}",
                farthest=self.farthest,
                buckets=self.buckets,
                half=self.buckets // 2,
            )
        specials = (self.pad_id, self.unk_id, self.start_id, self.end_id)
        smallest = min(self.vocab_size, self.output_size)
        if any(type(i) is not int or not 0 <= i < smallest for i in specials):
            raise ConfigError(
                "the special ids are {specials}; each must be a whole number below vocab_size, {smallest}",
                specials=shown(specials),
                smallest=smallest,
            )
        if self.source_end_id is not None and self.source_end_id >= self.vocab_size:
            raise ConfigError(
                "source_end_id is {arrived}; it must be below vocab_size, {vocab_size}",
                arrived=self.source_end_id,
                vocab_size=self.vocab_size,
            )
        distinct = {self.pad_id, self.unk_id, self.end_id}
        if len(distinct) != 3 or self.start_id == self.unk_id:
            raise ConfigError(
                "the special ids are {specials}; they must differ, only <s> may be <pad> or </s>", specials=specials
            )
        if self.separate_positions and self.positions != "learned":
            raise ConfigError(
                "positions is {positions}; only learned ones can be another table in the decoder (separate_positions)",
                positions=self.positions,
            )

    @property
    def d_head(self) -> int:
        """Width of one head: d_v of section 3.2.2, and d_k unless the configuration sets it."""
        return self.d_v or self.d_model // self.heads

    @property
    def output_size(self) -> int:
        """Number of pieces that the decoder reads and writes."""
        return self.target_vocab_size or self.vocab_size

    @property
    def source_end(self) -> int:
        """Id of what ends a source."""
        return self.end_id if self.source_end_id is None else self.source_end_id

    @property
    def unwritten(self) -> list[int]:
        """Ids of <pad> and <s>, which a decoder never writes; <s> does not count where it is </s>."""
        return sorted({self.pad_id, self.start_id} - {self.end_id})

    @property
    def usual_parts(self) -> bool:
        """Whether none of T5's parts is in the model, for code that knows only the paper's and their older variants."""
        return self.positions != "relative" and self.biases and not (self.gated or self.rms_norm or self.d_v)

    @property
    def embedding_factor(self) -> float:
        """Factor of the embeddings: sqrt(d_model) of section 3.4, or 1."""
        return math.sqrt(self.d_model) if self.embedding_scale else 1.0

    @property
    def scale(self) -> float:
        """Factor of Q K^T: 1 / sqrt(d_k) of equation 1, or 1 without scaling."""
        return (self.d_k or self.d_head) ** -0.5 if self.scaling else 1.0

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> ModelConfig:
        """The configuration in a dictionary. Raises ConfigError for unknown or missing fields."""
        values = from_table(cls, values, ConfigError, Text("a model configuration"))
        if "vocab_size" not in values:
            raise ConfigError("the configuration has no vocab_size; give the number of pieces")
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
        raise ConfigError("unknown preset {name}; choose {presets}", name=shown(name), presets=any_of(PRESETS, name))
    return ModelConfig.from_dict({"vocab_size": vocab_size, **PRESETS[name], **changes})
