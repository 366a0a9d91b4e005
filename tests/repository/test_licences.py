"""The licences in docs/licences.md."""

import importlib.metadata
import re

from tests.support.licences import ROOT, canonical, listed, needed


def test_the_table_lists_needs_of_the_app_and_not_of_tests() -> None:
    found = needed()
    direct = {"babel", "numpy", "pandas", "plotly", "sacrebleu", "safetensors", "sentencepiece", "streamlit", "torch"}
    assert direct < found and {"tornado", "starlette", "websockets", "pyarrow", "lxml"} & found
    assert not found & {"pytest", "playwright", "hypothesis", "ruff", "transformers", "sacremoses", "headscope"}
    assert len(listed()) > 30


def test_no_package_forces_another_licence_on_the_app() -> None:
    assert not [name for name, said in listed().items() if re.search(r"\b(A|L)?GPL|General Public", said)]
    assert importlib.metadata.metadata("headscope")["License-Expression"] == "MIT"
    assert "MIT License" in (ROOT / "LICENSE").read_text(encoding="utf-8")


def test_checkpoints_state_their_own() -> None:
    page = (ROOT / "docs" / "licences.md").read_text(encoding="utf-8")
    for folder in sorted(path for path in (ROOT / "checkpoints").iterdir() if path.is_dir()):
        assert f"`{folder.name}`" in page, folder.name
        assert re.search(r"(?i)licen[cs]e", (folder / "README.md").read_text(encoding="utf-8")), folder.name


def test_names_are_compared_as_indexes_do() -> None:
    assert canonical("Jinja2") == "jinja2" and canonical("typing_extensions") == canonical("typing.extensions")
