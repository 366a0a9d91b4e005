"""Export of a Trace: arrays in an .npz file, with an index that describes them."""

from __future__ import annotations

import io
import json
from dataclasses import fields
from typing import Any

import numpy as np
from torch import Tensor

from transformer.tracing.trace import AttentionTrace, FeedForwardTrace, Trace

AXES = {
    "enters": "layer query d_model", "update": "layer query d_model", "sum": "layer query d_model",
    "leaves": "layer query d_model", "queries": "layer head query d_k", "keys": "layer head key d_k",
    "values": "layer head key d_head", "mask": "layer head query key", "scores": "layer head query key",
    "weights": "layer head query key", "scale": "layer head", "head_outputs": "layer head query d_head",
    "rule": "layer head", "zero": "layer head",
    "pre_activation": "layer token d_ff", "activation": "layer token d_ff",
    "source_embedding": "source d_model", "target_embedding": "target d_model",
    "source_positions": "source d_model", "target_positions": "target d_model",
    "source_position_ids": "source", "target_position_ids": "target",
    "encoder_output": "source d_model", "decoder_output": "target d_model",
    "logits": "target vocab", "probabilities": "target",
}  # fmt: skip


def arrays(trace: Trace) -> dict[str, np.ndarray]:
    """Every tensor of the trace by its name, e.g. "cross.weights"."""
    by_name: dict[str, np.ndarray] = {}
    for field in fields(trace):
        value = getattr(trace, field.name)
        if isinstance(value, Tensor):
            by_name[field.name] = value.numpy()
        elif isinstance(value, AttentionTrace | FeedForwardTrace):
            parts = {part.name: getattr(value, part.name) for part in fields(value)}
            by_name.update({f"{field.name}.{name}": np.asarray(part) for name, part in parts.items()})
    return by_name


def index(trace: Trace) -> dict[str, Any]:
    """The description of the arrays: tokens, and axes, shape and type of every array."""
    return {
        "made_by": "Headscope",
        "checkpoint": trace.checkpoint,
        "languages": list(trace.languages),
        "source_text": trace.source_text,
        "target_text": trace.target_text,
        "target_is_the_models_own": trace.own,
        "interventions": trace.interventions.to_params(),
        "source_tokens": list(trace.source_tokens),
        "target_in": list(trace.target_in),
        "target_out": list(trace.target_out),
        "rows_of_decoder_arrays": "row q is fed target_in[q] and predicts target_out[q]",
        "arrays": {
            name: {"axes": AXES[name.split(".")[-1]].split(), "shape": list(array.shape), "dtype": str(array.dtype)}
            for name, array in arrays(trace).items()
        },
    }


def npz(trace: Trace) -> bytes:
    """The whole trace as a compressed .npz file.

    Its entry `index.json` is the JSON of `index` in UTF-8 (read it with `bytes(file["index.json"]).decode()`); every
    other entry is an array under its name.
    """
    text = json.dumps(index(trace), ensure_ascii=False, indent=1).encode("utf-8", "replace")
    written = io.BytesIO()
    entries: dict[str, Any] = {"index.json": np.frombuffer(text, np.uint8), **arrays(trace)}
    np.savez_compressed(written, **entries)
    return written.getvalue()
