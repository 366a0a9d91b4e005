"""Background jobs: one at a time whatever their kind, one a viewer, with progress, stop, and results for all."""

import threading
from collections.abc import Callable, Iterator

import pytest

from pages.components.task import Progress, Task
from pages.runtime import job
from pages.runtime.job import JOB_QUEUE
from pages.runtime.queue import MODEL_QUEUE
from pages.runtime.shared import SharedCache
from tests.pages.runtime.test_queue import begin, nobody_left, until
from transformer.cancellation import Stopped


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()
    until(lambda: not JOB_QUEUE.running and not JOB_QUEUE.waiting)


def gated(gate: threading.Event, calls: list[str]) -> Callable[[Progress], str]:
    """Work of four parts that waits after the first."""

    def work(progress: Progress) -> str:
        calls.append("begun")
        progress(1, 4)
        while not gate.wait(0.01):
            if not progress(1, 4):
                raise Stopped
        progress(4, 4)
        return "result"

    return work


def test_one_job_runs_whatever_its_kind_and_its_result_is_for_all(gate: threading.Event) -> None:
    kinds: tuple[SharedCache[str], SharedCache[str]] = (SharedCache("test a"), SharedCache("test b"))
    calls: list[str] = []
    first = Task(kinds[0], "key", gated(gate, calls))
    until(lambda: first.done == 1)
    second = Task(kinds[1], "key", lambda progress: "other")
    third = Task(kinds[0], "key", gated(gate, calls))  # another viewer wants the same
    until(lambda: JOB_QUEUE.waiting == 2)
    assert (first.stage, second.stage, third.stage) == ("running", "waiting", "waiting") and first.total == 4
    first.began -= 10  # as if the first of four parts had taken ten seconds
    assert first.seconds_left == pytest.approx(30, abs=15) and second.seconds_left is None
    gate.set()
    for task in (first, second, third):
        task.thread.join(30)
        assert task.stage == "done"
    assert kinds[0].find("key") == "result" and kinds[1].find("key") == "other"
    assert calls == ["begun"]  # the third found the result of the first


def test_a_pass_that_waits_goes_before_the_next_step_of_a_job() -> None:
    order: list[str] = []

    def viewer() -> None:
        with MODEL_QUEUE.turn(nobody_left):
            order.append("pass")

    def work(progress: Progress) -> str:
        order.append("first step")
        thread = begin(viewer)
        until(lambda: MODEL_QUEUE.waiting == 1)
        progress(1, 2)
        order.append("second step")
        thread.join(30)
        return "result"

    task = Task(SharedCache[str]("test way"), "key", work)
    task.thread.join(30)
    assert (task.stage, order) == ("done", ["first step", "pass", "second step"])


def test_a_job_stops_while_it_runs_and_while_it_waits(gate: threading.Event) -> None:
    jobs: SharedCache[str] = SharedCache("test stop")
    first = Task(jobs, "first", gated(gate, []))
    until(lambda: first.done == 1)
    second = Task(jobs, "second", gated(gate, []))
    until(lambda: JOB_QUEUE.waiting == 1)
    for task in (second, first):
        task.stop()
        task.thread.join(30)
        assert task.stage == "stopped" and not task.running
    assert jobs.find("first") is None and jobs.find("second") is None


def test_a_job_ends_when_its_viewer_has_left(gate: threading.Event) -> None:
    jobs: SharedCache[str] = SharedCache("test left")
    task = Task(jobs, "key", gated(gate, []))
    until(lambda: task.done == 1)
    task._looked -= task._patience
    task.thread.join(30)
    assert task.stage == "stopped"


def test_a_viewer_has_one_job_of_all_kinds(gate: threading.Event, monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = job.Started(), job.Started()
    viewers = iter((one, two, one))
    monkeypatch.setattr(job, "session_id", lambda: "any")
    monkeypatch.setattr(job, "from_session", lambda kind: next(viewers))
    tasks = [Task(SharedCache(f"test {number}"), "key", gated(gate, [])) for number in range(3)]
    assert [task.stopping for task in tasks] == [True, False, False]


def test_the_queue_is_bounded(gate: threading.Event, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job, "MOST_WAITING", 1)
    jobs: SharedCache[str] = SharedCache("test bound")
    first = Task(jobs, 0, gated(gate, []))
    until(lambda: first.done == 1)
    Task(jobs, 1, gated(gate, []))
    until(lambda: JOB_QUEUE.waiting == 1)
    refused = Task(jobs, 2, gated(gate, []))
    refused.thread.join(30)
    assert (refused.stage, refused.error) == ("failed", "1 computations are waiting; try again in a few minutes")
