"""Fifty visitors for an hour, twenty of them attackers: on one process, and on two behind nginx of which one is killed
every ten minutes. HEADSCOPE_SOAK_MINUTES makes it shorter; the memory is judged from half an hour on."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.attack.soak import FLAT, MINUTES, Notes, growth, soak, told

LASTS = float(os.environ.get("HEADSCOPE_SOAK_MINUTES", MINUTES))
PATIENT = 30  # minutes after which the caches are full


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc, and calls from 127.0.1.1")
@pytest.mark.parametrize("replicas", [False, True], ids=["one process", "two behind nginx"])
def test_an_hour_of_attacks_gives_nobody_else_an_error(tmp_path: Path, replicas: bool) -> None:
    notes, lines = soak(tmp_path, LASTS, replicas)
    print("\n".join(lines))
    assert not notes.failures, "\n".join(notes.failures)
    assert all(notes.times[what] for what in ("a click", "a new sentence", "open a page", "a zip loaded"))
    assert len(notes.attacks) >= 9 and not any(
        counts["error box"] or counts["page broken"] for counts in notes.attacks.values()
    )
    (log,) = [line for line in lines if line.startswith("Log: ")]
    assert "0 tracebacks, 0 ids of sessions, 0 typed texts" in log
    if LASTS >= PATIENT and not replicas:  # a replica that was killed begins with empty caches
        first, last = growth([(second, sum(sizes)) for second, sizes, _ in notes.memory])
        assert last < (1 + FLAT) * first


def test_growth_by_hand() -> None:
    memory = [(float(second), 500.0 if second < 25 else 1000.0 if second < 60 else 1100.0) for second in range(101)]
    assert growth(memory) == (1000.0, 1100.0)


def test_a_line_of_the_soak_by_hand() -> None:
    notes = Notes()
    notes.memory.append((60.0, [500.0, 400.0], 300.0))
    notes.times["a click"] += [(10.0, 9000.0), (61.0, 100.0), (62.0, 300.0), (63.0, 200.0)]
    notes.attacks["a strange text"]["a sentence"] += 1200
    notes.failures.append("one")
    assert told(notes, since=60.0) == (
        "500 + 400 MB, trainings 300 MB; 3 x a click: p50 200, p95 300 ms; 1,200 attacks; 1 failures"
    )
