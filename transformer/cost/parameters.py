"""The parts of a model: every box of the paper's Figure 1 with its tensors and parameter counts.

`print(describe(model))` prints the table of `python -m transformer describe`. A model on the `meta` device, without
numbers, is enough: `with torch.device("meta"): model = Transformer(preset("base", 37_000))`.

Boxes have the names of `transformer.model.tap`, in the order of a pass (with norm="pre" LayerNorm comes first):

    source.embedding, source.positions          the input of the encoder; target.* likewise for the decoder
    encoder.L.self, encoder.L.ff                sub-layers, L = 0, 1, ...; decoder.L.self, .cross and .ff
    encoder.L.self.norm                         the LayerNorm of that sub-layer; likewise for the others
    encoder.norm, decoder.norm                  the LayerNorm at the end of a pre-norm stack; none with norm="none"
    output                                      the projection to logits
    other                                       all other parameters, if a model has any
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import groupby
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from transformer.model.config import ModelConfig
from transformer.model.tap import SIDES, STACKS, Tap
from transformer.model.transformer import Transformer

# End of a tensor's name -> symbol of the paper, and axes as stored: torch.nn.Linear keeps a matrix as [out, in], the
# transpose of the paper's. "h d_k" is the width of all heads together; LayerNorm's symbols are PyTorch's.
TENSORS: dict[str, tuple[str, tuple[str, ...]]] = {
    "query.weight": ("W^Q", ("h d_k", "d_model")), "query.bias": ("b^Q", ("h d_k",)),
    "key.weight": ("W^K", ("h d_k", "d_model")), "key.bias": ("b^K", ("h d_k",)),
    "value.weight": ("W^V", ("h d_head", "d_model")), "value.bias": ("b^V", ("h d_head",)),
    "attention.output.weight": ("W^O", ("d_model", "h d_head")), "attention.output.bias": ("b^O", ("d_model",)),
    "inner.weight": ("W_1", ("d_ff", "d_model")), "inner.bias": ("b_1", ("d_ff",)),
    "outer.weight": ("W_2", ("d_model", "d_ff")), "outer.bias": ("b_2", ("d_model",)),
    "norm.weight": ("γ", ("d_model",)), "norm.bias": ("β", ("d_model",)),
    "embedding.weight": ("E", ("vocab", "d_model")), "output_matrix": ("W", ("vocab", "d_model")),
    "output_bias": ("b", ("vocab",)), "positions.table": ("PE", ("position", "d_model")),
}  # fmt: skip
# Sub-layer -> its module in a layer, and the module of the residual connection around it.
SUBLAYERS = {
    "self": ("self_attention", "self_residual"),
    "cross": ("cross_attention", "cross_residual"),
    "ff": ("feed_forward", "feed_forward_residual"),
}
# Last word of a box's key -> what it is, and the section of the paper.
KNOWN: dict[str, tuple[str, str | None]] = {
    "embedding": ("embedding", "3.4"), "positions": ("positions", "3.5"), "self": ("self-attention", "3.2.2"),
    "cross": ("cross-attention", "3.2.2"), "ff": ("feed-forward", "3.3"), "norm": ("LayerNorm", "3.1"),
    "output": ("output projection", "3.4"), "other": ("other parameters", None),
}  # fmt: skip
PARTS = {
    "source": "Encoder input", "encoder": "Encoder", "target": "Decoder input", "decoder": "Decoder",
    "output": "Output", "other": "Other",
}  # fmt: skip


@dataclass(frozen=True)
class BoxTensor:
    """One tensor that a box reads.

    name: in `named_parameters()` or `named_buffers()`; symbol: the paper's; axes: of the shape, as stored ("" for a
    symbol and for axes without a name); trained: a parameter, not a buffer; count: its numbers; adds: the same, but 0
    if it is not trained or an earlier box has counted it.
    """

    name: str
    symbol: str
    shape: tuple[int, ...]
    axes: tuple[str, ...]
    dtype: str
    trained: bool
    count: int
    adds: int


@dataclass(frozen=True)
class Box:
    """One box of Figure 1.

    key: see the docstring of this module; section: of the paper, None if it has no such box; count: trained numbers the
    box reads; fixed: numbers it reads that are not trained; adds: what it adds to the model's total, where shared
    tensors are counted by the first box that reads them; share: adds over that total; shared_with: keys of the other
    boxes that read a tensor of this one.
    """

    key: str
    name: str
    section: str | None
    tensors: tuple[BoxTensor, ...]
    count: int
    fixed: int
    adds: int
    share: float
    shared_with: tuple[str, ...]


@dataclass(frozen=True)
class Part:
    """Several boxes together: a sub-layer with its LayerNorm, a layer, a stack.

    boxes: their keys; the rest as in `Box`, where a tensor that several of them read is counted once.
    """

    key: str
    boxes: tuple[str, ...]
    count: int
    fixed: int
    adds: int
    share: float


def _sums(tensors: Iterable[BoxTensor], total: int) -> tuple[int, int, int, float]:
    """count, fixed, adds and share of these tensors; one that stands there twice is one."""
    once = {one.name: one for one in reversed(list(tensors))}.values()  # the first of two, which is the one that adds
    adds = sum(one.adds for one in once)
    trained, every = sum(one.count for one in once if one.trained), sum(one.count for one in once)
    return trained, every - trained, adds, adds / total


@dataclass(frozen=True, repr=False)
class Description:
    """Every box of a model, in the order of a pass. parameters: all trained numbers, shared ones counted once."""

    config: ModelConfig
    boxes: tuple[Box, ...]
    parameters: int

    @property
    def float32_bytes(self) -> int:
        return 4 * self.parameters

    @property
    def parts(self) -> tuple[str, ...]:
        """Keys of the parts that together are the model: inputs, stacks, output."""
        return tuple(dict.fromkeys(box.key.split(".")[0] for box in self.boxes))

    @property
    def layers(self) -> tuple[str, ...]:
        """Keys of all layers: "encoder.0", ..."""
        words = (box.key.split(".") for box in self.boxes)
        return tuple(dict.fromkeys(".".join(one[:2]) for one in words if len(one) > 2))

    @cached_property
    def shared(self) -> dict[tuple[str, ...], tuple[str, ...]]:
        """Keys of boxes -> names of the trained tensors that just these read in common."""
        readers: dict[str, list[str]] = {}
        for box in self.boxes:
            for tensor in box.tensors:
                if tensor.trained:
                    readers.setdefault(tensor.name, []).append(box.key)
        found = {tuple(keys): tuple(name for name in readers if readers[name] == keys) for keys in readers.values()}
        return {keys: names for keys, names in found.items() if len(keys) > 1}

    def box(self, key: str) -> Box:
        """The box of a key; "embedding" and "positions" alone are the source's. Raises ValueError if there is none."""
        full = f"source.{key}" if key in ("embedding", "positions") else key
        found = {box.key: box for box in self.boxes}
        if full not in found:
            raise ValueError(f"there is no box {key!r}; choose {', '.join(found)}")
        return found[full]

    def inside(self, key: str) -> tuple[Box, ...]:
        """The boxes of a part, see `part`."""
        return tuple(box for box in self.boxes if f"{box.key}.".startswith(f"{key}."))

    def part(self, key: str) -> Part:
        """Totals of a stack ("encoder"), a layer ("encoder.0"), a sub-layer with its LayerNorm ("encoder.0.self"), an
        input ("source", "target") or "output". Raises ValueError if there is none."""
        if not (boxes := self.inside(key)):
            raise ValueError(f"there is no part {key!r}; choose {', '.join((*self.parts, *self.layers))}")
        tensors = (tensor for box in boxes for tensor in box.tensors)
        return Part(key, tuple(box.key for box in boxes), *_sums(tensors, self.parameters))

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "config": self.config.to_dict(),
            "parameters": self.parameters,
            "float32_bytes": self.float32_bytes,
            "parts": [asdict(self.part(key)) for key in self.parts],
            "layers": [asdict(self.part(key)) for key in self.layers],
            "boxes": [asdict(box) for box in self.boxes],
            "shared": [{"boxes": boxes, "tensors": tensors} for boxes, tensors in self.shared.items()],
        }

    def table(self, every: bool = False) -> str:
        """As text, a line a tensor. every: layers that are alike are not folded into one, and names are whole."""
        return "\n".join(_table(self, every))

    def __repr__(self) -> str:
        return self.table()


class _Reads(TorchFunctionMode):
    """Notes which tensors of a model a computation reads, and for which record of its tap: the next to be born."""

    def __init__(self, tap: Tap, names: Mapping[int, str]) -> None:
        super().__init__()
        self.tap, self.names = tap, names
        self.found: list[tuple[int, str]] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if getattr(func, "__name__", "") != "__get__":  # asking for a shape or a device is no use of the numbers
            read = (self.names[id(value)] for value in (*args, *kwargs.values()) if id(value) in self.names)
            self.found += [(len(self.tap.records), name) for name in read]
        return func(*args, **kwargs)


def _outside(model: Transformer, names: Mapping[int, str]) -> dict[str, list[str]]:
    """Boxes outside the layers -> names of what they read, found out by computing them for one token: no module says
    which table the output projection multiplies with."""
    calm = copy.copy(model)  # the same tensors, but without dropout: it would draw the random numbers of a training
    calm.training = False
    ids, tap = torch.tensor([[model.config.start_id]], device=model.device), Tap()
    with torch.no_grad(), _Reads(tap, names) as reads:
        vectors = [calm.embed(ids, tap=tap.at(side), side=side) for side in SIDES]
        calm.project(vectors[-1], tap)
    born = ["output" if name == "logits" else name for name in tap.records]
    boxes: dict[str, list[str]] = {}
    for key, name in dict.fromkeys((born[record], name) for record, name in reads.found):
        boxes.setdefault(key, []).append(name)
    return boxes


def _layers(model: Transformer, stack: str) -> Iterator[tuple[str, nn.Module]]:
    """Key and module of every box of a stack."""
    for index, layer in enumerate(getattr(model, stack)):
        for sub, (inner, around) in SUBLAYERS.items():
            if hasattr(layer, inner):
                key, residual = f"{stack}.{index}.{sub}", getattr(layer, around)
                pair = [(key, getattr(layer, inner)), (f"{key}.norm", residual.norm)]
                yield from reversed(pair) if residual.pre else pair
    yield f"{stack}.norm", getattr(model, f"{stack}_norm")  # without tensors but where the model is pre-norm


def _read(model: Transformer, tensors: Mapping[str, Tensor]) -> dict[str, list[str]]:
    """Keys of all boxes, in the order of a pass -> names of the tensors they read."""
    names = {id(tensor): name for name, tensor in tensors.items()}
    outside = _outside(model, names)
    read: dict[str, list[str]] = {}
    for stack, side in zip(STACKS, SIDES, strict=True):
        read.update({key: found for key, found in outside.items() if key.startswith(f"{side}.")})
        for key, module in _layers(model, stack):
            read[key] = [names[id(tensor)] for tensor in (*module.parameters(), *module.buffers())]
    read["output"] = outside["output"]
    met = {name for found in read.values() for name in found}
    read["other"] = [name for name in tensors if name not in met]
    return {key: found for key, found in read.items() if found}


def _meaning(name: str, dimensions: int) -> tuple[str, tuple[str, ...]]:
    """Symbol and axes of a tensor."""
    known = (meaning for end, meaning in TENSORS.items() if name.endswith(end) and len(meaning[1]) == dimensions)
    return next(known, ("", ("",) * dimensions))


def _named(config: ModelConfig, key: str) -> tuple[str, str | None]:
    """Name and section of a box."""
    words = key.split(".")
    name, section = KNOWN[words[-1]]
    if words[-1] == "positions":
        name = f"{'no' if config.positions == 'none' else config.positions} positions"
    if words[0] == "decoder" and words[-1] == "self" and config.causal:
        name = "masked self-attention"
    if words[-1] == "norm" and len(words) == 2:
        name, section = "last LayerNorm", None
    return name, section


def describe(model: Transformer) -> Description:
    """Every box of the model with its tensors and counts; what the boxes add sums up to `model.parameter_count()`.

    Tensors are one where they are the same object, as `named_parameters()` has it. Their memory would not tell:
    `inference.speed` lays many matrices into one piece of it.
    """
    trained = dict(model.named_parameters())
    tensors: dict[str, Tensor] = {**trained, **dict(model.named_buffers())}
    read = _read(model, tensors)
    total, counted = model.parameter_count(), set[str]()

    def entry(name: str) -> BoxTensor:
        tensor, new = tensors[name], name in trained and name not in counted
        counted.add(name)
        symbol, axes = _meaning(name, tensor.dim())
        dtype, count = str(tensor.dtype).removeprefix("torch."), tensor.numel()
        return BoxTensor(name, symbol, tuple(tensor.shape), axes, dtype, name in trained, count, count if new else 0)

    def box(key: str) -> Box:
        entries = tuple(entry(name) for name in read[key])
        shared_with = tuple(other for other in read if other != key and set(read[other]) & set(read[key]))
        (name, section), sums = _named(model.config, key), _sums(entries, total)
        return Box(key, name, section, entries, *sums, shared_with)

    return Description(model.config, tuple(box(key) for key in read), total)


HEAD = ("", "shape", "axes", "parameters ", "share")
NOTES = (
    "Shapes as stored: a matrix is [out, in], the transpose of the paper's; h d_k is all heads side by side.",
    "In brackets what adds nothing: shared, a box above has counted it; fixed, it is not trained.",
)


def _amount(one: Box | Part | BoxTensor, total: int) -> tuple[str, str]:
    """Numbers and share as the table shows them: in brackets what adds nothing to the total, and why."""
    if one.adds:
        return f"{one.adds:,} ", f"{one.adds / total:.1%}" if one.adds >= total / 1000 else "<0.1%"
    if isinstance(one, BoxTensor):
        return f"({one.count:,})", "shared" if one.trained else "fixed"
    return f"({one.count or one.fixed:,})", "shared" if one.count else "fixed"


def _runs(description: Description, layers: Iterable[str], every: bool) -> list[list[str]]:
    """Layers in lists: those that follow each other and are alike together, unless every one is asked for."""

    def look(layer: str) -> tuple[Any, ...]:
        boxes, start = description.inside(layer), f"{layer}."
        own = layer if every or any(box.shared_with for box in boxes) else ""
        tensors = [[(one.name.removeprefix(start), one.shape, one.dtype) for one in box.tensors] for box in boxes]
        return own, [box.key.removeprefix(start) for box in boxes], tensors

    return [list(run) for _, run in groupby(layers, look)]


def _rows(description: Description, every: bool) -> Iterator[tuple[str, ...]]:
    """Label, shape, axes, parameters and share of every line of the table; empty ones before the parts."""
    total = description.parameters

    def row(label: str, one: Box | Part | BoxTensor, shape: str = "", axes: str = "") -> tuple[str, ...]:
        return label, shape, axes, *_amount(one, total)

    def of_boxes(boxes: Sequence[Box], start: str, indent: str) -> Iterator[tuple[str, ...]]:
        width = max((len(box.key.removeprefix(start)) for box in boxes), default=0)
        for box in boxes:
            where = f"section {box.section}" if box.section else "not in the paper"
            yield row(f"{indent}{box.key.removeprefix(start):<{width}}  {box.name}, {where}", box)
            for one in box.tensors:
                label = f"{indent}  {one.symbol:<3} {one.name.removeprefix(start)}"
                yield row(label, one, str(list(one.shape)), ", ".join(one.axes).strip(", "))

    for part in description.parts:
        layers = [layer for layer in description.layers if layer.startswith(f"{part}.")]
        title = f"{PARTS[part]}, {len(layers)} layer{'' if len(layers) == 1 else 's'}" if layers else PARTS[part]
        yield ("",) * len(HEAD)
        yield row(title, description.part(part))
        for run in _runs(description, layers, every):
            label = run[0] if len(run) == 1 else f"{run[0]} to {run[-1]}: {len(run)} alike, each has"
            yield row(f"  {label}", description.part(run[0]))
            yield from of_boxes(description.inside(run[0]), "" if every else f"{run[0]}.", "    ")
        yield from of_boxes([box for box in description.inside(part) if box.key.count(".") < 2], "", "  ")


def _sizes(config: ModelConfig) -> str:
    """The configuration in one line."""
    heads = f"{config.heads} head{'' if config.heads == 1 else 's'} of {config.d_head}"
    heads += f" (d_k {config.d_k})" if config.d_k not in (None, config.d_head) else ""
    positions = f"{config.max_positions:,} {config.positions} positions"
    positions = f"no positions, {config.max_positions:,} tokens at most" if config.positions == "none" else positions
    positions += " with sines before cosines" if (config.positions, config.layout) == ("sinusoidal", "halves") else ""
    layers = f"{config.encoder_layers} + {config.decoder_layers} layers"
    pieces = f"{' + '.join(f'{one:,}' for one in (config.vocab_size, config.target_vocab_size) if one)} pieces"
    parts = [f"d_model {config.d_model:,}", f"d_ff {config.d_ff:,}", heads, layers, pieces, config.activation]
    parts += ["no LayerNorm" if config.norm == "none" else f"{config.norm}-norm", positions]
    left_out = {"residual connections": config.residual, "causal mask": config.causal, "scaling": config.scaling}
    parts += [f"no {name}" for name, there in left_out.items() if not there]
    parts += ["embeddings unscaled"] * (not config.embedding_scale) + ["output matrix apart"] * (not config.tied_output)
    return ", ".join(parts + ["a bias a logit"] * config.output_bias)


def _table(description: Description, every: bool) -> Iterator[str]:
    """The lines of `Description.table`."""
    rows = list(_rows(description, every))
    last = ("Total", "", "", f"{description.parameters:,} ", "100.0%")
    # Only lines of tensors fill the middle columns; the labels of the others may reach into these.
    widths = [max(map(len, column)) for column in zip(HEAD, *(row for row in rows if row[1]), last, strict=True)]
    reach = sum(widths[:3]) + 4

    def line(cells: tuple[str, ...]) -> str:
        left = "  ".join(cell.ljust(width) for cell, width in zip(cells[:3], widths, strict=False))
        right = (cell.rjust(width) for cell, width in zip(cells[3:], widths[3:], strict=True))
        return "  ".join((left.rstrip().ljust(reach), *right)).rstrip()

    rule = "─" * (sum(widths) + 2 * len(widths) - 2)
    size = description.float32_bytes / 1e6
    yield f"{description.parameters:,} parameters, {size:,.{1 if size >= 1 else 3}f} MB in float32"
    yield from (_sizes(description.config), "", line(HEAD), rule, *map(line, rows[1:]), rule, line(last), "", *NOTES)
    sizes = {one.name: one.count for box in description.boxes for one in box.tensors}
    for keys, names in description.shared.items():
        what = names[0] if len(names) == 1 else f"{len(names)} tensors"
        more = (len(keys) - 1) * sum(sizes[name] for name in names)
        readers = f"{', '.join(keys[:-1])} and {keys[-1]}"
        yield f"{readers} share {what}: counted once, {more:,} parameters saved."
