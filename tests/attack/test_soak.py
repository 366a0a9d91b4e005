"""Fifty visitors for an hour, twenty of them attackers: on one process, and on two behind nginx of which one is killed
every ten minutes. HEADSCOPE_SOAK_MINUTES makes it shorter; the memory is judged from half an hour on."""

import os
import sys
from pathlib import Path

import pytest

from tests.attack.client import MARK
from tests.attack.soak import growth, leaks, soak, tables

MINUTES = float(os.environ.get("HEADSCOPE_SOAK_MINUTES", 60))
PATIENT = 30  # minutes after which the caches are full
FLAT = 0.05  # by which the memory may grow after that


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc, and calls from 127.0.1.1")
@pytest.mark.parametrize("replicas", [False, True], ids=["one process", "two behind nginx"])
def test_an_hour_of_attacks_gives_nobody_else_an_error(tmp_path: Path, replicas: bool) -> None:
    notes, log = soak(tmp_path, MINUTES, replicas)
    print("\n".join(tables(notes)))
    assert not notes.failures, "\n".join(notes.failures)
    assert all(notes.times[what] for what in ("a click", "a new sentence", "open a page", "a zip loaded"))
    assert len(notes.attacks) >= 9 and not any(counts["error box"] for counts in notes.attacks.values())
    assert not leaks(log)
    if MINUTES >= PATIENT and not replicas:  # a replica that was killed begins with empty caches
        first, last = growth(notes.memory)
        assert last < (1 + FLAT) * first


def test_growth_by_hand() -> None:
    memory = [(float(second), 500.0 if second < 25 else 1000.0 if second < 60 else 1100.0) for second in range(101)]
    assert growth(memory) == (1000.0, 1100.0)


def test_leaks_by_hand() -> None:
    session = "0a1b2c3d-0000-4000-8000-0123456789ab"
    found = ["Traceback (most recent call last):", f"session {session}", f"{MARK}.zip"]
    assert leaks("\n".join(["all is well", *found, "port 8501"])) == found
