"""A queue of trainings that trains nothing, for tests of the page: its runs are in the stage that a test gives them."""

from collections.abc import Callable
from dataclasses import dataclass, field

from transformer.live_training.experiment import Experiment
from transformer.live_training.frames import Frame, Opening
from transformer.live_training.training_queue import QueueError


@dataclass
class Run:
    """The attributes of a `LiveRun`. told: the commands it got."""

    experiment: Experiment
    id: str
    stage: str = "training"
    place: int = 0
    reason: str = ""
    error: str = ""
    opening: Opening | None = None
    frames: list[Frame] = field(default_factory=list)
    step: int = 0
    seconds: float = 0.0
    limit: float = 60.0
    result: bytes | None = None
    wait: float | None = None
    pause_left: float = 0.0
    recording: bool = False
    told: list[str] = field(default_factory=list)

    @property
    def ended(self) -> bool:
        return self.stage in ("done", "failed")

    def pause(self) -> None:
        self.told.append("pause")

    def go_on(self) -> None:
        self.told.append("go")

    def stop(self) -> None:
        self.told.append("stop")

    def end(self, result: bytes | None = None, reason: str = "steps") -> None:
        self.stage, self.reason, self.result, self.step = "done", reason, result, self.experiment.steps


class FakeQueue:
    """A queue that takes runs in and trains nothing."""

    most, seconds, waiting, running = 2, 60.0, 0, 0

    def __init__(self) -> None:
        self.runs: list[Run] = []
        self.prepared = 0
        self.refuses = ""
        self.soon: float | None = None

    def submit(
        self, experiment: Experiment, watched: Callable[[], bool], viewer: object = None, address: object = None
    ) -> Run:
        assert watched()
        if self.refuses:
            raise QueueError(self.refuses)
        self.runs.append(Run(experiment, f"{len(self.runs):012x}"))
        return self.runs[-1]

    def expected_wait(self, viewer: object = None, address: object = None) -> float | None:
        return self.soon if self.running >= self.most else 0.0

    def prepare(self) -> None:
        self.prepared += 1
