"""New sentences are decoded together, each as if it were alone."""

from __future__ import annotations

import pytest

from pages.runtime import cache
from pages.runtime.decoding import MOST, DecodingQueue
from pages.runtime.queue import MODEL_QUEUE
from pages.runtime.shared import clear_caches
from tests.pages.runtime.test_queue import begin, joined, nobody_left, until
from tests.support.build import tiny_pretrained
from transformer.inference.pretrained import Pretrained

SENTENCES = ["ka lo", "minu re ka", "ka lo minu re", "re re"]


def encoded(model: Pretrained, texts: list[str]) -> list[list[int]]:
    return [model.encode(text) for text in texts]


@pytest.fixture
def batches(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of the batches that are decoded."""
    sizes: list[int] = []
    outputs = Pretrained.outputs

    def counted(model: Pretrained, sources: list[list[int]], limit: int | None = None) -> list[tuple[int, ...]]:
        sizes.append(len(sources))
        return outputs(model, sources, limit)

    monkeypatch.setattr(Pretrained, "outputs", counted)
    return sizes


def test_a_batch_gives_what_each_sentence_gives_alone(batches: list[int]) -> None:
    model, decodings = tiny_pretrained(), DecodingQueue()
    sources = sorted(encoded(model, SENTENCES), key=len, reverse=True)
    with (
        decodings.request(model, sources[0], 20) as first,
        decodings.request(model, sources[1], 20) as second,
        decodings.request(model, sources[2], 19),  # another limit: not together with the others
        decodings.request(model, sources[3], 20) as fourth,
    ):
        found = [decodings.output(request) for request in (first, second, fourth)]
    assert batches == [3]
    assert found == [model.outputs([sources[index]], 20)[0] for index in (0, 1, 3)]


def test_a_short_sentence_does_not_wait_for_a_long_one_and_a_batch_is_bounded(batches: list[int]) -> None:
    model, decodings = tiny_pretrained(), DecodingQueue()
    short, long = encoded(model, ["ka lo", "ka lo minu re " * 3])
    with decodings.request(model, short, 40) as one, decodings.request(model, long, 40) as other:
        decodings.output(one)
        assert other.output is None and not other.taken
        decodings.output(other)
    assert batches == [1, 1]
    requests = [decodings.request(model, short, 40) for _ in range(MOST + 2)]
    entered = [request.__enter__() for request in requests]
    for request in entered:
        decodings.output(request)
    for request in requests:
        request.__exit__(None, None, None)
    assert batches[2:] == [MOST, 2]


def test_a_batch_that_fails_leaves_each_to_decode_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    model, decodings = tiny_pretrained(), DecodingQueue()
    outputs = Pretrained.outputs

    def failing(model: Pretrained, sources: list[list[int]], limit: int | None = None) -> list[tuple[int, ...]]:
        if len(sources) > 1:
            raise MemoryError
        return outputs(model, sources, limit)

    monkeypatch.setattr(Pretrained, "outputs", failing)
    source = model.encode("ka lo")
    with decodings.request(model, source, 20) as one, decodings.request(model, source, 20) as other:
        with pytest.raises(MemoryError):
            decodings.output(one)
        assert decodings.output(other) == outputs(model, [source], 20)[0]


def test_viewers_who_type_at_once_share_a_batch_and_get_their_own_traces(batches: list[int]) -> None:
    clear_caches()
    model, traces = tiny_pretrained(), {}

    def view(text: str) -> None:
        traces[text] = cache.trace(model, "tiny", text, "", 20)

    with MODEL_QUEUE.turn(nobody_left):
        threads = []
        for count, text in enumerate(SENTENCES, 1):
            threads.append(begin(lambda text=text: view(text)))  # type: ignore[misc]
            until(lambda count=count: MODEL_QUEUE.waiting == count)  # type: ignore[misc]
    joined(threads)
    assert sum(batches) == len(SENTENCES) and len(batches) < len(SENTENCES)
    for text, trace in traces.items():
        alone = model.trace(text, limit=20)
        assert trace.id == alone.id and (trace.cross.weights == alone.cross.weights).all()
