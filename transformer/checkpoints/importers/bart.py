"""Imports BART (Lewis et al. 2020) in Hugging Face's format, and what all its relatives share: Marian, mBART, M2M-100,
NLLB and Pegasus have the same layers, with the same names, and differ in a few fields of `ModelConfig` and in their
tokenizers.

    config.json             {"model_type": "bart", ...}, `BartConfig` of transformers
    model.safetensors       or its parts, listed in model.safetensors.index.json; or pytorch_model.bin, from which only
                            tensors are read and nothing is run
    tokenizer.json          byte-level BPE; or vocab.json and merges.txt
    tokenizer_config.json, added_tokens.json, generation_config.json
                            as in `importers.marian`

A folder of a model without an output layer (`BartModel`) opens as transformers opens it with one: the embedding table
makes the logits, without a bias. Reading never runs code from the folder.

Differences of BART from the paper: learned positions, a table for each side; LayerNorm after the embeddings; GELU; each
logit has a bias; every text begins with <s>, and the decoder reads </s> before it.
"""

import dataclasses
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from reprlib import repr as shown
from typing import Any

import torch
from torch import Tensor

from transformer.checkpoints.folder import (
    CONFIG,
    Checkpoint,
    CheckpointError,
    bounded,
    parameter_shapes,
    read_json,
    shapes_only,
)
from transformer.checkpoints.importers.generation import SETTINGS, search_rule
from transformer.checkpoints.importers.tensors import Tensors
from transformer.checkpoints.importers.tokenizers import JSON, MERGES, VOCABULARY, TokenizerFiles, bart_files
from transformer.checkpoints.languages import between
from transformer.model.config import ConfigError, ModelConfig
from transformer.model.positions import encoding_of, positions_of
from transformer.model.transformer import Transformer
from transformer.text.tokenizer import TokenizerError
from transformer.texts import Text, any_of

ACTIVATIONS = {"relu": "relu", "gelu": "gelu", "gelu_python": "gelu", "swish": "swish", "silu": "swish"}
PARTS = {  # of a layer: our name -> theirs
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
VERSIONS = ("model.encoder.version", "model.decoder.version")  # of fairseq, in old files
FIRST_ROW = 2  # of learned positions: BART's rows 0 and 1 are not used


@dataclass(frozen=True)
class Family:
    """Models that one class of transformers opens.

    name: for readers; classes: whose folders open: with an output layer, and without; fields: of `ModelConfig`, the
    same in all its models; defaults: of config.json; files: reads those that make ids of texts; needed: their names, of
    each way that they can lie in a folder; forced_end: whether </s> is written at the limit where no settings say it.
    """

    name: str
    classes: tuple[str, str]
    fields: Mapping[str, Any]
    defaults: Mapping[str, Any]
    files: Callable[[Path, Mapping[str, Any]], TokenizerFiles]
    needed: tuple[tuple[str, ...], ...]
    forced_end: bool = True


BART = Family(
    "BART",
    ("BartForConditionalGeneration", "BartModel"),
    {"positions": "learned", "separate_positions": True, "embedding_norm": True},
    {"pad_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 2},
    bart_files,
    ((VOCABULARY, MERGES), (JSON,)),
)


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


def configure(
    family: Family, about: Mapping[str, Any], vocabulary: Mapping[str, int], tensors: Collection[str] = ()
) -> ModelConfig:
    """The configuration of a config.json. vocabulary: of the source; tensors: names of the tensors in the file, which
    may lack the bias, or have separate tables for both sides where the output is not tied. Raises ConfigError.
    """
    about, pre = {**family.defaults, **about}, family.fields.get("norm") == "pre"
    # Options that transformers ignores; a model trained with other values would give other results.
    ignored = {"normalize_before": pre, "add_final_layer_norm": pre,
               "normalize_embedding": family.fields.get("embedding_norm", False)}  # fmt: skip
    for name, value in ignored.items():
        if about.get(name) not in (None, value):
            raise ConfigError(
                "{name} is {value}; only {imported} can be imported",
                name=name, value=shown(about[name]), imported=str(value).lower(),
            )  # fmt: skip
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
        **family.fields,
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
    norms = {"layer_norm": ("encoder_norm", "decoder_norm") if config.norm == "pre" else (),
             "layernorm_embedding": ("source_norm", "target_norm") if config.embedding_norm else ()}  # fmt: skip
    for theirs, both in norms.items():
        for stack, ours in zip(stacks, both, strict=False):
            for kind in ("weight", "bias"):
                possible[f"{ours}.{kind}"] = (f"model.{stack}.{theirs}.{kind}",)
    if config.positions == "learned":
        possible["positions.table"], possible["target_positions.table"] = ((name,) for name in POSITION_TABLES)
    if not config.tied_output:
        possible["output_matrix"] = (LOGITS,)
    if config.output_bias:
        possible["output_bias"] = (BIAS,)
    return possible


def holding(config: ModelConfig, weights: Mapping[str, Tensor]) -> Transformer:
    """A model in eval mode with these tensors as its parameters, by name; nothing is initialised or copied."""
    computed = config.positions == "sinusoidal"  # sines need arithmetic
    with shapes_only():
        model = Transformer(dataclasses.replace(config, positions="none") if computed else config)
    model.load_state_dict(dict(weights), assign=True)
    if config.positions != "learned":
        model.config, model.positions = config, positions_of(config)
    return model.requires_grad_(False).eval()


def kind_of(path: Path, about: Mapping[str, Any], classes: Sequence[str]) -> str:
    """The class of the model in a folder, the first of these if config.json does not say. Raises CheckpointError for
    another one."""
    kinds = about.get("architectures") or [classes[0]]
    if not isinstance(kinds, list) or kinds[0] not in classes:
        raise CheckpointError(
            "{path} holds {kind}, not an encoder-decoder; Headscope opens {opened}",
            path=path, kind=shown(kinds), opened=any_of(classes),
        )  # fmt: skip
    return str(kinds[0])


def whole_name(name: str) -> str:
    """The name of a tensor in the model with an output layer, which has "model." before those without."""
    return f"model.{name}" if name.startswith(("shared.", "encoder.", "decoder.")) else name


def _sinusoidal(config: ModelConfig, rows: int) -> Tensor:
    """The table of positions as transformers keeps it."""
    offset = 2 if config.layout == "fairseq" else 0
    table = encoding_of(torch.arange(rows) - offset, config.d_model, config.layout)
    if offset and config.pad_id < rows:
        table[config.pad_id] = 0
    return table


def _weights(tensors: Tensors, config: ModelConfig) -> dict[str, Tensor]:
    computed = [name + end for name in POSITION_TABLES for end in ("", "s")] if config.positions != "learned" else []
    return tensors.read(
        names(config),
        parameter_shapes(Transformer, config),
        (SHARED, SOURCE, TARGET, LOGITS, *VERSIONS),
        dict.fromkeys(("positions.table", "target_positions.table"), FIRST_ROW),
        dict.fromkeys(computed, partial(_sinusoidal, config)),
    )


def load_family(family: Family, path: Path) -> Checkpoint[Transformer]:
    """Read a folder of a model of the family. Raises CheckpointError for the first problem."""
    path = Path(path)
    about = read_json(path / CONFIG)
    kind = kind_of(path, about, family.classes)
    try:
        tensors = Tensors(path, whole_name)
        files = family.files(path, about)
        source, target = files.vocabularies
        config = bounded(configure(family, about, source, tensors.names()))
        if target["<unk>"] != config.unk_id:
            raise ConfigError("<unk> has different ids in the source vocabulary and the target vocabulary")
        tokenizers = files.open(config)
        weights = _weights(tensors, config)
    except (ConfigError, TokenizerError) as error:
        raise CheckpointError("{path}: {error}", path=path, error=error) from error
    settings = _settings(family, path, about, config)
    rule, alpha, notes = search_rule(settings, config)
    if kind == family.classes[1]:
        notes.append(
            Text(
                "The folder holds a {kind}, which has no output layer: as in transformers' {other}, the embedding "
                "table makes the logits, without a bias.",
                kind=family.classes[1],
                other=family.classes[0],
            )
        )
    checkpoint = Checkpoint(
        path.name, path, holding(config, weights), tokenizers[1],
        files.languages(settings), {}, source_tokenizer=tokenizers[0], rule=rule, alpha=alpha,
        notes=(*files.notes(config, tokenizers), *notes), family=family.name, codes=files.codes,
    )  # fmt: skip
    return between(checkpoint, *checkpoint.languages) if files.codes else checkpoint


def _settings(family: Family, folder: Path, about: Mapping[str, Any], config: ModelConfig) -> dict[str, Any]:
    """The settings of `generate`; without a file of their own they are in config.json, by default with a last </s>."""
    path = folder / SETTINGS
    last = {"forced_eos_token_id": config.end_id} if family.forced_end else {}
    settings = read_json(path) if path.is_file() else {**last, **about}
    return {"eos_token_id": about.get("eos_token_id"), **(settings if isinstance(settings, dict) else {})}
