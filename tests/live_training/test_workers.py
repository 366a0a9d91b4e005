"""Workers that die, hang or send nonsense, what the system bounds, and the end of the server: nothing is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.processes import PATIENCE, children, gone
from tests.support.workshops import FAKE, LONG, QUICK, ROOT, Fake, Start, ended, here, trains, until, workers, workshops
from transformer.live_training.experiment import Experiment
from transformer.live_training.live_run import Patience
from transformer.live_training.worker_process import MEMORY
from transformer.live_training.workshop import Workshop

pytestmark = pytest.mark.slow  # starts processes

LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="what a process does, as Linux tells it")
POSIX = pytest.mark.skipif(os.name != "posix", reason="signals as POSIX has them")


@pytest.fixture
def start() -> Iterator[Start]:
    with workshops() as make:
        yield make


# -- workers that misbehave -------------------------------------------------------------------------------------------

KILLED = "ended the training process (SIGKILL), perhaps for lack of memory. Its last step was 2."
DIES = {
    "early": "ended with exit code 5. It had not made a step yet.",
    "unopened": "ended with exit code 6. It had not made a step yet.",
    "exit": "ended with exit code 3. Its last step was 2.",
    "traceback": "ended with exit code 1. Its last step was 2.",
    "cut": "ended with exit code 0. Its last step was 2.",
    "mute": KILLED,
    "child": "ended with exit code 4. Its last step was 2.",
    "last": "ended with exit code 7. Its last step was 5.",
}
WRONG = {
    "first": "a frame without an opening) and was ended. It had not made a step yet.",
    "garbage": "a header of 1,667,330,644 bytes; at most 64,000 are allowed) and was ended. Its last step was 2.",
    "header": "a header of 4,294,967,295 bytes; at most 64,000 are allowed",
    "body": "4,294,967,295 bytes after the header of 'frame'; at most 16,000,000 are allowed",
    "nested": "a header that is not JSON",
    "digits": "a header that is not JSON",
    "nan": "NaN is not a number",
    "unknown": "a header of an unknown kind",
    "back": "a frame of step 2 after a frame of step 2",
    "short": "189 bytes of weights; the opening announced 190",
    "twice": 'a second "ready"',
    "again": "a second opening",
    "reason": "reason is 'tired'; one of steps, stopped, time is expected",
    "flood": "257 frames; at most 256 and 16,000,000 bytes are allowed",
}


@POSIX
@pytest.mark.parametrize("behaviour", [*DIES, "kill"])
def test_a_worker_that_dies_is_reported_and_the_next_begins(start: Start, behaviour: str) -> None:
    shop = start(behaviour=behaviour)
    run, following = (shop.begin(Fake(steps=1000 if behaviour == "flood" else 5, at=3), here) for _ in range(2))
    ended(run, following)
    for one in (run, following):
        assert (one.stage, one.reason, one.result) == ("failed", "died", None)
        assert str(one.error).startswith("The ") and str(one.error).endswith("train a smaller model.")
        assert DIES.get(behaviour, KILLED) in str(one.error)
    until(lambda: not workers())


@pytest.mark.parametrize("behaviour", WRONG)
def test_a_worker_that_sends_nonsense_is_ended(start: Start, behaviour: str) -> None:
    run = start(behaviour=behaviour).begin(Fake(steps=100_000 if behaviour == "flood" else 5, at=3), here)
    ended(run)
    assert (run.stage, run.reason, run.result) == ("failed", "died", None)
    assert f"sent an invalid message ({WRONG[behaviour]}" in str(run.error) and "\n" not in str(run.error)
    assert not workers() and len(run.frames) <= 256


@pytest.mark.parametrize("behaviour", ["asleep", "unread"])
def test_a_worker_that_does_not_begin_is_ended(start: Start, behaviour: str) -> None:
    run = start(behaviour=behaviour, start=0.3).begin(Fake(more="x" * 500_000), here)
    ended(run)
    assert (run.stage, run.reason) == ("failed", "died")
    assert str(run.error).startswith("The training process did not start within 0.3 seconds and was ended. It had not")


def test_a_worker_that_falls_silent_is_ended(start: Start) -> None:
    run = start(behaviour="hang", silence=0.3).begin(Fake(steps=10, at=3), here)
    ended(run)
    assert (run.stage, run.reason) == ("failed", "died") and len(run.frames) == 3
    assert str(run.error).startswith(
        "The training process sent nothing for 0.3 seconds and was ended. Its last step was 2."
    )


@LINUX
def test_a_stopped_worker_loses_its_place() -> None:
    """A real one, stopped by a signal. How long that takes with the usual limits: test_idle.py."""
    shop = Workshop(1, 60, patience=Patience(asleep=1.0, look=0.05))
    try:
        run, following = (shop.begin(Experiment(steps=5000, seed=seed), here) for seed in (1, 2))
        trains(run)
        assert run._worker is not None
        os.kill(run._worker.pid, signal.SIGSTOP)
        ended(run)
        trains(following)
    finally:
        shop.close()
    assert (run.stage, run.reason) == ("failed", "died")
    assert str(run.error).startswith("The training process did nothing for 1 seconds and was ended. Its last step was")


@LINUX
@pytest.mark.parametrize("behaviour", ["hang", "unread"])
def test_a_worker_that_hangs_loses_its_place(start: Start, behaviour: str) -> None:
    """In its work, and before it."""
    run = start(behaviour=behaviour, asleep=1.0).begin(Fake(steps=10, at=3), here)
    ended(run)
    assert (run.stage, run.reason) == ("failed", "died") and len(run.frames) == (3 if behaviour == "hang" else 0)
    assert str(run.error).startswith("The training process did nothing for 1 seconds and was ended.")


@LINUX
def test_a_stopped_worker_that_is_asked_to_end_has_ended_for_its_viewer(start: Start) -> None:
    run = start(asleep=1.0).begin(LONG, here)
    trains(run)
    assert run._worker is not None
    os.kill(run._worker.pid, signal.SIGSTOP)
    run.stop()
    ended(run)
    assert (run.stage, run.reason, run.error, run.result) == ("done", "stopped", "", None)


MUTE = """
import os, sys
from tests.support import fake_worker
fake_worker.OUT = os.fdopen(os.dup(1), "wb", buffering=0)
fake_worker.send("ready")
sys.stdin.readline()
fake_worker.send("opening", **fake_worker.opening(5))
while True:
    pass
"""


@LINUX
def test_a_worker_that_computes_without_a_message_loses_its_place() -> None:
    shop = Workshop(1, 60, [sys.executable, "-c", MUTE], Patience(mute=0.3, look=0.05))
    try:
        run = shop.begin(Fake(), here)
        ended(run)
        assert str(run.error).startswith("The training process computed for 0.3 seconds without a message and was")
    finally:
        shop.close()


def test_a_worker_that_makes_no_step_is_ended(start: Start) -> None:
    """Its limit is of computing time, which one that waits for ever does not use."""
    run = start(behaviour="stuck", stuck=0.3).begin(Fake(steps=10, at=3), here)
    ended(run)
    assert (run.stage, run.reason) == ("failed", "died") and len(run.frames) == 3
    assert str(run.error).startswith("The training process made no step for 0.3 seconds and was ended.")


def test_the_error_of_a_worker_reaches_the_run(start: Start) -> None:
    run = start(behaviour="refuse").begin(Fake(), here)
    ended(run)
    assert (run.stage, run.reason, run.result) == ("failed", "", None)
    assert run.error == "the loss is not finite at step 0; choose a smaller learning rate"


def test_a_missing_program_gives_a_message() -> None:
    shop = Workshop(1, 60, ["/no/such/program"], QUICK)
    try:
        shop.prepare()
        runs = [shop.begin(Fake(), here) for _ in range(2)]
        ended(*runs)
        for run in runs:
            assert str(run.error) == (
                "The training process could not be started (No such file or directory). Try again later."
            )
        assert shop.running == 0
    finally:
        shop.close()


def test_a_bug_in_the_workshop_ends_only_one_run(start: Start, caplog: pytest.LogCaptureFixture) -> None:
    class Broken(Fake):
        def to_dict(self) -> dict[str, Any]:
            raise ZeroDivisionError

    shop = start()
    broken, whole = shop.begin(Broken(), here), shop.begin(Fake(), here)
    ended(broken, whole)
    assert (broken.stage, whole.reason) == ("failed", "steps") and "ZeroDivisionError" in str(broken.error)
    assert "ended by an error of the workshop" in caplog.text


# -- what the system sees to ------------------------------------------------------------------------------------------


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="bounds as Linux has them")
def test_a_worker_is_last_in_the_queue_and_bounded(start: Start) -> None:
    """Its priority, its memory, its time on a core, and that it is the first to go when memory runs out. Its process
    group is its own, for Ctrl+C; its session is the server's, or its priority would count for nothing (autogroup)."""
    run = start(seconds=20).begin(LONG, here)
    trains(run)
    assert run._worker is not None
    place, pid = Path(f"/proc/{run._worker.pid}"), run._worker.pid
    assert os.getpriority(os.PRIO_PROCESS, pid) == 19 and (place / "oom_score_adj").read_text() == "1000\n"
    limits = {line[:25].strip(): line[25:].split()[:2] for line in (place / "limits").read_text().splitlines()}
    assert limits["Max data size"] == [str(MEMORY)] * 2 and limits["Max core file size"] == ["0", "0"]
    assert limits["Max cpu time"] == ["180", "185"]
    assert os.getpgid(pid) == pid and os.getsid(pid) == os.getsid(0)


EATS = """
import os, sys
from transformer.live_training.messages import write
out = os.fdopen(os.dup(1), "wb")
write(out, "ready", {})
sys.stdin.readline()
try:
    held = b"x" * 4_000_000_000
except MemoryError:
    write(out, "failed", {"error": "no more memory"})
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="bounds as Linux has them")
def test_a_worker_cannot_exceed_its_memory_limit() -> None:
    shop = Workshop(1, 60, [sys.executable, "-c", EATS], QUICK)
    try:
        run = shop.begin(Fake(), here)
        ended(run)
        assert (run.stage, run.error) == ("failed", "no more memory")
    finally:
        shop.close()


# -- the end of the server --------------------------------------------------------------------------------------------

PARENT = """
import sys, time
from transformer.live_training.experiment import Experiment
from transformer.live_training.workshop import Workshop
from tests.support.workshops import LONG, QUICK
real = not sys.argv[1:]
shop = Workshop(2, 1e5, **({} if real else {"command": sys.argv[1:], "patience": QUICK}))
runs = [shop.begin(Experiment(steps=5000, seed=n) if real else LONG, lambda: True) for n in range(3)]
shop.prepare()
while not (runs[0].frames and runs[1].frames and shop._spare):
    time.sleep(0.01)
print("train", flush=True)
sys.stdin.read()
"""


@POSIX
@pytest.mark.parametrize("workers", ["fake", "real"])
@pytest.mark.parametrize("how", ["killed", "ended"])
def test_no_worker_outlives_its_server(how: str, workers: str) -> None:
    """Killed: nobody is left to say anything, the workers hear that their input ended. Ended: `close` at exit. Two
    train, one was started ahead."""
    with subprocess.Popen(
        [sys.executable, "-c", PARENT, *([*FAKE, "well"] if workers == "fake" else [])],
        cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as server:  # fmt: skip
        assert server.stdin and server.stdout and server.stderr and server.stdout.readline() == b"train\n"
        found = children(server.pid)
        assert len(found) == 3
        if how == "killed":
            server.kill()
        server.stdin.close()
        assert server.wait(PATIENCE) == (-signal.SIGKILL if how == "killed" else 0)
        assert gone(set(found)) and server.stderr.read() == b""
