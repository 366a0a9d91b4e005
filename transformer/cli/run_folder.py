"""A training run in its folder: start it, or resume it after checking the options against the saved ones.

Besides the files of `Trainer`, the folder holds run.json (data files and their fingerprint, languages, model, settings)
and tokenizer.model. So --output alone resumes a run, and no run resumes with other data by mistake.
"""

import dataclasses
import hashlib
import json
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from transformer.cli.common import CommandError, read
from transformer.files import reading_file, write_whole
from transformer.model.config import ModelConfig, preset
from transformer.text.tokenizer import Tokenizer
from transformer.texts import N_, _, translate
from transformer.training.augmentation import Augmentation
from transformer.training.data import DataError, Pair
from transformer.training.loop import Trainer
from transformer.training.parallel import ALONE, Workers
from transformer.training.preparation import Preparation
from transformer.training.settings import Progress, Settings, TrainingError
from transformer.training.tasks import languages as task_languages
from transformer.training.tasks import training_pairs

PRESET, VOCAB_SIZE = "small", 8000
# Settings that a resumed run may change, because they do not affect the weights.
FREE = ("validate_every", "validation_sentences")


@dataclass(frozen=True)
class Plan:
    """The options of a run; None or missing: not given.

    task: instead of data and validation, "name", "count", "lengths" and "seed" of a toy task (`training.tasks`).
    preparation: see `training.preparation`; needs `codes`, two language codes.
    """

    data: Sequence[Path] | None = None
    validation: Sequence[Path] | None = None
    task: dict[str, Any] | None = None
    preparation: str | None = None
    codes: tuple[str, ...] | None = None
    tokenizer: str | None = None
    languages: tuple[str, ...] | None = None
    preset: str | None = None
    vocab_size: int | None = None
    model: dict[str, Any] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)


@contextmanager
def _interruptible() -> Iterator[Callable[[], bool]]:
    """Yields a function that tells whether Ctrl+C or SIGTERM came. A second signal interrupts at once.

    A plain KeyboardInterrupt could strike in the middle of an update, and the resumed run would differ from one that
    was never stopped.
    """
    interrupted = False

    def interrupt(signal_number: int, frame: Any) -> None:
        nonlocal interrupted
        if interrupted:
            raise KeyboardInterrupt
        interrupted = True

    if threading.current_thread() is not threading.main_thread():  # only the main thread can handle signals
        yield lambda: interrupted
        return
    handlers = {caught: signal.signal(caught, interrupt) for caught in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: interrupted
    finally:
        for caught, handler in handlers.items():
            signal.signal(caught, handler)


@dataclass
class Run:
    """A trainer that is ready to run. notes: lines to print first."""

    trainer: Trainer
    notes: list[str]

    def train(self, report: Callable[[Progress], None]) -> bool:
        """Train to the end. Returns False if interrupted; the state is saved then."""
        trainer = self.trainer
        with _interruptible() as asked:
            trainer.run(report, stop=asked)
        return trainer.step == trainer.settings.steps


def fingerprint(*sets: Sequence[Pair]) -> str:
    """A hash of the sentence pairs, in order."""
    digest = hashlib.sha256()
    for pairs in sets:
        for source, target in pairs:
            digest.update(f"{source}\t{target}\n".encode("utf-8", "surrogatepass"))
        digest.update(b"\0")
    return digest.hexdigest()


def _load(path: Path) -> dict[str, Any]:
    with reading_file(path, TrainingError):
        data = path.read_bytes()
    try:
        about = json.loads(data.decode("utf-8"))
        Settings.from_dict(about.get("settings", {}))
        ModelConfig.from_dict(about["model"])
    except (ValueError, AttributeError, KeyError, TypeError) as error:
        raise TrainingError(
            "{path} is damaged; copy the file again, or remove the folder to start again", path=path
        ) from error
    return about


def _agree(folder: Path, saved: dict[str, Any], given: dict[str, Any], free: Sequence[str] = ()) -> None:
    for name, value in given.items():
        if name not in free and name in saved and saved[name] != value:
            raise CommandError(
                "the run in {folder} has {name} {saved!r}, not {value!r}; leave the option out to resume "
                "that run, or choose another --output",
                folder=folder,
                name=name,
                saved=saved[name],
                value=value,
            )


def _files(files: Sequence[Path] | None, saved: Any, option: str) -> list[Path]:
    if files is None and saved is None:
        raise CommandError("{option} is missing; a new run needs it, and a resumed run remembers it", option=option)
    return [Path(file).resolve() for file in (saved if files is None else files)]


def open_run(
    folder: Path, plan: Plan, device: torch.device | str = "cpu", workers: Workers = ALONE, readers: int = 0
) -> Run:
    """Start a run in the folder, or resume the run there. Only the first worker writes.

    Raises CommandError if the plan contradicts the saved run, and the errors of data, tokenizer, model and trainer.
    """
    memory = folder / "run.json"
    started = (folder / "state.json").exists()
    asked = dict(plan.settings)
    if "augmentation" in asked:
        asked["augmentation"] = dataclasses.asdict(Augmentation(**asked["augmentation"]))
    saved = _load(memory) if memory.exists() else {}
    if started and not saved:
        raise CommandError(
            "{folder} holds a run without run.json, from another program; choose another folder", folder=folder
        )
    if started:
        _agree(folder, saved["model"], plan.model)
        _agree(folder, saved, {"vocab_size": plan.vocab_size} if plan.vocab_size else {})
        # Without a cooldown and without snapshots, a longer run starts exactly like a shorter one.
        longer = not (saved["settings"]["cooldown"] or saved["settings"]["snapshots"])
        _agree(folder, saved["settings"], asked, (*FREE, "steps") if longer else FREE)
        _agree(folder, saved, {name: value for name, value in (("preset", plan.preset),) if value})
    task = plan.task if plan.data is None and plan.task else saved.get("task") if plan.data is None else None
    chosen: dict[str, Any] = {
        "preparation": plan.preparation or saved.get("preparation", "none"),
        "codes": list(plan.codes or saved.get("codes", ("en", "de"))),
        "tokenizer": plan.tokenizer or saved.get("tokenizer", "unigram"),
        "task": task,
    }
    if started:
        _agree(folder, {name: saved.get(name) for name in chosen}, chosen)
    files = validation_files = None
    if task:
        if plan.validation:
            raise CommandError("the recipe's task makes its own validation pairs; leave --validation out")
        pairs, validation = training_pairs(task)
        spoken = task_languages(task)
    else:
        files = _files(plan.data, saved.get("data"), "--data (or --source and --target)")
        validation_files = _files(plan.validation, saved.get("validation"), "--validation")
        preparation = Preparation(chosen["preparation"], (chosen["codes"][0], chosen["codes"][1]))
        pairs, validation = preparation.pairs(read(files)), preparation.pairs(read(validation_files))
        spoken = ("source", "target")
    name = plan.preset or saved.get("preset", PRESET)
    languages = plan.languages or tuple(saved.get("languages", spoken))
    settings = Settings.from_dict({**saved.get("settings", {}), **asked})
    digest = fingerprint(pairs, validation)
    if started:
        if digest != saved["fingerprint"]:
            raise CommandError(
                "the run in {folder} was started with other data; choose another --output for this data", folder=folder
            )
        config = ModelConfig.from_dict(saved["model"])
        tokenizer = Tokenizer.load(folder / "tokenizer.model")
    else:
        # A run.json without a saved state: nothing was trained yet, so every option may still change.
        changes = {**saved.get("changes", {}), **plan.model} if name == saved.get("preset", name) else plan.model
        vocab_size = plan.vocab_size or saved.get("vocab_size", VOCAB_SIZE)
        texts = (text for pair in pairs for text in pair if text.strip())
        tokenizer = Tokenizer.train(texts, vocab_size, chosen["tokenizer"])
        config = preset(name, len(tokenizer), **changes)
        if workers.first:
            folder.mkdir(parents=True, exist_ok=True)
            tokenizer.save(folder / "tokenizer.model")
        saved = {"changes": changes, "vocab_size": vocab_size}
    longest = config.max_positions - 1
    if not any(len(tokenizer.encode(s)) <= longest and len(tokenizer.encode(t)) <= longest for s, t in validation):
        raise DataError(
            "no validation pair fits into the model's {max_positions} positions", max_positions=config.max_positions
        )
    about = {
        **saved,
        **chosen,
        "data": [str(file) for file in files or ()],
        "validation": [str(file) for file in validation_files or ()],
        "languages": list(languages),
        "preset": name,
        "model": config.to_dict(),
        "settings": dataclasses.asdict(settings),
        "fingerprint": digest,
    }
    workers.wait()  # no worker writes before all have read
    spoken = (languages[0], languages[1])
    trainer = Trainer(folder, config, tokenizer, pairs, validation, settings, spoken, device, workers, readers)
    if workers.first:
        write_whole(memory, json.dumps(about, indent=1).encode())
    parameters = sum(parameter.numel() for parameter in trainer.model.parameters())
    if started:
        note = N_(
            "resuming at step {step:,} in {folder}: {pairs:,} pairs, {validation:,} for validation, vocabulary "
            "{vocabulary:,}, {parameters:,} parameters, {steps:,} steps; Ctrl+C saves and stops"
        )
    else:
        note = N_(
            "a new run in {folder}: {pairs:,} pairs, {validation:,} for validation, vocabulary "
            "{vocabulary:,}, {parameters:,} parameters, {steps:,} steps; Ctrl+C saves and stops"
        )
    values = {
        "step": trainer.step,
        "folder": folder,
        "pairs": len(pairs),
        "validation": len(validation),
        "vocabulary": config.vocab_size,
        "parameters": parameters,
        "steps": settings.steps,
    }
    notes = [translate(note, **values)]
    if workers.count > 1:
        notes.append(_("{count} workers share every batch", count=workers.count))
    return Run(trainer, notes)
