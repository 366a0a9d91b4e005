"""New sentences decoded together: the thread that has the turn for passes decodes also for those who wait for it."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field

from pages.runtime.queue import MODEL_QUEUE
from transformer.inference.pretrained import Pretrained

MOST = 16  # sentences in one batch
LONGER = 1.5  # times as many tokens as the sentence whose turn it is: longer ones would keep it waiting


@dataclass(eq=False)
class Request:
    """A source to decode, as ids. output: ids of its translation, or of a draft; taken: a thread is decoding it or has
    decoded it."""

    model: Pretrained
    source: list[int]
    limit: int
    output: tuple[int, ...] | None = None
    taken: bool = False
    done: threading.Event = field(default_factory=threading.Event)


class DecodingQueue:
    """The sources that wait to be decoded."""

    def __init__(self) -> None:
        self._waiting: list[Request] = []
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def request(self, model: Pretrained, source: list[int], limit: int) -> Iterator[Request]:
        """Wait inside `with`, before the turn for passes is taken: another thread may decode this source meanwhile."""
        request = Request(model, source, limit)
        with self._lock:
            self._waiting.append(request)
        try:
            yield request
        finally:
            with self._lock:
                self._waiting.remove(request)

    def output(self, request: Request) -> tuple[int, ...]:
        """What `Pretrained.drafts` finds, decoded now, with others that wait, unless another thread has done it."""
        with self._lock:
            mates = [] if request.taken else [request, *self._mates(request)][:MOST]
            for mate in mates:
                mate.taken = True
        if not mates:
            with MODEL_QUEUE.step_aside():  # who decodes it may wait for a turn
                request.done.wait()
        if request.output is not None:
            return request.output
        try:
            outputs = request.model.drafts([mate.source for mate in mates or [request]], request.limit)
            for mate, output in zip(mates or [request], outputs, strict=True):
                mate.output = output
        finally:
            for mate in mates:  # without an output, if the pass failed: then each decodes its own
                mate.done.set()
        return outputs[0]

    def _mates(self, request: Request) -> list[Request]:
        return [
            other for other in self._waiting
            if other is not request and not other.taken
            and other.model is request.model and other.limit == request.limit
            and len(other.source) <= LONGER * len(request.source)
        ]  # fmt: skip


DECODINGS = DecodingQueue()
