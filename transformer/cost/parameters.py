"""The parts of a model: every box of the paper's Figure 1 with its tensors and parameter counts.

`print(describe(model))` prints the table of `python -m transformer describe`. A model on the `meta` device, without
numbers, is enough: `with torch.device("meta"): model = Transformer(preset("base", 37_000))`.

Boxes have the names of `transformer.model.tap`, in the order of a pass (with norm="pre" LayerNorm comes first):

    source.embedding, source.positions          the input of the encoder; target.* likewise for the decoder
    encoder.L.self, encoder.L.ff                sub-layers, L = 0, 1, ...; decoder.L.self, .cross and .ff
    encoder.L.self.norm                         the LayerNorm of that sub-layer; likewise for the others
    encoder.bias, decoder.bias                  relative positions, which the self-attention of all layers reads
    source.norm, target.norm                    the LayerNorm after the embeddings, with embedding_norm
    encoder.norm, decoder.norm                  the LayerNorm at the end of a pre-norm stack; none with norm="none"
    output                                      the projection to logits
    other                                       all other parameters, if a model has any
"""

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
from transformer.texts import N_, _, columns, pad, translate

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
    "gate.weight": ("V", ("d_ff", "d_model")), "gate.bias": ("c", ("d_ff",)), "bias.table": ("B", ("bucket", "head")),
}  # fmt: skip
# Sub-layer -> its module in a layer, and the module of the residual connection around it.
SUBLAYERS = {
    "self": ("self_attention", "self_residual"),
    "cross": ("cross_attention", "cross_residual"),
    "ff": ("feed_forward", "feed_forward_residual"),
}
# Last word of a box's key -> what it is, and the section of the paper.
KNOWN: dict[str, tuple[str, str | None]] = {
    "embedding": (N_("embedding"), "3.4"), "positions": (N_("positions"), "3.5"),
    "self": (N_("self-attention"), "3.2.2"), "cross": (N_("cross-attention"), "3.2.2"),
    "ff": (N_("feed-forward"), "3.3"), "bias": (N_("relative positions"), None), "norm": ("LayerNorm", "3.1"),
    "output": (N_("output projection"), "3.4"), "other": (N_("other parameters"), None),
}  # fmt: skip
POSITIONS = {
    "none": N_("no positions"), "sinusoidal": N_("sinusoidal positions"), "learned": N_("learned positions"),
    "relative": N_("no positions"),  # are added to the embeddings
}  # fmt: skip
PARTS = {
    "source": N_("Encoder input"), "encoder": N_("Encoder"), "target": N_("Decoder input"), "decoder": N_("Decoder"),
    "output": N_("Output"), "other": N_("Other"),
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
    """count, fixed, adds and share of these tensors. A tensor that occurs twice counts once."""
    # Of two equal names keep the first tensor: it is the one that adds to the total.
    unique = {tensor.name: tensor for tensor in reversed(list(tensors))}.values()
    adds = sum(tensor.adds for tensor in unique)
    trained, every = sum(tensor.count for tensor in unique if tensor.trained), sum(tensor.count for tensor in unique)
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
        return tuple(dict.fromkeys(".".join(key[:2]) for key in words if len(key) > 2))

    @cached_property
    def shared(self) -> dict[tuple[str, ...], tuple[str, ...]]:
        """Keys of two or more boxes -> names of the trained tensors that exactly these boxes read."""
        readers: dict[str, list[str]] = {}
        for box in self.boxes:
            for tensor in box.tensors:
                if tensor.trained:
                    readers.setdefault(tensor.name, []).append(box.key)
        tensors = {tuple(keys): tuple(name for name in readers if readers[name] == keys) for keys in readers.values()}
        return {keys: names for keys, names in tensors.items() if len(keys) > 1}

    def box(self, key: str) -> Box:
        """The box of a key; "embedding" and "positions" alone mean the source's. Raises ValueError for other keys."""
        full = f"source.{key}" if key in ("embedding", "positions") else key
        boxes = {box.key: box for box in self.boxes}
        if full not in boxes:
            raise ValueError(f"unknown box {key!r}; choose {', '.join(boxes)}")
        return boxes[full]

    def inside(self, key: str) -> tuple[Box, ...]:
        """The boxes of a part, see `part`."""
        return tuple(box for box in self.boxes if f"{box.key}.".startswith(f"{key}."))

    def part(self, key: str) -> Part:
        """Totals of a stack ("encoder"), a layer ("encoder.0"), a sub-layer with its LayerNorm ("encoder.0.self"), an
        input ("source", "target") or "output". Raises ValueError for other keys."""
        if not (boxes := self.inside(key)):
            raise ValueError(f"unknown part {key!r}; choose {', '.join((*self.parts, *self.layers))}")
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
        """As text, one line per tensor. every: list each layer with full names, do not fold equal layers."""
        return "\n".join(_table(self, every))

    def __repr__(self) -> str:
        return self.table()


class _Reads(TorchFunctionMode):
    """Notes which tensors of a model a computation reads, and for which record of its tap: the next one."""

    def __init__(self, tap: Tap, names: Mapping[int, str]) -> None:
        super().__init__()
        self.tap, self.names = tap, names
        self.reads: list[tuple[int, str]] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if getattr(func, "__name__", "") != "__get__":  # a shape or a device: does not read the numbers
            read = (self.names[id(value)] for value in (*args, *kwargs.values()) if id(value) in self.names)
            self.reads += [(len(self.tap.records), name) for name in read]
        return func(*args, **kwargs)


def _outside(model: Transformer, names: Mapping[int, str]) -> dict[str, list[str]]:
    """Boxes outside the layers -> names of what they read. They are computed for one token to see it, because no module
    says which table the output projection multiplies with."""
    # The same tensors without dropout, which would use up random numbers of a training.
    evaluated = copy.copy(model)
    evaluated.training = False
    ids, tap = torch.tensor([[model.config.start_id]], device=model.device), Tap()
    with torch.no_grad(), _Reads(tap, names) as recorder:
        vectors = [evaluated.embed(ids, tap=tap.at(side), side=side) for side in SIDES]
        evaluated.project(vectors[-1], tap)
    records = ["output" if name == "logits" else name for name in tap.records]
    boxes: dict[str, list[str]] = {}
    for key, name in dict.fromkeys((records[record], name) for record, name in recorder.reads):
        boxes.setdefault(key, []).append(name)
    return boxes


def _layers(model: Transformer, stack: str) -> Iterator[tuple[str, nn.Module]]:
    """Key and module of every box of a stack."""
    if (bias := getattr(model, f"{stack}_bias")) is not None:
        yield f"{stack}.bias", bias
    for index, layer in enumerate(getattr(model, stack)):
        for sub, (inner, around) in SUBLAYERS.items():
            if hasattr(layer, inner):
                key, residual = f"{stack}.{index}.{sub}", getattr(layer, around)
                pair = [(key, getattr(layer, inner)), (f"{key}.norm", residual.norm)]
                yield from reversed(pair) if residual.pre else pair
    yield f"{stack}.norm", getattr(model, f"{stack}_norm")  # has tensors only in a pre-norm model


def _read(model: Transformer, tensors: Mapping[str, Tensor]) -> dict[str, list[str]]:
    """Keys of all boxes, in the order of a pass -> names of the tensors they read."""
    names = {id(tensor): name for name, tensor in tensors.items()}
    firsts = {side: [names[id(tensor)] for tensor in getattr(model, f"{side}_norm").parameters()] for side in SIDES}
    known = {name for side in SIDES for name in firsts[side]}
    outside = _outside(model, {place: name for place, name in names.items() if name not in known})
    read: dict[str, list[str]] = {}
    for stack, side in zip(STACKS, SIDES, strict=True):
        read.update({key: read_names for key, read_names in outside.items() if key.startswith(f"{side}.")})
        read[f"{side}.norm"] = firsts[side]
        for key, module in _layers(model, stack):
            read[key] = [names[id(tensor)] for tensor in (*module.parameters(), *module.buffers())]
    read["output"] = outside["output"]
    known = {name for read_names in read.values() for name in read_names}
    read["other"] = [name for name in tensors if name not in known]
    return {key: read_names for key, read_names in read.items() if read_names}


def _meaning(name: str, dimensions: int) -> tuple[str, tuple[str, ...]]:
    """Symbol and axes of a tensor."""
    known = (meaning for end, meaning in TENSORS.items() if name.endswith(end) and len(meaning[1]) == dimensions)
    return next(known, ("", ("",) * dimensions))


def _named(config: ModelConfig, key: str) -> tuple[str, str | None]:
    """Name and section of a box."""
    words = key.split(".")
    name, section = KNOWN[words[-1]]
    if words[-1] == "positions":
        name = POSITIONS[config.positions]
    if words[0] == "decoder" and words[-1] == "self" and config.causal:
        name = N_("masked self-attention")
    if words[-1] == "norm" and len(words) == 2:
        usual = N_("first LayerNorm") if words[0] in SIDES else N_("last LayerNorm")
        name, section = N_("last RMSNorm") if config.rms_norm else usual, None
    elif words[-1] == "norm" and config.rms_norm:
        name, section = "RMSNorm", None
    return name, section


def describe(model: Transformer) -> Description:
    """Every box of the model with its tensors and counts; their `adds` sum up to `model.parameter_count()`.

    Tensors are equal if they are the same object, as in `named_parameters()`. Comparing their memory would be wrong,
    because `inference.speed` stores many matrices in one block of memory.
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


HEAD = ("", N_("shape"), N_("axes"), N_("parameters"), N_("share"))
NOTES = (
    N_("Shapes as stored: a matrix is [out, in], the transpose of the paper's; h d_k is all heads side by side."),
    N_("Numbers in brackets add nothing: shared means counted in a box above, fixed means not trained."),
)


def part_title(part: str, layers: int) -> str:
    """The heading of a part in a table. layers: of a stack; 0 for other parts."""
    title = translate(PARTS[part])
    if layers:
        return (
            _("{part}, 1 layer", part=title) if layers == 1 else _("{part}, {count} layers", part=title, count=layers)
        )
    return title


def _amount(item: Box | Part | BoxTensor, total: int) -> tuple[str, str]:
    """Count and share for the table. What adds nothing to the total stands in brackets, with the reason."""
    if item.adds:
        return f"{item.adds:,} ", f"{item.adds / total:.1%}" if item.adds >= total / 1000 else "<0.1%"
    trained = item.trained if isinstance(item, BoxTensor) else bool(item.count)
    count = item.count if isinstance(item, BoxTensor) else item.count or item.fixed
    return f"({count:,})", _("shared") if trained else _("fixed")


def _runs(description: Description, layers: Iterable[str], every: bool) -> list[list[str]]:
    """Runs of equal neighbouring layers; with `every`, each layer is a run of its own."""

    def appearance(layer: str) -> tuple[Any, ...]:
        boxes, start = description.inside(layer), f"{layer}."
        unique = layer if every or any(box.shared_with for box in boxes) else ""
        tensors = [[(item.name.removeprefix(start), item.shape, item.dtype) for item in box.tensors] for box in boxes]
        return unique, [box.key.removeprefix(start) for box in boxes], tensors

    return [list(run) for _, run in groupby(layers, appearance)]


def _rows(description: Description, every: bool) -> Iterator[tuple[str, ...]]:
    """Label, shape, axes, parameters and share of every line of the table; an empty line before each part."""
    total = description.parameters

    def row(label: str, item: Box | Part | BoxTensor, shape: str = "", axes: str = "") -> tuple[str, ...]:
        return label, shape, axes, *_amount(item, total)

    def of_boxes(boxes: Sequence[Box], start: str, indent: str) -> Iterator[tuple[str, ...]]:
        width = max((len(box.key.removeprefix(start)) for box in boxes), default=0)
        for box in boxes:
            name = translate(box.name)
            if box.section:
                text = _("{name}, section {section}", name=name, section=box.section)
            else:
                text = _("{name}, not in the paper", name=name)
            yield row(f"{indent}{box.key.removeprefix(start):<{width}}  {text}", box)
            for tensor in box.tensors:
                label = f"{indent}  {tensor.symbol:<3} {tensor.name.removeprefix(start)}"
                yield row(label, tensor, str(list(tensor.shape)), ", ".join(tensor.axes).strip(", "))

    for part in description.parts:
        layers = [layer for layer in description.layers if layer.startswith(f"{part}.")]
        yield ("",) * len(HEAD)
        yield row(part_title(part, len(layers)), description.part(part))
        for run in _runs(description, layers, every):
            label = run[0]
            if len(run) > 1:
                label = _(
                    "{first} to {last}: {count} equal layers, each has", first=run[0], last=run[-1], count=len(run)
                )
            yield row(f"  {label}", description.part(run[0]))
            yield from of_boxes(description.inside(run[0]), "" if every else f"{run[0]}.", "    ")
        yield from of_boxes([box for box in description.inside(part) if box.key.count(".") < 2], "", "  ")


def _sizes(config: ModelConfig) -> str:
    """The configuration in one line."""
    heads = N_("1 head of {size}") if config.heads == 1 else N_("{heads} heads of {size}")
    head_sizes = translate(heads, heads=config.heads, size=config.d_head)
    head_sizes += f" (d_k {config.d_k})" if config.d_k not in (None, config.d_head) else ""
    sines_first = config.layout != "interleaved"
    positions = {
        "none": N_("no positions, {count:,} tokens at most"),
        "relative": N_("relative positions in {buckets} buckets, {count:,} tokens at most"),
        "learned": N_("{count:,} learned positions"),
        "sinusoidal": N_("{count:,} sinusoidal positions with sines before cosines")
        if sines_first
        else N_("{count:,} sinusoidal positions"),
    }[config.positions]
    layers = _("{encoder} + {decoder} layers", encoder=config.encoder_layers, decoder=config.decoder_layers)
    vocabularies = " + ".join(f"{size:,}" for size in (config.vocab_size, config.target_vocab_size) if size)
    parts = [f"d_model {config.d_model:,}", f"d_ff {config.d_ff:,}", head_sizes, layers]
    parts += [_("{sizes} pieces", sizes=vocabularies), config.activation]
    parts += [_("no LayerNorm") if config.norm == "none" else f"{config.norm}-norm"]
    parts += [translate(positions, count=config.max_positions, buckets=config.buckets)]
    optional = (
        (config.residual, N_("no residual connections")),
        (config.causal, N_("no causal mask")),
        (config.scaling, N_("no scaling")),
        (config.embedding_scale, N_("embeddings not scaled")),
        (config.tied_output, N_("separate output matrix")),
        (not config.output_bias, N_("output bias")),
        (not config.rms_norm, N_("RMSNorm")),
        (not config.gated, N_("gated feed-forward")),
        (config.biases, N_("no biases")),
        (not config.embedding_norm, N_("LayerNorm after the embeddings")),
    )
    return ", ".join(parts + [translate(text) for usual, text in optional if not usual])


def _table(description: Description, every: bool) -> Iterator[str]:
    """The lines of `Description.table`."""
    rows = list(_rows(description, every))
    last = (_("Total"), "", "", f"{description.parameters:,} ", "100.0%")
    label, shape, axes, parameters, share = (translate(text) if text else "" for text in HEAD)
    head = (label, shape, axes, f"{parameters} ", share)  # a space for the closing bracket below it
    # Only lines of tensors fill the middle columns; the labels of the others may reach into these.
    widths = [max(map(columns, column)) for column in zip(head, *(row for row in rows if row[1]), last, strict=True)]
    reach = sum(widths[:3]) + 4

    def line(cells: tuple[str, ...]) -> str:
        left = "  ".join(pad(cell, width) for cell, width in zip(cells[:3], widths, strict=False))
        right = (pad(cell, width, right=True) for cell, width in zip(cells[3:], widths[3:], strict=True))
        return "  ".join((pad(left.rstrip(), reach), *right)).rstrip()

    rule = "─" * (sum(widths) + 2 * len(widths) - 2)
    size = description.float32_bytes / 1e6
    megabytes = f"{size:,.{1 if size >= 1 else 3}f}"
    yield _("{count:,} parameters, {size} MB in float32", count=description.parameters, size=megabytes)
    yield from (_sizes(description.config), "", line(head), rule, *map(line, rows[1:]), rule, line(last), "")
    yield from map(translate, NOTES)
    counts = {tensor.name: tensor.count for box in description.boxes for tensor in box.tensors}
    for keys, names in description.shared.items():
        tensors = names[0] if len(names) == 1 else _("{count} tensors", count=len(names))
        saved = (len(keys) - 1) * sum(counts[name] for name in names)
        text = N_("{others} and {last} share {tensors}: counted once, {saved:,} parameters saved.")
        yield translate(text, others=", ".join(keys[:-1]), last=keys[-1], tensors=tensors, saved=saved)
