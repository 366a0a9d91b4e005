"""Chosen tensors of many sentence pairs, traced in padded batches."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields

import torch
from torch import Tensor

from transformer.checks import expect
from transformer.model.config import ModelConfig
from transformer.model.tap import KINDS, STACKS, Edit, EditingTap, Tap, across_layers, in_layers, no_tensor
from transformer.model.transformer import Transformer
from transformer.text.batching import make_batch
from transformer.texts import Text, UserError
from transformer.tracing.finite import check_numbers
from transformer.tracing.trace import MADE, AttentionTrace, FeedForwardTrace, fields_of, on_cpu

WHOLE = ("source_embedding", "target_embedding", "encoder_output", "decoder_output", "logits")


class KeepError(UserError):
    """A tensor that a trace does not have."""


def names(config: ModelConfig) -> tuple[str, ...]:
    """What can be kept of all layers together, as the fields of a Trace: "cross.weights", "encoder_ff.activation",
    "logits", .. One layer's tensors have the names of `transformer.model.tap`."""
    lacking = {"cross.bias"}
    if config.positions != "relative":
        lacking |= {"encoder_self.bias", "decoder_self.bias"}
    if not config.gated:
        lacking |= {"encoder_ff.gate", "decoder_ff.gate"}
    kinds = {**dict.fromkeys(KINDS, AttentionTrace), **{f"{stack}_ff": FeedForwardTrace for stack in STACKS}}
    inner = [f"{kind}.{field.name}" for kind, of in kinds.items() for field in fields(of) if field.name not in MADE]
    return (*(name for name in inner if name not in lacking), *WHOLE)


class KeepingTap(EditingTap):
    """Edits, and records the tensors of these names, and no others."""

    def __init__(self, wanted: Iterable[str], edits: Mapping[str, Edit] | None = None) -> None:
        super().__init__(edits or {})
        self.wanted = frozenset(wanted)

    def __call__(self, name: str, tensor: Tensor) -> Tensor:
        tensor = super().__call__(name, tensor)
        name = self._prefix + name
        if name in self.wanted:
            self.records[name] = tensor
        return tensor


@dataclass(frozen=True)
class Kept:
    """The tensors of one pair. tensors: name -> as in `Trace`, without the batch; source_ids, target_in_ids,
    target_out_ids: as there."""

    source_ids: tuple[int, ...]
    target_in_ids: tuple[int, ...]
    target_out_ids: tuple[int, ...]
    tensors: Mapping[str, Tensor]

    def __getitem__(self, name: str) -> Tensor:
        return self.tensors[name]


def _unpadded(name: str, tensor: Tensor, source: int, target: int) -> Tensor:
    """Without the rows, and for what has keys the columns, of padding. name: as in `names`; tensor: [..., row,
    column]."""
    kind, _, field = name.partition(".")
    of_source = kind.startswith(("encoder", "source"))
    rows, keys = source if of_source else target, source if of_source or kind == "cross" else target
    if field in ("bias", "mask", "scores", "weights"):
        return tensor[..., :rows, :keys]
    if name.endswith("position_ids"):
        return tensor[:rows]
    return tensor[..., : keys if field in ("keys", "values") else rows, :]


Wanted = Mapping[str, Sequence[str]]  # a name to keep -> the tensors of a pass that it means


def wanted_of(keep: Sequence[str] | str, config: ModelConfig) -> Wanted:
    """keep: one name or several, as in `names`, or as in `transformer.model.tap`."""
    expect(keep, (str, list, tuple), "keep", Text("a name of a tensor, or a list of names"))
    names = [keep] if isinstance(keep, str) else keep
    return {str(name): in_layers(str(name), config.encoder_layers, config.decoder_layers) for name in names}


@torch.inference_mode()
def keep_pass(
    model: Transformer, source: Tensor, fed: Tensor, wanted: Wanted, edits: Mapping[str, Edit] | None = None
) -> Mapping[str, Tensor]:
    """What is wanted of one pass, by the names of `transformer.model.tap`. Without edits it goes as far as that needs.
    source, fed: ids, [batch, token]. Raises KeepError; TapError."""
    tap = KeepingTap((one for tensors in wanted.values() for one in tensors), edits)
    memory = model.encode(source, tap)
    if edits or any(not name.startswith(("source", "encoder")) for name in wanted):
        outputs = model.decode(fed, memory, source, tap)
        if edits or "logits" in wanted:
            model.project(outputs, tap)
    tap.check_names()
    for name, tensors in wanted.items():
        if any(tensor not in tap.records for tensor in tensors):
            raise KeepError("{error}", error=no_tensor(name, tap.names))
    return tap.records


def _of_row(wanted: Wanted, records: Mapping[str, Tensor], row: int, source: int, target: int) -> dict[str, Tensor]:
    """Of one row of the batch, without padding. source, target: tokens of each side."""
    found = {}
    for name, tensors in wanted.items():
        field = across_layers(tensors[0])
        of_row = [records[one] if "position" in one else records[one][row] for one in tensors]
        together = torch.stack(of_row) if name == field and field not in WHOLE else of_row[0]
        found[name] = on_cpu(_unpadded(field, together, source, target))
    return found


def kept(wanted: Wanted, records: Mapping[str, Tensor], source: Sequence[int], out: Sequence[int], start: int) -> Kept:
    """Of a pass of one pair. source: ids; out: ids predicted; start: id of <s>."""
    return Kept(tuple(source), (start, *out[:-1]), tuple(out), _of_row(wanted, records, 0, len(source), len(out)))


def trace_batch(
    model: Transformer, pairs: Sequence[tuple[Sequence[int], Sequence[int]]], keep: Sequence[str] | str
) -> Iterator[Kept]:
    """One pass over pairs of ids (source and target, both without </s>), padded to the longest. keep: as in
    `wanted_of`. Raises KeepError, NotFiniteError."""
    wanted = wanted_of(keep, model.config)
    batch = make_batch([source for source, _ in pairs], [target for _, target in pairs], model.config)
    records = keep_pass(model, batch.source.to(model.device), batch.target_in.to(model.device), wanted)
    check_numbers(*records.values())
    for row, (source_ids, target_ids) in enumerate(pairs):
        lengths = (len(source_ids) + 1, len(target_ids) + 1)
        yield Kept(
            tuple(batch.source[row, : lengths[0]].tolist()),
            tuple(batch.target_in[row, : lengths[1]].tolist()),
            tuple(batch.target_out[row, : lengths[1]].tolist()),
            _of_row(wanted, records, row, *lengths),
        )


@torch.inference_mode()
def fields_batch(
    model: Transformer, pairs: Sequence[tuple[Sequence[int], Sequence[int]]]
) -> Iterator[dict[str, object]]:
    """The tensor fields of a Trace of each pair of ids, as in `trace_batch`, from one padded pass. None shares memory
    with the others."""
    tap, batch = Tap(), make_batch([source for source, _ in pairs], [target for _, target in pairs], model.config)
    model(batch.source.to(model.device), batch.target_in.to(model.device), tap)
    records = tap.finish()
    for row, (source_ids, target_ids) in enumerate(pairs):
        one = {}
        for name, tensor in records.items():
            whole = tensor if "position" in name else tensor[row : row + 1]
            part = _unpadded(across_layers(name), whole, len(source_ids) + 1, len(target_ids) + 1)
            one[name] = part if name.count(".") == 3 else part.clone()  # those of layers are copied together
        yield fields_of(one, model.config)
