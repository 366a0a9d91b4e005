"""A checkpoint that says it was taught a few words of Korean."""

import json
import shutil
from pathlib import Path

import transformer
from transformer.checkpoints.folder import CONFIG, EXAMPLES, WORDS
from transformer.text.words import written
from transformer.web.folder import export_folder

EXAMPLE = {
    "title": "A school",
    "look": "Nothing.",
    "source": "학교에",
    "view": {"kind": "cross", "layer": 2, "head": 1},
}


def closed_checkpoint(parent: Path) -> Path:
    """`ko-en`: the bundled model of Korean numbers under the name of one of sentences, with graphs for a browser."""
    folder = parent / "ko-en"
    shutil.copytree(transformer.load("ko-numbers").path, folder)
    config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
    (folder / CONFIG).write_text(json.dumps({**config, "source": "Korean", "target": "English"}), encoding="utf-8")
    parts = {"beginnings": {"noun": ["학교", "사과"]}, "endings": {"noun": ["", "를", "에"]}}
    (folder / WORDS).write_text(written(["학교", "사과"], parts, ["봐요"]), encoding="utf-8")
    (folder / EXAMPLES).write_text(json.dumps([EXAMPLE]), encoding="utf-8")
    for name in ("learning.npz", "heads.json"):  # of the other model's examples
        (folder / name).unlink()
    export_folder(transformer.load(folder), folder)
    return folder
