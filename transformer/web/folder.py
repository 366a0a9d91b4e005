"""A model as files for a browser, in one folder.

    web.json                    what the engine has to know first, see `about`
    encoder.onnx, decoder.onnx, output.onnx
                                the graphs, see `transformer.web.graphs`
    model.safetensors           the weights, the checkpoint's own file; where the graphs cannot read that (bfloat16,
                                another project's names), web.safetensors, with 16 bits where they are exact
    tokenizer.model             the tokenizer; of a Marian model source.spm and target.spm, and the ids of their pieces
                                in source.table.json and target.table.json; of a T5 model those of the target for both
    examples.json               example sentences, if the checkpoint has some
    words.json                  the words of a model with a closed vocabulary

A checkpoint's own folder may be such a folder too: then the app's engine can compute it. Those of the bundled
checkpoints are; `python -m transformer.web.folder` writes their graphs again.
"""

import filecmp
import hashlib
import importlib.util
import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save

from transformer.cancellation import Progress, tell
from transformer.checkpoints.folder import ABOUT, EXAMPLES, GRAPHS, LARGEST_BESIDE, TOKENIZER, WEIGHTS, WORDS
from transformer.checkpoints.importers.generation import SETTINGS
from transformer.checkpoints.importers.vocabulary import ImportedTokenizer, VocabularyTokenizer
from transformer.checkpoints.weights import WeightsError, read_header, read_tensor
from transformer.files import open_regular, write_gzip, write_whole
from transformer.inference.pretrained import Pretrained, load
from transformer.interventions.sets import InterventionError
from transformer.model.tap import SIDES
from transformer.paths import app_folder
from transformer.text.toys import TOYS
from transformer.web.check import SENTENCES, SWITCHES, ExportError, check_graphs
from transformer.web.graphs import export

FORMAT = 1
ENGINE = "HEADSCOPE_ENGINE"  # variable; "off": the app's pages load no engine, the server computes
OWN_WEIGHTS = "web.safetensors"
READABLE = (torch.float16, torch.float32)  # by the graphs, and by the engine
EXPORTERS = ("onnx", "onnxscript", "onnxruntime")  # the extra [web]
STEPS = len(GRAPHS) + SENTENCES + len(SWITCHES)


def about(model: Pretrained) -> dict[str, Any]:
    """The content of web.json."""
    longest = model.metrics.get("trained_up_to")
    toy = TOYS.get(model.languages)
    return {
        "format": FORMAT,
        "name": model.name,
        "languages": list(model.languages),
        "config": model.config.to_dict(),
        "weights": WEIGHTS if _reads(model) else OWN_WEIGHTS,
        "tokenizers": _tokenizers(model),
        "mean": bool(model.reference_pairs()),
        **({"trained_up_to": longest} if isinstance(longest, int) else {}),
        **({"reads": toy._asdict()} if toy else {}),
        **({"words": WORDS} if model.words else {}),
        **({} if model.rule.constraints.last is None else {"last": model.rule.constraints.last}),
    }


def files(about: dict[str, Any]) -> tuple[str, ...]:
    """The files that the engine needs beside web.json."""
    tokenizers = (name for names in about["tokenizers"].values() for name in names.values())
    return *GRAPHS, about["weights"], *tokenizers, *([WORDS] if "words" in about else [])


def _reads(model: Pretrained) -> bool:
    """Whether the graphs can read the checkpoint's own weights: the names and numbers in its file are the model's."""
    parameters = dict(model.model.named_parameters())
    try:
        with open_regular(model.path / WEIGHTS) as file:
            entries = read_header(file)
            return entries.keys() == parameters.keys() and all(
                entry.dtype in READABLE and torch.equal(read_tensor(file, entry).float(), parameters[name].cpu())
                for name, entry in entries.items()
            )
    except (OSError, WeightsError):
        return False


def _own_weights(model: Pretrained) -> bytes:
    """A file of weights for the graphs."""
    tensors = {}
    for name, parameter in model.model.named_parameters():
        whole = parameter.detach().cpu().clone(memory_format=torch.contiguous_format)
        half = whole.half()
        tensors[name] = half if torch.equal(half.float(), whole) else whole
    return save(tensors)


def _tokenizers(model: Pretrained) -> dict[str, dict[str, str]]:
    """Side -> names of its files; without a source, that of the target reads both."""
    if not isinstance(model.tokenizer, VocabularyTokenizer):
        return {"target": {"model": TOKENIZER}}
    sides = SIDES if model.source_tokenizer else ("target",)
    return {side: {"model": f"{side}.spm", "table": f"{side}.table.json"} for side in sides}


def export_folder(
    model: Pretrained,
    folder: Path,
    progress: Progress = lambda done, total: True,
    fresh: bool = False,
    packed: bool = False,
) -> dict[str, Any]:
    """Write the files of a model into a folder, which is made if it is missing; with new graphs only if they compute
    what the model computes.

    progress: called with (steps done, all); False stops (Stopped). fresh: make new graphs even if there are some beside
    the checkpoint's weights. packed: each file as NAME.gz, for hosts that compress nothing. Returns the content of
    web.json. Raises ExportError, OSError; then the folder is as it was.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{folder.name}.", dir=folder.parent) as made:
        part = Path(made)
        facts = _write(model, part, progress, fresh, packed)
        folder.mkdir(exist_ok=True)
        for path in sorted(part.iterdir(), key=lambda path: path.name == ABOUT):  # last: then all others are there
            if not (folder / path.name).is_file() or not filecmp.cmp(path, folder / path.name, shallow=False):
                os.replace(path, folder / path.name)
    return facts


def _write(model: Pretrained, folder: Path, progress: Progress, fresh: bool, packed: bool) -> dict[str, Any]:
    if model.rule.constraints.before_the_limit:
        raise ExportError(
            "{file} of {name} has settings that the browser does not follow, such as no_repeat_ngram_size, so it would "
            "translate in another way; remove them to export the model",
            file=SETTINGS, name=model.name,
        )  # fmt: skip
    for tokenizer in map(model.tokenizer_of, SIDES):
        if isinstance(tokenizer, ImportedTokenizer) and (
            tokenizer.before or tokenizer.after or not isinstance(tokenizer, VocabularyTokenizer)
        ):
            raise ExportError(
                "the browser cannot read the tokenizer of {name}, which adds tokens to every text or is a "
                "tokenizer.json; open the model in the app, where the server computes it",
                name=model.name,
            )
    facts = about(model)
    own = facts["weights"] == OWN_WEIGHTS
    graphs = [model.path / name for name in GRAPHS]
    new = own or fresh or not all(graph.is_file() for graph in graphs)
    if new and (missing := [name for name in EXPORTERS if importlib.util.find_spec(name) is None]):
        raise ExportError(
            "to export a model, {packages} must be installed: pip install '.[web]'", packages=", ".join(missing)
        )
    if own:
        write_whole(folder / OWN_WEIGHTS, _own_weights(model))
    else:
        shutil.copyfile(model.path / WEIGHTS, folder / WEIGHTS)
    for side, names in facts["tokenizers"].items():
        tokenizer = model.tokenizer_of(side)
        write_whole(folder / names["model"], tokenizer.to_bytes())
        if isinstance(tokenizer, VocabularyTokenizer):
            write_whole(folder / names["table"], _json(tokenizer.table()))
    if (examples := model.beside(EXAMPLES, LARGEST_BESIDE[EXAMPLES])) is not None:
        write_whole(folder / EXAMPLES, examples)
    if WORDS in files(facts):
        write_whole(folder / WORDS, model.beside(WORDS, LARGEST_BESIDE[WORDS]) or b"")
    if new:
        _export(model, folder, facts["weights"], progress)
    else:
        for graph in graphs:
            shutil.copyfile(graph, folder / graph.name)
    facts["files"] = {name: _pack(folder / name) if packed else _version(folder / name) for name in files(facts)}
    write_whole(folder / ABOUT, _json(facts))
    return facts


def _pack(file: Path) -> dict[str, Any]:
    packed = file.with_name(f"{file.name}.gz")
    write_gzip(packed, file.read_bytes())
    file.unlink()
    return {**_version(packed), "packed": True}


def _version(file: Path) -> dict[str, Any]:
    """By which a browser knows whether it has the file already (frontend/src/engine/download.js)."""
    data = file.read_bytes()
    return {"bytes": len(data), "hash": hashlib.sha256(data).hexdigest()[:16]}


def _export(model: Pretrained, folder: Path, weights: str, progress: Progress) -> None:
    """Make the graphs and check them."""
    try:
        means = model.outputs_elsewhere(None)
    except InterventionError:  # no sentences in its languages
        means = None
    with open_regular(folder / weights) as file:
        stored = read_header(file)
    for done, name in enumerate(GRAPHS, start=1):
        try:
            graph = export(model.model, Path(name).stem, stored, weights, means)
        except torch.onnx.OnnxExporterError as error:
            raise ExportError(
                "torch {version} cannot export {name}; install the versions that Headscope was tested with: "
                "pip install '.[web]' --constraint constraints.txt",
                version=torch.__version__, name=model.name,
            ) from error  # fmt: skip
        write_whole(folder / name, graph)
        tell(progress, done, STEPS)
    check_graphs(model, folder, lambda done, total: progress(len(GRAPHS) + done, STEPS))


def _json(value: Any) -> bytes:
    return (json.dumps(value, ensure_ascii=False) + "\n").encode()


def main() -> None:
    """Write the graphs of the bundled checkpoints again."""
    for folder in sorted(path for path in (app_folder() / "checkpoints").iterdir() if path.is_dir()):
        export_folder(load(folder), folder, fresh=True)
        print(folder.name)


if __name__ == "__main__":
    main()
