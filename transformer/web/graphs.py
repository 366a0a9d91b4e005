"""A model as three ONNX graphs, traced from `transformer.model`: no layer is written a second time.

    encoder    source ids -> every tensor of the encoder, and the keys and values of every cross-attention
    decoder    ids fed in, with the keys and values of earlier steps -> every tensor of the decoder
    output     the decoder's output -> logits, and the next token. On its own, because it takes as long as a layer or
               two, and the pictures of the heads need not wait for it

The decoder with an empty past is a teacher-forced pass over all tokens; with the past of n tokens and one new token it
is a step of incremental decoding. Tensors have the names of a Trace and its axes, without the batch: `cross.weights` is
[layer, head, query, key]. A past has the names `past.keys` and `past.values`, [layer, head, past, d_k or d_head]; the
outputs `decoder_self.keys` and `.values` hold it too, and are the past of the next step. `next` is the id that greedy
search writes after the last token.

The switches are inputs. All zero (False) is the model as trained, but for factors, which are 1 then. KIND is a kind of
attention, STACK "encoder" or "decoder", SIDE "source" or "target":

    name                     shape                  switch, see `transformer.interventions`
    -----------------------  ---------------------  -----------------------------------------------------------------
    KIND.factor              [layer, head], float   Scale: factor of the scores beside that of the model
    KIND.unbiased            [layer, head], bool    Unbias; of self-attention in a model with relative positions
    KIND.padding             [layer, head], bool    Unmask("padding")
    decoder_self.causal      [layer, head], bool    Unmask("causal"); each step then needs a pass over all tokens
    KIND.hidden              [layer, head, key]     Hide, bool; that of decoder_self may have more keys than there are
    KIND.rule                [layer, head], whole   Replace: an index of `replace.RULES`
    KIND.output              [layer, head], whole   an index of OUTPUTS: KnockOut, Mean
    STACK.skipped            [layer, part], bool    Skip; parts as in `skip.SUB_LAYERS`
    STACK.silenced           [layer, d_ff], bool    Silence
    SIDE.position_ids        [token], whole         Reposition; 0, 1, ... without
    SIDE.position_factor     [], float              Reposition: factor of the encodings, or of the bias

The weights are no part of the graphs. Each refers to its bytes in a safetensors file, with 16 bits where that file has
them, and a Cast makes 32 of them.
"""

import contextlib
import logging
import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any

import torch
from torch import Tensor, nn
from torch.export import Dim

from transformer.checkpoints.weights import Entry
from transformer.interventions.hide import KEYS
from transformer.interventions.replace import ruled
from transformer.interventions.skip import SUB_LAYERS
from transformer.interventions.switch import HeadOutputs, SubLayer, layers_of
from transformer.interventions.unbias import BIASED
from transformer.interventions.unmask import opened
from transformer.model.cache import KeyValueCache
from transformer.model.config import ModelConfig
from transformer.model.layers import DecoderLayer
from transformer.model.positions import encoding_of
from transformer.model.tap import KINDS, SIDES, STACKS, Edit, Tap, scope
from transformer.model.transformer import Transformer
from transformer.tracing.trace import AttentionTrace, FeedForwardTrace

OUTPUTS = ("own", "zero", "mean")  # what the inputs KIND.output choose for a head
SIDE = dict(zip(STACKS, SIDES, strict=True))  # stack -> the text that it reads
OPSET = 20
Inputs = dict[str, Tensor]


class GraphTap(Tap):
    """Records a pass that has no values yet."""

    checks = False


def kinds_of(stack: str) -> tuple[str, ...]:
    """The kinds of attention in a stack."""
    return tuple(kind for kind in KINDS if (kind == "encoder_self") == (stack == "encoder"))


def switch_inputs(config: ModelConfig, stack: str, tokens: Mapping[str, int], past: int = 0) -> Inputs:
    """The inputs of a stack that are switches, with the values of a model as trained. tokens: of each side, those of
    the past included."""
    layers, side = layers_of(config, stack), SIDE[stack]
    inputs: Inputs = {}
    for kind in kinds_of(stack):
        heads = (layers, config.heads)
        inputs[f"{kind}.factor"] = torch.ones(heads)
        inputs[f"{kind}.padding"] = torch.zeros(heads, dtype=torch.bool)
        if kind == "decoder_self":
            inputs[f"{kind}.causal"] = torch.zeros(heads, dtype=torch.bool)
        if config.positions == "relative" and kind in BIASED:
            inputs[f"{kind}.unbiased"] = torch.zeros(heads, dtype=torch.bool)
        inputs[f"{kind}.hidden"] = torch.zeros(*heads, tokens[KEYS[kind]], dtype=torch.bool)
        inputs[f"{kind}.rule"] = torch.zeros(heads, dtype=torch.long)
        inputs[f"{kind}.output"] = torch.zeros(heads, dtype=torch.long)
    inputs[f"{stack}.skipped"] = torch.zeros(layers, len(SUB_LAYERS[stack]), dtype=torch.bool)
    inputs[f"{stack}.silenced"] = torch.zeros(layers, config.d_ff, dtype=torch.bool)
    inputs[f"{side}.position_ids"] = torch.arange(past, tokens[side])
    inputs[f"{side}.position_factor"] = torch.ones(())
    return inputs


def _by_layer(values: Tensor, *shape: int) -> tuple[Tensor, ...]:
    """Of each layer, with a batch of one: [layer, ...] -> [1, *shape]. Split once for all layers, since a step of
    decoding takes the longer, the more operations its graph has."""
    return values.reshape(-1, *shape).split(1)


def _values(inputs: Mapping[str, Tensor], kind: str, config: ModelConfig, means: Tensor, keys: int) -> Iterator[Inputs]:
    """What the switch inputs say of each layer of a kind of attention, broadcastable to [batch, head, query, key] or
    d_head. means: of the heads' outputs, [layer, head, 1, d_head]; keys: their number."""
    value = {name.partition(".")[2]: tensor for name, tensor in inputs.items() if name.startswith(f"{kind}.")}
    output = value["output"][:, :, None, None]
    split: dict[str, Sequence[Tensor]] = {
        **{
            name: _by_layer(value[name], config.heads, 1, 1)
            for name in ("factor", "unbiased", "padding", "causal", "rule")
            if name in value
        },
        "shown": (~value["hidden"].index_select(-1, torch.arange(keys)))[:, :, None].split(1),
        "replaced": (output != OUTPUTS.index("own")).split(1),
        "replacement": torch.where(output == OUTPUTS.index("mean"), means, 0.0).split(1),
    }
    return (dict(zip(split, layer, strict=True)) for layer in zip(*split.values(), strict=True))


def _attention_edits(value: Inputs, sub_layer: SubLayer, bias: Tensor | None) -> dict[str, Edit]:
    """What `_values` of a layer do to its sub-layer of attention. bias: what relative positions add to its scores."""
    seen: Inputs = {}

    def mask(tensor: Tensor) -> Tensor:
        causal = value.get("causal", torch.zeros(1, dtype=torch.bool))
        seen["mask"] = opened(tensor, value["padding"], causal, sub_layer) & value["shown"]
        return seen["mask"]

    def scaled(tensor: Tensor) -> Tensor:
        return tensor * value["factor"]

    def scores(tensor: Tensor) -> Tensor:
        tensor = tensor if bias is not None else scaled(tensor)
        seen["best"] = tensor.argmax(-1, keepdim=True)
        return tensor

    edits: dict[str, Edit] = {
        "mask": mask,
        "scores": scores,
        "weights": lambda tensor: ruled(tensor, value["rule"], seen["mask"], seen["best"]),
        "head_outputs": lambda tensor: torch.where(value["replaced"], value["replacement"], tensor),
    }
    if bias is not None:
        edits |= {"products": scaled, "bias": lambda _: torch.where(value["unbiased"], 0.0, bias)}
    return {scope(sub_layer.kind, sub_layer.layer) + name: edit for name, edit in edits.items()}


def _replaced_by_zero(off: Tensor) -> Edit:
    return lambda tensor: torch.where(off, 0.0, tensor)


def _positions(inputs: Mapping[str, Tensor], side: str, config: ModelConfig) -> dict[str, Edit]:
    ids, factor = inputs[f"{side}.position_ids"], inputs[f"{side}.position_factor"]

    def positions(table: Tensor) -> Tensor:
        if config.positions == "sinusoidal":  # computed, so that no graph holds a table of 500 positions
            table = encoding_of(ids, config.d_model, config.layout)
        elif config.positions == "none":
            table = torch.zeros(ids.shape[0], config.d_model)
        return table * factor

    return {f"{side}.position_ids": lambda _: ids, f"{side}.positions": positions}


class Stack(nn.Module):
    """A stack with its switches as inputs, and its tensors as outputs."""

    stack: str
    outputs: tuple[str, ...]

    def __init__(self, model: Transformer, means: HeadOutputs | None) -> None:
        """means: what a head's output is replaced with, as `Pretrained.outputs_elsewhere(None)` gives it; zeros without
        it."""
        super().__init__()
        self.model = model
        self.config = config = model.config
        self.kinds = kinds_of(self.stack)
        for kind in self.kinds:
            layers = range(layers_of(config, kind))
            found = [means[kind, layer] for layer in layers] if means else []
            empty = torch.zeros(len(layers), config.heads, 1, config.d_head)
            self.register_buffer(f"{kind}_means", torch.stack(found) if found else empty)

    def bias(self, inputs: Mapping[str, Tensor], side: str, past: int) -> Tensor | None:
        """What relative positions add to the scores of self-attention, [1, head, query, key]. past: as in `tap`."""
        table = self.model.encoder_bias if side == "source" else self.model.decoder_bias
        ids = inputs[f"{side}.position_ids"]
        keys = torch.cat((torch.arange(past) + ids[0] - past, ids))
        return None if table is None else table.between(ids, keys) * inputs[f"{side}.position_factor"]

    def tap(self, inputs: Mapping[str, Tensor], side: str, past: int = 0) -> GraphTap:
        """A tap that applies the switches. past: how many tokens were fed before."""
        edits = _positions(inputs, side, self.config)
        for kind in self.kinds:
            keys = inputs["source"].shape[1] if KEYS[kind] == "source" else past + inputs["target"].shape[1]
            means = getattr(self, f"{kind}_means")
            bias = self.bias(inputs, side, past) if kind in BIASED else None
            for layer, value in enumerate(_values(inputs, kind, self.config, means, keys)):
                edits |= _attention_edits(value, SubLayer(kind, layer, self.config), bias)
        parts = SUB_LAYERS[self.stack]
        names = [
            f"{self.stack}.{layer}.{part}" for layer in range(layers_of(self.config, self.stack)) for part in parts
        ]
        skipped = _by_layer(inputs[f"{self.stack}.skipped"], 1, 1)
        edits |= {f"{name}.update": _replaced_by_zero(off) for name, off in zip(names, skipped, strict=True)}
        silenced = enumerate(_by_layer(inputs[f"{self.stack}.silenced"], 1, self.config.d_ff))
        edits |= {f"{self.stack}.{layer}.ff.activation": _replaced_by_zero(off) for layer, off in silenced}
        return GraphTap(edits)

    def stacked(self, records: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """The tensors of the stack by the names of a Trace."""
        found, layers = {}, range(layers_of(self.config, self.stack))
        for kind in (*self.kinds, f"{self.stack}_ff"):
            part = "ff" if kind.endswith("_ff") else scope(kind, 0).split(".")[2]
            for field in fields(FeedForwardTrace if part == "ff" else AttentionTrace):
                names = [f"{self.stack}.{layer}.{part}.{field.name}" for layer in layers]
                if names[0] in records:
                    found[f"{kind}.{field.name}"] = torch.cat([records[name] for name in names])  # a batch has one
        return found

    def run(self, inputs: Mapping[str, Tensor]) -> dict[str, Tensor]:
        raise NotImplementedError

    def forward(self, inputs: dict[str, Tensor]) -> tuple[Tensor, ...]:
        found = self.run(inputs)
        self.outputs = tuple(found)
        return tuple(found.values())


class EncoderStack(Stack):
    stack = "encoder"

    def run(self, inputs: Mapping[str, Tensor]) -> dict[str, Tensor]:
        tap = self.tap(inputs, "source")
        memory = self.model.encode(inputs["source"], tap)
        projected = []
        for layer in self.model.decoder:
            assert isinstance(layer, DecoderLayer)
            projected.append(layer.cross_attention.project(memory, memory)[1:])
        return {
            **self.stacked(tap.records),
            "source_embedding": tap.records["source.embedding"][0],
            "source_positions": tap.records["source.positions"],
            "encoder_output": memory[0],
            "cross.keys": torch.cat([keys for keys, _ in projected]),
            "cross.values": torch.cat([values for _, values in projected]),
        }


class DecoderStack(Stack):
    stack = "decoder"

    def run(self, inputs: Mapping[str, Tensor]) -> dict[str, Tensor]:
        cache = KeyValueCache(self.config.decoder_layers)
        cache.length = inputs["past.keys"].shape[2]
        tap = self.tap(inputs, "target", cache.length)
        known = {name: inputs[name].split(1) for name in ("past.keys", "past.values", "cross.keys", "cross.values")}
        for number, layer in enumerate(cache.layers):
            for attention, prefix in ((layer.self_attention, "past"), (layer.cross_attention, "cross")):
                attention.keys, attention.values = (known[f"{prefix}.{of}"][number] for of in ("keys", "values"))
                attention.empty = False
        nothing = inputs["cross.keys"]  # the memory, which nobody reads: its keys and values are complete
        hidden = self.model.decode(inputs["target"], nothing, inputs["source"], tap, cache)
        return {
            **self.stacked(tap.records),
            "decoder_self.keys": torch.cat([layer.self_attention.keys for layer in cache.layers]),
            "decoder_self.values": torch.cat([layer.self_attention.values for layer in cache.layers]),
            "target_embedding": tap.records["target.embedding"][0],
            "target_positions": tap.records["target.positions"],
            "decoder_output": hidden[0],
        }


class Output(nn.Module):
    """The projection on the vocabulary."""

    outputs: tuple[str, ...] = ("logits", "next")

    def __init__(self, model: Transformer, means: HeadOutputs | None) -> None:
        super().__init__()
        self.model = model

    def forward(self, inputs: dict[str, Tensor]) -> tuple[Tensor, ...]:
        logits = self.model.project(inputs["decoder_output"])
        barred = torch.tensor(self.model.config.unwritten)
        return logits, logits[-1].index_fill(0, barred, -math.inf).argmax(-1)


GRAPHS: dict[str, type[Stack] | type[Output]] = {"encoder": EncoderStack, "decoder": DecoderStack, "output": Output}


def _example(config: ModelConfig, name: str) -> tuple[Inputs, dict[str, Any]]:
    """Inputs to trace a graph with, a different prime for every axis, and which of their axes may have any length."""
    if name == "output":
        return {"decoder_output": torch.zeros(5, config.d_model)}, {"decoder_output": {0: Dim("target", min=1)}}
    past = 3 if name == "decoder" else 0
    inputs = switch_inputs(config, name, {"source": 7, "target": past + 5}, past)
    inputs["source"] = torch.full((1, 7), config.unk_id)
    if name == "decoder":
        inputs["target"] = torch.full((1, 5), config.unk_id)
        for of, count in (("cross", 7), ("past", past)):
            rows = (config.decoder_layers, config.heads, count)
            inputs[f"{of}.keys"] = torch.zeros(*rows, config.d_k or config.d_head)
            inputs[f"{of}.values"] = torch.zeros(*rows, config.d_head)
    lengths = {"source": 1, "target": 1, "past": 0, "keys": 1}
    source, target, before, keys = (Dim(name, min=least) for name, least in lengths.items())
    axes = {
        "source": {1: source}, "source.position_ids": {0: source}, "encoder_self.hidden": {2: source},
        "target": {1: target}, "target.position_ids": {0: target}, "decoder_self.hidden": {2: keys},
        "cross.hidden": {2: source}, "cross.keys": {2: source}, "cross.values": {2: source},
        "past.keys": {2: before}, "past.values": {2: before},
    }  # fmt: skip
    return inputs, {
        given: axes.get(given, {}) for given in inputs
    }  # torch.onnx names the axes in the order of this dict


def plain(model: Transformer) -> Transformer:
    """The model as it was before `inference.speed` prepared it. There, parameters are attributes of their modules too,
    and the export would take them for constants."""
    plain = Transformer(model.config)
    plain.load_state_dict(model.state_dict())
    return plain.eval()


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Without the warnings of exporters, which are about their own code."""
    loggers = [logging.getLogger(name) for name in ("torch.onnx", "onnx_ir", "onnxscript")]
    before = [logger.level for logger in loggers]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for logger in loggers:
                logger.setLevel(logging.ERROR)
            yield
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)


def export(
    model: Transformer, name: str, stored: Mapping[str, Entry], weights: str, means: HeadOutputs | None
) -> bytes:
    """A graph as an ONNX file, the same bytes for the same model.

    name: of GRAPHS; stored: where the safetensors file has each parameter; weights: name of that file; means: as in
    `Stack`.
    """
    import onnx_ir
    from onnx_ir.passes import common
    from onnxscript.optimizer import optimize_ir

    wrapper = GRAPHS[name](plain(model), means).eval()
    inputs, shapes = _example(model.config, name)
    with torch.inference_mode(), _quiet():
        wrapper(inputs)  # tells the names of the outputs
        program = torch.onnx.export(
            wrapper, kwargs={"inputs": inputs}, dynamo=True, dynamic_shapes={"inputs": shapes},
            input_names=list(inputs), output_names=list(wrapper.outputs), opset_version=OPSET, optimize=False,
            verbose=False,
        )  # fmt: skip
        assert program is not None
        graph = program.model.graph
        # Parameters are inputs while the graph is optimised: otherwise it would hold their transposes too.
        names = [parameter for parameter in stored if f"model.{parameter}" in graph.initializers]
        parameters = [graph.initializers.pop(f"model.{parameter}") for parameter in names]
        graph.inputs.extend(parameters)
        optimize_ir(program.model)
        common.RemoveUnusedNodesPass()(program.model)
        common.ClearMetadataAndDocStringPass()(program.model)
    del graph.inputs[len(inputs) :]
    for own, parameter in zip(names, parameters, strict=True):
        if parameter.uses():
            _refer(graph, parameter, own, stored[own], weights)
    program.model.metadata_props.clear()
    proto = onnx_ir.to_proto(program.model)
    del proto.graph.value_info[:]
    return proto.SerializeToString(deterministic=True)


def _refer(graph: Any, parameter: Any, name: str, entry: Entry, weights: str) -> None:
    """Let the graph read a parameter from the file of weights."""
    import onnx_ir

    dtype = onnx_ir.DataType.FLOAT if entry.dtype == torch.float32 else onnx_ir.DataType.FLOAT16
    shape = onnx_ir.Shape(entry.shape)
    tensor = onnx_ir.ExternalTensor(weights, entry.start, entry.end - entry.start, dtype, shape=shape, name=name)
    stored = onnx_ir.Value(name=name, shape=shape, type=onnx_ir.TensorType(dtype), const_value=tensor)
    graph.register_initializer(stored)
    wide = stored if entry.dtype == torch.float32 else None
    for node, index in tuple(parameter.uses()):
        if wide is None and node.op_type == "Gather" and index == 0:  # rows of a table: only these become 32 bits
            node.replace_input_with(0, stored)
            rows = onnx_ir.node("Cast", [node.outputs[0]], {"to": onnx_ir.DataType.FLOAT})
            node.outputs[0].replace_all_uses_with(rows.outputs[0])
            rows.replace_input_with(0, node.outputs[0])
            graph.insert_after(node, rows)
            continue
        if wide is None:
            cast = onnx_ir.node("Cast", [stored], {"to": onnx_ir.DataType.FLOAT})
            graph.insert_before(graph[0], cast)
            wide = cast.outputs[0]
            wide.name = f"{name}.float32"
        node.replace_input_with(index, wide)
