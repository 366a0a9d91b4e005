"""Imports Marian models (Junczys-Dowmunt et al. 2018) in Hugging Face's format, such as OPUS-MT, as our Transformer.

    config.json             {"model_type": "marian", ...}, `MarianConfig` of transformers
    model.safetensors       or its parts, listed in model.safetensors.index.json; or pytorch_model.bin, from which only
                            tensors are read and nothing is run
    source.spm, target.spm  SentencePiece models that divide the text into pieces
    vocab.json              piece -> id; with target_vocab.json, each side has its own table
    tokenizer_config.json   languages, and the tokens that were added to the vocabulary (optional)
    added_tokens.json       the latter, where tokenizer_config.json does not list them (optional)
    generation_config.json  settings of the search (optional), see `importers.generation`

Differences from the paper, all in `ModelConfig`: sines and cosines of the positions are in two halves; swish or GELU
may replace ReLU; embeddings may be unscaled; each logit has a bias; decoding starts with <pad>; source and target may
have separate tables. A folder of `MarianModel` has no output layer; it opens as `MarianMTModel` opens it: the embedding
table makes the logits, without a bias. Reading never runs code from the folder.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
import re
import zipfile
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from reprlib import repr as shown
from typing import Any, BinaryIO

import torch
from torch import Tensor

from transformer.checkpoints.folder import (
    CONFIG,
    DTYPES,
    LARGEST_MODEL,
    WEIGHTS,
    Checkpoint,
    CheckpointError,
    bounded,
    parameter_shapes,
    read_json,
    shapes_only,
)
from transformer.checkpoints.importers.generation import SETTINGS, search_rule
from transformer.checkpoints.importers.tokenizers import (
    LARGEST_VOCABULARY,
    SPLITTERS,
    VOCABULARY,
    TokenizerFiles,
    languages_in,
)
from transformer.checkpoints.weights import Entry, WeightsError, read_header, read_tensor
from transformer.files import open_regular
from transformer.model.config import LIMITS, ConfigError, ModelConfig
from transformer.model.positions import positions_of, sinusoidal
from transformer.model.transformer import Transformer
from transformer.text.tokenizer import TokenizerError
from transformer.texts import Text, any_of

MODEL_TYPE = "marian"
PICKLED, SHARDED = "pytorch_model.bin", "model.safetensors.index.json"
MOST_SHARDS = 100
OPENED = ("MarianMTModel", "MarianModel")  # classes of transformers whose folders open
ACTIVATIONS = {"relu": "relu", "gelu": "gelu", "gelu_python": "gelu", "swish": "swish", "silu": "swish"}
# Options that Hugging Face's classes ignore; a model trained with them would give other results.
UNKNOWN_TO_BOTH = ("normalize_before", "normalize_embedding", "add_final_layer_norm")
PARTS = {  # of a layer: our name -> Marian's name
    "self_attention.query": "self_attn.q_proj", "self_attention.key": "self_attn.k_proj",
    "self_attention.value": "self_attn.v_proj", "self_attention.output": "self_attn.out_proj",
    "self_residual.norm": "self_attn_layer_norm",
    "cross_attention.query": "encoder_attn.q_proj", "cross_attention.key": "encoder_attn.k_proj",
    "cross_attention.value": "encoder_attn.v_proj", "cross_attention.output": "encoder_attn.out_proj",
    "cross_residual.norm": "encoder_attn_layer_norm",
    "feed_forward.inner": "fc1", "feed_forward.outer": "fc2", "feed_forward_residual.norm": "final_layer_norm",
}  # fmt: skip
SHARED, SOURCE, TARGET, LOGITS, BIAS = (
    "model.shared.weight", "model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight",
    "lm_head.weight", "final_logits_bias",
)  # fmt: skip
POSITION_TABLES = ("model.encoder.embed_positions.weight", "model.decoder.embed_positions.weight")


def _equal(about: Mapping[str, Any], name: str, ours: str) -> Any:
    """The value of config.json for both stacks, where our model has one number for both."""
    encoder, decoder = about.get(f"encoder_{name}"), about.get(f"decoder_{name}")
    if encoder != decoder:
        raise ConfigError(
            "{field} is {encoder} in the encoder and {decoder} in the decoder; Headscope opens models where both agree",
            field=ours,
            encoder=shown(encoder),
            decoder=shown(decoder),
        )
    return encoder


def configure(about: Mapping[str, Any], vocabulary: Mapping[str, int], tensors: Collection[str] = ()) -> ModelConfig:
    """The configuration of a `MarianConfig`. vocabulary: of the source; tensors: names of the tensors in the file,
    which may lack the bias, or have separate tables for both sides where the output is not tied. Raises ConfigError.
    """
    for name in UNKNOWN_TO_BOTH:
        if about.get(name):
            raise ConfigError(
                "{name} is {value}; only false can be imported",
                name=name,
                value=shown(about[name]),
            )
    activation = about.get("activation_function", "gelu")
    if not isinstance(activation, str) or activation not in ACTIVATIONS:
        raise ConfigError(
            "activation_function is {activation}; Headscope opens models with {activations}",
            activation=shown(activation),
            activations=", ".join(ACTIVATIONS),
        )
    shared, tied = about.get("share_encoder_decoder_embeddings", True), about.get("tie_word_embeddings", True)
    vocab, decoder_vocab = about.get("vocab_size"), about.get("decoder_vocab_size")
    if not tied and tensors and LOGITS not in tensors:
        raise ConfigError(
            "the weights have no output layer, {tensor}, and tie_word_embeddings is false, so nothing makes the logits",
            tensor=LOGITS,
        )
    if shared and decoder_vocab not in (None, vocab):
        raise ConfigError(
            "vocab_size is {vocab} and decoder_vocab_size {decoder_vocab}; a shared table needs equal sizes",
            decoder_vocab=shown(decoder_vocab),
            vocab=shown(vocab),
        )
    d_model, end = about.get("d_model", 1024), about.get("eos_token_id", 0)
    if type(d_model) is int and d_model % 2:
        raise ConfigError(
            "d_model is {d_model}; Headscope opens models with an even one, whose positions pair sines with cosines",
            d_model=d_model,
        )
    ends = end if isinstance(end, list) and end else [end]
    one_table = shared and (tied or not {SOURCE, TARGET} <= set(tensors))
    return ModelConfig.from_dict({
        "vocab_size": vocab,
        "target_vocab_size": None if one_table else decoder_vocab or vocab,
        "d_model": d_model,
        "d_ff": _equal(about, "ffn_dim", "d_ff"),
        "heads": _equal(about, "attention_heads", "heads"),
        "encoder_layers": about.get("encoder_layers"),
        "decoder_layers": about.get("decoder_layers"),
        "dropout": about.get("dropout", 0.1),
        "attention_dropout": about.get("attention_dropout", 0.0),
        "activation": ACTIVATIONS[activation],
        "layout": "halves",
        "max_positions": about.get("max_position_embeddings", 1024),
        "embedding_scale": about.get("scale_embedding", False),
        "tied_output": tied,
        "output_bias": BIAS in tensors,
        "pad_id": about.get("pad_token_id"),
        "unk_id": vocabulary["<unk>"],
        "start_id": about.get("decoder_start_token_id"),
        "end_id": vocabulary.get("</s>") if vocabulary.get("</s>") in ends else ends[0],
    })  # fmt: skip


def names(config: ModelConfig) -> dict[str, tuple[str, ...]]:
    """Name of each of our parameters -> the possible names of its tensor; the first one in the file is used."""
    possible: dict[str, tuple[str, ...]] = {}
    stacks = {"encoder": config.encoder_layers, "decoder": config.decoder_layers}
    for stack, layers in stacks.items():
        for layer in range(layers):
            for ours, theirs in PARTS.items():
                if stack == "decoder" or not ours.startswith("cross"):
                    for kind in ("weight", "bias"):
                        possible[f"{stack}.{layer}.{ours}.{kind}"] = (f"model.{stack}.layers.{layer}.{theirs}.{kind}",)
    if config.target_vocab_size is None:
        possible["embedding.weight"] = (SHARED, SOURCE, TARGET)
    else:
        possible["embedding.weight"], possible["target_embedding.weight"] = (SOURCE,), (TARGET,)
    if not config.tied_output:
        possible["output_matrix"] = (LOGITS,)
    if config.output_bias:
        possible["output_bias"] = (BIAS,)
    return possible


@dataclasses.dataclass(frozen=True)
class _Entry:
    """A tensor in an open file."""

    file: BinaryIO
    entry: Entry

    @property
    def shape(self) -> tuple[int, ...]:
        return self.entry.shape

    @property
    def dtype(self) -> torch.dtype:
        return self.entry.dtype

    def tensor(self) -> Tensor:
        return read_tensor(self.file, self.entry)


def _named(tensors: Mapping[str, Any]) -> dict[str, Any]:
    """The tensors by their names in `MarianMTModel`, which are those in `MarianModel` after "model."."""
    inner = ("shared.", "encoder.", "decoder.")
    return {f"model.{name}" if name.startswith(inner) else name: tensor for name, tensor in tensors.items()}


class _Tensors:
    """The tensors of model.safetensors, of its parts, or of pytorch_model.bin, whichever is there first."""

    def __init__(self, folder: Path) -> None:
        present = (folder / name for name in (WEIGHTS, SHARDED, PICKLED) if (folder / name).is_file())
        self.path = next(present, folder / WEIGHTS)
        self._pickled = self._unpickle() if self.path.name == PICKLED else None
        self._files = [folder / name for name in self._shards()] if self.path.name == SHARDED else [self.path]

    def _shards(self) -> list[str]:
        """Names of the parts, from the index. Only plain names: a part never lies in another folder."""
        index = read_json(self.path, LARGEST_VOCABULARY)
        table = index.get("weight_map") if isinstance(index, dict) else None
        if not isinstance(table, dict) or not all(isinstance(name, str) for name in table.values()):
            raise CheckpointError('{name} has no table "weight_map" of tensors and files', name=self.path.name)
        shards = sorted(set(table.values()))
        for name in shards:
            if not re.fullmatch(r"[\w-][\w.-]*\.safetensors", name):
                raise CheckpointError(
                    "{name}: {file} is not the name of a safetensors file in this folder",
                    name=self.path.name,
                    file=shown(name),
                )
        if len(shards) > MOST_SHARDS:
            raise CheckpointError(
                "{name} lists {count:,} files; at most {most} are allowed",
                name=self.path.name,
                count=len(shards),
                most=MOST_SHARDS,
            )
        return shards

    def _unpickle(self) -> dict[str, Tensor]:
        """Tensors only: with weights_only=True, torch's reader builds nothing else and calls nothing."""
        try:
            size = self.path.stat().st_size
            if zipfile.is_zipfile(self.path):
                with zipfile.ZipFile(self.path) as file:
                    unpacked = sum(entry.file_size for entry in file.infolist())
                if unpacked > size:  # torch does not compress, so this file is not from torch
                    raise CheckpointError(
                        "{name} unpacks from {size:,} to {unpacked:,} bytes; files of torch do not do that",
                        name=self.path.name,
                        unpacked=unpacked,
                        size=size,
                    )
            tensors = torch.load(self.path, map_location="cpu", weights_only=True)
        except CheckpointError:
            raise
        except OSError as error:
            raise CheckpointError(
                "{name} cannot be read: {reason}", name=self.path.name, reason=error.strerror or error
            ) from error
        except Exception as error:  # for a damaged or hostile file, torch's reader raises many kinds of errors
            raise CheckpointError(
                "{name} does not hold only tensors, or it is damaged; use a model.safetensors instead",
                name=self.path.name,
            ) from error
        if not isinstance(tensors, dict) or not all(
            isinstance(name, str) and isinstance(tensor, Tensor) and tensor.layout == torch.strided
            for name, tensor in tensors.items()
        ):
            raise CheckpointError("{name} is not a table of names and tensors", name=self.path.name)
        return _named(tensors)

    def names(self) -> Collection[str]:
        if self._pickled is not None:
            return self._pickled
        try:
            with contextlib.ExitStack() as stack:
                return self._entries(stack)
        except (CheckpointError, OSError, WeightsError):
            return ()  # `read` reports the problem

    def _entries(self, stack: contextlib.ExitStack) -> dict[str, _Entry]:
        """Name -> tensor of all files, which stay open as long as the stack. Raises CheckpointError."""
        entries: dict[str, _Entry] = {}
        for path in self._files:
            try:
                file = stack.enter_context(open_regular(path))
                header = _named(read_header(file))
            except OSError as error:
                raise CheckpointError(
                    "{name} cannot be read: {reason}", name=path.name, reason=error.strerror or error
                ) from error
            except WeightsError as error:
                raise CheckpointError(
                    "{name} is not a complete safetensors file; copy it again", name=path.name
                ) from error
            if twice := sorted(entries.keys() & header):
                raise CheckpointError("{name} has {tensor} a second time", name=path.name, tensor=shown(twice[0]))
            entries.update({name: _Entry(file, entry) for name, entry in header.items()})
        return entries

    def read(
        self, wanted: Mapping[str, tuple[str, ...]], shapes: Mapping[str, tuple[int, ...]], unused: Collection[str] = ()
    ) -> dict[str, Tensor]:
        """wanted: `names`; shapes: of our parameters; unused: names that a file may have, too. Raises
        CheckpointError."""
        try:
            if self._pickled is not None:
                return dict(self._read(wanted, shapes, unused, self._pickled, lambda tensor: tensor))
            with contextlib.ExitStack() as stack:
                return dict(self._read(wanted, shapes, unused, self._entries(stack), _Entry.tensor))
        except OSError as error:
            raise CheckpointError(
                "{name} cannot be read: {reason}", name=self.path.name, reason=error.strerror or error
            ) from error
        except WeightsError as error:
            raise CheckpointError(
                "{name} is not a complete safetensors file; copy it again", name=self.path.name
            ) from error

    def _read(
        self,
        wanted: Mapping[str, tuple[str, ...]],
        shapes: Mapping[str, tuple[int, ...]],
        unused: Collection[str],
        found: Mapping[str, Any],  # name -> what has a shape and a dtype
        fetch: Callable[[Any], Tensor],
    ) -> Iterator[tuple[str, Tensor]]:
        possible = (name for alternatives in wanted.values() for name in alternatives)
        known = {SHARED, SOURCE, TARGET, LOGITS, *POSITION_TABLES, *unused, *possible}
        if extra := sorted(set(found) - known):
            raise CheckpointError(
                "{name} has a tensor {extra} that does not belong to the model in config.json; take all files from "
                "the same model",
                name=self.path.name,
                extra=shown(extra[0]),
            )
        if (count := sum(map(math.prod, shapes.values()))) > LARGEST_MODEL:
            raise CheckpointError(
                "{name} has {count:,} parameters; the limit is {largest:,}",
                name=self.path.name,
                count=count,
                largest=LARGEST_MODEL,
            )
        for ours, alternatives in wanted.items():
            theirs = next((name for name in alternatives if name in found), None)
            if theirs is None:
                raise CheckpointError(
                    "{name} has no tensor {missing}, but config.json needs it; take all files from the same model",
                    name=self.path.name,
                    missing=alternatives[0],
                )
            self._check(found[theirs], theirs, shapes[ours])
            yield ours, self._numbers(fetch(found[theirs]), theirs).reshape(shapes[ours])
        width = shapes["embedding.weight"][1]
        for theirs in POSITION_TABLES:
            if theirs in found:
                rows = next(iter(found[theirs].shape), 0)
                self._check(found[theirs], theirs, (min(rows, LIMITS["max_positions"][1]), width))
                table = self._numbers(fetch(found[theirs]), theirs)
                if not torch.allclose(table, sinusoidal(rows, width, "halves"), atol=2e-3):  # float16 is off by 5e-4
                    raise CheckpointError(
                        "{name}: {tensor} does not hold the sinusoidal positions of Marian",
                        name=self.path.name,
                        tensor=theirs,
                    )

    def _check(self, entry: Any, name: str, shape: tuple[int, ...]) -> None:
        actual = tuple(entry.shape)
        if actual != shape and not (name == BIAS and actual == (1, *shape)):
            raise CheckpointError(
                "{name}: {tensor} has shape {actual}; config.json needs {needed}, so take all files from the same "
                "model",
                name=self.path.name,
                tensor=name,
                actual=shown(list(actual)),
                needed=list(shape),
            )
        if entry.dtype not in (*DTYPES, torch.float64):
            raise CheckpointError(
                "{name}: {tensor} has type {dtype}; it must be float16, bfloat16, float32 or float64",
                name=self.path.name,
                tensor=name,
                dtype=entry.dtype,
            )

    def _numbers(self, tensor: Tensor, name: str) -> Tensor:
        tensor = tensor.detach().float()
        if not torch.isfinite(tensor).all():
            raise CheckpointError(
                "{name}: {tensor} has values that are not finite numbers; copy the file again, or save the model at a "
                "step before its training diverged",
                name=self.path.name,
                tensor=name,
            )
        return tensor


def _holding(config: ModelConfig, weights: Mapping[str, Tensor]) -> Transformer:
    """A model with these tensors as its parameters, by name; nothing is initialised or copied."""
    with shapes_only():
        model = Transformer(dataclasses.replace(config, positions="none"))
    model.load_state_dict(dict(weights), assign=True)
    model.config, model.positions = config, positions_of(config)
    return model


def load_marian(path: Path) -> Checkpoint[Transformer]:
    """Read a folder of a Marian model. Raises CheckpointError for the first problem."""
    path = Path(path)
    for name in (CONFIG, VOCABULARY, *SPLITTERS):
        if not (path / name).is_file():
            raise CheckpointError("{path} is not a Marian checkpoint: {name} is missing", path=path, name=name)
    if not any((path / name).is_file() for name in (WEIGHTS, SHARDED, PICKLED)):
        raise CheckpointError(
            "{path} is not a Marian checkpoint: {weights} and {pickled} are both missing",
            path=path,
            weights=WEIGHTS,
            pickled=PICKLED,
        )
    about = read_json(path / CONFIG)
    kinds = about.get("architectures") or [OPENED[0]]
    if not isinstance(kinds, list) or kinds[0] not in OPENED:
        raise CheckpointError(
            "{path} holds {kind}, not an encoder-decoder; Headscope opens {opened}",
            path=path, kind=shown(kinds), opened=any_of(OPENED),
        )  # fmt: skip
    try:
        files = TokenizerFiles.read(path, about.get("share_encoder_decoder_embeddings", True))
        source, target = files.vocabularies
        tensors = _Tensors(path)
        config = bounded(configure(about, source, tensors.names()))
        if target["<unk>"] != config.unk_id:
            raise ConfigError("<unk> has different ids in the source vocabulary and the target vocabulary")
        weights = tensors.read(names(config), parameter_shapes(Transformer, config))
        tokenizers = files.open(config)
    except (ConfigError, TokenizerError) as error:
        raise CheckpointError("{path}: {error}", path=path, error=error) from error
    rule, alpha, notes = search_rule(_settings(path, about, config), config)
    if kinds[0] == OPENED[1]:
        notes.append(
            Text(
                "The folder holds a MarianModel, which has no output layer: as in transformers' MarianMTModel, the "
                "embedding table makes the logits, without a bias."
            )
        )
    return Checkpoint(
        path.name, path, _holding(config, weights).requires_grad_(False).eval(), tokenizers[1],
        languages_in(files.options), {}, source_tokenizer=tokenizers[0], rule=rule, alpha=alpha,
        notes=(*files.notes(config, tokenizers), *notes),
    )  # fmt: skip


def _settings(folder: Path, about: Mapping[str, Any], config: ModelConfig) -> dict[str, Any]:
    """The settings of `generate`; without a file of their own they are in config.json, by default with a last </s>."""
    path = folder / SETTINGS
    settings = read_json(path) if path.is_file() else {"forced_eos_token_id": config.end_id, **about}
    return {"eos_token_id": about.get("eos_token_id"), **(settings if isinstance(settings, dict) else {})}
