"""Measures a model during training: its attention on a fixed example, and its answers to unseen inputs."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

import torch
import torch.nn.functional as F

from transformer.inference.pretrained import Pretrained, readable
from transformer.inference.search import greedy
from transformer.live_training.frames import Frame, Opening
from transformer.model.tap import KINDS
from transformer.text.batching import make_batch
from transformer.tracing.trace import Trace
from transformer.training.data import Pair
from transformer.training.loop import Trainer

MOST_SHOWN = 6  # inputs whose outputs every frame has
EXTRA_TOKENS = 4  # that an output may have more than the longest right answer
EVERY = 5  # every fifth frame is measured on all unseen inputs while a viewer watches: 40 ms instead of 9


def example_of(unseen: Sequence[Pair]) -> Pair:
    """The pair whose attention is recorded: the longest input with the most different symbols, so that each row
    has only one right key."""
    return max(unseen, key=lambda pair: (len(pair[0]), len(set(pair[0])), len(pair[1])))


class Recorder:
    """Makes the frames of one run. Measuring uses no random numbers and does not change the model.

    recorded: steps that have a frame; every: one of so many frames is measured on all unseen inputs.
    """

    def __init__(self, trainer: Trainer, recorded: Sequence[int], every: int = EVERY) -> None:
        self.trainer = trainer
        self.unseen = [(source, target) for source, target in trainer.validation if source and target]
        example = example_of(self.unseen)
        self.shown = (example, *[pair for pair in self.unseen if pair != example][: MOST_SHOWN - 1])
        encode = trainer.tokenizer.encode
        config = trainer.model.config
        self._batch, self._few = (
            make_batch([encode(source) for source, _ in pairs], [encode(target) for _, target in pairs], config)
            for pairs in (self.unseen, self.shown)
        )
        self._real = self._batch.target_out != config.pad_id
        self._limit = self._batch.target_out.shape[1] + EXTRA_TOKENS
        self._whole = {*recorded[::every], recorded[-1]}
        self._loss = self._tokens = 0.0
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
            recorded=tuple(recorded),
            parameters=sum(parameter.numel() for parameter in trainer.model.parameters()),
            unseen=len(self.unseen),
            shown=self.shown,
        )

    def start_clock(self) -> None:
        self._began = time.process_time()

    @property
    def seconds(self) -> float:
        """Core seconds of this process since the clock started. A busy machine or a pause takes none of them."""
        return time.process_time() - self._began

    def count(self, loss: float, tokens: int) -> None:
        """Add the loss per token of a step; a frame has the mean over the steps since the last frame."""
        self._loss, self._tokens = self._loss + loss * tokens, self._tokens + tokens

    def frame(self, whole: bool = False) -> Frame:
        """A frame of the current model. whole: measure on all unseen inputs, which some frames do anyway."""
        trainer = self.trainer
        trace = self.trace()
        weights = [(trace.attention(kind).weights * 255).round().nan_to_num(0).byte().numpy() for kind in KINDS]
        likeliest = trace.logits.argmax(-1).tolist()
        loss = self._loss / self._tokens if self._tokens else None
        self._loss = self._tokens = 0.0
        validation_loss = forced = exact = None
        if whole or trainer.step in self._whole:
            validation_loss, forced = self._forced()
            written = dict(zip(self.unseen, self._outputs(self._batch.source), strict=True))
            exact = sum(output == right for (_, right), output in written.items()) / len(self.unseen)
            outputs = [written[pair] for pair in self.shown]
        else:
            outputs = self._outputs(self._few.source)
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
        model, batch, real = self._model(), self._batch, self._real
        logits = model.model.project(model.hidden(batch.source, batch.target_in))
        loss = F.cross_entropy(logits[real], batch.target_out[real]).item()
        right = (logits.argmax(-1) == batch.target_out) | ~real
        return (loss if math.isfinite(loss) else None), right.all(-1).float().mean().item()

    def _outputs(self, source: torch.Tensor) -> list[str]:
        """The greedy outputs of the model, cut off at the limit."""
        model = self._model()
        return [model.tokenizer.decode(output.ids) for output in greedy(model.model, source, self._limit)]
