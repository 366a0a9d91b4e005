"""One training of the playground: the project's own trainer, in memory, made of an experiment and recorded."""

from __future__ import annotations

import time
from collections.abc import Callable

from transformer.config import preset
from transformer.playground.experiment import Experiment
from transformer.playground.frames import Frame, Opening
from transformer.playground.recipe import languages, recipe_table
from transformer.playground.recorder import Recorder
from transformer.tokenizer import Tokenizer
from transformer.training.data import Pair
from transformer.training.loop import Trainer
from transformer.training.recipe import task_of
from transformer.training.settings import Progress, Settings
from transformer.training.tasks import training_pairs

STEPS, STOPPED, TIME = "steps", "stopped", "time"  # why a training ended


def pairs_of(experiment: Experiment) -> tuple[list[Pair], list[Pair]]:
    """Pairs to train on, and unseen ones."""
    spec = task_of(recipe_table(experiment))
    return experiment.divided if spec is None else training_pairs(spec)


def trainer_of(experiment: Experiment) -> Trainer:
    """What `python -m transformer train` makes of the experiment's recipe, but for the folder: it keeps all in memory."""
    table = recipe_table(experiment)
    train, unseen = pairs_of(experiment)
    tokenizer = Tokenizer.train((text for pair in train for text in pair), **table["tokenizer"])
    model = dict(table["model"])
    config = preset(model.pop("preset"), len(tokenizer), **model)
    settings = Settings.from_dict(table["training"])
    return Trainer(None, config, tokenizer, train, unseen, settings, languages(experiment))


class Session:
    """An experiment's trainer with its recorder."""

    def __init__(self, experiment: Experiment) -> None:
        self.experiment = experiment
        self.trainer = trainer_of(experiment)
        self.recorder = Recorder(self.trainer, experiment.recorded)
        self.last: Frame | None = None  # the newest frame; measured on all unseen inputs once `run` has ended

    @property
    def opening(self) -> Opening:
        return self.recorder.opening

    def run(
        self,
        show: Callable[[Frame], None],
        stop: Callable[[], bool] = lambda: False,
        hold: Callable[[], float] = lambda: 0.0,
        seconds: float = float("inf"),
    ) -> str:
        """Train to the end, or until `stop` says so or `seconds` have passed. Returns why it ended: "steps", "stopped"
        or "time". Raises TrainingError.

        show: is given every frame, of step 0 too; where it ends early one more, of its last step. hold: called after
        every step; it may wait, and says for how many seconds it did, which do not count.
        """
        began, held, reason = time.monotonic(), 0.0, STEPS
        recorded = set(self.opening.recorded)

        def keep(frame: Frame) -> None:
            self.last = frame
            show(frame)

        def report(entry: Progress) -> None:
            nonlocal held
            self.recorder.count()
            if self.trainer.step in recorded:
                keep(self.recorder.frame())
            held += hold()

        def ends() -> bool:
            nonlocal reason
            if self.trainer.step < self.trainer.settings.steps:
                over = time.monotonic() - began - held >= seconds
                reason = STOPPED if stop() else TIME if over else STEPS
            return reason != STEPS

        keep(self.recorder.frame())
        self.trainer.run(report, stop=ends)
        if self.last is None or self.last.step < self.trainer.step or self.last.exact is None:
            if self.last is not None and self.last.step == self.trainer.step:
                self.last = self.recorder.frame(whole=True)
            else:
                keep(self.recorder.frame(whole=True))
        return reason
