"""The two kinds of model that the trainer can train, and what differs between them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from transformer.checkpoints.folder import save_checkpoint
from transformer.inference.pretrained import Pretrained
from transformer.model.config import ModelConfig
from transformer.model.transformer import Transformer
from transformer.rnn import Recurrent, RecurrentConfig, RecurrentModel
from transformer.rnn import save as save_recurrent
from transformer.rnn.config import KIND
from transformer.text.tokenizer import Tokenizer
from transformer.training.schedule import paper_peak
from transformer.training.settings import Settings, TrainingError

AnyConfig = ModelConfig | RecurrentConfig
AnyModel = Transformer | RecurrentModel
AnyPretrained = Pretrained | Recurrent


def read_config(values: Mapping[str, Any]) -> AnyConfig:
    """The configuration that `to_dict` made a table of: a recurrent one says so itself. Raises ConfigError."""
    if isinstance(values, Mapping) and values.get("kind") == KIND:
        return RecurrentConfig.from_dict(dict(values))
    return ModelConfig.from_dict(values)  # type: ignore[arg-type]  # which says what else arrived


def build(config: AnyConfig, settings: Settings) -> AnyModel:
    """A model with initial weights, of the generator as it is. Raises TrainingError for settings it cannot have."""
    if isinstance(config, RecurrentConfig):
        if settings.gain != 1:
            raise TrainingError(f"gain is {settings.gain:g}; it is for a Transformer's matrices, leave it out")
        if settings.fused:
            raise TrainingError("fused is true; it is for a Transformer's attention, leave it out")
        return RecurrentModel(config)
    model = Transformer(config)
    if settings.gain != 1:
        model.shrink_branches(settings.gain)
    return model


def peak_rate(config: AnyConfig, settings: Settings) -> float:
    """The largest learning rate: the settings', or for a Transformer equation 3's. Raises TrainingError."""
    if settings.peak_rate:
        return settings.peak_rate
    if isinstance(config, RecurrentConfig):
        raise TrainingError("peak_rate is missing; the paper has one for a Transformer only, so name it")
    return paper_peak(config.d_model, settings.warmup)


def in_use(model: AnyModel, path: Path, tokenizer: Tokenizer, languages: tuple[str, str]) -> AnyPretrained:
    """The model, ready to translate."""
    if isinstance(model, RecurrentModel):
        return Recurrent(path.name, path, model, tokenizer, languages, {})
    return Pretrained(path.name, path, model, tokenizer, languages, {})


def save_model(path: Path, model: AnyModel, tokenizer: Tokenizer, languages: tuple[str, str]) -> None:
    """Write the model as a checkpoint."""
    if isinstance(model, RecurrentModel):
        save_recurrent(path, model, tokenizer, languages)
    else:
        save_checkpoint(path, model, tokenizer, languages)
