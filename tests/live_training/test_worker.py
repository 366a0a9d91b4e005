"""The process that trains, by itself: its messages, its commands, and that it ends when nobody is there."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.live_training.test_recorder import SMALL
from tests.support.processes import PATIENCE
from tests.support.workshops import ROOT
from transformer.checkpoints.archive import read_zip
from transformer.live_training.experiment import Experiment
from transformer.live_training.frames import Frame, Opening
from transformer.live_training.messages import CRASHED, TOO_LARGE, Checked, Message, read
from transformer.live_training.pairs import ExperimentError
from transformer.live_training.recipe import recipe_text
from transformer.live_training.session import Session
from transformer.live_training.worker import message_of, train
from transformer.texts import ENGLISH, Language, use_language
from transformer.training.settings import TrainingError

pytestmark = pytest.mark.slow  # starts processes

ENDLESS = dataclasses.replace(SMALL, steps=5000)
HEAVY = Experiment(layers=2, heads=8, d_model=256, d_ff=1024, batch=256, shortest=32, longest=32)  # 2 s a step


class Worker:
    """A worker process and its output."""

    def __init__(self, folder: Path) -> None:
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
        self.errors = (folder / "stderr").open("w+b")
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "transformer.live_training.worker"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, cwd=folder,
            env={**environment, "TMPDIR": str(folder), "HOME": str(folder)},
        )  # fmt: skip
        assert self.process.stdin is not None and self.process.stdout is not None
        self.input, self.output = self.process.stdin, self.process.stdout

    def say(self, values: object) -> None:
        self.input.write(json.dumps(values).encode() + b"\n")
        self.input.flush()

    def begin(self, experiment: Experiment, seconds: float = 1e6) -> None:
        assert self.hear().kind == "ready"
        self.say({"experiment": experiment.to_dict(), "seconds": seconds})

    def hear(self) -> Message:
        message = read(self.output)
        assert message is not None, self.stderr()
        return message

    def until(self, *kinds: str) -> list[Message]:
        """All messages up to the first of these kinds."""
        heard = [self.hear()]
        while heard[-1].kind not in kinds:
            heard.append(self.hear())
        return heard

    def stderr(self) -> str:
        self.errors.seek(0)
        return self.errors.read().decode()


@pytest.fixture
def worker(tmp_path: Path) -> Iterator[Worker]:
    one = Worker(tmp_path)
    yield one
    one.process.kill()
    one.process.wait()
    for stream in (one.input, one.output, one.errors):
        with contextlib.suppress(OSError):
            stream.close()


def test_the_worker_trains_the_experiment_and_sends_every_frame(worker: Worker, tmp_path: Path) -> None:
    worker.begin(SMALL)
    heard = worker.until("done", "failed")
    assert heard[-1].values == {"reason": "steps", "step": 25}
    session = Session(SMALL)
    frames: list[Frame] = []
    session.run(frames.append)
    assert heard[0].kind == "opening" and Opening.from_dict(heard[0].values) == session.opening
    found = [Frame.from_message(one.values, one.body) for one in heard if one.kind == "frame"]
    assert [dataclasses.replace(one, seconds=0.0) for one in found] == [
        dataclasses.replace(one, seconds=0.0) for one in frames
    ]
    checked = Checked(SMALL.steps)
    for message in heard:
        getattr(checked, message.kind)(message)
    files = read_zip(heard[-1].body)
    assert files["recipe.toml"].decode() == recipe_text(SMALL)
    assert worker.process.wait(PATIENCE) == 0 and read(worker.output) is None
    worker.errors.close()
    assert [path.name for path in tmp_path.rglob("*")] == ["stderr"]  # which this test made


def test_the_worker_pauses_continues_and_stops(worker: Worker) -> None:
    worker.begin(ENDLESS)
    worker.until("frame")
    worker.say({"do": "pause"})
    for line in (b"\xff\n", b"[" * 99_999 + b"\n", b"{}\n", b'{"do": "dance"}\n', b"null\n"):
        worker.input.write(line)  # what is no command changes nothing
    worker.input.flush()
    steps: list[int] = []
    while len(steps) < 5 or len(set(steps[-4:])) > 1:  # it still says that it is there, and goes no further
        steps += [one.values["step"] for one in worker.until("pulse") if one.kind == "pulse"]
    worker.say({"do": "go"})
    later = worker.until("frame")[-1]
    assert later.values["step"] >= steps[-1]
    worker.say({"do": "pause"})
    worker.until("pulse")
    worker.say({"do": "stop"})  # while it pauses
    heard = worker.until("done", "failed")
    done, frames = heard[-1], [one for one in heard if one.kind == "frame"]
    assert done.values["reason"] == "stopped" and 0 < done.values["step"] < 5000
    assert frames[-1].values["step"] == done.values["step"] and frames[-1].values["exact"] is not None
    metrics = json.loads(read_zip(done.body)["metrics.json"])
    assert metrics["step"] == done.values["step"] and metrics["exact"] == frames[-1].values["exact"]


@pytest.mark.parametrize("moment", ["before", "computing", "paused"])
def test_a_worker_ends_when_its_parent_is_gone(worker: Worker, moment: str) -> None:
    if moment == "before":
        worker.hear()
    else:
        worker.begin(HEAVY if moment == "computing" else ENDLESS)
        worker.until("frame")
        if moment == "paused":
            worker.say({"do": "pause"})
        worker.until("pulse")  # of HEAVY: in the midst of its first step
    worker.input.close()
    assert worker.process.wait(PATIENCE) == 0


def test_a_worker_ends_when_its_output_is_closed(worker: Worker) -> None:
    worker.begin(ENDLESS)
    worker.until("frame")
    worker.output.close()
    assert worker.process.wait(PATIENCE) == 0


def test_errors_of_a_training_become_messages(worker: Worker) -> None:
    worker.hear()
    worker.say({"experiment": {"heads": 3}, "seconds": 9})
    failed = worker.until("failed", "done")[-1]
    assert failed.kind == "failed" and "d_model is 64 with 3 heads; choose" in failed.values["error"]
    assert worker.process.wait(PATIENCE) == 0


# -- the same without a process ---------------------------------------------------------------------------------------


class Heard:
    """Messages, kept instead of sent."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, Any, bytes]] = []

    def send(self, kind: str, values: Any, body: bytes = b"") -> None:
        self.sent.append((kind, values, body))


NO_COMMANDS = SimpleNamespace(stopped=False, wait_while_paused=lambda: None)
NO_NUMBER = {"peak_rate": 1.0, "warmup": 0, "norm": "none", "layers": 3, "scaling": False}


@pytest.mark.parametrize(
    ("first", "kind", "error"),
    [
        ([], ExperimentError, "there is no experiment; send a table with experiment and seconds first"),
        ({"experiment": {}}, ExperimentError, "there is no experiment"),
        ({"experiment": {**SMALL.to_dict(), **NO_NUMBER}, "seconds": 99}, TrainingError, "the loss is"),
    ],
)
def test_invalid_first_messages_are_errors(first: Any, kind: type[Exception], error: str) -> None:
    with pytest.raises(kind, match=error):
        train(first, NO_COMMANDS, Heard())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ExperimentError("heads is 9; choose a whole number from 1 to 8"), "^heads is 9; choose"),
        (TrainingError("at step 3 the loss is nan"), "^at step 3 the loss is nan$"),
        (MemoryError(), f"^{TOO_LARGE}$"),
        (
            RuntimeError("[enforce fail at alloc_cpu.cpp:1] DefaultCPUAllocator: can't allocate memory: you tried"),
            f"^{TOO_LARGE}$",
        ),
        (ZeroDivisionError("a\nb"), f"^{re.escape(CRASHED)}$"),
    ],
)
def test_every_failure_is_a_sentence(error: Exception, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    message = message_of(error)
    assert re.search(text, message) and "\n" not in message
    has_traceback = "Error" in capsys.readouterr().err
    assert has_traceback == (not isinstance(error, ValueError))  # user errors need none


def test_the_server_translates_the_worker_s_failures() -> None:
    use_language(Language("de", {TOO_LARGE: "zu wenig Speicher", CRASHED: "Fehler {exception}"}))
    try:
        for error, expected in ((TOO_LARGE, "zu wenig Speicher"), (CRASHED, "Fehler KeyError"), ("a {b}", "a {b}")):
            message = Message("failed", {"error": error, "exception": "KeyError"})
            assert str(Checked().failed(message)) == expected
    finally:
        use_language(ENGLISH)
