"""What is kept between runs for all viewers, bounded by bytes, and names for it that follow from what it is made of."""

from __future__ import annotations

import dataclasses
import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from typing import Any, Generic, TypeVar

import numpy as np
import torch

Value = TypeVar("Value")


class Kept(Generic[Value]):
    """The values used last, as many as fit into `room` bytes, and at least one. weigh: the bytes of a value."""

    def __init__(self, room: int, weigh: Callable[[Value], int]) -> None:
        self.room, self.used = room, 0
        self._weigh = weigh
        self._values: OrderedDict[Hashable, Value] = OrderedDict()
        self._lock = threading.Lock()

    def find(self, key: Hashable) -> Value | None:
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
            return self._values.get(key)

    def keep(self, key: Hashable, made: Value) -> Value:
        """Keep it, in place of an older one, and make room. Returns it."""
        with self._lock:
            if key in self._values:
                self.used -= self._weigh(self._values.pop(key))
            self._values[key] = made
            self.used += self._weigh(made)
            while self.used > self.room and len(self._values) > 1:
                self.used -= self._weigh(self._values.popitem(last=False)[1])
        return made


def _add(found: Any, value: object) -> None:
    if isinstance(value, torch.Tensor):
        value = value.detach().cpu().numpy()
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, np.ndarray) and value.dtype != object:
        found.update(f"array {value.dtype} {value.shape} ".encode())
        found.update(np.ascontiguousarray(value).tobytes())
    elif value is None or isinstance(value, str | bytes | bool | int | float):
        text = repr(value).encode("utf-8", "surrogatepass")
        found.update(f"{type(value).__name__} {len(text)} ".encode() + text)
    elif isinstance(value, list | tuple):
        found.update(f"list {len(value)} ".encode())
        for one in value:
            _add(found, one)
    elif isinstance(value, Mapping):
        found.update(f"table {len(value)} ".encode())
        for name, one in value.items():
            _add(found, name)
            _add(found, one)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        found.update(type(value).__qualname__.encode())
        for field in dataclasses.fields(value):
            _add(found, getattr(value, field.name))
    else:
        raise TypeError(f"{type(value).__name__} has no name that follows from what it holds")


def named(*values: object) -> bytes:
    """16 bytes that are the same for the same numbers and texts and, as good as certainly, for no others.

    values: tensors, arrays, texts, numbers, None, and lists, tables and dataclasses of them. Raises TypeError.
    """
    found = hashlib.blake2b(digest_size=16)
    for value in values:
        _add(found, value)
    return found.digest()
