"""The rules of the queue, solved by hand: no threads, processes or clocks."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass

import pytest

from transformer.live_training.fair_queue import has_share, in_turn, starts
from transformer.live_training.workshop import MOST_PER_VIEWER, MOST_WAITING


@dataclass(frozen=True)
class Run:
    viewer: str | None
    address: str | None = None
    number: int = 0


def queue(text: str) -> list[Run]:
    """ "a@x b@y" -> runs of the viewers a and b at the addresses x and y; "-": a viewer or address of its own."""
    names = [word.partition("@") for word in text.split()]
    return [
        Run(None if viewer == "-" else viewer, None if address in ("", "-") else address, number)
        for number, (viewer, _, address) in enumerate(names)
    ]


CASES = {
    "arrival, if all are equal": ("a b c", "", "a b c"),
    "every first run before any second": ("a a b a b c", "", "a b c a b a"),
    "a running run counts as a first": ("a b", "a", "b a"),
    "runs without a viewer are of different viewers": ("- - a -", "a", "- - - a"),
    "addresses take turns": ("a@x b@x c@x d@y e@z", "", "a@x d@y e@z b@x c@x"),
    "an address whose run trains waits": ("a@x b@x c@y", "z@x", "c@y a@x b@x"),
    "a newcomer goes before the second of every address": ("a@x b@x c@y d@y e@z", "f@x g@y", "e@z a@x c@y b@x d@y"),
    "no second run before a first, whatever the address": ("a@x a@x b@y b@y c@y", "", "a@x b@y c@y a@x b@y"),
    "one viewer at two addresses is one viewer": ("a@x a@y b@x", "", "a@x b@x a@y"),
    "viewers without an address do not share one": ("a b c@x d@x e", "", "a b c@x e d@x"),
}


@pytest.mark.parametrize("case", CASES)
def test_turns(case: str) -> None:
    waiting, running, expected = CASES[case]
    found = " ".join(
        f"{run.viewer or '-'}{'@' + run.address if run.address else ''}"
        for run in in_turn(queue(waiting), queue(running))
    )
    assert found == expected


@pytest.mark.parametrize("seed", range(20))
def test_no_second_run_starts_before_a_first(seed: int) -> None:
    """Any line: the rounds are sorted, and within a round every address has as many runs before a place as any other
    that still waits, or one more."""
    rng = random.Random(seed)
    homes = {f"v{number}": rng.choice("xyz") for number in range(8)}
    line = [Run(viewer, homes[viewer], n) for n, viewer in enumerate(rng.choices(sorted(homes), k=30))]
    number = {run: sum(earlier.viewer == run.viewer for earlier in line[: run.number]) for run in line}
    order = in_turn(line, [])
    rounds = [number[run] for run in order]
    assert sorted(order, key=line.index) == line and rounds == sorted(rounds)
    for turn in set(rounds):
        row = [run.address for run in order if number[run] == turn]
        for at in range(len(row)):
            counts = [row[:at].count(address) for address in set(row[at:])]
            assert row[:at].count(row[at]) == min(counts)


def test_shares_of_the_queue() -> None:
    """Of 12 places: one address gets 6, two get 4 each, and a third one still finds places."""

    def fill(line: list[Run], address: str | None) -> int:
        count = 0
        while has_share(line, address, 12):
            line.append(Run(None, address))
            count += 1
        return count

    line: list[Run] = []
    assert (fill(line, "x"), fill(line, "y"), fill(line, "z"), fill(line, "u")) == (6, 3, 2, 1) and len(line) == 12
    assert (fill(line, "x"), fill(line, "w"), fill(line, None)) == (0, 0, 0)
    line = [Run(None, address) for address in "xyxyxyxy"]
    assert not has_share(line, "x", 12) and has_share(line, "z", 12)  # 4 have x, 4 are free
    line = []
    assert fill(line, None) == 12


def test_second_runs_leave_places_for_first_ones() -> None:
    """Of 12 places: second runs take them while twice their number is below the free ones, third ones thrice."""
    counts = {}
    for others in range(4):
        line: list[Run] = []
        while has_share(line, "x", 12, others):
            line.append(Run(None, "x"))
        counts[others] = len(line)
    assert counts == {0: 6, 1: 4, 2: 3, 3: 3}


@pytest.mark.parametrize("greedy", range(41))
def test_a_class_behind_one_address_has_a_place_for_everybodys_first_run(greedy: int) -> None:
    """Some of 40 press as often as they may, one after the other or in turns, before the others press once."""
    for order in (
        range(greedy * MOST_PER_VIEWER),
        sorted(range(greedy * MOST_PER_VIEWER), key=lambda one: one % MOST_PER_VIEWER),
    ):
        line: list[Run] = []
        begun: Counter[int] = Counter()
        for press in order:
            if has_share(line, "class", MOST_WAITING, begun[press // MOST_PER_VIEWER]):
                line.append(Run(str(press // MOST_PER_VIEWER), "class"))
                begun[press // MOST_PER_VIEWER] += 1
        for _student in range(40 - greedy):
            assert has_share(line, "class", MOST_WAITING)
            line.append(Run(None, "class"))
        assert set(begun) == set(range(greedy)) and all(begun.values())


def test_waiting_times() -> None:
    """Two train for 10 and 30 more seconds; those that follow take 40: at 10, 30, 50, 70, 90."""
    assert starts([30, 10], 40, 5) == [10, 30, 50, 70, 90]
    assert starts([30, 10], 40, 0) == [] and starts([5], 7, 3) == [5, 12, 19]
    assert starts([], 7, 1) == [0.0]  # nothing runs
