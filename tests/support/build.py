"""Tiny models, tokenizers and texts that tests share. Sizes differ wherever the architecture lets them, so that a
swapped axis cannot pass unnoticed."""

import functools
import io
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import sentencepiece
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from tests.support.refusal import refused
from transformer.checkpoints.folder import WEIGHTS, CheckpointError, load_checkpoint, save_checkpoint
from transformer.inference.pretrained import Pretrained
from transformer.model.attention import MultiHeadAttention
from transformer.model.config import ModelConfig
from transformer.model.layers import DecoderLayer, EncoderLayer
from transformer.model.tap import KINDS
from transformer.model.transformer import Transformer
from transformer.text.tokenizer import Tokenizer
from transformer.training.initialisation import shrink_branches

HEADS, D_HEAD, D_MODEL, D_FF, VOCAB = 3, 22, 66, 37, 41
SOURCE, TARGET = 7, 5

SYLLABLES = ("ka", "lo", "mi", "nu", "re", "sta", "ti", "vu", "zen", "pol")
T5 = dict(
    norm="pre", rms_norm=True, positions="relative", buckets=6, farthest=4, biases=False, gated=True, d_k=9, d_v=11,
    scaling=False, activation="gelu_new", embedding_scale=False, tied_output=False,
)  # fmt: skip
VARIANTS: list[dict[str, Any]] = [
    {},
    {"norm": "pre"},
    {"activation": "gelu"},
    {"positions": "learned"},
    {"norm": "pre", "activation": "gelu", "positions": "learned"},
    {"positions": "none"},
    {"d_k": 13},
    {"scaling": False},
    {"residual": False},
    {"norm": "none"},
    {"norm": "pre", "residual": False},
    {"causal": False},
    {"norm": "none", "residual": False, "causal": False, "positions": "none"},
    T5,
    {**T5, "norm": "post", "causal": False, "activation": "relu", "biases": True},
]
# Every pair of values of these seven fields, a model each.
PAIRWISE: list[dict[str, Any]] = [
    {},
    {"norm": "pre", "positions": "learned", "activation": "gelu", "scaling": False},
    {"norm": "pre", "residual": False, "activation": "swish"},
    {"norm": "pre", "residual": False, "causal": False, "positions": "none", "d_k": 13, "scaling": False},
    {"norm": "none", "positions": "learned", "d_k": 13},
    {"norm": "none", "causal": False, "positions": "none", "activation": "swish"},
    {"norm": "none", "causal": False, "activation": "gelu", "d_k": 13, "scaling": False},
    {"norm": "none", "residual": False, "positions": "none", "activation": "gelu", "d_k": 13},
    {"residual": False, "positions": "none", "activation": "gelu", "d_k": 13, "scaling": False},
    {"residual": False, "causal": False, "positions": "learned", "activation": "swish", "d_k": 13, "scaling": False},
]


def variant_name(changes: dict[str, Any]) -> str:
    """A name for pytest.mark.parametrize(ids=...)."""
    return "-".join(f"{name}={value}" for name, value in changes.items()) or "paper"


def tiny_config(**changes: Any) -> ModelConfig:
    """A model of a few ten thousand numbers, without dropout unless asked for."""
    sizes = dict(vocab_size=VOCAB, d_model=D_MODEL, d_ff=D_FF, heads=HEADS, encoder_layers=2, decoder_layers=2)
    return ModelConfig.from_dict({**sizes, "dropout": 0.0, "max_positions": 64, **changes})


def tiny_model(seed: int = 1, spread: float = 0.1, **changes: Any) -> Transformer:
    """A random model in eval mode. Biases and LayerNorms are moved off 0 and 1: there they would hide mistakes."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = Transformer(tiny_config(**changes))
        with torch.no_grad():
            for parameter in model.parameters():
                parameter += spread * torch.randn_like(parameter)
        if model.config.norm == "none":  # nothing else keeps the numbers small, and large ones round coarsely
            shrink_branches(model, min(1.0, 0.05 / spread if model.config.residual else 0.25 / spread**0.5))
    return model.requires_grad_(False).eval()


def random_ids(seed: int, *shape: int, vocab: int = VOCAB) -> Tensor:
    """Ids of ordinary pieces, none of the four special ones."""
    return torch.randint(4, vocab, shape, generator=torch.Generator().manual_seed(seed))


def padded_sources(seed: int, lengths: Sequence[int] = (SOURCE, 4, 2), vocab: int = VOCAB) -> Tensor:
    """Sources of these lengths, each ending in </s>, padded to the longest: [batch, source]."""
    ids = torch.zeros(len(lengths), max(lengths), dtype=torch.int64)
    for row, length in enumerate(lengths):
        ids[row, : length - 1] = random_ids(seed + 1_000 * row, length - 1, vocab=vocab)
        ids[row, length - 1] = 3
    return ids


def targets_in(seed: int, batch: int, length: int = TARGET) -> Tensor:
    """Teacher-forced decoder input: <s> and ordinary pieces, [batch, target]."""
    return torch.cat((torch.full((batch, 1), 2), random_ids(seed, batch, length - 1)), 1)


@functools.cache
def sentences(count: int = 400, seed: int = 5) -> tuple[str, ...]:
    """Generated sentences of 1 to 6 invented words."""
    rng = random.Random(seed)
    words = ["".join(rng.choices(SYLLABLES, k=rng.randint(1, 3))) for _ in range(60)]
    return tuple(" ".join(rng.choices(words, k=rng.randint(1, 6))) for _ in range(count))


@functools.cache
def tiny_tokenizer(vocab_size: int = 67) -> Tokenizer:
    """Learned from `sentences`, with the characters of markup among its pieces."""
    markup = ("</s> <s> <pad> <unk> <script>alert(1)</script>", "caf\u00e9 d\u00fc , . ! ?")
    return Tokenizer.train([*sentences(), *markup * 3], vocab_size)


def sentencepiece_model(lines: Iterable[str], size: int, **options: Any) -> bytes:
    """A SentencePiece model of these lines with so many pieces."""
    written = io.BytesIO()
    sentencepiece.SentencePieceTrainer.Train(
        sentence_iterator=iter(lines), model_writer=written, vocab_size=size, character_coverage=1.0, num_threads=1,
        minloglevel=2, **options,
    )  # fmt: skip
    return written.getvalue()


TINY_PAIRS = (("ka lo mi", "re sta"), ("nu", "ti vu ka lo"), ("re sta ti vu", "mi"))  # for means and resampling


@functools.cache
def tiny_pretrained() -> Pretrained:
    """A random model with `tiny_tokenizer`, as `transformer.load` would give it."""
    tokenizer = tiny_tokenizer()
    model = tiny_model(vocab_size=len(tokenizer))
    return Pretrained("tiny", Path("tiny"), model, tokenizer, ("Invented", "Imagined"), {}, reference=TINY_PAIRS)


def pretrained_variant(**changes: Any) -> Pretrained:
    """`tiny_pretrained` with another model."""
    return replace(tiny_pretrained(), model=tiny_model(vocab_size=len(tiny_tokenizer()), **changes))


def saved_checkpoint(parent: Path) -> Path:
    """A good checkpoint in a folder of its own, for tests to damage."""
    tiny = tiny_pretrained()
    save_checkpoint(parent / "mine", tiny.model, tiny.tokenizer, tiny.languages)
    return parent / "mine"


def saved_overflowing(parent: Path) -> Path:
    """A checkpoint, `tiny`, whose weights are finite, but not the scores of its decoder. It says that it reads English,
    so that it has a probe set."""
    tiny = tiny_pretrained()
    save_checkpoint(parent / "tiny", tiny.model, tiny.tokenizer, ("English", "German"))
    tensors = {name: tensor.float() for name, tensor in load_file(parent / "tiny" / WEIGHTS).items()}
    for matrix in ("query", "key"):
        tensors[f"decoder.0.self_attention.{matrix}.weight"].fill_(3e38)
    save_file(tensors, parent / "tiny" / WEIGHTS)
    return parent / "tiny"


def saved_variants(parent: Path, variants: Mapping[str, Mapping[str, Any]]) -> Path:
    """The folder with a checkpoint for each variant (name -> what its configuration has otherwise), untrained."""
    tokenizer = tiny_tokenizer()
    for name, changes in variants.items():
        model = tiny_model(3, vocab_size=len(tokenizer), **changes)
        save_checkpoint(parent / name, model, tokenizer, ("Invented", "Imagined"))
    return parent


def refusal(folder: Path, *words: str) -> str:
    """The one sentence that load_checkpoint says of a damaged folder; every word must be in it."""
    return refused(lambda: load_checkpoint(folder), CheckpointError, *words, most=700 + len(str(folder)))


CLOSE = {"rtol": 1e-5, "atol": 2e-5}  # the same sums in another order


def sub_layers(model: Transformer) -> list[tuple[str, int]]:
    """(kind, layer) of every attention sub-layer."""
    depth = {"encoder_self": model.config.encoder_layers}
    return [(kind, layer) for kind in KINDS for layer in range(depth.get(kind, model.config.decoder_layers))]


def attention_of(model: Transformer, kind: str, layer: int) -> MultiHeadAttention:
    found = (model.encoder if kind == "encoder_self" else model.decoder)[layer]
    assert isinstance(found, EncoderLayer | DecoderLayer)
    return found.cross_attention if kind == "cross" else found.self_attention  # type: ignore[union-attr]
