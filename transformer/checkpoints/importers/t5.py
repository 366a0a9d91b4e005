"""Imports T5 models (Raffel et al. 2020) in Hugging Face's format as our Transformer: T5, T5 1.1, Flan-T5 and mT5.

    config.json             {"model_type": "t5" or "mt5", ...}, `T5Config` of transformers
    model.safetensors       or its parts, or pytorch_model.bin, as in `importers.bart`
    spiece.model            SentencePiece's file; or tokenizer.json, which has the same pieces, and is all that
                            transformers 5 writes
    tokenizer_config.json   how many tokens <extra_id_N> follow the pieces (optional, 100)
    generation_config.json  settings of the search (optional), see `importers.generation`

Differences from the paper, all in `ModelConfig`: relative positions, whose table lies in the first layer of each stack
and serves all of them; pre-norm with RMSNorm; scores are not divided by sqrt(d_k); no biases; d_k and d_v need not be
d_model / heads; from version 1.1 on a gated feed-forward network and a separate output matrix. Version 1.0 multiplies
the decoder's output by d_model^-0.5 before the shared table makes the logits. The paper divides in the other place: its
table is smaller, and the embeddings are multiplied by sqrt(d_model) (section 3.4). So the table is divided by it here.

SentencePiece cuts the text if spiece.model is there, as when T5 was trained; transformers 5 uses the library
`tokenizers`. Where two ways to cut are equally probable ("..." as ".." and "." or as "." and ".."), rounding decides,
and the two may choose differently.
"""

import dataclasses
from collections.abc import Collection, Mapping
from pathlib import Path
from reprlib import repr as shown
from typing import Any, NamedTuple

import torch

from transformer.checkpoints.folder import (
    CONFIG,
    Checkpoint,
    CheckpointError,
    bounded,
    parameter_shapes,
    read_json,
)
from transformer.checkpoints.importers.bart import LOGITS, SHARED, SOURCE, TARGET, holding, kind_of, whole_name
from transformer.checkpoints.importers.generation import SETTINGS, search_rule
from transformer.checkpoints.importers.json_tokenizer import JsonTokenizer, read_json_tokenizer
from transformer.checkpoints.importers.tensors import Tensors
from transformer.checkpoints.importers.tokenizers import JSON, OPTIONS, PEGASUS_PIECES, added_tokens, languages_in
from transformer.checkpoints.importers.vocabulary import VocabularyTokenizer
from transformer.model.config import ConfigError, ModelConfig
from transformer.model.transformer import Transformer
from transformer.text.tokenizer import LARGEST_TOKENIZER, TokenizerError, read_processor

MODEL_TYPES = ("t5", "mt5")


class Kind(NamedTuple):
    """Fields as in `Family`."""

    name: str
    classes: tuple[str, ...]
    needed: tuple[tuple[str, ...], ...]


T5 = Kind("T5", ("T5ForConditionalGeneration", "MT5ForConditionalGeneration"), ((PEGASUS_PIECES,), (JSON,)))
SPECIAL = ("<unk>", "<pad>", "</s>")
EXTRA_TOKENS, MOST_EXTRA = 100, 10_000
LONGEST = 512  # tokens: T5 was trained with, and config.json may not say it
ACTIVATIONS = {
    "relu": "relu", "gelu": "gelu", "gelu_new": "gelu_new", "silu": "swish", "swish": "swish",
}  # fmt: skip
ATTENTION = {"query": "q", "key": "k", "value": "v", "output": "o"}
UNUSED = "model.decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight"  # in files of 2020


def configure(about: Mapping[str, Any], tensors: Collection[str], unknown: int) -> ModelConfig:
    """The configuration of a `T5Config`. tensors: names of those in the file; unknown: id of <unk>. Raises
    ConfigError."""
    gated, _, activation = str(about.get("feed_forward_proj", "relu")).rpartition("-")
    if gated and activation == "gelu":
        activation = "gelu_new"  # as in T5Config
    if gated not in ("", "gated") or activation not in ACTIVATIONS:
        raise ConfigError(
            "feed_forward_proj is {projection}; Headscope opens {activations}, with gated- before them or without",
            projection=shown(about["feed_forward_proj"]),
            activations=", ".join(ACTIVATIONS),
        )
    tied = LOGITS not in tensors
    return ModelConfig.from_dict({
        "vocab_size": about.get("vocab_size", 32128),
        "d_model": about.get("d_model", 512),
        "d_ff": about.get("d_ff", 2048),
        "heads": about.get("num_heads", 8),
        "d_k": about.get("d_kv", 64),
        "d_v": about.get("d_kv", 64),
        "encoder_layers": about.get("num_layers", 6),
        "decoder_layers": about.get("num_decoder_layers") or about.get("num_layers", 6),
        "dropout": about.get("dropout_rate", 0.1),
        "attention_dropout": about.get("dropout_rate", 0.1),
        "activation": ACTIVATIONS[activation],
        "gated": bool(gated),
        "biases": False,
        "norm": "pre",
        "rms_norm": True,
        "layer_norm_eps": about.get("layer_norm_epsilon", 1e-6),
        "positions": "relative",
        "buckets": about.get("relative_attention_num_buckets", 32),
        "farthest": about.get("relative_attention_max_distance", 128),
        "max_positions": about.get("n_positions", LONGEST),
        "scaling": False,
        "embedding_scale": tied and _scaled(about),
        "tied_output": tied,
        "pad_id": about.get("pad_token_id", 0),
        "unk_id": unknown,
        "start_id": about.get("decoder_start_token_id", about.get("pad_token_id", 0)),
        "end_id": about.get("eos_token_id", 1),
    })  # fmt: skip


def _scaled(about: Mapping[str, Any]) -> bool:
    """Whether the decoder's output is multiplied by d_model^-0.5: in version 1.0, told by whether its config.json says
    that the output is tied."""
    return about.get("model_type") == "t5" and bool(
        about.get("scale_decoder_outputs", about.get("tie_word_embeddings") is not False)
    )


def names(config: ModelConfig) -> dict[str, tuple[str, ...]]:
    """Name of each of our parameters -> the name of its tensor."""
    found = {"embedding.weight": SHARED}
    if not config.tied_output:
        found["output_matrix"] = LOGITS
    for stack, layers in (("encoder", config.encoder_layers), ("decoder", config.decoder_layers)):
        found[f"{stack}_norm.weight"] = f"model.{stack}.final_layer_norm.weight"
        first = f"model.{stack}.block.0.layer.0.SelfAttention"
        found[f"{stack}_bias.table"] = f"{first}.relative_attention_bias.weight"
        for layer in range(layers):
            ours, theirs = f"{stack}.{layer}", f"model.{stack}.block.{layer}.layer"
            subs = [("self", "SelfAttention"), ("cross", "EncDecAttention")][: 1 if stack == "encoder" else 2]
            for number, (sub, kind) in enumerate(subs):
                found[f"{ours}.{sub}_residual.norm.weight"] = f"{theirs}.{number}.layer_norm.weight"
                for name, letter in ATTENTION.items():
                    found[f"{ours}.{sub}_attention.{name}.weight"] = f"{theirs}.{number}.{kind}.{letter}.weight"
            parts = {"inner": "wi_0", "gate": "wi_1"} if config.gated else {"inner": "wi"}
            found[f"{ours}.feed_forward_residual.norm.weight"] = f"{theirs}.{len(subs)}.layer_norm.weight"
            for name, part in {**parts, "outer": "wo"}.items():
                found[f"{ours}.feed_forward.{name}.weight"] = f"{theirs}.{len(subs)}.DenseReluDense.{part}.weight"
    return {ours: (theirs,) for ours, theirs in found.items()}


def _json_tokenizer(folder: Path, size: int) -> JsonTokenizer:
    """With the ids of <pad> and </s> that no text has, and tokens such as <extra_id_N> that a text may have. Raises
    TokenizerError."""
    made = read_json_tokenizer(folder / JSON, *SPECIAL)
    unknown, *controls = map(made.get_vocab().__getitem__, SPECIAL)
    special = {number for number, token in made.get_added_tokens_decoder().items() if token.special}
    return JsonTokenizer(made, size, unknown, controls, special.difference(controls))


def _tokenizer(folder: Path, options: Mapping[str, Any], size: int) -> VocabularyTokenizer:
    """The pieces, then <extra_id_N> with falling numbers, then what was added. size: rows of the embedding table, which
    may have more. Raises TokenizerError."""
    processor = read_processor(folder / PEGASUS_PIECES, LARGEST_TOKENIZER)
    pieces = [processor.IdToPiece(number) for number in range(len(processor))]
    count = options.get("extra_ids", EXTRA_TOKENS)
    if type(count) is not int or not 0 <= count <= MOST_EXTRA:
        raise TokenizerError(
            "extra_ids is {count} in {name}; choose 0 to {most:,}", count=shown(count), name=OPTIONS, most=MOST_EXTRA
        )
    extra = {f"<extra_id_{number}>": len(pieces) + count - 1 - number for number in range(count)}
    added = added_tokens(folder, options)
    whole = {**extra, **{token: entry["id"] for token, entry in added.items() if entry["id"] >= len(pieces)}}
    silent = {*extra.values(), *(entry["id"] for entry in added.values() if entry.get("special") is True)}
    if max((len(pieces) - 1, *whole.values())) >= size:
        raise TokenizerError(
            "the tokenizer has {tokens:,} tokens, and the embedding table has {rows} rows; take all files from the "
            "same model",
            tokens=len(pieces) + len(whole), rows=size,
        )  # fmt: skip
    vocabulary = {**{piece: number for number, piece in enumerate(pieces)}, **whole}
    controls = [number for number in range(len(pieces)) if processor.IsControl(number)]
    return VocabularyTokenizer(
        processor, vocabulary, size, processor.unk_id(), controls, whole, silent - {processor.unk_id()}, codes=False
    )


def load_t5(path: Path) -> Checkpoint[Transformer]:
    """Read a folder of a T5 model. Raises CheckpointError for the first problem."""
    path = Path(path)
    about = read_json(path / CONFIG)
    kind_of(path, about, T5.classes)
    in_pieces = (path / PEGASUS_PIECES).is_file()
    if not in_pieces and not (path / JSON).is_file():
        raise CheckpointError(
            "{path} is not a T5 checkpoint: {pieces} and {tokenizer} are both missing",
            path=path, pieces=PEGASUS_PIECES, tokenizer=JSON,
        )  # fmt: skip
    options = read_json(path / OPTIONS) if (path / OPTIONS).is_file() else {}
    try:
        size = ModelConfig.from_dict({"vocab_size": about.get("vocab_size", 32128)}).vocab_size
        tokenizer = _tokenizer(path, options, size) if in_pieces else _json_tokenizer(path, size)
        tensors = Tensors(path, whole_name)
        config = bounded(configure(about, tensors.names(), tokenizer.unknown))
        known = (SHARED, SOURCE, TARGET, LOGITS, UNUSED)
        weights = tensors.read(names(config), parameter_shapes(Transformer, config), known)
    except (ConfigError, TokenizerError) as error:
        raise CheckpointError("{path}: {error}", path=path, error=error) from error
    if not config.tied_output and torch.equal(weights["output_matrix"], weights["embedding.weight"]):
        del weights["output_matrix"]  # some files of version 1.0 have the same table twice
        config = dataclasses.replace(config, tied_output=True, embedding_scale=_scaled(about))
    if _scaled(about):
        output = "embedding.weight" if config.tied_output else "output_matrix"
        weights[output] = weights[output] * config.d_model**-0.5
    settings = read_json(path / SETTINGS) if (path / SETTINGS).is_file() else about
    rule, alpha, notes = search_rule(settings if isinstance(settings, dict) else {}, config)
    return Checkpoint(
        path.name, path, holding(config, weights), tokenizer, languages_in(options), {},
        rule=rule, alpha=alpha, notes=tuple(notes),
    )  # fmt: skip
