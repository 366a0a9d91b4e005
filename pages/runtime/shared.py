"""Caches shared by all viewers: one budget for the process (`memory`), immutable values."""

import dataclasses
import functools
import hashlib
import threading
import time
import weakref
from collections.abc import Callable, Hashable, Mapping
from contextlib import nullcontext
from typing import Any, Generic, ParamSpec, TypeVar, cast

import numpy as np
import torch

from pages.runtime.memory import MEMORY, Accountant, weigh
from pages.runtime.queue import MODEL_QUEUE
from transformer.inference.pretrained import Pretrained
from transformer.tracing.trace import Trace

Value = TypeVar("Value")
Result = TypeVar("Result")
Arguments = ParamSpec("Arguments")
_MISSING = object()
_owners: weakref.WeakKeyDictionary[torch.nn.Module, str] = weakref.WeakKeyDictionary()
_stamps: weakref.WeakKeyDictionary[torch.nn.Module, str] = weakref.WeakKeyDictionary()


class SharedCache(Generic[Value]):
    """Values by key, as long as the accountant has memory for them: all caches of the process share one budget.

    name: what is kept, for the operator. pins: says of a key and its value whether the value must stay, although others
    need its memory. evicted: called with a value that had to go. most: the largest number of values, where a number
    says more than bytes. weigh: returns the bytes of a value.
    """

    def __init__(
        self,
        name: str,
        pins: Callable[[Hashable, Value], bool] = lambda _, __: False,
        evicted: Callable[[Value], None] = lambda _: None,
        most: int | None = None,
        accountant: Accountant | None = None,
        weigh: Callable[[Value], int] = weigh,
    ) -> None:
        self.name, self.pins, self.evicted, self.most, self.weigh = name, pins, evicted, most, weigh
        self.accountant = accountant or MEMORY
        self.newest: Hashable = None  # key of the value that was used last
        self._making: dict[Hashable, threading.Lock] = {}
        self._lock = threading.Lock()

    def _find(self, key: Hashable) -> Any:
        entry = self.accountant.find((self, key))
        if entry is None:
            return _MISSING
        self.newest = key
        return entry.value

    def find(self, key: Hashable) -> Value | None:
        """The value of a key; None if there is none."""
        value = self._find(key)
        return None if value is _MISSING else cast(Value, value)

    def store(self, key: Hashable, value: Value, owner: str = "", seconds: float = 0.0) -> Value:
        """Store a value, replacing an older one; others go if their memory is needed. owner: who alone uses it;
        seconds: of a core, to make it again. Returns it."""
        self.newest = key
        self.accountant.store((self, key), value, owner, seconds)
        if self.most is not None:
            for cache_key in self.accountant.cache_keys(self)[: -self.most]:
                self.accountant.remove(cache_key)
        return value

    def get(
        self, key: Hashable, make: Callable[[], Value], queued: bool = False, owner: str = "", delay: float = 0.0
    ) -> Value:
        """The value of this key, made now if it is not cached; concurrent calls with the same key make it once.

        An error of `make` is not cached. queued: the value is made in the queue for passes of a model; owner: as in
        `store`; delay: as in `TurnQueue.turn`.
        """
        value = self._find(key)
        if value is not _MISSING:
            return cast(Value, value)
        with MODEL_QUEUE.turn(delay=delay) if queued else nullcontext():
            with self._lock:
                making = self._making.setdefault(key, threading.Lock())
            while not making.acquire(blocking=False):
                with MODEL_QUEUE.step_aside(), making:  # the thread that makes it may wait for a turn
                    pass
            try:
                value = self._find(key)
                if value is not _MISSING:
                    return cast(Value, value)
                began = time.thread_time()
                made = make()
                return self.store(key, made, owner, time.thread_time() - began)
            finally:
                with self._lock:
                    self._making.pop(key, None)
                making.release()

    def remove(self, key: Hashable) -> None:
        """Remove the value of a key, if there is one."""
        self.accountant.remove((self, key))

    def clear(self) -> None:
        """Remove all values."""
        for cache_key in self.accountant.cache_keys(self):
            self.accountant.remove(cache_key)


def clear_caches() -> None:
    """Empty all caches, as in a new process."""
    for cache_key in MEMORY.cache_keys():
        MEMORY.remove(cache_key)


def shared(queued: bool = False) -> Callable[[Callable[Arguments, Result]], Callable[Arguments, Result]]:
    """Call a function once for all viewers with the same arguments; a model is identified by the state of its files, a
    trace by its id. queued: as in `SharedCache.get`."""

    def decorate(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
        cache: SharedCache[Result] = SharedCache(f"{function.__module__}.{function.__qualname__}")

        @functools.wraps(function)
        def called(*given: Arguments.args, **named: Arguments.kwargs) -> Result:
            key = (*map(_key, given), *((name, _key(value)) for name, value in sorted(named.items())))
            owner = next((owner_of(value) for value in given if isinstance(value, Pretrained)), "")
            return cache.get(key, lambda: function(*given, **named), queued, owner)

        return called

    return decorate


def _key(argument: Any) -> Hashable:
    if isinstance(argument, Pretrained):
        return argument.name, identity(argument)
    return argument.id if isinstance(argument, Trace) else argument


def register(model: Pretrained, state: str, owner: str = "") -> None:
    """Call after a model was made: notes the state of the files that it was read from, for `identity`, and who alone
    may use it and its results, "" for everybody."""
    _stamps[model.model] = state
    _owners[model.model] = owner


def owner_of(model: Pretrained) -> str:
    """Whose model this is, "" for everybody's."""
    return _owners.get(model.model, "")


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
