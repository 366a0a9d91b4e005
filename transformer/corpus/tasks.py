"""What a process computes of a chunk of a corpus. Jobs, rows and results are plain data: a worker loads the model
itself, by its name or path, and keeps it."""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, TypedDict

import torch

from transformer.analysis import heads, roles
from transformer.analysis.alignment import pharaoh
from transformer.analysis.sums import added
from transformer.inference.pretrained import InputError, Pretrained, available, load
from transformer.interventions.sets import Interventions
from transformer.probing.alignment import Source, aligned
from transformer.probing.importance import measured
from transformer.probing.roles import sentences_of
from transformer.probing.search import Collected, search_attention, search_neuron
from transformer.texts import UserError, in_language, reader_language
from transformer.training.evaluation import counts
from transformer.training.preparation import Preparation
from transformer.view.languages import load_language


class CorpusError(UserError):
    """A corpus that cannot be worked on as asked."""


class Job(TypedDict):
    """task: of TASKS, with its options; models: names or paths, each with its fingerprint; language: of messages."""

    task: str
    options: dict[str, Any]
    models: list[tuple[str, str]]
    device: str
    language: str


class Result(TypedDict, total=False):
    """value: of the task; of a task that gives something for each row, columns by name. broken: index of a row -> what
    is wrong with it; failed: why the whole job cannot go on."""

    value: Any
    broken: dict[int, str]
    failed: str


def job(task: str, models: Sequence[tuple[str, Pretrained]], device: str = "cpu", **options: Any) -> Job:
    """models: each as it was named, and opened."""
    known = available()
    named = [(name if name in known else str(Path(name).resolve()), fingerprint(model)) for name, model in models]
    return {"task": task, "options": options, "models": named, "device": device, "language": reader_language().code}


def fingerprint(model: Pretrained) -> str:
    """Of everything that results depend on: sizes, weights, tokens, the rules of beam search."""
    config = model.config
    read, written = model.tokenizer_of("source").pieces(range(config.vocab_size)), range(config.output_size)
    about = (config.to_dict(), model.languages, model.rule, model.alpha, read, model.tokenizer.pieces(written))
    digest = hashlib.sha256(repr(about).encode("utf-8", "surrogatepass"))
    for name, tensor in model.model.state_dict().items():
        digest.update(name.encode())
        digest.update(tensor.cpu().contiguous().numpy().data)
    return digest.hexdigest()


@lru_cache(maxsize=2)  # as many as a job names: --reverse
def _model(name: str, wanted: str, device: str) -> Pretrained:
    model = load(name, device)
    if fingerprint(model) != wanted:
        raise CorpusError("{name} is another model on this worker; copy the checkpoint there", name=name)
    return model


_language = lru_cache(load_language)  # it reads the whole catalogue


def work(job: Job, rows: Sequence[Any]) -> Result:
    """Compute one chunk."""
    torch.set_num_threads(1)  # by default each worker would start as many as there are cores; and more sum differently
    with in_language(_language(job["language"])):
        try:
            models = [_model(*one, job["device"]) for one in job["models"]]
            return TASKS[job["task"]](models, rows, **job["options"])
        except UserError as error:
            return {"failed": str(error)}


def _sorted(rows: Sequence[Any]) -> tuple[dict[int, str], list[int]]:
    """What is wrong with the broken rows, and the indices of the others."""
    broken = {index: row for index, row in enumerate(rows) if isinstance(row, str)}
    return broken, [index for index in range(len(rows)) if index not in broken]


def _align(models: Sequence[Pretrained], rows: Sequence[Any], source: Sequence[Any]) -> Result:
    """A line of links for each row; an empty one for a broken row."""
    broken, sound = _sorted(rows)
    lines = [""] * len(rows)
    reverse = models[1] if len(models) > 1 else None
    found = aligned(models[0], [rows[index] for index in sound], Source(*source), reverse)
    for index, links in zip(sound, found, strict=True):
        if isinstance(links, UserError):
            broken[index] = str(links)
        else:
            lines[index] = pharaoh(links)
    return {"value": {"links": lines}, "broken": broken}


_preparation = lru_cache(Preparation)


def _evaluate(
    models: Sequence[Pretrained],
    rows: Sequence[Any],
    beam: int,
    alpha: float | None,
    preparation: tuple[str, tuple[str, str]] | None,
    switches: Sequence[str],
    tokenize: str,
) -> Result:
    """What the groups add to the scores."""
    prepared = _preparation(*preparation) if preparation else None
    found = counts(models[0], rows, beam, alpha, prepared, Interventions.parse(switches), tokenize)
    return {"value": found, "broken": {}}


def _fitting(model: Pretrained, rows: Sequence[Any]) -> tuple[dict[int, str], list[int]]:
    """The same; a pair that does not fit the model counts as broken."""
    broken, sound = _sorted(rows)
    for index in sound:
        try:
            model.encode(rows[index][0])
            model.encode(rows[index][1], "target")
        except InputError as error:
            broken[index] = str(error)
    return broken, [index for index in sound if index not in broken]


IDS, SHAPE = ("source_ids", "target_in_ids", "target_out_ids"), ".shape"


def _trace(models: Sequence[Pretrained], rows: Sequence[Any], keep: Sequence[str], batch_tokens: int) -> Result:
    """Columns: ids of the tokens; of each tensor its numbers and its shape. None in all of them for a broken row."""
    (model,) = models
    broken, sound = _fitting(model, rows)
    names = [*IDS, *keep, *(name + SHAPE for name in keep)]
    value: dict[str, list[Any]] = {name: [None] * len(rows) for name in names}
    traced = model.trace_all([rows[index] for index in sound], keep, batch_tokens)
    for index, kept in zip(sound, traced, strict=True):
        for name in IDS:
            value[name][index] = list(getattr(kept, name))
        for name in keep:
            value[name][index] = kept[name].numpy().ravel()
            value[name + SHAPE][index] = list(kept[name].shape)
    return {"value": value, "broken": broken}


GROUP = 50  # pairs whose weights are in memory at once


def _heads(models: Sequence[Pretrained], rows: Any, words: str | None) -> Result:
    """What the pairs add to the statistics and the roles of heads. rows: of `heads.chunks_with_words`; words: of the
    list, so that the shards of another one are refused."""
    (model,) = models
    listed = None if words is None else {word: frozenset(targets) for word, targets in rows["words"].items()}
    statistics: dict[str, Any] = {}

    def sentences() -> Iterator[heads.Seen]:
        nonlocal statistics
        for start in range(0, len(rows["pairs"]), GROUP):
            group = sentences_of(model, rows["pairs"][start : start + GROUP])
            statistics = added(statistics, heads.counts(group, listed))
            yield from group

    of_roles = roles.part(sentences(), rows["counts"], listed, rows["places"])
    return {"value": {"pairs": len(rows["pairs"]), "statistics": statistics, "roles": of_roles}, "broken": {}}


def _importance(models: Sequence[Pretrained], rows: Any, pairs: Sequence[Any]) -> Result:
    """rows: a unit of a survey of the pairs."""
    return {"value": measured(models[0], [(source, target) for source, target in pairs], rows), "broken": {}}


def _search(models: Sequence[Pretrained], rows: Sequence[Any], what: str, question: dict[str, Any]) -> Result:
    """What the pairs add to the hits of a search. what: "attention" or "neuron"."""
    broken, sound = _fitting(models[0], rows)
    look: Any = {"attention": search_attention, "neuron": search_neuron}[what]
    look(models[0], [rows[index] for index in sound], **question, into=(hits := Collected()))
    return {"value": hits.plain() | {"places": sound, "lines": len(rows)}, "broken": broken}


TASKS: dict[str, Callable[..., Result]] = {
    "align": _align,
    "evaluate": _evaluate,
    "trace": _trace,
    "heads": _heads,
    "importance": _importance,
    "search": _search,
}
