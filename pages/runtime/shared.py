"""The cache shared by all viewers: bounded, one per process, with immutable values."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from contextlib import nullcontext
from typing import Any, Generic, ParamSpec, TypeVar, cast

import numpy as np
import torch

from pages.runtime.queue import MODEL_QUEUE
from transformer.inference.pretrained import Pretrained
from transformer.tracing.trace import Trace

Value = TypeVar("Value")
Result = TypeVar("Result")
Arguments = ParamSpec("Arguments")
_MISSING = object()
_caches: weakref.WeakSet[SharedCache[Any]] = weakref.WeakSet()
_stamps: weakref.WeakKeyDictionary[torch.nn.Module, str] = weakref.WeakKeyDictionary()


class SharedCache(Generic[Value]):
    """The most recently used values that fit into the capacity, and at least one. weigh: how much of it a value
    takes."""

    def __init__(self, capacity: int, weigh: Callable[[Value], int] = lambda _: 1) -> None:
        self.capacity, self.used = capacity, 0
        self._weigh = weigh
        self._values: OrderedDict[Hashable, Value] = OrderedDict()
        self._making: dict[Hashable, threading.Lock] = {}
        self._lock = threading.Lock()
        _caches.add(self)

    def _find(self, key: Hashable) -> Any:
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
            return self._values.get(key, _MISSING)

    def find(self, key: Hashable) -> Value | None:
        value = self._find(key)
        return None if value is _MISSING else cast(Value, value)

    def store(self, key: Hashable, value: Value) -> Value:
        """Store a value, replacing an older one, and evict others if needed. Returns it."""
        with self._lock:
            if key in self._values:
                self.used -= self._weigh(self._values.pop(key))
            self._values[key] = value
            self.used += self._weigh(value)
            while self.used > self.capacity and len(self._values) > 1:
                self.used -= self._weigh(self._values.popitem(last=False)[1])
        return value

    def get(self, key: Hashable, make: Callable[[], Value], queued: bool = False) -> Value:
        """The value of this key, made now if it is not cached; concurrent calls with the same key make it once.

        An error of `make` is not cached. queued: the value is made in the queue for passes of a model.
        """
        value = self._find(key)
        if value is not _MISSING:
            return cast(Value, value)
        with (
            MODEL_QUEUE.turn() if queued else nullcontext()
        ):  # take the turn first, so that nobody waits for it while holding a lock
            with self._lock:
                making = self._making.setdefault(key, threading.Lock())
            with making:
                value = self._find(key)
                try:
                    return cast(Value, value) if value is not _MISSING else self.store(key, make())
                finally:
                    with self._lock:
                        self._making.pop(key, None)

    def clear(self) -> None:
        with self._lock:
            self._values.clear()
            self.used = 0


def clear_caches() -> None:
    """Empty all caches, as in a new process."""
    for cache in list(_caches):
        cache.clear()


def shared(entries: int, queued: bool = False) -> Callable[[Callable[Arguments, Result]], Callable[Arguments, Result]]:
    """Call a function once for all viewers with the same arguments; a model is identified by the state of its files, a
    trace by its id. entries: results to cache; queued: as in `SharedCache.get`."""

    def decorate(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
        cache: SharedCache[Result] = SharedCache(entries)

        @functools.wraps(function)
        def called(*given: Arguments.args, **named: Arguments.kwargs) -> Result:
            key = (*map(_key, given), *((name, _key(value)) for name, value in sorted(named.items())))
            return cache.get(key, lambda: function(*given, **named), queued)

        return called

    return decorate


def _key(argument: Any) -> Hashable:
    if isinstance(argument, Pretrained):
        return argument.name, identity(argument)
    return argument.id if isinstance(argument, Trace) else argument


def mark(model: Pretrained, state: str) -> None:
    """Record in which state its files were when a model was read."""
    _stamps[model.model] = state


def identity(model: Pretrained) -> str:
    """The cache key of a model: its path, and the state of its files."""
    return f"{model.path}|{_stamps.get(model.model, '')}"


def _hash_into(digest: Any, value: object) -> None:
    if isinstance(value, torch.Tensor):
        value = value.detach().cpu().numpy()
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, np.ndarray) and value.dtype != object:
        digest.update(f"array {value.dtype} {value.shape} ".encode())
        digest.update(np.ascontiguousarray(value).tobytes())
    elif value is None or isinstance(value, str | bytes | bool | int | float):
        text = repr(value).encode("utf-8", "surrogatepass")
        digest.update(f"{type(value).__name__} {len(text)} ".encode() + text)
    elif isinstance(value, list | tuple):
        digest.update(f"list {len(value)} ".encode())
        for item in value:
            _hash_into(digest, item)
    elif isinstance(value, Mapping):
        digest.update(f"table {len(value)} ".encode())
        for name, item in value.items():
            _hash_into(digest, name)
            _hash_into(digest, item)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        digest.update(type(value).__qualname__.encode())
        for field in dataclasses.fields(value):
            _hash_into(digest, getattr(value, field.name))
    else:
        raise TypeError(f"{type(value).__name__} has no fingerprint")


def fingerprint(*values: object) -> bytes:
    """16 bytes that are equal for equal numbers and texts, and practically never for others.

    values: tensors, arrays, texts, numbers, None, and lists, mappings and dataclasses of them. Raises TypeError.
    """
    digest = hashlib.blake2b(digest_size=16)
    for value in values:
        _hash_into(digest, value)
    return digest.digest()
