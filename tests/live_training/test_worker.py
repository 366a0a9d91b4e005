"""The process that trains, by itself: its messages, its commands, and that it ends when nobody is there."""

import dataclasses
import json
import re
import select
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from tests.live_training.test_session import SMALL
from tests.support.processes import PATIENCE
from transformer.checkpoints.archive import read_zip
from transformer.live_training.experiment import Experiment
from transformer.live_training.frames import Frame
from transformer.live_training.messages import CRASHED, TOO_LARGE, Conversation, Message
from transformer.live_training.pairs import ExperimentError
from transformer.live_training.recipe import recipe_text
from transformer.live_training.session import Session
from transformer.live_training.worker import message_of, train
from transformer.live_training.worker_process import COMMAND, WorkerProcess
from transformer.texts import ENGLISH, Language, use_language
from transformer.training.settings import TrainingError

pytestmark = pytest.mark.slow  # starts processes

ENDLESS = dataclasses.replace(SMALL, steps=5000)
HEAVY = Experiment(layers=2, heads=8, d_model=256, d_ff=1024, batch=256, shortest=32, longest=32)  # 2 s a step


class Worker(WorkerProcess):
    """A worker process and its messages."""

    def begin(self, experiment: Experiment) -> None:
        self.until("ready")
        self.send({"experiment": experiment.to_dict(), "seconds": 1e6})

    def until(self, *kinds: str) -> list[Message]:
        """All messages up to the first of these kinds."""
        found: list[Message] = []
        while not found or found[-1].kind not in kinds:
            message = self.receive()
            assert message is not None
            found.append(message)
        return found


@pytest.fixture
def worker() -> Iterator[Worker]:
    one = Worker(COMMAND, 1e5)
    yield one
    one.end()


def test_the_worker_trains_the_experiment_and_sends_every_frame(worker: Worker) -> None:
    worker.begin(SMALL)
    messages = worker.until("done", "failed")
    assert messages[-1].values == {"reason": "steps", "step": 25}
    session = Session(SMALL)
    frames: list[Frame] = []
    session.run(frames.append)
    conversation = Conversation(SMALL.steps)
    found = {kind: [getattr(conversation, kind)(one) for one in messages if one.kind == kind]
             for kind in ("opening", "frame", "progress", "done")}  # fmt: skip
    assert messages[0].kind == "opening" and found["opening"] == [session.opening]
    assert [dataclasses.replace(one, seconds=0.0) for one in found["frame"]] == [
        dataclasses.replace(one, seconds=0.0) for one in frames
    ]
    assert read_zip(messages[-1].body)["recipe.toml"].decode() == recipe_text(SMALL)
    assert worker.end(PATIENCE) == 0


def test_the_worker_pauses_continues_and_stops(worker: Worker) -> None:
    worker.begin(ENDLESS)
    worker.until("frame")
    worker.send({"do": "pause"})
    assert worker._process.stdin is not None
    for line in (b"\xff\n", b"[" * 99_999 + b"\n", b"{}\n", b'{"do": "dance"}\n', b"null\n"):
        worker._process.stdin.write(line)  # what is no command changes nothing
    worker._process.stdin.flush()
    before = worker.until("progress")[-1]
    while select.select([worker._process.stdout], [], [], 0.5)[0]:  # it sends what is left, and goes no further
        before = worker.until("progress", "done")[-1]
        assert before.kind == "progress"
    worker.send({"do": "go"})
    assert worker.until("frame")[-1].values["step"] >= before.values["step"]
    worker.send({"do": "pause"})
    worker.until("progress")
    worker.send({"do": "stop"})  # while it pauses
    messages = worker.until("done", "failed")
    done, frames = messages[-1], [one for one in messages if one.kind == "frame"]
    assert done.values["reason"] == "stopped" and 0 < done.values["step"] < 5000
    assert frames[-1].values["step"] == done.values["step"] and frames[-1].values["exact"] is not None
    metrics = json.loads(read_zip(done.body)["metrics.json"])
    assert metrics["step"] == done.values["step"] and metrics["exact"] == frames[-1].values["exact"]


@pytest.mark.parametrize("moment", ["before", "computing", "paused", "unread"])
def test_a_worker_ends_when_its_parent_is_gone(worker: Worker, moment: str) -> None:
    """Its input ends, or nobody reads its output any more."""
    if moment == "before":
        worker.until("ready")
    else:
        worker.begin(HEAVY if moment == "computing" else ENDLESS)
        worker.until("frame")
    if moment == "paused":
        worker.send({"do": "pause"})
        worker.until("progress")
    pipe = worker._process.stdout if moment == "unread" else worker._process.stdin
    assert pipe is not None
    pipe.close()
    assert worker._process.wait(PATIENCE) == 0


def test_errors_of_a_training_become_messages(worker: Worker) -> None:
    worker.until("ready")
    worker.send({"experiment": {"heads": 3}, "seconds": 9})
    failed = worker.until("failed", "done")[-1]
    assert failed.kind == "failed" and "d_model is 64 with 3 heads; choose" in failed.values["error"]
    assert worker.end(PATIENCE) == 0


# -- the same without a process ---------------------------------------------------------------------------------------

NO_COMMANDS = SimpleNamespace(stopped=False, go=SimpleNamespace(is_set=lambda: True, wait=lambda: None))
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
        train(first, NO_COMMANDS, lambda *message: None)  # type: ignore[arg-type]


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
            assert str(Conversation().failed(message)) == expected
    finally:
        use_language(ENGLISH)
