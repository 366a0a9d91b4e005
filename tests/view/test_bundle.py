"""The built scripts: what Python asks for is there, and made of the sources that lie in frontend/."""

import gzip
import hashlib
import os
import re
from pathlib import Path

import pytest

from transformer.view import bundle

ROOT = Path(__file__).parents[2]
FRONTEND = ROOT / "frontend"
# Those that Python hands to a page as text; the site and the engine are loaded from their addresses.
ENTRIES = sorted(path.stem for path in bundle.FOLDER.glob("*.js") if not re.match(r"engine|site", path.name))


def test_the_scripts_are_built_from_these_sources() -> None:
    paths = [
        *(path for path in (FRONTEND / "src").rglob("*") if re.search(r"(?<!\.test)\.js$|\.css$", path.name)),
        FRONTEND / "build.js",
        FRONTEND / "package-lock.json",
        FRONTEND / "../pages/frame/question.css",
        FRONTEND / "../pages/frame/words.css",
        FRONTEND / "../pages/frame/sideways.css",
    ]
    digest = hashlib.sha256()
    for name, path in sorted((os.path.relpath(path, FRONTEND).replace(os.sep, "/"), path) for path in paths):
        digest.update(f"{name}\0".encode() + path.read_bytes() + b"\0")
    built = (bundle.FOLDER / "sources.sha256").read_text(encoding="utf-8").strip()
    assert built == digest.hexdigest(), "transformer/view/dist is older than frontend/: run make frontend"


def test_every_script_and_style_that_python_asks_for_is_built() -> None:
    files = [*(ROOT / "pages").rglob("*.py"), *(ROOT / "transformer" / "view").rglob("*.py")]
    asked = {name for path in files for name in re.findall(r'\bscript\("(\w+)"\)', path.read_text(encoding="utf-8"))}
    styled = {name for path in files for name in re.findall(r'\bstyle\("(\w+)"\)', path.read_text(encoding="utf-8"))}
    assert {"anatomy", "explorer", "page"} <= asked <= set(ENTRIES)
    assert {"anatomy", "explorer", "page"} <= styled <= {path.stem for path in bundle.FOLDER.glob("*.css")}


@pytest.mark.parametrize("entry", ENTRIES)
def test_a_script_is_one_module_that_loads_nothing(entry: str) -> None:
    code = bundle.script(entry)
    assert not re.search(r"\bimport\s*[({\"']|\bfrom\s*[\"']\./", code)
    assert bool(re.search(r"export\s*\{[^}]*\bas default\b[^}]*\}", code)) == (entry != "page")
    assert "innerHTML" not in code and "eval(" not in code
    assert not re.findall(r"https?://(?!www\.w3\.org/)", code)
    assert "</script" not in code.lower()  # it would end the element that holds the code in an offline page
    assert "\n" in code.strip()  # else Streamlit takes it for the name of a file


def test_the_engine_is_a_plain_script_that_makes_no_script_of_a_text() -> None:
    code = bundle.script("engine")
    assert not re.search(r"\beval\(|\bFunction\(|\bimport\.meta\b|^(import|export)\b", code, re.MULTILINE)


def test_the_engine_knows_the_runtime_that_is_built_with_it() -> None:
    packed = (bundle.FOLDER / "ort.wasm.gz").read_bytes()
    assert f'bytes:{len(packed)},hash:"{hashlib.sha256(packed).hexdigest()[:16]}"' in bundle.script("engine")
    assert gzip.decompress(packed).startswith(b"\0asm")
