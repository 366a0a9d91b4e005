"""The memory of this process: one budget for everything that is kept between two runs of a script.

Every cache belongs to an accountant, which knows the size and the last use of each value, and how long it took to make.
Where the budget is reached, the values that were not used for the longest time go, whatever cache they are in; one that
took long for its size stays longer (GreedyDual-Size: Cao and Irani 1997, "Cost-Aware WWW Proxy Caching Algorithms").
"""

from __future__ import annotations

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

ENTRY = 400  # bytes of an entry beside its key and value
LEAST = 4  # the caches get at least this part of the budget, whatever else the process takes
GONE = 1000  # owners who left are remembered, for values that are made meanwhile
UNKNOWN = 400_000_000  # bytes that the process takes without its caches, where the system does not say
USUAL = 1e-8  # seconds of a core for each byte: a trace of 4 MB takes 0.03 s
MOST_WORTH = 20.0  # how many times as long as a trace another value may stay unused, at most
PRESSED = 32_000_000  # bytes: having removed so much, the accountant asks for housekeeping
# A value of these types refers to what others keep too, or to nothing that can be weighed.
_LIGHT = (type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType, types.MethodType, threading.Thread)
_STATM = Path("/proc/self/statm")


def weigh(*values: object) -> int:
    """Bytes that the values take, with everything that they refer to; what they share counts once."""
    seen: set[int] = set()
    total, waiting = 0, list(values)
    while waiting:
        value = waiting.pop()
        if id(value) in seen or isinstance(value, _LIGHT):
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
    """size: bytes; owner: who alone uses the value, "" for everybody; worth: how long it took to make for its size, in
    units of the usual; rank: the smallest goes first."""

    value: Any
    size: int
    owner: str
    worth: float
    rank: float = 0.0


Cache = Any  # a `SharedCache`, whose module imports this one: its name, `weigh`, `pins` and `evicted` are used
Place = tuple[Cache, Hashable]


class Accountant:
    """Keeps the values of all its caches, in the order of their last use.

    budget: bytes for the whole process. measure: the bytes that it takes now, None if unknown. What is not in the
    caches (code, sessions, running passes) leaves them the rest.
    """

    def __init__(self, budget: int, measure: Callable[[], int | None] = resident) -> None:
        self.budget, self._measure = budget, measure
        self.used = 0
        self.pressed = threading.Event()  # much was removed since the last `settle`
        self._removed = 0
        self._rank = 0.0  # of the value that was last removed to make room
        self._entries: OrderedDict[Place, Entry] = OrderedDict()
        self._leaving: deque[str] = deque()
        self._gone: deque[str] = deque(maxlen=GONE)
        self._lock = threading.RLock()  # reentrant, because collecting garbage may run code of ours anywhere

    @property
    def room(self) -> int:
        """Bytes for all caches together."""
        taken = self._measure()
        others = UNKNOWN if taken is None else max(0, taken - self.used)
        return max(self.budget // LEAST, self.budget - others)

    def find(self, place: Place) -> Entry | None:
        with self._lock:
            entry = self._entries.get(place)
            if entry is not None:
                self._entries.move_to_end(place)
                entry.rank = self._rank + entry.worth
            return entry

    def store(self, place: Place, value: object, owner: str = "", seconds: float = 0.0) -> None:
        """Keep a value in place of an older one, and remove others if needed. Not kept: a value larger than all the
        room, unless its cache pins it, and one whose owner left while it was made. seconds: what it took to make."""
        cache, key = place
        size = cache.weigh(value) + weigh(key) + ENTRY
        entry = Entry(value, size, owner, min(max(1.0, seconds / size / USUAL), MOST_WORTH))
        self._forget_leaving()
        with self._lock:
            self.remove(place)
            room = self.room
            if owner in self._gone or (entry.size > room and not cache.pins(key, value)):
                return
            self._entries[place] = entry
            self.used += entry.size
            if self.used > room:
                self._make_room(room, place)
            entry.rank = self._rank + entry.worth

    def _make_room(self, room: int, newest: Place) -> None:
        for place, entry in sorted(self._entries.items(), key=lambda item: item[1].rank):
            if self.used <= room:
                return
            cache, key = place
            if place != newest and not cache.pins(key, entry.value):
                self._rank = entry.rank
                self.remove(place)
                cache.evicted(entry.value)

    def remove(self, place: Place) -> None:
        with self._lock:
            entry = self._entries.pop(place, None)
            if entry is not None:
                self.used -= entry.size
                self._removed += entry.size
                if self._removed >= PRESSED:
                    self.pressed.set()

    def places(self, cache: Cache = None) -> list[Place]:
        """The places of one cache, or of all, the longest unused first."""
        with self._lock:
            return [place for place in self._entries if cache is None or place[0] is cache]

    def bytes_of(self, owner: str) -> int:
        """Bytes of everything that belongs to one owner."""
        with self._lock:
            return sum(entry.size for entry in self._entries.values() if entry.owner == owner)

    def forget(self, owner: str) -> None:
        """Remove everything that belongs to one owner."""
        with self._lock:
            for place in [place for place, entry in self._entries.items() if entry.owner == owner]:
                self.remove(place)

    def forget_soon(self, owner: str) -> None:
        """The same at the next `settle`; may be called while garbage is collected, where no lock may be taken."""
        self._leaving.append(owner)
        self.pressed.set()

    def _forget_leaving(self) -> None:
        while self._leaving:
            with contextlib.suppress(IndexError), self._lock:  # another thread took it
                owner = self._leaving.popleft()
                self._gone.append(owner)
                self.forget(owner)

    def settle(self) -> bool:
        """Forget the owners who have left. Whether much was removed since the last time."""
        self._forget_leaving()
        with self._lock:
            self.pressed.clear()
            much, self._removed = self._removed >= PRESSED // LEAST, 0
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
