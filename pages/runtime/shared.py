"""The cache of what all viewers share: bounded, one a process, of values that nobody changes."""

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
    """The values used last, as many as fit into the capacity, and at least one. weigh: what a value takes of it."""

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
        """Store a value in place of an older one, and make room. Returns it."""
        with self._lock:
            if key in self._values:
                self.used -= self._weigh(self._values.pop(key))
            self._values[key] = value
            self.used += self._weigh(value)
            while self.used > self.capacity and len(self._values) > 1:
                self.used -= self._weigh(self._values.popitem(last=False)[1])
        return value

    def get(self, key: Hashable, make: Callable[[], Value], queued: bool = False) -> Value:
        """The value of this key, made now if there is none; two who ask for the same wait for one.

        What `make` raises is not kept. queued: the value is made in turn with all other passes of a model.
        """
        value = self._find(key)
        if value is not _MISSING:
            return cast(Value, value)
        with MODEL_QUEUE.turn() if queued else nullcontext():  # the turn first: nobody waits for one with a lock held
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
    """Forget all that is shared, as a new process would."""
    for cache in list(_caches):
        cache.clear()


def shared(entries: int, queued: bool = False) -> Callable[[Callable[Arguments, Result]], Callable[Arguments, Result]]:
    """Call a function once for all viewers with the same arguments, of which a model counts by the state of its files
    and a trace by its id. entries: results kept; queued: as `SharedCache.get`."""

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
    """Say in which state of its files a model was read."""
    _stamps[model.model] = state


def identity(model: Pretrained) -> str:
    """What a model's numbers are kept under: where it came from, and in which state that was."""
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
    """16 bytes that are the same for the same numbers and texts and, as good as certainly, for no others.

    values: tensors, arrays, texts, numbers, None, and lists, tables and dataclasses of them. Raises TypeError.
    """
    digest = hashlib.blake2b(digest_size=16)
    for value in values:
        _hash_into(digest, value)
    return digest.digest()
