"""New sentences decoded together: the thread that has the turn for passes also decodes for threads that wait for it."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field

from pages.runtime.queue import MODEL_QUEUE
from transformer.inference.pretrained import Pretrained

MOST = 16  # sentences in one batch
MOST_LONGER = 1.5  # times as many tokens as the sentence whose turn it is: longer ones would keep it waiting


@dataclass(eq=False)
class Request:
    """A source to decode, as ids. limit: tokens of the output, at most; output: ids of its translation, or of a draft,
    None until `done`; taken: a thread is decoding it or has decoded it."""

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
        """The output of `Pretrained.drafts` for a request: decoded now, in one batch with others that wait, unless
        another thread has done it."""
        with self._lock:
            batch = [] if request.taken else [request, *self._alike(request)][:MOST]
            for one in batch:
                one.taken = True
        if not batch:
            with MODEL_QUEUE.step_aside():  # the thread that decodes it may wait for a turn
                request.done.wait()
        if request.output is not None:
            return request.output
        try:
            outputs = request.model.drafts([one.source for one in batch or [request]], request.limit)
            for one, output in zip(batch or [request], outputs, strict=True):
                one.output = output
        finally:
            for one in batch:  # if the pass failed there is no output, and each thread decodes its own source
                one.done.set()
        return outputs[0]

    def _alike(self, request: Request) -> list[Request]:
        """Requests that wait for the same model and are not much longer."""
        return [
            other for other in self._waiting
            if other is not request and not other.taken
            and other.model is request.model and other.limit == request.limit
            and len(other.source) <= MOST_LONGER * len(request.source)
        ]  # fmt: skip


DECODINGS = DecodingQueue()
