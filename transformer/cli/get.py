"""Fetch a model from the Hugging Face Hub into the folder of checkpoints. No other command uses a network."""

from __future__ import annotations

import argparse
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from transformer.checkpoints.folder import CARD, CONFIG, WEIGHTS, CheckpointError, read_json
from transformer.checkpoints.importers import KINDS, open_folder
from transformer.checkpoints.importers.bart import kind_of
from transformer.checkpoints.importers.generation import SETTINGS
from transformer.checkpoints.importers.tensors import PICKLED, SHARDED
from transformer.checkpoints.importers.tokenizers import ADDED, OPTIONS, SPECIAL, TARGET_VOCABULARY
from transformer.cli.common import CommandError
from transformer.paths import checkpoint_folders
from transformer.texts import N_, _, any_of

if TYPE_CHECKING:
    from huggingface_hub import HfApi, ModelInfo

SUMMARY = N_(
    "Fetch a translation or summarisation model (OPUS-MT, NLLB, BART, T5 and others) from the Hugging Face Hub; the "
    "only command that uses a network."
)
HUB = "https://huggingface.co"
OPTIONAL = (TARGET_VOCABULARY, OPTIONS, ADDED, SPECIAL, SETTINGS, CARD)
TIMEOUT = 20  # seconds until a server that does not answer counts as out of reach
Answer = TypeVar("Answer")


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="OWNER/NAME", help=_("as on the hub, e.g. Helsinki-NLP/opus-mt-ko-en"))
    parser.add_argument(
        "--folder",
        type=Path,
        metavar="FOLDER",
        help=_("where to put it (default: the first folder in HEADSCOPE_CHECKPOINTS, else that of the bundled models)"),
    )


def _hub(endpoint: str) -> HfApi:
    try:
        from huggingface_hub import HfApi
    except ImportError as error:
        raise CommandError(
            "get needs huggingface_hub; install it with: pip install huggingface_hub, or install Headscope with its "
            "extra [hub]"
        ) from error
    return HfApi(endpoint=endpoint, token=False, library_name="headscope")


def _ask(work: Callable[[], Answer], model: str, endpoint: str, folder: Path) -> Answer:
    """What the hub answers. Raises CommandError; the libraries below the hub's have errors of their own."""
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, RepositoryNotFoundError

    try:
        return work()
    except HFValidationError as error:
        raise CommandError(
            "{model!r} is not OWNER/NAME; write for example Helsinki-NLP/opus-mt-ko-en", model=model
        ) from error
    except RepositoryNotFoundError as error:
        raise CommandError(
            "{endpoint} has no public model {model}; look its name up there", endpoint=endpoint, model=model
        ) from error
    except Exception as error:
        if isinstance(error, HfHubHTTPError) and error.response.status_code < 500:
            reason = f"{error.response.status_code} {error.response.reason_phrase}"
            raise CommandError(
                "{endpoint} refuses {model}: {reason}", endpoint=endpoint, model=model, reason=reason
            ) from error
        raise CommandError(
            "{endpoint} cannot be reached ({reason}); try again to continue, or fetch the files of {model} on another "
            "computer and copy them into {folder}",
            endpoint=endpoint,
            reason=type(error).__name__,
            model=model,
            folder=folder,
        ) from error


def _wanted(sizes: dict[str, int], kind: str, model: str) -> list[str]:
    """The files of a model of this kind that Headscope reads, as far as they are there. Raises CommandError."""
    ways = KINDS[kind].needed
    needed = (CONFIG, *next((names for names in ways if set(names) <= sizes.keys()), ways[0]))
    shards = sorted(name for name in sizes if re.fullmatch(r"model-\d+-of-\d+\.safetensors", name))
    weights = next(
        (names for names in ([WEIGHTS], [SHARDED, *shards], [PICKLED]) if set(names) <= sizes.keys()),
        [f"{WEIGHTS} / {PICKLED}"],
    )
    if missing := [name for name in (*needed, *weights) if name not in sizes]:
        raise CommandError(
            "{model} is not a model that Headscope can open: {files} missing; choose another one, such as "
            "Helsinki-NLP/opus-mt-ko-en",
            model=model,
            files=", ".join(missing),
        )
    return [*needed, *weights, *(name for name in OPTIONAL if name in sizes)]


def _kind(config: Path, model: str) -> str:
    """The model_type of a config.json. Raises CommandError or CheckpointError for what cannot be opened."""
    about = read_json(config)
    kind = about.get("model_type") if isinstance(about, dict) else None
    if kind not in KINDS:
        raise CommandError(
            "{model} is of the type {kind!r}; Headscope opens only {kinds}, such as Helsinki-NLP/opus-mt-ko-en",
            model=model, kind=kind, kinds=any_of(dict.fromkeys(one.name for one in KINDS.values())),
        )  # fmt: skip
    kind_of(Path(model), about, KINDS[kind].classes)
    return kind


def _licence(info: ModelInfo) -> str:
    named = info.card_data.get("license") if info.card_data is not None else None
    return named if isinstance(named, str) else ", ".join(named) if named else _("not stated; ask its owner")


def _fetch(model: str, name: str, revision: str | None, endpoint: str, path: Path) -> None:
    """A file of the hub, unless it is there. The bytes of an attempt that was stopped stay; hf_hub_download would begin
    anew."""
    from huggingface_hub import get_hf_file_metadata, hf_hub_url
    from huggingface_hub.file_download import http_get

    if path.is_file():
        return
    url = hf_hub_url(model, name, revision=revision, endpoint=endpoint)
    found = get_hf_file_metadata(url, token=False, timeout=TIMEOUT, library_name="headscope", endpoint=endpoint)
    unfinished = path.with_name(f"{name}.unfinished")
    with unfinished.open("ab") as file:
        http_get(found.location, file, resume_size=file.tell(), expected_size=found.size, displayed_filename=name)
    unfinished.rename(path)


def run(options: argparse.Namespace) -> int:
    model = options.model
    folder = (options.folder or checkpoint_folders()[0]).expanduser()
    goal = folder / model.rpartition("/")[2]
    if goal.exists():
        raise CommandError("{path} is there already; open it, or remove it to fetch it again", path=goal)
    endpoint = os.environ.get("HF_ENDPOINT", "").rstrip("/") or HUB
    hub = _hub(endpoint)
    info = _ask(lambda: hub.model_info(model, files_metadata=True, timeout=TIMEOUT), model, endpoint, goal)
    sizes = {file.rfilename: file.size or 0 for file in info.siblings or ()}
    # A name that begins with a dot is no checkpoint; a later try goes on where this one was stopped.
    part = folder / f".{goal.name}.{info.sha}.part"
    part.mkdir(parents=True, exist_ok=True)

    def fetch(name: str) -> None:
        _ask(lambda: _fetch(model, name, info.sha, endpoint, part / name), model, endpoint, goal)

    kind = next(iter(KINDS))
    if CONFIG in sizes:
        fetch(CONFIG)
        kind = _kind(part / CONFIG, model)
    names = _wanted(sizes, kind, model)
    total = sum(sizes[name] for name in names)
    print(
        _(
            "{model}: {size:.1f} MB, licence: {licence}, into {path}",
            model=model,
            size=total / 1e6,
            licence=_licence(info),
            path=goal,
        ),
        flush=True,
    )
    free = shutil.disk_usage(part).free
    if total > free:
        raise CommandError(
            "{folder} has {free:.1f} MB left and the model takes {size:.1f} MB; free some space, or choose another "
            "--folder",
            folder=folder,
            free=free / 1e6,
            size=total / 1e6,
        )
    for name in names:
        fetch(name)
    try:
        notes = open_folder(part).notes
    except CheckpointError as error:
        raise CommandError("{model} was fetched but cannot be opened: {error}", model=model, error=error) from error
    part.rename(goal)
    for note in notes:
        print(note)
    print(_("done; open it with: headscope --checkpoint {path}", path=goal))
    return 0
