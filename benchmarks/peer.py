"""BertViz's page of all heads, with the libraries that it asks the network for beside it."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from transformer.tracing.trace import Trace

FOLDER = Path(sys.prefix) / "benchmarks"  # what npm fetches
# What a page of BertViz 1.4.1 names -> npm package, and the file in it. jQuery 2.0.0 is not on npm; 2.2.4 comes next.
LIBRARIES = {
    "require.min.js": ("requirejs@2.3.6", "requirejs/require.js"),
    "jquery.min.js": ("jquery@2.2.4", "jquery/dist/jquery.min.js"),
    "d3.min.js": ("d3@5.7.0", "d3/dist/d3.min.js"),
}
ADDRESS = re.compile(r"https?://[^'\"\s]+/((?:require|jquery|d3)\.min(?:\.js)?)")


def put_libraries(folder: Path) -> None:
    """Copies of the libraries, old enough for a browser to keep them in its cache."""
    files = {name: FOLDER / "node_modules" / inside for name, (_, inside) in LIBRARIES.items()}
    if not all(file.is_file() for file in files.values()):
        packages = [package for package, _ in LIBRARIES.values()]
        subprocess.run(["npm", "install", "--silent", "--prefix", str(FOLDER), *packages], check=True)
    for name, file in files.items():
        shutil.copy(file, folder / name)
        os.utime(folder / name, (0, 0))


def local(text: str) -> str:
    """A page of BertViz with the libraries beside it. Raises ValueError."""
    found, count = ADDRESS.subn(lambda match: match[1], text)
    if count != len(LIBRARIES):
        raise ValueError(f"a page of BertViz names {count} libraries, not {len(LIBRARIES)}; update peer.py")
    return '<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,">' + found


def write(trace: Trace, file: Path) -> None:
    """Every head of every kind of attention, as a person would ask BertViz for it."""
    from bertviz.model_view import model_view

    kinds = {"encoder": "encoder_self", "decoder": "decoder_self", "cross": "cross"}
    # One tensor a layer, [1, head, query, key].
    weights = {f"{name}_attention": [w[None] for w in trace.attention(kind).weights] for name, kind in kinds.items()}
    tokens = {"encoder_tokens": list(trace.source_tokens), "decoder_tokens": list(trace.target_in)}
    page = model_view(**weights, **tokens, html_action="return").data
    file.write_text(local(page), encoding="utf-8")
