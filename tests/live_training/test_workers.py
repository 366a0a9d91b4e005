"""Workers that die, hang or send nonsense, what the system bounds, and the end of the server: nothing is left."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.processes import PATIENCE, children, gone
from tests.support.workshops import FAKE, LONG, QUICK, ROOT, Fake, Start, ended, here, trains, until, workers
from transformer.live_training.experiment import Experiment
from transformer.live_training.live_run import Patience
from transformer.live_training.worker_process import MEMORY
from transformer.live_training.workshop import Workshop

pytestmark = pytest.mark.slow  # starts processes

LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="what a process does, as Linux tells it")
POSIX = pytest.mark.skipif(os.name != "posix", reason="signals as POSIX has them")


# -- workers that misbehave -------------------------------------------------------------------------------------------

KILLED = "ended the training process (SIGKILL), perhaps for lack of memory. Its last step was 2."
DIES = {
    "early": "ended with exit code 5. It had not made a step yet.",
    "exit": "ended with exit code 3. Its last step was 2.",
    "cut": "ended with exit code 0. Its last step was 2.",
    "kill": KILLED,
    "mute": KILLED,
    "child": "ended with exit code 4. Its last step was 2.",
}
WRONG = {
    "garbage": "a header of 1,667,330,644 bytes; at most 64,000 are allowed) and was ended. Its last step was 2.",
    "twice": 'a second "ready"',
    "flood": "257 frames; at most 256 and 16,000,000 bytes are allowed",
}


@POSIX
@pytest.mark.parametrize("behaviour", DIES)
def test_a_worker_that_dies_is_reported_and_the_next_begins(start: Start, behaviour: str) -> None:
    shop = start(behaviour=behaviour)
    run, following = (shop.begin(Fake(at=3), here) for _ in range(2))
    ended(run, following)
    for one in (run, following):
        assert (one.stage, one.reason, one.result) == ("failed", "died", None)
        assert str(one.error).startswith("The ") and str(one.error).endswith("train a smaller model.")
        assert DIES[behaviour] in str(one.error)
    until(lambda: not workers())


@pytest.mark.parametrize("behaviour", WRONG)
def test_a_worker_that_sends_nonsense_is_ended(start: Start, behaviour: str) -> None:
    """What else is nonsense: test_messages.py."""
    run = start(behaviour=behaviour).begin(Fake(steps=100_000, at=3), here)
    ended(run)
    assert (run.stage, run.reason, run.result) == ("failed", "died", None)
    assert f"sent an invalid message ({WRONG[behaviour]}" in str(run.error) and "\n" not in str(run.error)
    assert not workers() and len(run.frames) <= 256


@pytest.mark.parametrize(
    ("behaviour", "limit", "problem"),
    [
        ("asleep", {"start": 0.3}, "did not start within 0.3 seconds"),
        ("unread", {"start": 0.3}, "did not start within 0.3 seconds"),
        ("hang", {"silence": 0.3}, "sent nothing for 0.3 seconds"),
        ("stuck", {"stuck": 0.3}, "made no step for 0.3 seconds"),  # its pulse goes on; waiting uses no computing time
        pytest.param("hang", {"asleep": 1.0}, "did nothing for 1 seconds", marks=LINUX),
        pytest.param("unread", {"asleep": 1.0}, "did nothing for 1 seconds", marks=LINUX),
        pytest.param("busy", {"mute": 0.3}, "computed for 0.3 seconds without a message", marks=LINUX),
    ],
)
def test_a_worker_that_makes_no_progress_is_ended(
    start: Start, behaviour: str, limit: dict[str, float], problem: str
) -> None:
    """Before its first step, where it does not even read its long experiment, and after its frames 0 to 2."""
    run = start(behaviour=behaviour, **limit).begin(Fake(steps=10, at=3, more="x" * 500_000), here)
    ended(run)
    frames, step = (0, "It had not made a step") if behaviour in ("asleep", "unread") else (3, "Its last step was 2.")
    assert (run.stage, run.reason, len(run.frames)) == ("failed", "died", frames)
    assert str(run.error).startswith(f"The training process {problem} and was ended. {step}")


@LINUX
def test_a_stopped_worker_loses_its_place() -> None:
    """A real one, stopped by a signal. How long that takes with the usual limits: test_idle.py."""
    with contextlib.closing(Workshop(1, 60, patience=Patience(asleep=1.0, look=0.05))) as shop:
        run, following = (shop.begin(Experiment(steps=5000, seed=seed), here) for seed in (1, 2))
        trains(run)
        assert run._worker is not None
        os.kill(run._worker.pid, signal.SIGSTOP)
        ended(run)
        trains(following)
    assert (run.stage, run.reason) == ("failed", "died")
    assert str(run.error).startswith("The training process did nothing for 1 seconds and was ended. Its last step was")


@LINUX
def test_a_stopped_worker_that_is_asked_to_end_has_ended_for_its_viewer(start: Start) -> None:
    run = start(asleep=1.0).begin(LONG, here)
    trains(run)
    assert run._worker is not None
    os.kill(run._worker.pid, signal.SIGSTOP)
    run.stop()
    ended(run)
    assert (run.stage, run.reason, run.error, run.result) == ("done", "stopped", "", None)


@pytest.mark.parametrize(
    ("behaviour", "error"),
    [
        ("refuse", "the loss is not finite at step 0; choose a smaller learning rate"),
        pytest.param("eats", "no more memory", marks=LINUX),  # it asks for more than the system lets it have
    ],
)
def test_the_error_of_a_worker_reaches_the_run(start: Start, behaviour: str, error: str) -> None:
    run = start(behaviour=behaviour).begin(Fake(), here)
    ended(run)
    assert (run.stage, run.reason, run.error, run.result) == ("failed", "", error, None)


def test_a_missing_program_gives_a_message() -> None:
    with contextlib.closing(Workshop(1, 60, ["/no/such/program"], QUICK)) as shop:
        shop.prepare()
        runs = [shop.begin(Fake(), here) for _ in range(2)]
        ended(*runs)
        assert shop.running == 0
    sentence = "The training process could not be started (No such file or directory). Try again later."
    assert [str(run.error) for run in runs] == [sentence] * 2


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


@LINUX
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
