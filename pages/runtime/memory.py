"""The memory of this process: one budget for everything that is kept between two runs of a script.

Every cache belongs to an accountant, which knows the size and the last use of each value, and how long it took to make.
Where the budget is reached, the values that were not used for the longest time go, whatever cache they are in; one that
took long for its size stays longer (GreedyDual-Size: Cao and Irani 1997, "Cost-Aware WWW Proxy Caching Algorithms").
"""

import contextlib
import ctypes
import os
import secrets
import sys
import threading
import types
import weakref
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import sentencepiece
import torch

from transformer.memory import BUDGET, VARIABLE, read_bytes
from transformer.memory import LEAST as LEAST_BUDGET

ENTRY_BYTES = 400  # of an entry beside its key and value
LEAST_SHARE = 0.25  # of the budget, which the caches may always take, whatever else the process takes
MOST_LEFT = 1000  # owners who have left that are remembered, so that values made for them meanwhile are not kept
ASSUMED_OTHERS = 400_000_000  # bytes that the process takes without its caches, where the system does not say
USUAL_COST = 1e-8  # seconds of a core for each byte: a trace of 4 MB takes 0.03 s
MOST_WORTH = 20.0  # how many times as long as a trace another value may stay unused, at most
# Bytes that were removed: from so many on, the accountant asks for housekeeping, and `settle` says that it is worth it.
PRESSED, MUCH = 32_000_000, 8_000_000
# Values of these types are counted as nothing: they refer to what others keep too, or have no size of their own.
_NOT_WEIGHED = (
    type,
    types.ModuleType,
    types.FunctionType,
    types.BuiltinFunctionType,
    types.MethodType,
    threading.Thread,
)
_STATM = Path("/proc/self/statm")


def weigh(*values: object) -> int:
    """Bytes that the values take, with everything that they refer to; what they share counts once."""
    seen: set[int] = set()
    total, waiting = 0, list(values)
    while waiting:
        value = waiting.pop()
        if id(value) in seen or isinstance(value, _NOT_WEIGHED):
            continue
        seen.add(id(value))
        total += sys.getsizeof(value)
        if isinstance(value, torch.Tensor) and value.is_mkldnn:  # in an order of its own, without a storage
            total += value.numel() * value.element_size()
        elif isinstance(value, torch.Tensor):
            storage = value.untyped_storage()
            if storage.data_ptr() not in seen:
                seen.add(storage.data_ptr())
                total += storage.nbytes()
            waiting.append(vars(value))
        elif isinstance(value, np.ndarray):
            waiting.append(value.base)
            if value.dtype == object:
                waiting.extend(value.flat)
        elif isinstance(value, sentencepiece.SentencePieceProcessor):
            total += processor_bytes(value)
        elif isinstance(value, str | bytes | bytearray | int | float):
            continue
        elif isinstance(value, Mapping):
            waiting.extend(value.keys())
            waiting.extend(value.values())
        elif isinstance(value, list | tuple | set | frozenset | deque):
            waiting.extend(value)
        elif hasattr(value, "__dict__"):
            waiting.append(vars(value))
        else:
            waiting.extend(
                getattr(value, name) for name in getattr(type(value), "__slots__", ()) if hasattr(value, name)
            )
    return total


def processor_bytes(processor: sentencepiece.SentencePieceProcessor) -> int:
    """What the library holds for a model: up to twice its file, measured with the bundled ones."""
    return 2 * len(processor.serialized_model_proto())


def resident() -> int | None:
    """Bytes of memory that this process takes now; None where the system does not say (Linux does)."""
    try:
        return int(_STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return None


def return_memory() -> None:
    """Give freed memory back to the system. The C library (glibc) keeps it otherwise."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    if trim is not None:
        trim(0)


@dataclass(slots=True)
class Entry:
    """A value in a cache. size: bytes; owner: who alone uses the value, "" for everybody; worth: how long it took to
    make for its size, as a multiple of USUAL_COST; rank: the entry with the smallest is removed first."""

    value: Any
    size: int
    owner: str
    worth: float
    rank: float = 0.0


Cache = Any  # a `SharedCache`, whose module imports this one: its name, `weigh`, `pins` and `evicted` are used
CacheKey = tuple[Cache, Hashable]  # a cache, and a key in it


class Accountant:
    """Keeps the values of all its caches, in the order of their last use.

    budget: bytes for the whole process. measure: returns the bytes that the process takes now, None if unknown. The
    caches get what code, sessions and running passes leave of the budget. used: bytes in the caches.
    pressed: so much was removed since the last `settle` that housekeeping is due, or an owner has left.
    """

    def __init__(self, budget: int, measure: Callable[[], int | None] = resident) -> None:
        self.budget, self._measure = budget, measure
        self.used = 0
        self.pressed = threading.Event()
        self._removed = 0  # bytes since the last `settle`
        self._rank = 0.0  # of the value that was removed last to get below the limit
        self._entries: OrderedDict[CacheKey, Entry] = OrderedDict()
        self._leaving: deque[str] = deque()  # owners whose values go at the next `settle`
        self._left: deque[str] = deque(maxlen=MOST_LEFT)
        self._lock = threading.RLock()  # reentrant, because collecting garbage may run code of ours anywhere

    @property
    def cache_limit(self) -> int:
        """Most bytes of all caches together, as the process is now."""
        taken = self._measure()
        others = ASSUMED_OTHERS if taken is None else max(0, taken - self.used)
        return max(int(self.budget * LEAST_SHARE), self.budget - others)

    def find(self, cache_key: CacheKey) -> Entry | None:
        """The entry of a key, which counts as a use; None if there is none."""
        with self._lock:
            entry = self._entries.get(cache_key)
            if entry is not None:
                self._entries.move_to_end(cache_key)
                entry.rank = self._rank + entry.worth
            return entry

    def store(self, cache_key: CacheKey, value: object, owner: str = "", seconds: float = 0.0) -> None:
        """Keep a value in place of an older one, and remove others if needed. seconds: of a core, to make it.

        Not kept: a value larger than the limit of all caches, unless its cache pins it, and a value whose owner left
        while it was made.
        """
        cache, key = cache_key
        size = cache.weigh(value) + weigh(key) + ENTRY_BYTES
        entry = Entry(value, size, owner, min(max(1.0, seconds / size / USUAL_COST), MOST_WORTH))
        self._forget_leaving()
        with self._lock:
            self.remove(cache_key)
            limit = self.cache_limit
            if owner in self._left or (entry.size > limit and not cache.pins(key, value)):
                return
            self._entries[cache_key] = entry
            self.used += entry.size
            if self.used > limit:
                self._remove_down_to(limit, cache_key)
            entry.rank = self._rank + entry.worth

    def _remove_down_to(self, limit: int, newest: CacheKey) -> None:
        """Remove values, but not the newest, until at most `limit` bytes are used."""
        for cache_key, entry in sorted(self._entries.items(), key=lambda item: item[1].rank):
            if self.used <= limit:
                return
            cache, key = cache_key
            if cache_key != newest and not cache.pins(key, entry.value):
                self._rank = entry.rank
                self.remove(cache_key)
                cache.evicted(entry.value)

    def remove(self, cache_key: CacheKey) -> None:
        """Remove the value of a key, if there is one."""
        with self._lock:
            entry = self._entries.pop(cache_key, None)
            if entry is not None:
                self.used -= entry.size
                self._removed += entry.size
                if self._removed >= PRESSED:
                    self.pressed.set()

    def cache_keys(self, cache: Cache = None) -> list[CacheKey]:
        """The keys of one cache, or of all, the longest unused first."""
        with self._lock:
            return [cache_key for cache_key in self._entries if cache is None or cache_key[0] is cache]

    def bytes_of(self, owner: str) -> int:
        """Bytes of everything that belongs to one owner."""
        with self._lock:
            return sum(entry.size for entry in self._entries.values() if entry.owner == owner)

    def forget(self, owner: str) -> None:
        """Remove everything that belongs to one owner."""
        with self._lock:
            for cache_key in [cache_key for cache_key, entry in self._entries.items() if entry.owner == owner]:
                self.remove(cache_key)

    def forget_soon(self, owner: str) -> None:
        """Remove everything that belongs to one owner at the next `settle`. Unlike `forget`, this takes no lock, so it
        may be called while garbage is collected."""
        self._leaving.append(owner)
        self.pressed.set()

    def _forget_leaving(self) -> None:
        while self._leaving:
            with contextlib.suppress(IndexError), self._lock:  # another thread took it
                owner = self._leaving.popleft()
                self._left.append(owner)
                self.forget(owner)

    def settle(self) -> bool:
        """Forget the owners who have left. Returns whether so much was removed since the last time that giving memory
        back to the system is worth its time."""
        self._forget_leaving()
        with self._lock:
            self.pressed.clear()
            much, self._removed = self._removed >= MUCH, 0
        return much

    def by_cache(self) -> dict[str, tuple[int, int]]:
        """Name of a cache -> number of its values, and their bytes."""
        counts: dict[str, tuple[int, int]] = {}
        with self._lock:
            for (cache, _), entry in self._entries.items():
                number, size = counts.get(cache.name, (0, 0))
                counts[cache.name] = number + 1, size + entry.size
        return counts


def budget() -> int:
    """HEADSCOPE_MEMORY, at least LEAST_BUDGET; or the default."""
    size = read_bytes(os.environ.get(VARIABLE, ""))
    return BUDGET if size is None else max(LEAST_BUDGET, size)


MEMORY = Accountant(budget())


class Owner:
    """A part of a session that owns values in caches: they leave when it is deleted, with the session at the latest.

    id: known to this session only, a part of the keys of its values.
    """

    def __init__(self) -> None:
        self.id = secrets.token_hex(16)
        weakref.finalize(self, MEMORY.forget_soon, self.id).atexit = False

    @property
    def bytes(self) -> int:
        """Bytes of everything that it owns."""
        return MEMORY.bytes_of(self.id)
