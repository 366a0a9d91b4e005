"""One budget for everything that is kept: sizes, and what goes first, solved by hand."""

import gc
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import sentencepiece
import torch

from pages.runtime import memory
from pages.runtime.memory import ENTRY_BYTES, LEAST_SHARE, MOST_WORTH, USUAL_COST, Accountant, Owner, weigh
from pages.runtime.shared import SharedCache
from tests.support.build import tiny_pretrained
from transformer.memory import BUDGET, VARIABLE, read_bytes
from transformer.memory import LEAST as LEAST_BUDGET

EACH = ENTRY_BYTES + weigh("a")  # of an entry with a key of one letter


class System:
    """A process that takes `taken` bytes beside its caches."""

    def __init__(self, budget: int, taken: int = 0) -> None:
        self.taken = taken
        self.accountant = Accountant(budget, lambda: self.taken + self.accountant.used)

    def cache(self, name: str = "texts", **more: Any) -> SharedCache[int]:
        """A cache of numbers; with its entry and key, a number takes as many bytes as it says."""
        return SharedCache(name, accountant=self.accountant, weigh=lambda number: number - EACH, **more)


def kept(cache: SharedCache[int]) -> str:
    return "".join(str(key) for _, key in cache.accountant.cache_keys())


def test_the_longest_unused_value_goes_first_whatever_cache_it_is_in() -> None:
    system = System(10_000)
    first, second = system.cache("first"), system.cache("second")
    first.store("a", 3_000)
    second.store("b", 3_000)
    first.store("c", 3_000)
    assert system.accountant.used == 9_000 and kept(first) == "abc"
    assert first.find("a") == 3_000  # now b is the oldest
    second.store("d", 3_000)
    assert kept(first) == "cad" and second.find("b") is None and system.accountant.used == 9_000
    second.store("e", 7_000)  # only 3,000 may stay beside it
    assert kept(first) == "de"
    assert system.accountant.by_cache() == {"second": (2, 10_000)}


def test_a_value_that_took_long_for_its_size_stays_longer() -> None:
    """Five times as long as the usual: three others of the usual worth fit beside it, and go five times before it."""
    system = System(10_000)
    cache = system.cache()
    cache.store("*", 1_000, seconds=5 * 1_000 * USUAL_COST)
    for others in ("abc", "def", "ghi", "jkl", "mno"):
        for key in others:
            cache.store(key, 3_000)
        assert kept(cache) == f"*{others}"
    cache.store("p", 3_000)
    assert kept(cache) == "nop"
    cache.store("*", 1_000, seconds=1e9)  # nothing is worth more than MOST_WORTH
    stores = 0
    while "*" in kept(cache):
        cache.store(f"{stores % 10}", 3_000)
        stores += 1
    assert stores == 3 * MOST_WORTH


def test_what_took_long_is_known_of_every_value_that_a_cache_makes() -> None:
    system = System(10_000)
    cache = system.cache()

    def made() -> int:
        until = time.thread_time() + 2e-3
        while time.thread_time() < until:
            pass
        return 1_000

    cache.get("a", made)
    for key in "bcdef":
        cache.get(key, lambda: 3_000)
    assert kept(cache) == "adef"


def test_a_new_value_replaces_the_old_one_with_its_size() -> None:
    system = System(10_000)
    cache = system.cache()
    cache.store("a", 3_000)
    assert cache.store("a", 2_000) == 2_000 == cache.find("a") == system.accountant.used
    cache.remove("a")
    assert system.accountant.used == 0 and cache.find("a") is None


def test_a_value_larger_than_the_budget_is_not_kept_and_removes_nothing() -> None:
    system = System(10_000)
    cache = system.cache()
    cache.store("a", 3_000)
    assert cache.get("b", lambda: 10_001) == 10_001  # its reader gets it
    assert kept(cache) == "a"


def test_pinned_values_stay_even_if_they_are_larger_than_the_budget() -> None:
    system = System(10_000)
    pinned, cache = system.cache("pinned", pins=lambda key, _: key in "ab"), system.cache()
    pinned.store("a", 4_000)
    pinned.store("c", 4_000)
    cache.store("d", 6_000)
    assert kept(cache) == "ad"
    pinned.store("b", 12_000)
    assert kept(cache) == "ab" and system.accountant.used == 16_000
    cache.store("e", 1_000)  # the newest may stay until the next one
    cache.store("f", 1_000)
    assert kept(cache) == "abf"


def test_the_model_used_last_stays() -> None:
    system = System(10_000)
    models: SharedCache[int] = system.cache("models", pins=lambda key, _: key == models.newest)
    cache = system.cache()
    models.store("a", 6_000)
    models.store("b", 12_000)
    assert kept(cache) == "b"
    cache.store("c", 1_000)
    cache.store("d", 1_000)
    assert kept(cache) == "bd"


def test_the_number_of_values_can_be_limited_too() -> None:
    cache = System(10_000).cache("links", pins=lambda _, __: True, most=2)
    for key in "ab":
        cache.store(key, 1_000)
    cache.find("a")
    cache.store("c", 1_000)
    assert kept(cache) == "ac"


def test_what_the_process_takes_beside_its_caches_counts() -> None:
    """Sessions and running passes grow: the caches shrink, down to a part of the budget."""
    system = System(20_000, taken=8_000)
    cache = system.cache()
    for key in "abcd":
        cache.store(key, 3_000)
    assert system.accountant.cache_limit == 12_000 and kept(cache) == "abcd"
    system.taken = 13_000
    cache.store("e", 3_000)
    assert kept(cache) == "de"
    system.taken = 90_000
    cache.store("f", 3_000)
    assert system.accountant.cache_limit == 20_000 * LEAST_SHARE and kept(cache) == "f"


def test_where_the_system_does_not_say_a_fixed_part_is_left_for_the_rest() -> None:
    assert Accountant(1_000_000_000, lambda: None).cache_limit == 1_000_000_000 - memory.ASSUMED_OTHERS


def test_what_was_evicted_is_told() -> None:
    gone: list[int] = []
    cache = System(10_000).cache("runs", evicted=gone.append)
    cache.store("a", 4_000)
    cache.store("b", 5_000)
    cache.store("c", 5_000)
    cache.remove("b")
    assert gone == [4_000]  # b was removed on purpose


def test_values_leave_with_their_owner(monkeypatch: pytest.MonkeyPatch) -> None:
    system = System(10_000)
    monkeypatch.setattr(memory, "MEMORY", system.accountant)
    cache, owner, other = system.cache(), Owner(), Owner()
    cache.store("a", 1_000, owner.id)
    cache.store("b", 2_000, owner.id)
    cache.store("c", 3_000, other.id)
    assert owner.bytes == 3_000 and other.bytes == 3_000
    left = owner.id
    del owner
    gc.collect()
    assert system.accountant.pressed.is_set()  # somebody must look
    system.accountant.settle()
    assert kept(cache) == "c" and not system.accountant.pressed.is_set()
    cache.store("d", 1_000, left)  # a pass that was still running
    assert kept(cache) == "c" and system.accountant.bytes_of(left) == 0


def test_housekeeping_is_asked_for_when_much_was_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "PRESSED", 4_000)
    monkeypatch.setattr(memory, "MUCH", 1_000)
    system = System(10_000)
    cache = system.cache()
    cache.store("a", 3_000)
    cache.remove("a")
    assert not system.accountant.pressed.is_set() and system.accountant.settle()
    assert not system.accountant.settle()  # nothing since
    for key in "ab":
        cache.store(key, 2_000)
        cache.remove(key)
    assert system.accountant.pressed.is_set() and system.accountant.settle()


# -- sizes ------------------------------------------------------------------------------------------------------------


@dataclass
class Pair:
    one: object
    two: object


def test_a_text_weighs_its_characters_and_shared_parts_count_once() -> None:
    latin, tibetan = "a" * 100_000, "\u0f40" * 100_000
    assert 100_000 <= weigh(latin) < 100_100 and 200_000 <= weigh(tibetan) < 200_100
    assert 200_000 <= weigh((tibetan, [tibetan], {"x": tibetan}, Pair(tibetan, tibetan))) < 202_000
    assert weigh({"x": latin, "y": tibetan}) > 300_000


def test_tensors_and_arrays_weigh_what_they_hold() -> None:
    tensor = torch.zeros(1000, 50)
    assert 200_000 <= weigh(tensor) < 201_000
    assert 200_000 <= weigh(Pair(tensor[:2], tensor[2:])) < 202_000  # views of one storage
    array = np.zeros((1000, 50), np.float32)
    assert 200_000 <= weigh(array) < 201_000 and 200_000 <= weigh(array[:2]) < 201_000
    assert weigh(np.array(["a" * 1000, None], object)) > 1_000


def test_a_trace_weighs_its_tensors_and_texts() -> None:
    model = tiny_pretrained()
    short, long = model.trace("ka", "lo"), model.trace("ka lo mi nu re", "lo")
    assert weigh(long) > weigh(short) > weigh(short.cross) + weigh(short.logits) > 4 * short.logits.numel()
    unknown = model.trace("\u0f40" * 5_000, "lo")
    assert weigh(unknown) > weigh(model.trace("\u0f40", "lo")) + 10_000


def test_a_model_weighs_its_parameters_tokenizer_and_files() -> None:
    model = tiny_pretrained()
    weights = sum(parameter.nbytes for parameter in model.model.parameters())
    assert weigh(model) > weights + len(model.tokenizer.to_bytes())  # type: ignore[attr-defined]
    assert weigh(sentencepiece.SentencePieceProcessor) == 0  # a class is nobody's


@pytest.mark.parametrize(
    "text, size",
    [
        ("2G", 2_000_000_000), ("1.5 GB", 1_500_000_000), ("800m", 800_000_000), ("1T", 10**12), ("2GiB", 2 * 10**9),
        (" 900000000 ", 900_000_000), ("1K", 1_000), ("0", 0),
        ("", None), ("G", None), ("-1G", None), ("1e9", None), ("nan", None), ("2 X", None), ("\u0663G", None),
    ],
)  # fmt: skip
def test_a_budget_is_read_as_people_write_it(text: str, size: int | None) -> None:
    assert read_bytes(text) == size


def test_the_budget_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "3G")
    assert memory.budget() == 3_000_000_000
    monkeypatch.setenv(VARIABLE, "1M")
    assert memory.budget() == LEAST_BUDGET
    monkeypatch.setenv(VARIABLE, "a lot")
    assert memory.budget() == BUDGET


@pytest.mark.skipif(not memory._STATM.exists(), reason="only Linux says what a process takes")
def test_the_system_says_what_the_process_takes() -> None:
    before = memory.resident() or 0
    block = bytearray(b"x" * 50_000_000)
    assert (memory.resident() or 0) - before > 40_000_000
    del block
    memory.return_memory()
    assert (memory.resident() or 0) - before < 40_000_000
