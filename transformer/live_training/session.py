"""One training of the playground: the project's own trainer, in memory, made of an experiment and recorded."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable

from transformer.live_training.experiment import Experiment
from transformer.live_training.frames import MOST, Frame, Opening
from transformer.live_training.recipe import languages, recipe_table
from transformer.live_training.recorder import APART, Recorder
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
    """Pairs to train on, and unseen ones."""
    spec = task_of(recipe_table(experiment))
    return experiment.divided if spec is None else training_pairs(spec)


def trainer_of(experiment: Experiment) -> Trainer:
    """What `python -m transformer train` makes of the experiment's recipe, but for the folder: all is in memory."""
    table = recipe_table(experiment)
    train, unseen = pairs_of(experiment)
    tokenizer = Tokenizer.train((text for pair in train for text in pair), **table["tokenizer"])
    model = dict(table["model"])
    config = preset(model.pop("preset"), len(tokenizer), **model)
    # What is validated on the way reaches no weight: frames are measured instead.
    settings = Settings.from_dict({**table["training"], "validate_every": experiment.steps})
    return Trainer(None, config, tokenizer, train, unseen, settings, languages(experiment))


class Session:
    """An experiment's trainer with its recorder."""

    def __init__(self, experiment: Experiment, most: int = MOST, apart: int = APART) -> None:
        """most: frames; apart: as in `Recorder`."""
        self.experiment = experiment
        self.trainer = trainer_of(experiment)
        self.recorder = Recorder(self.trainer, experiment.recorded_in(most), apart)
        self.last: Frame | None = None  # the newest frame; measured on all unseen inputs once `run` has ended
        self._rows: list[Row] = []
        self._loss = self._tokens = 0.0  # since the last row

    @property
    def opening(self) -> Opening:
        return self.recorder.opening

    def run(
        self,
        show: Callable[[Frame], None],
        stop: Callable[[], bool] = lambda: False,
        hold: Callable[[], None] = lambda: None,
        seconds: float = float("inf"),
    ) -> str:
        """Train to the end, or until `stop` says so or `seconds` of a core are used. Returns why it ended: "steps",
        "stopped" or "time". Raises TrainingError.

        show: is given every frame, that of step 0 too; where it ends early its last step has one, which is measured on
        all unseen inputs. hold: called after every step; it may wait.
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
            hold()
            if trainer.step < trainer.settings.steps:
                reason = STOPPED if stop() else TIME if self.recorder.seconds >= seconds else STEPS
            if trainer.step in recorded or reason != STEPS:
                keep(self.recorder.frame(whole=reason != STEPS))

        keep(self.recorder.frame())
        trainer.run(report, stop=lambda: reason != STEPS)
        return reason

    def _log(self, frame: Frame) -> None:
        """A row of training.csv for a frame that was measured on all unseen inputs."""
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
        """training.csv, a row for each frame that was measured."""
        return log_bytes(self._rows) if self._rows else b""
