"""Payloads of a Trace for the anatomy: four kinds of packs in the format of `transformer.view.pack`.

    trace    the whole model at a glance: every stream and every attention map, 8 bits a number, and the words predicted
    open     the inside of one layer of each stack: strips in 8 bits, the attention weights exactly
    place    every tensor of every step of one sub-layer, exactly
    weights  the matrices that a step of it multiplies with, exactly

Strips: value = (byte - 128) / 127 * top, with top the 0.999 quantile of the magnitudes, so that single large numbers
(there are some in every trained model) do not leave the rest pale. What is at most top in magnitude is wrong by at most
top / 254; the one in a thousand beyond it is shown as top.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from transformer.analysis.anatomy import AttentionSteps, EmbeddingSteps, OutputSteps, matrices, predictions, steps
from transformer.cost.parameters import describe
from transformer.inference.pretrained import Pretrained, readable
from transformer.interventions.sets import SUB_LAYERS, forms
from transformer.model.tap import KINDS, STACKS, scope
from transformer.model.transformer import Transformer
from transformer.tracing.trace import AttentionTrace, Trace
from transformer.view.languages import browser_texts
from transformer.view.pack import Writer

QUANTILE = 0.999
MATRICES = {"project": ("W_q", "W_k", "W_v"), "output": ("W_o",), "inner": ("W_1",), "outer": ("W_2",)}
_CONFIG = (
    "d_model", "d_ff", "d_head", "heads", "encoder_layers", "decoder_layers", "vocab_size", "norm", "activation",
    "positions", "scaling", "layer_norm_eps", "max_positions", "scale", "layout", "embedding_scale", "output_size",
    "target_vocab_size", "tied_output", "output_bias", "residual", "causal",
)  # fmt: skip


def _strip(writer: Writer, matrix: Tensor, norms: bool = True) -> dict[str, Any]:
    """A matrix [token, width] in 8 bits, see the docstring of this module. norms: with the lengths of its rows."""
    size = matrix.abs().flatten()
    top = float(size.kthvalue(math.ceil(QUANTILE * len(size))).values) or float(size.max())
    bytes_ = (matrix * (127 / top if top else 0.0)).round().clamp(-127, 127).add(128).byte()
    low, high = matrix.aminmax()
    found = {"picture": writer.add(bytes_), "top": top, "low": float(low), "high": float(high)}
    return {**found, "norms": writer.add(torch.linalg.vector_norm(matrix, dim=-1))} if norms else found


def _streams(trace: Trace) -> dict[str, Tensor]:
    """The tensors of the view of the whole model, name -> [token, d_model]."""
    found = {
        "source.embedding": trace.source_embedding, "source.positions": trace.source_positions,
        "target.embedding": trace.target_embedding, "target.positions": trace.target_positions,
        "encoder.output": trace.encoder_output, "decoder.output": trace.decoder_output,
    }  # fmt: skip
    for stack in STACKS:
        for part in SUB_LAYERS[stack]:
            enters = _part(trace, stack, part).enters
            found.update({f"{stack}.{layer}.{part}.enters": one for layer, one in enumerate(enters)})
    return found


def _part(trace: Trace, stack: str, part: str) -> Any:
    """The AttentionTrace or FeedForwardTrace of a sub-layer."""
    return trace.cross if part == "cross" else getattr(trace, f"{stack}_{part}")


def _attentions(trace: Trace) -> dict[str, tuple[AttentionTrace, int]]:
    """ "encoder.0.self" -> its kind of attention and its layer."""
    kinds = ((kind, trace.attention(kind)) for kind in KINDS)
    return {scope(kind, layer)[:-1]: (found, layer) for kind, found in kinds for layer in range(found.layers)}


def boxes(model: Transformer) -> dict[str, Any]:
    """Parameters of every box of the drawing, by its name; "embedding" and "positions" are those of the source."""
    described = describe(model)
    found = {
        box.key: {
            "count": box.count,
            "adds": box.adds,
            "share": box.share,
            "shared_with": list(box.shared_with) or None,
            "tensors": [
                {"name": one.name, "symbol": one.symbol, "shape": one.shape, "axes": one.axes, "count": one.count}
                for one in box.tensors
            ],
        }
        for box in described.boxes
    }
    short = {name: found[f"source.{name}"] for name in ("embedding", "positions") if f"source.{name}" in found}
    return {**short, **found}


def _about(model: Pretrained) -> dict[str, Any]:
    config = model.config
    sizes = {name: getattr(config, name) for name in _CONFIG}
    return {**sizes, "d_k": config.d_k or config.d_head, "parameters": model.model.parameter_count()}


def _outputs(writer: Writer, model: Pretrained, trace: Trace, before: Trace | None) -> dict[str, Any]:
    found = predictions(trace)
    plain = None if before is None else predictions(before, found.ids).probability
    arrays = {name: getattr(found, name) for name in ("probability", "logit", "chosen_probability", "chosen_logit")}
    ids = found.ids.tolist()
    return {
        "labels": [readable(model.tokenizer.pieces(row)) for row in ids],
        "ids": ids,
        "chosen": found.chosen.tolist(),
        "chosen_rank": found.chosen_rank.tolist(),
        **{name: writer.add(array) for name, array in arrays.items()},
        "log_sum": writer.add(found.log_sum),
        "plain_probability": None if plain is None else writer.add(plain),
    }


def _changed(trace: Trace, before: Trace) -> dict[str, float]:
    """Strip or attention -> the largest |after - before|, of those that differ at all."""
    now, then = _streams(trace), _streams(before)
    largest = {name: float((now[name] - then[name]).abs().max()) for name in now}
    other = _attentions(before)
    for name, (found, layer) in _attentions(trace).items():
        largest[name] = float((found.weights[layer] - other[name][0].weights[layer]).abs().max())
    return {name: value for name, value in largest.items() if value > 0}


def _changed_inside(trace: Trace, before: Trace) -> dict[str, list[float]]:
    """What lies inside the sub-layers, by its name in the trace -> the largest |after - before| of each head, of a
    feed-forward network of all neurons; of those that differ at all."""
    other = _attentions(before)
    largest: dict[str, list[float]] = {}
    for name, (found, layer) in _attentions(trace).items():
        for one in ("queries", "keys", "values", "weights"):
            far = (getattr(found, one)[layer] - getattr(other[name][0], one)[layer]).abs()
            largest[f"{name}.{one}"] = far.amax((1, 2)).tolist()
    for stack in STACKS:
        now, then = _part(trace, stack, "ff").activation, _part(before, stack, "ff").activation
        for layer, far in enumerate((now - then).abs()):
            largest[f"{stack}.{layer}.ff.activation"] = [float(far.max())]
    return {name: values for name, values in largest.items() if max(values) > 0}


def trace_pack(
    model: Pretrained,
    trace: Trace,
    before: Trace | None = None,
    switches: Mapping[str, str] | None = None,
    state: Mapping[str, Any] | None = None,
    phrases: Sequence[str] = (),
) -> bytes:
    """The whole model with one sentence in it.

    before: the same tokens without the switches of `trace`, if it has any. switches: what is set, as links hold it.
    state: where a person stands, for the browser to begin with; phrases: the switches of
    `trace` in words.
    """
    writer = Writer()
    before = None if before is trace else before
    labels = {
        "source": trace.source_labels, "target_in": trace.target_in_labels, "target_out": trace.target_out_labels
    }  # fmt: skip
    header = {
        "format": 1,
        "sort": "trace",
        "id": trace.id,
        "checkpoint": trace.checkpoint,
        "tokens": {"source": trace.source_tokens, "target_in": trace.target_in, "target_out": trace.target_out},
        "sentences": {"source": trace.source_text, "target": trace.target_text},
        "labels": labels,
        "ids": {"source": trace.source_ids, "target_in": trace.target_in_ids, "target_out": trace.target_out_ids},
        "config": _about(model),
        "own": trace.own,
        "complete": trace.complete,
        "boxes": boxes(model.model),
        "strips": {name: _strip(writer, one) for name, one in _streams(trace).items()},
        "attention": {
            name: {
                "picture": writer.add((found.weights[layer] * 255).round().byte()),
                "zero": found.zero[layer].tolist(),
            }
            for name, (found, layer) in _attentions(trace).items()
        },
        "outputs": _outputs(writer, model, trace, before),
        "changed": {} if before is None else _changed(trace, before),
        "inside": {} if before is None else _changed_inside(trace, before),
        "switches": dict(switches or {}),
        "forms": forms(),
        "holding": trace.interventions.to_params(),
        "phrases": list(phrases),
        "state": dict(state or {}),
        "texts": browser_texts("anatomy"),
    }
    return writer.finish(header)


def open_pack(trace: Trace, encoder: int, decoder: int) -> bytes:
    """The inside of one layer of each stack, by their numbers from 0."""
    writer = Writer()
    strips, weights = {}, {}
    for stack, layer in (("encoder", encoder), ("decoder", decoder)):
        for part in SUB_LAYERS[stack]:
            name, found = f"{stack}.{layer}.{part}", _part(trace, stack, part)
            if part == "ff":
                strips[f"{name}.activation"] = _strip(writer, found.activation[layer], norms=False)
            else:
                weights[name] = writer.add(found.weights[layer])
                for one in ("queries", "keys", "values", "head_outputs"):
                    tensor = getattr(found, one)[layer].transpose(0, 1).flatten(1)  # heads side by side
                    strips[f"{name}.{one}"] = _strip(writer, tensor, norms=False)
            strips[f"{name}.update"] = _strip(writer, found.update[layer], norms=False)
    header = {"format": 1, "sort": "open", "id": trace.id, "encoder": encoder, "decoder": decoder}
    return writer.finish({**header, "strips": strips, "weights": weights})


_ATTENTION = (
    "x", "memory", "normed", "queries", "keys", "values", "dot", "scaled", "scores", "weights", "head_outputs",
    "concat", "update", "sum", "leaves", "mean", "deviation", "gamma", "beta", "b_q", "b_k", "b_v", "b_o",
)  # fmt: skip
_FEED_FORWARD = (
    "x", "normed", "pre", "activation", "update", "sum", "leaves", "mean", "deviation", "gamma", "beta", "b_1", "b_2",
)  # fmt: skip


def _named(trace: Trace, model: Pretrained, name: str, t: int) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The tensors of a place, and the text values about them."""
    found = steps(trace, model.model, name, t)
    about: dict[str, Any]
    if isinstance(found, EmbeddingSteps):
        names: tuple[str, ...] = ("rows", "embedding", "positions", "x")
        about = {"position_ids": found.position_ids.tolist(), "factor": found.factor}
    elif isinstance(found, OutputSteps):
        names = ("hidden", "logits", "rows", "biases")
        about = {}
    elif isinstance(found, AttentionSteps):
        names = _ATTENTION
        about = {
            "scale": found.scale.tolist(), "rule": found.rule.tolist(), "zero": found.zero.tolist(),
            "skipped": found.skipped,
        }  # fmt: skip
    else:
        names, about = _FEED_FORWARD, {"silenced": found.silenced, "skipped": found.skipped}
    arrays = {one: getattr(found, one) for one in names}
    return {one: array for one, array in arrays.items() if array is not None}, about


def place_pack(model: Pretrained, trace: Trace, name: str, t: int = 0, before: Trace | None = None) -> bytes:
    """Every tensor of every step of a place (`transformer.analysis.anatomy`), by its name in the trace.

    t: the step of decoding, which only the place "output" asks for. before: as in `trace_pack`; of its tensors those
    that differ go along, as "plain".
    """
    writer = Writer()
    arrays, about = _named(trace, model, name, t)
    plain: dict[str, Tensor] = {}
    if before is not None and before is not trace:
        other, _ = _named(before, model, name, t)
        for one in ("rows", "biases"):  # of the table: at the output those of other tokens, not others of the same
            other.pop(one, None)
        plain = {one: other[one] for one in other if not torch.equal(arrays[one], other[one])}
    header = {
        "format": 1, "sort": "place", "id": trace.id, "place": name, "t": t if name == "output" else None,
        "matrices": {one: writer.add(array) for one, array in arrays.items()},
        "plain": {one: writer.add(array) for one, array in plain.items()},
        "about": about,
    }  # fmt: skip
    return writer.finish(header)


def weights_count(model: Pretrained, name: str, step: str) -> int:
    """How many numbers `weights_pack` would hold."""
    found = matrices(model.model, name)
    return sum(found[one].numel() for one in MATRICES[step])


def weights_pack(model: Pretrained, name: str, step: str) -> bytes:
    """The matrices that a step of a sub-layer multiplies with, [in, out]; 16 bits a number where that loses nothing.

    step: one of MATRICES. Raises ValueError for a place that is no sub-layer, KeyError for a step without matrices.
    """
    writer = Writer()
    found = matrices(model.model, name)
    arrays = {}
    for one in MATRICES[step]:
        half = found[one].half()
        arrays[one] = writer.add(half if torch.equal(half.float(), found[one]) else found[one])
    header = {"format": 1, "sort": "weights", "checkpoint": model.name, "place": name, "step": step}
    return writer.finish({**header, "matrices": arrays})
