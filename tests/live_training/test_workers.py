"""Workers that die, hang or send nonsense, what the system limits, and the end of the server: nothing is left."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.processes import PATIENCE, children, gone
from tests.support.training_queues import LONG, ROOT, Fake, Start, ended, trains, until, watched, workers
from transformer.live_training import live_run
from transformer.live_training.live_run import SILENT, UNWATCHED
from transformer.live_training.worker_process import MEMORY

pytestmark = pytest.mark.slow  # starts processes

LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="what a process does, as Linux tells it")
POSIX = pytest.mark.skipif(os.name != "posix", reason="signals as POSIX has them")
KILLED = "ended the training process (SIGKILL), perhaps for lack of memory. Its last step was 2."
INVALID = "sent an invalid message ("
DIES = {
    "early": "ended with exit code 5. It had not made a step yet.",
    "exit": "ended with exit code 3. Its last step was 2.",
    "cut": "ended with exit code 0. Its last step was 2.",
    "kill": KILLED,
    "mute": KILLED,
    # What else is nonsense: test_messages.py.
    "garbage": f"{INVALID}a header of 1,667,330,644 bytes; at most 64,000 are allowed) and was ended. Its last",
    "twice": f'{INVALID}a second "ready"',
    "flood": f"{INVALID}257 frames; at most 256 and 16,000,000 bytes are allowed",
}


@POSIX
@pytest.mark.parametrize("behaviour", DIES)
def test_a_worker_that_dies_or_sends_nonsense_is_reported_and_the_next_begins(start: Start, behaviour: str) -> None:
    queue = start(behaviour=behaviour)
    runs = [queue.submit(Fake(steps=100_000, at=3), watched) for _ in range(2)]
    ended(*runs)
    for run in runs:
        assert (run.stage, run.reason, run.result) == ("failed", "died", None)
        assert str(run.error).startswith("The ") and str(run.error).endswith("train a smaller model.")
        assert DIES[behaviour] in str(run.error) and "\n" not in str(run.error) and len(run.frames) <= 256
    until(lambda: not workers())


@pytest.mark.parametrize("behaviour", ["unread", "hang", pytest.param("well", marks=LINUX)])
def test_a_worker_that_sends_nothing_is_ended_and_the_next_begins(
    start: Start, behaviour: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before its first step, where it does not even read its long experiment; after its frames 0 to 2; or one that a
    signal has stopped."""
    queue = start(behaviour=behaviour)
    run, following = (
        queue.submit(Fake(steps=100_000, pause=0.01, at=3, more="x" * 500_000), watched) for _ in range(2)
    )
    until(lambda: len(run.frames) >= (0 if behaviour == "unread" else 3) and run._worker)
    if behaviour == "well":
        assert run._worker is not None
        os.kill(run._worker.pid, signal.SIGSTOP)
    monkeypatch.setattr(live_run, "SILENT", 0.5)
    ended(run)
    until(lambda: following.stage != "waiting")
    step = "It had not made a step" if behaviour == "unread" else "Its last step was"
    assert (run.stage, run.reason, run.result) == ("failed", "died", None)
    assert str(run.error).startswith(f"The training process sent nothing for 0.5 seconds and was ended. {step}")


def test_a_lost_viewer_and_a_lost_worker_do_not_keep_a_process_for_long() -> None:
    assert UNWATCHED == 10 and SILENT == 600


@pytest.mark.parametrize(
    ("behaviour", "error"),
    [
        ("refuse", "the loss is not finite at step 0; choose a smaller learning rate"),
        pytest.param("eats", "no more memory", marks=LINUX),  # it asks for more than the system lets it have
    ],
)
def test_the_error_of_a_worker_reaches_the_run(start: Start, behaviour: str, error: str) -> None:
    run = start(behaviour=behaviour).submit(Fake(), watched)
    ended(run)
    assert (run.stage, run.reason, run.error, run.result) == ("failed", "", error, None)


def test_a_missing_program_gives_a_message(start: Start) -> None:
    queue = start(command=["/no/such/program"])
    queue.prepare()
    runs = [queue.submit(Fake(), watched) for _ in range(2)]
    ended(*runs)
    assert queue.running == 0
    sentence = "The training process could not be started (No such file or directory). Try again later."
    assert [str(run.error) for run in runs] == [sentence] * 2


def test_a_bug_in_the_app_ends_only_one_run(start: Start, caplog: pytest.LogCaptureFixture) -> None:
    class Broken(Fake):
        def to_dict(self) -> dict[str, Any]:
            raise ZeroDivisionError

    queue = start()
    broken, whole = queue.submit(Broken(), watched), queue.submit(Fake(), watched)
    ended(broken, whole)
    assert (broken.stage, whole.reason) == ("failed", "steps") and "ZeroDivisionError" in str(broken.error)
    assert "ended by an error of the app" in caplog.text


@LINUX
def test_a_worker_is_last_in_the_queue_and_bounded(start: Start) -> None:
    """Its priority, its memory, its time on a core, and that it is the first to go when memory runs out. Its process
    group is its own, for Ctrl+C; its session is the server's, or its priority would count for nothing (autogroup)."""
    run = start(seconds=20).submit(LONG, watched)
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
from transformer.live_training.training_queue import TrainingQueue
queue = TrainingQueue(2, 1e5)
runs = [queue.submit(Experiment(steps=5000, seed=n), lambda: True) for n in range(3)]
while not (runs[0].frames and runs[1].frames and queue._spare):
    time.sleep(0.01)
print("train", flush=True)
sys.stdin.read()
"""


@POSIX
@pytest.mark.parametrize("how", ["killed", "ended"])
def test_no_worker_outlives_its_server(how: str) -> None:
    """Killed: nobody is left to say anything, the workers hear that their input ended. Ended: `close` at exit. Two
    train, one was started ahead."""
    with subprocess.Popen(
        [sys.executable, "-c", PARENT],
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
