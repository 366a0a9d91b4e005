"""One training of the Training page: the project's own trainer for an experiment, in memory, with a recorder."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable

from transformer.live_training.experiment import Experiment
from transformer.live_training.frames import MOST, Frame, Opening
from transformer.live_training.recipe import languages, recipe_table
from transformer.live_training.recorder import EVERY, Recorder
from transformer.model.config import preset
from transformer.text.tokenizer import Tokenizer
from transformer.training.data import Pair
from transformer.training.loop import Trainer
from transformer.training.recipe import task_of
from transformer.training.settings import Progress, Settings
from transformer.training.store import Row, log_bytes
from transformer.training.tasks import training_pairs

STEPS, STOPPED, TIME = "steps", "stopped", "time"  # why a training ended


def pairs_of(experiment: Experiment) -> tuple[list[Pair], list[Pair]]:
    """Training pairs and unseen pairs."""
    spec = task_of(recipe_table(experiment))
    return experiment.divided if spec is None else training_pairs(spec)


def trainer_of(experiment: Experiment) -> Trainer:
    """The trainer that `python -m transformer train` makes from the experiment's recipe, but without a folder."""
    table = recipe_table(experiment)
    train, unseen = pairs_of(experiment)
    tokenizer = Tokenizer.train((text for pair in train for text in pair), **table["tokenizer"])
    model = dict(table["model"])
    config = preset(model.pop("preset"), len(tokenizer), **model)
    # Validations do not affect the weights, and frames replace them here.
    settings = Settings.from_dict({**table["training"], "validate_every": experiment.steps})
    return Trainer(None, config, tokenizer, train, unseen, settings, languages(experiment))


class Session:
    """An experiment's trainer with its recorder."""

    def __init__(self, experiment: Experiment, most: int = MOST, every: int = EVERY) -> None:
        """most: frames; every: as in `Recorder`."""
        self.experiment = experiment
        self.trainer = trainer_of(experiment)
        self.recorder = Recorder(self.trainer, experiment.recorded_in(most), every)
        self.last: Frame | None = None  # the newest frame; after `run` it is measured on all unseen inputs
        self._rows: list[Row] = []
        self._loss = self._tokens = 0.0  # since the last row

    @property
    def opening(self) -> Opening:
        return self.recorder.opening

    def run(
        self,
        show: Callable[[Frame], None],
        stop: Callable[[], bool] = lambda: False,
        pause: Callable[[], None] = lambda: None,
        seconds: float = float("inf"),
    ) -> str:
        """Train to the end, or until `stop` returns True or `seconds` of computing are used. Returns why it ended:
        "steps", "stopped" or "time". Raises TrainingError.

        show: receives every frame, including that of step 0. If training ends early, the last step gets a frame, too,
        measured on all unseen inputs. pause: called after every step; it may wait.
        """
        reason = STEPS
        self.recorder.start_clock()
        trainer, recorded = self.trainer, set(self.opening.recorded)

        def keep(frame: Frame) -> None:
            self.last = frame
            self._log(frame)
            show(frame)

        def report(entry: Progress) -> None:
            nonlocal reason
            loss, tokens = trainer.latest
            self.recorder.count(loss, tokens)
            self._loss, self._tokens = self._loss + loss * tokens, self._tokens + tokens
            pause()
            if trainer.step < trainer.settings.steps:
                reason = STOPPED if stop() else TIME if self.recorder.seconds >= seconds else STEPS
            if trainer.step in recorded or reason != STEPS:
                keep(self.recorder.frame(whole=reason != STEPS))

        keep(self.recorder.frame())
        trainer.run(report, stop=lambda: reason != STEPS)
        return reason

    def _log(self, frame: Frame) -> None:
        """Add a row to training.csv if the frame was measured on all unseen inputs."""
        if frame.exact is None or not self._tokens:
            return
        loss = frame.validation_loss
        entry = Progress(
            frame.step, self.trainer.epoch, frame.rate, self._loss / self._tokens, int(self._tokens), frame.seconds,
            loss, None if loss is None else math.exp(min(loss, 50)),
        )  # fmt: skip
        self._rows.append(dataclasses.asdict(entry))
        self._loss = self._tokens = 0.0

    def log(self) -> bytes:
        """training.csv, one row for each frame that was measured on all unseen inputs."""
        return log_bytes(self._rows) if self._rows else b""
