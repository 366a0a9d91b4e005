"""A job over the chunks of a corpus: in this process, with processes on this machine, or on a cluster of Dask."""

import logging
import os
import tempfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from typing import Any

import torch

from transformer.corpus.reading import Chunk
from transformer.corpus.shards import Computed, Shards
from transformer.corpus.tasks import CorpusError, Job, Result, work

AHEAD = 2  # chunks in flight for each process: one that it computes, one that it goes on with
PATIENCE = 30  # seconds to wait for a first worker


def cores() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def computed(
    job: Job,
    chunks: Iterable[Chunk],
    shards: Shards | None = None,
    workers: int = 1,
    scheduler: str | None = None,
    progress: Callable[[int, int], None] = lambda read, before: None,
) -> Iterator[Computed]:
    """What the job gives for each chunk that no shard has yet, in order, the same to the last digit for any number of
    processes. What is in flight is bounded, so memory is, too.

    workers: processes on this machine; 1: this one. scheduler: address of a Dask scheduler, whose workers compute.
    A chunk whose worker dies is computed again by another one, up to three times. progress: called after each chunk
    with the bytes of the corpus that were read, and those that shards had before. Raises CorpusError.
    """
    before = 0

    def missing() -> Iterator[Chunk]:
        nonlocal before
        for chunk in chunks:
            if shards is not None and shards.has(chunk):
                before = chunk.read
            else:
                yield chunk

    here = scheduler is None and workers == 1
    for chunk, result in _here(job, missing()) if here else _remote(job, missing(), workers, scheduler):
        if "failed" in result:
            raise CorpusError("{reason}", reason=result["failed"])
        broken = [chunk.named(index, error) for index, error in sorted(result["broken"].items())]
        yield chunk, result["value"], broken
        progress(chunk.read, before)


def _here(job: Job, chunks: Iterable[Chunk]) -> Iterator[tuple[Chunk, Result]]:
    threads = torch.get_num_threads()
    try:
        for chunk in chunks:
            yield chunk, work(job, chunk.rows)
    finally:
        torch.set_num_threads(threads)


def _remote(job: Job, chunks: Iterable[Chunk], workers: int, scheduler: str | None) -> Iterator[tuple[Chunk, Result]]:
    with _client(workers, scheduler) as client:
        from distributed import KilledWorker

        waiting: deque[tuple[Chunk, Any]] = deque()

        def first() -> tuple[Chunk, Result]:
            chunk, future = waiting.popleft()
            try:
                return chunk, future.result()
            except KilledWorker as error:
                raise CorpusError(
                    "four workers in turn died of the same part of the input, which begins at {place}; give them more "
                    "memory, or leave that part out",
                    place=f"{chunk.file}:{chunk.first}".lstrip(":"),
                ) from error

        for chunk in chunks:
            waiting.append((chunk, client.submit(work, job, chunk.rows, pure=False)))
            while len(waiting) > AHEAD * max(1, sum(client.nthreads().values())):
                yield first()
        while waiting:
            yield first()


def can_have_workers() -> bool:
    """Whether the extra [cluster] is installed."""
    return all(map(find_spec, ("cryptography", "distributed")))


@contextmanager
def _client(workers: int, scheduler: str | None) -> Iterator[Any]:
    if not can_have_workers():
        raise CorpusError(
            "several processes need Dask; install the project with its extra [cluster], or use --workers 1"
        )
    import dask
    from distributed import Client, LocalCluster

    with ExitStack() as stack:
        try:
            if scheduler is None:
                # Workers take what they are sent and run it, so only this process may connect to them: `security`.
                # Dask also makes malloc give small pieces of memory back, which costs torch a third more time.
                stack.enter_context(dask.config.set({"distributed.nanny.pre-spawn-environ": {"OMP_NUM_THREADS": 1}}))
                # Ctrl+C is for this process, which then ends its workers.
                # memory_limit=0: Dask stops a worker at 80% of its share of the memory, and a model may be that large.
                folder = stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True))
                scheduler = stack.enter_context(
                    LocalCluster(
                        n_workers=workers, threads_per_worker=1, security=True, memory_limit=0,
                        dashboard_address="127.0.0.1:0", local_directory=folder, silence_logs=logging.CRITICAL,
                        preload=["import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)"],
                    )
                )  # fmt: skip
            client = stack.enter_context(Client(scheduler, timeout=PATIENCE))
            client.wait_for_workers(1, timeout=PATIENCE)
        except (OSError, TimeoutError, ValueError) as error:
            raise CorpusError(
                "no worker answers at {address}: {reason}; start `dask scheduler` and `dask worker` first",
                address=scheduler, reason=error,
            ) from error  # fmt: skip
        yield client
