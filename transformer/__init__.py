"""Headscope: the Transformer of "Attention Is All You Need", by hand, with every number in view.

import transformer
model = transformer.load("en-de")                        # a bundled name, or a path
model.translate("The cat is sleeping.").text
trace = model.trace("The cat is sleeping.", "Die Katze schläft.")   # without a target: the model's own
trace.cross.weights                                      # [layer, head, query, key]
trace.encoder_self.scores                                # before softmax, scaled and masked
trace.source_tokens, trace.target_in, trace.target_out   # fed in, predicted
"""

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

import transformer.startup  # noqa: F401  first: Ctrl+C during the imports below is no traceback
from transformer.checkpoints.folder import CheckpointError, save_checkpoint
from transformer.inference.pretrained import (
    CheckpointWarning,
    InputError,
    OutsideWarning,
    Pretrained,
    Translation,
    available,
    load,
)
from transformer.inference.sampling import Sampling
from transformer.inference.search import Hypothesis, beam, greedy, n_best
from transformer.interventions.sets import (
    Hide,
    InterventionError,
    Interventions,
    KnockOut,
    Mean,
    Pad,
    Paint,
    Replace,
    Reposition,
    Resample,
    Scale,
    Silence,
    Skip,
    Unmask,
    Where,
)
from transformer.model.config import PRESETS, ConfigError, ModelConfig, preset
from transformer.model.tap import FUSED, OFF, Tap, TapError
from transformer.model.transformer import Transformer
from transformer.text.tokenizer import Tokenizer
from transformer.texts import no_attribute
from transformer.tracing.patch import PatchError, Place
from transformer.tracing.trace import KINDS, AttentionTrace, FeedForwardTrace, Trace

__version__ = "0.1.0"


def _notebook_cell(trace: Trace) -> str:
    """The explorer's picture in a notebook cell. The core does not know the view; this is where they meet."""
    from transformer.view.page import notebook_cell

    return notebook_cell(trace)


def _probe_set(model: Pretrained) -> list[tuple[str, str]] | None:
    """The sentence pairs of mean and resample ablation. Inference does not know the probe set; here they meet."""
    from transformer.probing.probes import probe_pairs

    return probe_pairs(model)


Pretrained.probe_set = staticmethod(_probe_set)  # type: ignore[method-assign]
Trace._repr_html_ = _notebook_cell  # type: ignore[attr-defined]

__all__ = [
    "FUSED",
    "KINDS",
    "OFF",
    "PRESETS",
    "AttentionTrace",
    "CheckpointError",
    "CheckpointWarning",
    "ConfigError",
    "FeedForwardTrace",
    "Hide",
    "Hypothesis",
    "InputError",
    "InterventionError",
    "Interventions",
    "KnockOut",
    "Mean",
    "ModelConfig",
    "OutsideWarning",
    "Pad",
    "Paint",
    "PatchError",
    "Place",
    "Pretrained",
    "Replace",
    "Reposition",
    "Resample",
    "Sampling",
    "Scale",
    "Silence",
    "Skip",
    "Tap",
    "TapError",
    "Tokenizer",
    "Trace",
    "Transformer",
    "Translation",
    "Unmask",
    "Where",
    "available",
    "beam",
    "greedy",
    "load",
    "n_best",
    "preset",
    "save_checkpoint",
]

PACKAGES = ("attribution", "figures", "probing")

if not TYPE_CHECKING:

    def __getattr__(name: str) -> ModuleType:
        """A package of PACKAGES, imported when it is first named; plotly, when a figure is made."""
        if name in PACKAGES:
            return import_module(f"{__name__}.{name}")
        raise no_attribute(f"module {__name__!r}", name, [*__all__, *PACKAGES])
