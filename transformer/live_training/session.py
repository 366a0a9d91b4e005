"""One training of the Training page: the project's own trainer for an experiment, in memory. It records frames: the
model's attention on a fixed example, and its answers to unseen inputs."""

import dataclasses
import math
import time
from collections.abc import Callable

import torch
import torch.nn.functional as F

from transformer.inference.pretrained import Pretrained, readable
from transformer.inference.search import greedy
from transformer.live_training.experiment import Experiment
from transformer.live_training.frames import MOST, Frame, Opening
from transformer.live_training.recipe import languages, recipe_table
from transformer.model.config import preset
from transformer.model.tap import KINDS
from transformer.text.batching import make_batch
from transformer.text.tokenizer import Tokenizer
from transformer.tracing.trace import Trace
from transformer.training.data import Pair
from transformer.training.loop import Trainer
from transformer.training.recipe import task_of
from transformer.training.settings import Progress, Settings
from transformer.training.store import Row, log_bytes
from transformer.training.tasks import training_pairs

STEPS, STOPPED, TIME = "steps", "stopped", "time"  # why a training ended
MOST_SHOWN = 6  # inputs whose outputs every frame has
EXTRA_TOKENS = 4  # that an output may have more than the longest right answer
EVERY = 5  # every fifth frame is measured on all unseen inputs while a viewer watches: 40 ms instead of 9


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


class MeanLoss:
    """The mean training loss per token since it was taken last."""

    def __init__(self) -> None:
        self.loss = self.tokens = 0.0

    def add(self, loss: float, tokens: int) -> None:
        """loss: of a step, per token."""
        self.loss, self.tokens = self.loss + loss * tokens, self.tokens + tokens

    def take(self) -> float | None:
        """The mean; None without a step."""
        mean = self.loss / self.tokens if self.tokens else None
        self.loss = self.tokens = 0.0
        return mean


class Session:
    """An experiment's trainer, and the frames of its run. Measuring uses no random numbers and does not change the
    model.

    most: frames; every: one of so many frames is measured on all unseen inputs.
    opening: known before the first step; last: the newest frame, which after `run` is measured on all unseen inputs.
    """

    def __init__(self, experiment: Experiment, most: int = MOST, every: int = EVERY) -> None:
        self.experiment = experiment
        self.trainer = trainer = trainer_of(experiment)
        self.last: Frame | None = None
        self.unseen = [(source, target) for source, target in trainer.validation if source and target]
        # The longest input with the most different symbols: each row of its attention has only one right key.
        example = max(self.unseen, key=lambda pair: (len(pair[0]), len(set(pair[0])), len(pair[1])))
        self.shown = (example, *[pair for pair in self.unseen if pair != example][: MOST_SHOWN - 1])
        encode, config = trainer.tokenizer.encode, trainer.model.config
        self._batch, self._shown_batch = (
            make_batch([encode(source) for source, _ in pairs], [encode(target) for _, target in pairs], config)
            for pairs in (self.unseen, self.shown)
        )
        self._limit = self._batch.target_out.shape[1] + EXTRA_TOKENS
        recorded = experiment.recorded_in(most)
        self._fully_measured = {*recorded[::every], recorded[-1]}
        self._frame_loss, self._row_loss = MeanLoss(), MeanLoss()
        self._rows: list[Row] = []
        self._began = time.process_time()
        trace = self.trace()
        self.opening = Opening(
            source=example[0],
            target=example[1],
            source_tokens=trace.source_labels,
            target_in=trace.target_in_labels,
            target_out=trace.target_out_labels,
            layers=trace.cross.layers,
            heads=trace.cross.heads,
            recorded=recorded,
            parameters=sum(parameter.numel() for parameter in trainer.model.parameters()),
            unseen=len(self.unseen),
            shown=self.shown,
        )

    @property
    def seconds(self) -> float:
        """Core seconds of this process since the run began. A busy machine or a pause takes none of them."""
        return time.process_time() - self._began

    def run(
        self,
        show: Callable[[Frame], None],
        stop: Callable[[], bool] = lambda: False,
        seconds: float = math.inf,
    ) -> str:
        """Train to the end, or until `stop` returns True or `seconds` of computing are used. Returns why it ended:
        "steps", "stopped" or "time". Raises TrainingError.

        show: receives every frame, including that of step 0. If training ends early, the last step gets a frame, too,
        measured on all unseen inputs. stop: called after every step; it may wait.
        """
        reason = STEPS
        self._began = time.process_time()
        trainer, recorded = self.trainer, set(self.opening.recorded)

        def report(_: Progress) -> None:
            nonlocal reason
            for mean in (self._frame_loss, self._row_loss):
                mean.add(*trainer.latest)
            stopped = stop()
            if trainer.step < trainer.settings.steps:
                reason = STOPPED if stopped else TIME if self.seconds >= seconds else STEPS
            if trainer.step in recorded or reason != STEPS:
                show(self._record(whole=reason != STEPS))

        show(self._record())
        trainer.run(report, stop=lambda: reason != STEPS)
        return reason

    def _record(self, whole: bool = False) -> Frame:
        """A frame of the current model, and its row of training.csv if it is measured on all unseen inputs."""
        frame = self.last = self._measure(whole)
        tokens = int(self._row_loss.tokens)
        if frame.exact is not None and (mean := self._row_loss.take()) is not None:
            loss = frame.validation_loss
            perplexity = None if loss is None else math.exp(min(loss, 50))
            entry = Progress(frame.step, self.trainer.epoch, frame.rate, mean, tokens, frame.seconds, loss, perplexity)
            self._rows.append(dataclasses.asdict(entry))
        return frame

    def log(self) -> bytes:
        """training.csv, one row for each frame that was measured on all unseen inputs."""
        return log_bytes(self._rows) if self._rows else b""

    def _measure(self, whole: bool = False) -> Frame:
        """A frame of the current model. whole: measure on all unseen inputs, which some frames do anyway."""
        trainer = self.trainer
        trace = self.trace()
        weights = [(trace.attention(kind).weights * 255).round().nan_to_num(0).byte().numpy() for kind in KINDS]
        likeliest = trace.logits.argmax(-1).tolist()
        loss = self._frame_loss.take()
        validation_loss = forced = exact = None
        if whole or trainer.step in self._fully_measured:
            validation_loss, forced = self._forced()
            written = dict(zip(self.unseen, self._outputs(self._batch.source), strict=True))
            exact = sum(output == right for (_, right), output in written.items()) / len(self.unseen)
            outputs = [written[pair] for pair in self.shown]
        else:
            outputs = self._outputs(self._shown_batch.source)
        return Frame(
            step=trainer.step,
            seconds=self.seconds,
            rate=trainer.rate(trainer.step) if trainer.step else 0.0,
            loss=loss,
            validation_loss=validation_loss,
            forced=forced,
            exact=exact,
            outputs=tuple(outputs),
            predicted=readable(trainer.tokenizer.pieces(likeliest)),
            weights=b"".join(part.tobytes() for part in weights),
        )

    def _model(self) -> Pretrained:
        model = self.trainer.pretrained()
        assert isinstance(model, Pretrained)
        return model

    def trace(self) -> Trace:
        """The trace of the example with its right answer in the current model."""
        return self._model().trace(*self.shown[0])

    @torch.inference_mode()
    def _forced(self) -> tuple[float | None, float]:
        """Teacher-forced: the mean loss per token in nats, None if it is not finite; and the share of unseen inputs
        whose tokens are all right."""
        model, batch = self._model(), self._batch
        real = batch.target_out != model.model.config.pad_id
        logits = model.model.project(model.hidden(batch.source, batch.target_in))
        loss = F.cross_entropy(logits[real], batch.target_out[real]).item()
        right = (logits.argmax(-1) == batch.target_out) | ~real
        return (loss if math.isfinite(loss) else None), right.all(-1).float().mean().item()

    def _outputs(self, source: torch.Tensor) -> list[str]:
        """The greedy outputs of the model, cut off at the limit."""
        model = self._model()
        return [model.tokenizer.decode(output.ids) for output in greedy(model.model, source, self._limit)]
