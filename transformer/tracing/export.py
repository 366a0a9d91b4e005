"""Export of a Trace: arrays in an .npz file, with an index that describes them."""

import io
import json
import zipfile
from dataclasses import fields
from typing import Any

import numpy as np
from torch import Tensor

from transformer.tracing.trace import AttentionTrace, FeedForwardTrace, Trace

# Last part of an array's name -> its axes, and what it is.
DESCRIPTIONS = {
    "enters": ("layer token d_model", "x, the input of the sub-layer"),
    "queries": ("layer head query d_k", "Q"),
    "keys": ("layer head key d_k", "K"),
    "values": ("layer head key d_head", "V"),
    "bias": ("layer head query key", "what relative positions add to the scores"),
    "mask": ("layer head query key", "True = may attend"),
    "scores": ("layer head query key", "Q K^T times scale, plus bias if there is one; masked cells are -inf"),
    "weights": ("layer head query key", "softmax of the scores over keys; every row sums to 1"),
    "head_outputs": ("layer head query d_head", "weights times V"),
    "update": ("layer token d_model", "Sublayer(x), the result of the sub-layer"),
    "sum": ("layer token d_model", "x + Sublayer(x); without residual connections Sublayer(x)"),
    "leaves": ("layer token d_model", "LayerNorm(sum), the output of the sub-layer; pre-norm: the sum"),
    "scale": ("layer head", "factor of Q K^T: 1 / sqrt(d_k) without switches"),
    "rule": ("layer head", "how the weights were made: 0 softmax, 1 equal for all visible keys, 2 all on the best key"),
    "zero": ("layer head", "True = knocked out: head_outputs are 0"),
    "replaced": ("layer head", "True = head_outputs come from elsewhere: a mean, or another sentence"),
    "pre_activation": ("layer token d_ff", "before the non-linearity"),
    "activation": ("layer token d_ff", "after the non-linearity, and times the gate if there is one"),
    "gate": ("layer token d_ff", "x V of a gated network, the second factor of activation"),
    "source_embedding": ("source d_model", "embeddings of the source tokens times sqrt(d_model)"),
    "target_embedding": ("target d_model", "embeddings of the target tokens fed in, times sqrt(d_model)"),
    "source_positions": ("source d_model", "what is added to source_embedding: the positions"),
    "target_positions": ("target d_model", "what is added to target_embedding: the positions"),
    "source_position_ids": ("source", "position of each source token, from 0"),
    "target_position_ids": ("target", "position of each target token, from 0"),
    "encoder_output": ("source d_model", "output of the encoder, which cross-attention reads"),
    "decoder_output": ("target d_model", "output of the decoder"),
    "logits": ("target vocab", "scores of all tokens of the vocabulary, before the softmax"),
    "probabilities": ("target", "softmax(logits) of the tokens of target_out, 0 to 1"),
}
# First part of an array's name -> where it was computed, and the tokens of its axes query, key and token.
PLACES = {
    "encoder_self": ("self-attention of the encoder", {"query": "source", "key": "source", "token": "source"}),
    "decoder_self": ("self-attention of the decoder", {"query": "target", "key": "target_in", "token": "target"}),
    "cross": ("attention of the decoder to the source", {"query": "target", "key": "source", "token": "target"}),
    "encoder_ff": ("feed-forward network of the encoder", {"token": "source"}),
    "decoder_ff": ("feed-forward network of the decoder", {"token": "target"}),
}
AXES = {
    "layer": "layers from 0",
    "head": "heads from 0",
    "source": "source_tokens",
    "target": "row q is fed target_in[q] and predicts target_out[q]",
    "target_in": "the tokens fed in: key k is target_in[k]",
    "d_model": "the vectors between sub-layers",
    "d_k": "queries and keys of one head",
    "d_head": "values of one head",
    "d_ff": "neurons of a feed-forward network",
    "vocab": "token ids",
}
UNITS = "weights and probabilities are shares from 0 to 1; all other numbers have no unit"


def arrays(trace: Trace) -> dict[str, np.ndarray]:
    """Every tensor of the trace by its name, e.g. "cross.weights"."""
    by_name: dict[str, np.ndarray] = {}
    for field in fields(trace):
        value = getattr(trace, field.name)
        if isinstance(value, Tensor):
            by_name[field.name] = value.numpy()
        elif isinstance(value, AttentionTrace | FeedForwardTrace):
            parts = {part.name: getattr(value, part.name) for part in fields(value)}
            by_name.update(
                {f"{field.name}.{name}": np.asarray(part) for name, part in parts.items() if part is not None}
            )
    return by_name


def _described(name: str, array: np.ndarray) -> dict[str, Any]:
    place, _, part = name.rpartition(".")
    axes, what = DESCRIPTIONS[part]
    where, tokens = PLACES.get(place, ("", {}))
    return {
        "what": f"{where}: {what}" if where else what,
        "axes": [tokens.get(axis, axis) for axis in axes.split()],
        "shape": list(array.shape),
        "dtype": str(array.dtype),
    }


def index(trace: Trace) -> dict[str, Any]:
    """The description of the arrays: tokens, switches, and what every array is, with its axes, shape and type."""
    return {
        "made_by": "Headscope",
        "how_to_read": "numpy.load(file)[name] is an array, json.loads(numpy.load(file)['index.json']) this index",
        "checkpoint": trace.checkpoint,
        "languages": list(trace.languages),
        "source_text": trace.source_text,
        "target_text": trace.target_text,
        "target_is_the_models_own": trace.own,
        "target_is_complete": trace.complete,
        "switches": str(trace.interventions),
        "switches_count_from": 1,
        "edited_tensors": list(trace.edits),
        "source_tokens": list(trace.source_tokens),
        "target_in": list(trace.target_in),
        "target_out": list(trace.target_out),
        "source_ids": list(trace.source_ids),
        "target_in_ids": list(trace.target_in_ids),
        "target_out_ids": list(trace.target_out_ids),
        "axes": AXES,
        "units": UNITS,
        "arrays": {name: _described(name, array) for name, array in arrays(trace).items()},
    }


def _text(table: dict[str, Any], indent: str = " ") -> str:
    """A table as JSON, with one line for each name, and for each name of a table in it."""
    lines = []
    for name, value in table.items():
        nested = isinstance(value, dict) and any(isinstance(part, dict) for part in value.values())
        shown = _text(value, indent + " ") if nested else json.dumps(value, ensure_ascii=False)
        lines.append(f"{indent}{json.dumps(name)}: {shown}")
    return "{\n" + ",\n".join(lines) + "\n" + indent[1:] + "}"


def npz(trace: Trace) -> bytes:
    """The whole trace as a compressed .npz file, a zip that NumPy reads without pickle.

    Its first entry, `index.json`, is the text of `index` in UTF-8, so that any program for zips shows it; every other
    entry is an array under its name.
    """
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("index.json", _text(index(trace)).encode("utf-8", "replace"))
        for name, array in arrays(trace).items():
            with file.open(f"{name}.npy", "w", force_zip64=True) as entry:
                np.lib.format.write_array(entry, array, allow_pickle=False)
    return written.getvalue()
