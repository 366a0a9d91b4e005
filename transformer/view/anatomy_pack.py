"""Payloads of a Trace for the anatomy: packs in the format of `transformer.view.pack`. A browser that has the engine
makes the same from its own trace (frontend/src/anatomy/from_trace.js); it gets only the first one.

    facts    what is said of the model and of the view, without a sentence
    trace    the same, and the whole model: every stream and every attention map in 8 bits per number, and the predicted
             words
    long     the same as facts, for a text that is too long to be drawn
    open     the inside of one layer of each stack: strips in 8 bits, exact attention weights
    place    exact tensors of every step of one sub-layer
    weights  the exact matrices that one of its steps multiplies with

Strips: value = (byte - 128) / 127 * top, where top is the 0.999 quantile of the magnitudes, so that a few large numbers
(every trained model has some) do not make the others pale. A number up to top has an error of at most top / 254; the
largest 0.1% are shown as top.
"""

import math
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import torch
from torch import Tensor

from transformer.analysis.anatomy import matrices, predictions, steps
from transformer.cost.parameters import describe
from transformer.inference.pretrained import Pretrained, readable
from transformer.interventions.sets import SUB_LAYERS, forms
from transformer.model.tap import KINDS, STACKS, scope
from transformer.model.transformer import Transformer
from transformer.tracing.trace import AttentionTrace, Trace
from transformer.view.anatomy_state import LONGEST
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
    """A matrix [token, width] in 8 bits, see the docstring of this module. norms: include the norms of its rows."""
    size = matrix.abs().flatten()
    top = float(size.kthvalue(math.ceil(QUANTILE * len(size))).values) or float(size.max())
    bytes_ = (matrix * (127 / top if top else 0.0)).round().clamp(-127, 127).add(128).byte()
    low, high = matrix.aminmax()
    strip = {"picture": writer.add(bytes_), "top": top, "low": float(low), "high": float(high)}
    return {**strip, "norms": writer.add(torch.linalg.vector_norm(matrix, dim=-1))} if norms else strip


def _streams(trace: Trace) -> dict[str, Tensor]:
    """The tensors in the view of the whole model, name -> [token, d_model]."""
    streams = {
        "source.embedding": trace.source_embedding, "source.positions": trace.source_positions,
        "target.embedding": trace.target_embedding, "target.positions": trace.target_positions,
        "encoder.output": trace.encoder_output, "decoder.output": trace.decoder_output,
    }  # fmt: skip
    for stack in STACKS:
        for part in SUB_LAYERS[stack]:
            enters = _part(trace, stack, part).enters
            streams.update({f"{stack}.{layer}.{part}.enters": tensor for layer, tensor in enumerate(enters)})
    return streams


def _part(trace: Trace, stack: str, part: str) -> Any:
    """The AttentionTrace or FeedForwardTrace of a sub-layer."""
    return trace.cross if part == "cross" else getattr(trace, f"{stack}_{part}")


def _attentions(trace: Trace) -> dict[str, tuple[AttentionTrace, int]]:
    """ "encoder.0.self" -> its kind of attention and its layer."""
    kinds = [(kind, trace.attention(kind)) for kind in KINDS]
    return {scope(kind, layer)[:-1]: (trace, layer) for kind, trace in kinds for layer in range(trace.layers)}


def boxes(model: Transformer) -> dict[str, Any]:
    """Parameters of every box of the drawing, by its key; "embedding" and "positions" are those of the source."""
    described = describe(model)
    by_key = {
        box.key: {
            "count": box.count,
            "adds": box.adds,
            "share": box.share,
            "shared_with": list(box.shared_with) or None,
            "tensors": [
                {name: getattr(tensor, name) for name in ("name", "symbol", "shape", "axes", "count")}
                for tensor in box.tensors
            ],
        }
        for box in described.boxes
    }
    short = {name: by_key[f"source.{name}"] for name in ("embedding", "positions") if f"source.{name}" in by_key}
    return {**short, **by_key}


def facts(model: Pretrained) -> dict[str, Any]:
    """What the drawing needs of a model beside the numbers of a sentence."""
    config = model.config
    sizes = {name: getattr(config, name) for name in _CONFIG}
    about = {**sizes, "d_k": config.d_k or config.d_head, "parameters": model.model.parameter_count()}
    return {"config": about, "boxes": boxes(model.model), "forms": forms()}


def _first(
    model: Pretrained, sort: str, switches: Mapping[str, str] | None, state: Mapping[str, Any] | None
) -> dict[str, Any]:
    """The entries of the header of every pack but those of a place."""
    about = {"format": 1, "sort": sort, "checkpoint": model.name, **facts(model), "texts": browser_texts("anatomy")}
    return {**about, "switches": dict(switches or {}), "state": dict(state or {})}


def facts_pack(model: Pretrained, switches: Mapping[str, str], state: Mapping[str, Any]) -> bytes:
    """For a browser that computes the sentence itself. Arguments as in `trace_pack`."""
    return Writer().finish(_first(model, "facts", switches, state))


def long_pack(model: Pretrained, trace: Trace, switches: Mapping[str, str], state: Mapping[str, Any]) -> bytes:
    """For a text with more than LONGEST tokens on a side."""
    sizes = {"source": len(trace.source_ids), "target": len(trace.target_in_ids), "limit": LONGEST}
    return Writer().finish({**_first(model, "long", switches, state), **sizes})


def _outputs(writer: Writer, model: Pretrained, trace: Trace, before: Trace | None) -> dict[str, Any]:
    outputs = predictions(trace)
    plain = None if before is None else predictions(before, outputs.ids).probability
    arrays = {name: getattr(outputs, name) for name in ("probability", "logit", "chosen_probability", "chosen_logit")}
    ids = outputs.ids.tolist()
    return {
        "labels": [readable(model.tokenizer.pieces(row)) for row in ids],
        "ids": ids,
        "chosen": outputs.chosen.tolist(),
        "chosen_rank": outputs.chosen_rank.tolist(),
        **{name: writer.add(array) for name, array in arrays.items()},
        "plain_probability": None if plain is None else writer.add(plain),
    }


def _changed(trace: Trace, before: Trace) -> dict[str, float]:
    """Strip or attention -> the largest |after - before|; only those that differ."""
    now, then = _streams(trace), _streams(before)
    largest = {name: float((now[name] - then[name]).abs().max()) for name in now}
    attentions_before = _attentions(before)
    for name, (attention, layer) in _attentions(trace).items():
        largest[name] = float((attention.weights[layer] - attentions_before[name][0].weights[layer]).abs().max())
    return {name: value for name, value in largest.items() if value > 0}


def _changed_inside(trace: Trace, before: Trace) -> dict[str, list[float]]:
    """Tensors inside the sub-layers, by name in the trace -> the largest |after - before| of each head, or of all
    neurons of a feed-forward network; only those that differ."""
    attentions_before = _attentions(before)
    largest: dict[str, list[float]] = {}
    for name, (attention, layer) in _attentions(trace).items():
        for tensor in ("queries", "keys", "values", "weights"):
            change = getattr(attention, tensor)[layer] - getattr(attentions_before[name][0], tensor)[layer]
            largest[f"{name}.{tensor}"] = change.abs().amax((1, 2)).tolist()
    for stack in STACKS:
        now, then = _part(trace, stack, "ff").activation, _part(before, stack, "ff").activation
        for layer, change in enumerate((now - then).abs()):
            largest[f"{stack}.{layer}.ff.activation"] = [float(change.max())]
    return {name: values for name, values in largest.items() if max(values) > 0}


def trace_pack(
    model: Pretrained,
    trace: Trace,
    before: Trace | None = None,
    switches: Mapping[str, str] | None = None,
    state: Mapping[str, Any] | None = None,
    whole: int = 0,
) -> bytes:
    """The whole model with one sentence.

    before: the same tokens without the switches of `trace`, if it has any. switches: in the form of links. state: the
    initial state of the view; whole: number of tokens of a translation of which `trace` has the first ones only.
    """
    writer = Writer()
    before = None if before is trace else before
    labels = {
        "source": trace.source_labels, "target_in": trace.target_in_labels, "target_out": trace.target_out_labels
    }  # fmt: skip
    header = {
        **_first(model, "trace", switches, state),
        "id": trace.id,
        "tokens": {"source": trace.source_tokens, "target_in": trace.target_in, "target_out": trace.target_out},
        "sentences": {"source": trace.source_text, "target": trace.target_text},
        "labels": labels,
        "ids": {"source": trace.source_ids, "target_in": trace.target_in_ids, "target_out": trace.target_out_ids},
        "own": trace.own,
        "complete": trace.complete,
        "whole": whole,
        "strips": {name: _strip(writer, tensor) for name, tensor in _streams(trace).items()},
        "attention": {
            name: {
                "picture": writer.add((attention.weights[layer] * 255).round().byte()),
                "zero": attention.zero[layer].tolist(),
            }
            for name, (attention, layer) in _attentions(trace).items()
        },
        "outputs": _outputs(writer, model, trace, before),
        "changed": {} if before is None else _changed(trace, before),
        "inside": {} if before is None else _changed_inside(trace, before),
        "holding": trace.interventions.to_params(),
    }
    return writer.finish(header)


def open_pack(trace: Trace, encoder: int, decoder: int) -> bytes:
    """The inside of one layer of each stack; layers count from 0."""
    writer = Writer()
    strips, weights = {}, {}
    for stack, layer in (("encoder", encoder), ("decoder", decoder)):
        for part in SUB_LAYERS[stack]:
            name, sub_layer = f"{stack}.{layer}.{part}", _part(trace, stack, part)
            if part == "ff":
                strips[f"{name}.activation"] = _strip(writer, sub_layer.activation[layer], norms=False)
            else:
                weights[name] = writer.add(sub_layer.weights[layer])
                for kind in ("queries", "keys", "values", "head_outputs"):
                    tensor = getattr(sub_layer, kind)[layer].transpose(0, 1).flatten(1)  # heads side by side
                    strips[f"{name}.{kind}"] = _strip(writer, tensor, norms=False)
            strips[f"{name}.update"] = _strip(writer, sub_layer.update[layer], norms=False)
    header = {"format": 1, "sort": "open", "id": trace.id, "encoder": encoder, "decoder": decoder}
    return writer.finish({**header, "strips": strips, "weights": weights})


_ABOUT = ("position_ids", "factor", "scale", "rule", "zero", "replaced", "silenced", "skipped")
_LEFT_OUT = ("mask", "ids", "t")  # the scores have the masked cells, and the first pack the tokens


def _named(trace: Trace, model: Pretrained, name: str, t: int) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The tensors of a place (sub-layer, embedding or output), and further values about them."""
    computed = steps(trace, model.model, name, t)
    values = {field.name: getattr(computed, field.name) for field in fields(computed)}
    arrays = {name: value for name, value in values.items() if name not in (*_ABOUT, *_LEFT_OUT) and value is not None}
    about = {name: values[name] for name in _ABOUT if name in values}
    return arrays, {name: value.tolist() if isinstance(value, Tensor) else value for name, value in about.items()}


def place_pack(model: Pretrained, trace: Trace, name: str, t: int = 0, before: Trace | None = None) -> bytes:
    """Every tensor of every step of a place (`transformer.analysis.anatomy`), by its name in the trace.

    t: the step of decoding, only for the place "output". before: as in `trace_pack`; those of its tensors that differ
    are included as "plain".
    """
    writer = Writer()
    arrays, about = _named(trace, model, name, t)
    plain: dict[str, Tensor] = {}
    if before is not None and before is not trace:
        unchanged, _ = _named(before, model, name, t)
        for tensor in ("rows", "biases"):  # of the embedding table: at the output they belong to other tokens
            unchanged.pop(tensor, None)
        plain = {tensor: array for tensor, array in unchanged.items() if not torch.equal(arrays[tensor], array)}
    header = {
        "format": 1, "sort": "place", "id": trace.id, "place": name, "t": t if name == "output" else None,
        "matrices": {tensor: writer.add(array) for tensor, array in arrays.items()},
        "plain": {tensor: writer.add(array) for tensor, array in plain.items()},
        "about": about,
    }  # fmt: skip
    return writer.finish(header)


def weights_count(model: Pretrained, name: str, step: str) -> int:
    """How many numbers `weights_pack` would contain."""
    by_symbol = matrices(model.model, name)
    return sum(by_symbol[symbol].numel() for symbol in MATRICES[step])


def weights_pack(model: Pretrained, name: str, step: str) -> bytes:
    """The matrices that a step of a sub-layer multiplies with, [in, out]; with 16 bits per number if that is exact.

    step: one of MATRICES. Raises ValueError if the place is not a sub-layer, KeyError for a step without matrices.
    """
    writer = Writer()
    by_symbol = matrices(model.model, name)
    arrays = {}
    for symbol in MATRICES[step]:
        exact, half = by_symbol[symbol], by_symbol[symbol].half()
        arrays[symbol] = writer.add(half if torch.equal(half.float(), exact) else exact)
    header = {"format": 1, "sort": "weights", "checkpoint": model.name, "place": name, "step": step}
    return writer.finish({**header, "matrices": arrays})
