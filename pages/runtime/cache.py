"""Models and traces shared by all viewers. Every value is immutable; `memory` bounds them together."""

import contextlib
import functools
import hashlib
import itertools
import os
import threading
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import torch

import transformer
from pages.runtime.memory import MEMORY, return_memory
from pages.runtime.queue import MODEL_QUEUE, Rate, let_give_way
from pages.runtime.shared import SharedCache, identity, owner_of, register, shared
from pages.runtime.streamlit import keep_house, shorten_garbage_collection
from pages.runtime.texts import readable_text
from transformer.checkpoints import importers
from transformer.inference.pretrained import OutsideWarning, Pretrained, Translation
from transformer.inference.speed import reorder
from transformer.interventions.sets import Interventions
from transformer.paths import VARIABLE, checkpoint_folders
from transformer.tracing.finite import NotFiniteError
from transformer.tracing.trace import Trace

warnings.simplefilter("ignore", OutsideWarning)  # the page says it, and what people type does not belong in a log

# Seconds in the queue for each token of a source, and at most: sentences that come within them go first, if shorter.
DELAY_PER_TOKEN, MOST_DELAY = 0.015, 2.0
LIST_AGAIN = 0.5  # seconds for which a list of checkpoints is used: a run of a page asks for it about ten times
DRAFT_AFTER = 2.0  # seconds from the opening of a model, whose first sentence is drawn by then, to preparing its drafts
MOST_FILES = 200  # of a checkpoint's folder; the bundled ones have eight


@dataclass(frozen=True)
class _Listing:
    """What `checkpoints` found. until: the time up to which it is used; folders: each with its last change; languages:
    of those that were asked for."""

    until: float
    folders: tuple[tuple[str, int], ...]
    found: Mapping[str, Path]
    languages: dict[str, tuple[str, str]] = field(default_factory=dict)


_listed = _Listing(0.0, (), {})


@functools.cache
def _folders(named: str) -> Sequence[Path]:
    """The folders that are searched, for this value of HEADSCOPE_CHECKPOINTS; they are asked for ten times in a run."""
    return checkpoint_folders()


def _changed(folder: Path) -> int:
    """When something was last added to a folder or removed, nanoseconds; 0 if it cannot be read."""
    try:
        return folder.stat().st_mtime_ns
    except OSError:
        return 0


def checkpoints() -> Mapping[str, Path]:
    """Name -> folder of every available checkpoint: HEADSCOPE_CHECKPOINT first if it is a path, then the bundled ones.

    The folders are read again when they have changed, and after LIST_AGAIN seconds, because a checkpoint may be
    completed. One whose name is not valid UTF-8 is left out, because it could not be sent to a browser.
    """
    global _listed
    extra = os.environ.get("HEADSCOPE_CHECKPOINT", "")
    searched = ((extra, 0), *((str(folder), _changed(folder)) for folder in _folders(os.environ.get(VARIABLE, ""))))
    if _listed.folders != searched or time.monotonic() > _listed.until:
        folders = {name: path for name, path in transformer.available().items() if name == readable_text(name)}
        if extra and extra not in folders:
            path = Path(extra)
            folders = {path.resolve().name or extra: path, **folders}
        _listed = _Listing(time.monotonic() + LIST_AGAIN, searched, folders)
    return _listed.found


def languages_of(name: str) -> tuple[str, str] | None:
    """Source and target of a checkpoint, which is not opened for it; None if there is none of this name."""
    path, known = checkpoints().get(name), _listed.languages
    if path is not None and name not in known:
        known[name] = importers.languages_of(path)
    return known.get(name)


def stamp(path: str) -> str:
    """A hash that changes with a checkpoint's files: names, sizes, times and inodes, read in 30 microseconds; "" if the
    folder cannot be read."""
    try:
        with os.scandir(path) as entries:
            files = sorted(
                (entry.name, about.st_size, about.st_mtime_ns, about.st_ctime_ns, about.st_ino)
                for entry in itertools.islice(entries, MOST_FILES)
                if not entry.name.startswith(".") and entry.is_file() and (about := entry.stat())
            )
    except OSError:
        return ""
    return hashlib.sha256(repr(files).encode("utf-8", "replace")).hexdigest()[:16]


# The one that was opened last stays, however large it is.
MODELS: SharedCache[Pretrained] = SharedCache("models", pins=lambda key, _: key == MODELS.newest)


def _read(path: str, name: str, state: str) -> Pretrained:
    """The checkpoint in that state of its folder. Raises CheckpointError, also if the folder changed meanwhile:
    otherwise the tokenizer of one checkpoint could meet the weights of another."""
    torch.set_num_threads(1)  # many viewers share few cores; with one thread each, the slowest click stays short
    model = transformer.load(path, os.environ.get("HEADSCOPE_DEVICE", "cpu"))
    if stamp(path) != state:
        raise transformer.CheckpointError(
            "{name} changed while it was being read; reload the page when the change is complete", name=name
        )
    return_memory()  # reading the weights took twice their size
    reorder(model.model)
    with contextlib.suppress(transformer.InputError):  # the tokenizer may have no token for it
        model.trace("a")  # the first pass does lazy set-up; do it now
    register(model, state)
    let_give_way(model.model)
    for _, older in MEMORY.cache_keys(MODELS):  # the folder before its change
        if isinstance(older, tuple) and older[:2] == (name, path):
            MODELS.remove(older)
    shorten_garbage_collection()
    return_memory()
    keep_house()
    return model


def _prepare_draft(key: tuple[str, str, str]) -> None:
    """Make what drafts the translations of a model (`Pretrained.prepare_draft`), and store the model again with its new
    size; not if the model had to go meanwhile."""
    with MODEL_QUEUE.turn(lambda: None, background=True):
        if (model := MODELS.find(key)) is not None:
            model.prepare_draft()
            MODELS.store(key, model)
    return_memory()  # 15 MB of copies of the weights of en-de


def load(name: str, path: str) -> Pretrained:
    """A checkpoint by name, as its folder is now; it is read again after a change. Raises CheckpointError."""
    key = (name, path, stamp(path))

    def read() -> Pretrained:
        model = _read(path, name, key[2])
        timer = threading.Timer(DRAFT_AFTER, _prepare_draft, [key])
        timer.daemon = True
        timer.start()
        return model

    return MODELS.get(key, read)


TRACES: SharedCache[Trace] = SharedCache("traces")  # one of 12 tokens per side takes 4 MB, one of 128 takes 57 MB
SENTENCES = Rate()  # counts sentence pairs that were traced; those in the cache are not counted


def trace(model: Pretrained, name: str, source: str, target: str, limit: int) -> Trace:
    """The trace of a sentence pair; a blank target means the model's own translation. Raises InputError."""
    key = (name, identity(model), source, target, limit)
    if (found := TRACES.find(key)) is not None:
        return found
    delay = min(DELAY_PER_TOKEN * len(model.encode(source, "source", limit)), MOST_DELAY)

    def traced() -> Trace:
        trace = model.trace(source, target, limit=limit)
        SENTENCES.add()
        return trace

    return TRACES.get(key, traced, queued=True, owner=owner_of(model), delay=delay)


def trace_output(model: Pretrained, source: str, output: tuple[int, ...], limit: int) -> Trace:
    """The trace of a source and of ids that the model may have written for it. Raises InputError."""
    key = ("output", model.name, identity(model), source, output, limit)
    return TRACES.get(key, lambda: model.trace(source, limit=limit, output=output), queued=True, owner=owner_of(model))


def retrace(
    model: Pretrained,
    trace: Trace,
    interventions: Interventions,
    limit: int,
    fed: tuple[tuple[int, int], ...] = (),
    read: tuple[tuple[int, int], ...] = (),
) -> Trace:
    """The tokens of a trace with switches; without switches and other tokens it is the same trace.

    fed: (position in target_in, id that is fed there instead); read: (position in the source, id that is read there
    instead). Raises InterventionError, InputError.
    """
    if interventions == trace.interventions and not fed and not read:
        return trace
    key = (trace.id, trace.source_text, trace.target_text, trace.own, interventions, limit, fed, read)
    return TRACES.get(
        key,
        lambda: model.retrace(trace, interventions, fed=dict(fed), read=dict(read), limit=limit),
        queued=True,
        owner=owner_of(model),
    )


@shared(queued=True)
def translate(model: Pretrained, source: str, interventions: Interventions, limit: int) -> Translation:
    """The model's own greedy translation with switches; also that of a model that computes NaN, whose trace a page can
    show. Raises InterventionError, InputError."""
    try:
        return model.translate(source, limit=limit, interventions=interventions)
    except NotFiniteError:
        trace = model.trace(source, limit=limit, interventions=interventions)
        probabilities = tuple(map(float, trace.probabilities))
        return Translation(trace.target_text, trace.target_out_ids, trace.target_out, probabilities, trace.complete)
