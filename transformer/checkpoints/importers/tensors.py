"""The tensors in a folder of Hugging Face, checked by name, shape, type and value, without running code from it."""

import contextlib
import mmap
import re
import zipfile
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from reprlib import repr as shown
from types import MappingProxyType
from typing import Any, BinaryIO

import torch
from torch import Tensor

from transformer.checkpoints.folder import (
    DTYPES,
    WEIGHTS,
    CheckpointError,
    check_size,
    finite,
    read_json,
    reading_tensors,
)
from transformer.checkpoints.weights import MAPPED, Entry, WeightsError, lies_in, mapped, read_header, read_tensor
from transformer.files import open_regular, reading_file
from transformer.model.config import LIMITS

PICKLED, SHARDED = "pytorch_model.bin", "model.safetensors.index.json"
MOST_SHARDS = 100
LARGEST_INDEX = 50_000_000  # bytes


@dataclass(frozen=True)
class _Entry:
    """A tensor in an open file."""

    file: BinaryIO
    entry: Entry
    memory: mmap.mmap | None  # of the file, if it is mapped

    @property
    def shape(self) -> tuple[int, ...]:
        return self.entry.shape

    @property
    def dtype(self) -> torch.dtype:
        return self.entry.dtype

    def tensor(self) -> Tensor:
        return read_tensor(self.file, self.entry, self.memory)


class Tensors:
    """The tensors of model.safetensors, of its parts, or of pytorch_model.bin, whichever is there first.

    rename: their names in the file -> those in the model with an output layer. Raises CheckpointError.
    """

    def __init__(self, folder: Path, rename: Callable[[str], str] = str) -> None:
        self._rename = rename
        present = (folder / name for name in (WEIGHTS, SHARDED, PICKLED) if (folder / name).is_file())
        self.path = next(present, folder / WEIGHTS)
        if not self.path.is_file():
            raise CheckpointError(
                "{path} is not a checkpoint: {weights} and {pickled} are both missing",
                path=folder, weights=WEIGHTS, pickled=PICKLED,
            )  # fmt: skip
        with reading_file(self.path.name, CheckpointError):
            self._pickled = self._unpickle() if self.path.name == PICKLED else None
        self._files = [folder / name for name in self._shards()] if self.path.name == SHARDED else [self.path]

    def _shards(self) -> list[str]:
        """Names of the parts, from the index. Only plain names: a part never lies in another folder."""
        index = read_json(self.path, LARGEST_INDEX)
        table = index.get("weight_map") if isinstance(index, dict) else None
        if not isinstance(table, dict) or not all(isinstance(name, str) for name in table.values()):
            raise CheckpointError('{name} has no table "weight_map" of tensors and files', name=self.path.name)
        shards = sorted(set(table.values()))
        for name in shards:
            if not re.fullmatch(r"[\w-][\w.-]*\.safetensors", name):
                raise CheckpointError(
                    "{name}: {file} is not the name of a safetensors file in this folder",
                    name=self.path.name,
                    file=shown(name),
                )
        if len(shards) > MOST_SHARDS:
            raise CheckpointError(
                "{name} lists {count:,} files; at most {most} are allowed",
                name=self.path.name,
                count=len(shards),
                most=MOST_SHARDS,
            )
        return shards

    def _unpickle(self) -> dict[str, Tensor]:
        """Tensors only: with weights_only=True, torch's reader builds nothing else and calls nothing."""
        try:
            size = self.path.stat().st_size
            if zipped := zipfile.is_zipfile(self.path):
                with zipfile.ZipFile(self.path) as file:
                    unpacked = sum(entry.file_size for entry in file.infolist())
                if unpacked > size:  # torch does not compress, so this file is not from torch
                    raise CheckpointError(
                        "{name} unpacks from {size:,} to {unpacked:,} bytes; files of torch do not do that",
                        name=self.path.name,
                        unpacked=unpacked,
                        size=size,
                    )
            self._mapped = zipped and size >= MAPPED  # files of old versions are no zips, and cannot be mapped
            tensors = torch.load(self.path, map_location="cpu", mmap=self._mapped, weights_only=True)
        except (CheckpointError, OSError):
            raise
        except Exception as error:  # for a damaged or hostile file, torch's reader raises many kinds of errors
            raise CheckpointError(
                "{name} does not hold only tensors, or it is damaged; use a model.safetensors instead",
                name=self.path.name,
            ) from error
        if not isinstance(tensors, dict) or not all(
            isinstance(name, str) and isinstance(tensor, Tensor) and tensor.layout == torch.strided
            for name, tensor in tensors.items()
        ):
            raise CheckpointError("{name} is not a table of names and tensors", name=self.path.name)
        return self._named(tensors)

    def _named(self, tensors: Mapping[str, Any]) -> dict[str, Any]:
        return {self._rename(name): tensor for name, tensor in tensors.items()}

    def names(self) -> Collection[str]:
        if self._pickled is not None:
            return self._pickled
        try:
            with contextlib.ExitStack() as stack:
                return self._entries(stack)
        except (CheckpointError, OSError, WeightsError):
            return ()  # `read` reports the problem

    def _entries(self, stack: contextlib.ExitStack) -> dict[str, _Entry]:
        """Name -> tensor of all files, which stay open as long as the stack. Raises CheckpointError."""
        entries: dict[str, _Entry] = {}
        for path in self._files:
            with reading_tensors(path.name):
                file = stack.enter_context(open_regular(path))
                header, memory = self._named(read_header(file)), mapped(file)
            if twice := sorted(entries.keys() & header):
                raise CheckpointError("{name} has {tensor} a second time", name=path.name, tensor=shown(twice[0]))
            entries.update({name: _Entry(file, entry, memory) for name, entry in header.items()})
        return entries

    def read(
        self,
        wanted: Mapping[str, tuple[str, ...]],
        shapes: Mapping[str, tuple[int, ...]],
        known: Collection[str] = (),
        first_rows: Mapping[str, int] = MappingProxyType({}),
        computed: Mapping[str, Callable[[int], Tensor]] = MappingProxyType({}),
    ) -> dict[str, Tensor]:
        """The parameters in float32, by our names.

        wanted: name of each of our parameters -> the possible names of its tensor; the first one in the file is used.
        shapes: of our parameters. known: names of others that a file may have. first_rows: of our tables -> rows before
        the first that is ours. computed: tables that a file may have, but the model computes: number of rows -> the
        table. Raises CheckpointError.
        """

        def found(tensors: Mapping[str, Any], fetch: Callable[[Any], Tensor]) -> dict[str, Tensor]:
            self._check_names(tensors, {*known, *computed, *(name for names in wanted.values() for name in names)})
            first = {ours: next((name for name in names if name in tensors), "") for ours, names in wanted.items()}
            mapped = [ours for ours, name in first.items() if name and self._stays(tensors[name])]
            check_size(self.path.name, shapes, mapped)
            self._check_computed(tensors, fetch, computed)
            return dict(self._read(tensors, fetch, wanted, shapes, first_rows))

        with reading_tensors(self.path.name), contextlib.ExitStack() as stack:
            if self._pickled is not None:
                return found(self._pickled, lambda tensor: tensor)
            return found(self._entries(stack), _Entry.tensor)

    def _stays(self, tensor: Any) -> bool:
        """Whether a tensor is used where it lies in its file."""
        if isinstance(tensor, _Entry):
            return lies_in(tensor.entry, tensor.memory)
        return self._mapped and tensor.dtype == torch.float32

    def _check_names(self, tensors: Mapping[str, Any], known: Collection[str]) -> None:
        if extra := sorted(set(tensors) - set(known)):
            raise CheckpointError(
                "{name} has a tensor {extra} that does not belong to the model in config.json; take all files from "
                "the same model",
                name=self.path.name,
                extra=shown(extra[0]),
            )

    def _read(
        self,
        tensors: Mapping[str, Any],  # name -> what has a shape and a dtype
        fetch: Callable[[Any], Tensor],
        wanted: Mapping[str, tuple[str, ...]],
        shapes: Mapping[str, tuple[int, ...]],
        first_rows: Mapping[str, int],
    ) -> Iterator[tuple[str, Tensor]]:
        for ours, alternatives in wanted.items():
            theirs = next((name for name in alternatives if name in tensors), None)
            if theirs is None:
                raise CheckpointError(
                    "{name} has no tensor {missing}, but config.json needs it; take all files from the same model",
                    name=self.path.name,
                    missing=alternatives[0],
                )
            skipped, shape = first_rows.get(ours, 0), shapes[ours]
            self._check(tensors[theirs], theirs, (shape[0] + skipped, *shape[1:]))
            tensor = self._numbers(fetch(tensors[theirs]), theirs)
            yield ours, tensor[skipped:] if skipped else tensor.reshape(shape)

    def _check_computed(
        self,
        tensors: Mapping[str, Any],
        fetch: Callable[[Any], Tensor],
        computed: Mapping[str, Callable[[int], Tensor]],
    ) -> None:
        for name, compute in computed.items():
            if name in tensors:
                rows = next(iter(tensors[name].shape), 0)
                table = compute(min(rows, LIMITS["max_positions"][1]))
                self._check(tensors[name], name, tuple(table.shape))
                if not torch.allclose(self._numbers(fetch(tensors[name]), name), table, atol=2e-3):  # 16 bits: 5e-4 off
                    raise CheckpointError(
                        "{name}: {tensor} does not hold the sinusoidal positions of this kind of model",
                        name=self.path.name,
                        tensor=name,
                    )

    def _check(self, entry: Any, name: str, shape: tuple[int, ...]) -> None:
        actual = tuple(entry.shape)
        if actual not in (shape, (1, *shape)):
            raise CheckpointError(
                "{name}: {tensor} has shape {actual}; config.json needs {needed}, so take all files from the same "
                "model",
                name=self.path.name,
                tensor=name,
                actual=shown(list(actual)),
                needed=list(shape),
            )
        if entry.dtype not in (*DTYPES, torch.float64):
            raise CheckpointError(
                "{name}: {tensor} has type {dtype}; it must be float16, bfloat16, float32 or float64",
                name=self.path.name,
                tensor=name,
                dtype=entry.dtype,
            )

    def _numbers(self, tensor: Tensor, name: str) -> Tensor:
        tensor = tensor.detach().float()
        if not finite(tensor):
            raise CheckpointError(
                "{name}: {tensor} has values that are not finite numbers; copy the file again, or save the model at a "
                "step before its training diverged",
                name=self.path.name,
                tensor=name,
            )
        return tensor
