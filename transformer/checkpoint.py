"""A checkpoint is a directory: config.json, model.safetensors, tokenizer.model, and what is said about them.

    config.json          ModelConfig, and {"format": 1, "source": "English", "target": "German", ...} about the task
    model.safetensors    every parameter under its name in `Transformer`, float16, bfloat16 or float32
    tokenizer.model      SentencePiece
    metrics.json         scores, as `python -m transformer evaluate` wrote them
    training.csv         one row an entry of the training log
    learning.npz         how its heads formed, as `python -m transformer record` wrote it
    examples.json        sentences worth looking at, and what to look for
    README.md            the model card: data, licence, attribution, settings, scores

Reading never runs code from a checkpoint: JSON, safetensors and a SentencePiece model only.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from reprlib import repr as shown
from typing import Any, Generic, TypeVar

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn

from transformer.config import ConfigError, ModelConfig
from transformer.files import write_whole
from transformer.model import Transformer
from transformer.tokenizer import Tokenizer, TokenizerError

CONFIG, WEIGHTS, TOKENIZER, METRICS = "config.json", "model.safetensors", "tokenizer.model", "metrics.json"
RECORDING = "learning.npz"
ARCHITECTURE = "headscope-transformer"
# Folders of ours that hold something else: what it is, and how it is opened.
OTHERS = {
    "headscope-recurrent": "a recurrent encoder-decoder with additive attention, no Transformer; open it with "
    "transformer.recurrent.load",
}
FORMAT = 1
DTYPES = {torch.float32, torch.float16, torch.bfloat16}
LARGEST_JSON = 1_000_000
LARGEST_TOKENIZER = 50_000_000


Model = TypeVar("Model", bound=nn.Module)


class CheckpointError(ValueError):
    """A folder that is no usable checkpoint; the message says which file, what was found and what is needed."""


@dataclass(frozen=True)
class Checkpoint(Generic[Model]):
    """What a checkpoint directory holds. model: float32, eval mode, no gradients; shared by all viewers."""

    name: str
    path: Path
    model: Model
    tokenizer: Tokenizer
    languages: tuple[str, str] = ("source", "target")
    metrics: Mapping[str, Any] = field(default_factory=dict)


def _read_json(path: Path) -> Any:
    try:
        if path.stat().st_size > LARGEST_JSON:
            raise CheckpointError(f"{path.name} is {path.stat().st_size:,} bytes; at most {LARGEST_JSON:,} are read")
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise CheckpointError(f"{path.name} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        if isinstance(error, CheckpointError):
            raise
        raise CheckpointError(f"{path.name} is not JSON in UTF-8; the file is damaged or something else") from error


def _read_weights(path: Path, model: nn.Module) -> dict[str, Tensor]:
    """The tensors of a safetensors file, float32, checked by name, shape and value against a model on `meta`."""
    wanted = {name: tuple(parameter.shape) for name, parameter in model.named_parameters()}
    try:
        with safe_open(path, framework="pt") as file:
            found = set(file.keys())
            if missing := sorted(set(wanted) - found):
                raise CheckpointError(f"{path.name} has no tensor {missing[0]}, which config.json asks for")
            if extra := sorted(found - set(wanted)):
                raise CheckpointError(f"{path.name} has a tensor {shown(extra[0])}, which config.json knows nothing of")
            tensors = {}
            for name, shape in wanted.items():
                arrived = tuple(file.get_slice(name).get_shape())
                if arrived != shape:
                    raise CheckpointError(f"{path.name}: {name} is {list(arrived)}, config.json asks for {list(shape)}")
                tensor = file.get_tensor(name)
                if tensor.dtype not in DTYPES:
                    raise CheckpointError(
                        f"{path.name}: {name} is {tensor.dtype}; float16, bfloat16 or float32 is needed"
                    )
                tensor = tensor.float()
                if not torch.isfinite(tensor).all():
                    raise CheckpointError(f"{path.name}: {name} holds values that are not finite numbers")
                tensors[name] = tensor
            return tensors
    except OSError as error:
        raise CheckpointError(f"{path.name} cannot be read: {error.strerror or error}") from error
    except SafetensorError as error:
        raise CheckpointError(f"{path.name} is no complete safetensors file; copy it again") from error


def load_checkpoint(path: Path) -> Checkpoint[Transformer]:
    """Read a checkpoint directory. Raises CheckpointError with one sentence about the first thing that is wrong."""
    found = read_checkpoint(path, ARCHITECTURE, ModelConfig.from_dict, Transformer)
    found.model.arrange()
    return found


def read_checkpoint(
    path: Path, architecture: str, configure: Callable[[dict[str, Any]], Any], build: Callable[[Any], Model]
) -> Checkpoint[Model]:
    """Read a directory that holds a model of this architecture, as config.json names it.

    configure: the table "model" of config.json -> a configuration, or ConfigError; build: a configuration -> the model.
    """
    path = Path(path)
    if not path.is_dir():
        raise CheckpointError(f"there is no checkpoint folder {path}")
    for name in (CONFIG, WEIGHTS, TOKENIZER):
        if not (path / name).is_file():
            raise CheckpointError(f"{path} is no checkpoint: it has no {name}")
    about = _read_json(path / CONFIG)
    if not isinstance(about, dict) or about.get("architecture") != architecture:
        arrived = str(about.get("architecture", about.get("model_type")) if isinstance(about, dict) else None)
        if arrived in OTHERS:
            raise CheckpointError(f"{path} holds {OTHERS[arrived]}")
        raise CheckpointError(
            f"{path} holds a model of another architecture ({arrived[:60]!r}); {architecture!r} can be opened"
        )
    if about.get("format") != FORMAT:
        raise CheckpointError(f"{path} has format {shown(about.get('format'))}; this version reads format {FORMAT}")
    try:
        config = configure(about.get("model", {}))
        if (path / TOKENIZER).stat().st_size > LARGEST_TOKENIZER:
            raise CheckpointError(f"{TOKENIZER} is larger than {LARGEST_TOKENIZER:,} bytes")
        tokenizer = Tokenizer.load(path / TOKENIZER)
        with torch.device("meta"):
            model = build(config)
        weights = _read_weights(path / WEIGHTS, model)
    except (ConfigError, TokenizerError) as error:
        raise CheckpointError(f"{path}: {error}") from error
    if len(tokenizer) != config.vocab_size:
        raise CheckpointError(
            f"{path}: the tokenizer knows {len(tokenizer)} pieces and the model {config.vocab_size}; they belong apart"
        )
    specials = (config.pad_id, config.unk_id, config.start_id, config.end_id)
    if specials != (0, 1, 2, 3):  # where `Tokenizer` has them
        raise CheckpointError(f"{path}: the special ids are {shown(specials)} in config.json, 0 to 3 in the tokenizer")
    model = build(config)
    model.load_state_dict(weights)
    model.requires_grad_(False).eval()
    metrics = _read_json(path / METRICS) if (path / METRICS).is_file() else {}
    languages = (str(about.get("source", "source"))[:40], str(about.get("target", "target"))[:40])
    return Checkpoint(path.name, path, model, tokenizer, languages, metrics if isinstance(metrics, dict) else {})


def save_checkpoint(
    path: Path,
    model: nn.Module,
    tokenizer: Tokenizer,
    languages: tuple[str, str] = ("source", "target"),
    dtype: torch.dtype = torch.float16,
    architecture: str = ARCHITECTURE,
) -> None:
    """Write config, weights and tokenizer; scores, log and card are written by those who know them.

    Over a checkpoint of other weights: those, and what was measured of them, go first, so that a disk that fills up
    leaves no tokenizer beside the weights of another.
    """
    path.mkdir(parents=True, exist_ok=True)
    weights = save({name: parameter.detach().to(dtype).contiguous() for name, parameter in model.named_parameters()})
    if (path / WEIGHTS).is_file() and (path / WEIGHTS).read_bytes() != weights:
        for old in (WEIGHTS, METRICS, RECORDING):
            (path / old).unlink(missing_ok=True)
    about = {
        "architecture": architecture,
        "format": FORMAT,
        "source": languages[0],
        "target": languages[1],
        "model": model.config.to_dict(),
    }
    write_whole(path / CONFIG, (json.dumps(about, indent=2) + "\n").encode())
    write_whole(path / TOKENIZER, tokenizer.to_bytes())
    write_whole(path / WEIGHTS, weights)
