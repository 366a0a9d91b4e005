"""Whole pages with hostile links, hostile typing and damaged checkpoints; see tests/fuzz."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pages.runtime.rooms import rooms
from pages.runtime.shared import clear_caches
from tests.fuzz import folders, pages
from tests.fuzz.common import PATHS, parts, repeat
from tests.fuzz.guard import watched
from tests.support.app import address, every_part, linked
from tests.support.build import tiny_pretrained
from transformer.tracing.export import npz
from transformer.view.page import html_page
from transformer.view.state import View

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the damage is that of Unix")]
SENTENCE = {"source": "ka lo mi", "target": "mi nu"}


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    """No test sees the folders of another."""
    clear_caches()
    yield
    clear_caches()


@pytest.mark.parametrize("part", parts(4))
def test_any_link_and_any_typing_give_a_page(part: int) -> None:
    repeat("pages", pages.case, range(part * 15, part * 15 + 15))


@pytest.mark.parametrize("part", parts(2))
def test_a_damaged_checkpoint_leaves_the_others_alone(part: int) -> None:
    repeat("damaged", pages.damaged_case, range(part * 12, part * 12 + 12))


@pytest.mark.parametrize("page", pages.PAGES)
def test_every_page_says_why_a_checkpoint_cannot_be_opened(page: str, tmp_path: Path) -> None:
    folders.write(tmp_path / "bad", {**folders.base(), folders.WEIGHTS: b"x" * 99})
    folders.write(tmp_path / "good", dict(folders.base()))
    with pages.surroundings(tmp_path):
        app = pages.opened(page, {"checkpoint": "bad"}).run()
        pages.check(app)
        (text,) = pages.messages(app)
        assert "cannot be opened: model.safetensors is not a complete safetensors file; copy it again." in text
        app.selectbox(key="checkpoint").select("good").run()
        pages.check(app)
        assert "cannot be opened" not in " ".join(pages.messages(app))


def test_a_link_names_no_file_outside_the_checkpoint_folders(tmp_path: Path) -> None:
    """A link can open only what the menu offers; nothing else is even looked at."""
    folders.write(tmp_path / "inside" / "good", dict(folders.base()))
    folders.write(tmp_path / "outside" / "secret", dict(folders.base()))
    outside = str(tmp_path / "outside" / "secret")
    (tmp_path / "inside" / "notes").symlink_to(tmp_path / "outside")  # a folder without a config.json is none
    asked = [
        outside,
        outside + "/",
        "../outside/secret",
        "good/../../outside/secret",
        "notes/secret",
        "notes/../notes/secret",
    ]
    asked += [path.replace("/", "%2f") for path in asked[1:4]] + [path.replace("/", "\\") for path in asked[2:4]]
    asked += [asked[3].replace(".", "%2e"), outside + "\0", "good\0" + outside, "file://" + outside]
    touched: list[str] = []

    def look(event: str, given: tuple[object, ...]) -> None:
        if event in ("open", "os.listdir", "os.scandir") and active and "secret" in os.fsdecode(str(given[0])):
            touched.append(str(given[0]))

    active = True
    sys.addaudithook(look)
    try:
        with pages.surroundings(tmp_path / "inside"):
            for path in (*asked, *PATHS[::3]):
                app = pages.opened("model", {"checkpoint": path[:3_000]}).run()
                pages.check(app)
                names = [option.partition(":")[0] for option in app.selectbox(key="checkpoint").options]
                assert app.selectbox(key="checkpoint").value in names and not {"secret", "notes"} & set(names)
                if path not in names:
                    assert "The link asks for the checkpoint" in pages.messages(app)[0], path
    finally:
        active = False
    assert not touched


@pytest.mark.parametrize("name", [folders.CARD, folders.LOG, folders.EXAMPLES])
def test_the_page_shows_only_files_of_the_checkpoint(name: str, tmp_path: Path) -> None:
    """A folder may contain a symbolic link to a file of the server; visitors must not see that file."""
    secret = {
        folders.CARD: "SECRET",
        folders.LOG: "step,loss\n1,77.125\n",
        folders.EXAMPLES: json.dumps([{"title": "SECRET", "look": "SECRET", "source": "SECRET"}]),
    }[name]
    (tmp_path / "secret").write_text(secret)
    for folder, link in (("out", "../secret"), ("absolute", str(tmp_path / "secret"))):
        folders.write(tmp_path / "all" / folder, dict(folders.base()))
        (tmp_path / "all" / folder / name).unlink()
        (tmp_path / "all" / folder / name).symlink_to(link)
        with pages.surroundings(tmp_path / "all"):
            for page in ("heads", "model"):
                app = pages.opened(page, {"checkpoint": folder}).run()
                pages.check(app)
                shown = json.dumps(
                    [str(element.proto) for kind in ("html", "markdown", "bidi_component") for element in app.get(kind)]
                )
                assert "SECRET" not in shown and "77.125" not in shown
                assert "SECRET" not in str(address(app))


def test_nothing_a_visitor_does_writes_to_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every part of every page, with switches, typing, a damaged checkpoint: no file is opened for writing, no folder
    made, nothing renamed or removed, no process started, by Python code in this process. The downloads are made too."""
    trace = tiny_pretrained().trace("ka lo mi", limit=12)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # Python's own, of what is imported for the first time
    folders.write(tmp_path / "good", dict(folders.base()))
    folders.write(tmp_path / "bad", {**folders.base(), folders.TOKENIZER: b"x"})
    with pages.surroundings(tmp_path):
        pages.opened("heads", SENTENCE).run()  # what Python and Streamlit do once, at their start, is not a visitor's
        rooms()  # the server's own file
        with watched() as watch:
            for page, part in every_part():
                app = pages.opened(page, linked(part, checkpoint="good", zero="cross.1.1", **SENTENCE)).run()
                pages.check(app)
                if any(one.key == "source" for one in app.text_input):
                    pages.check(app.text_input(key="source").set_value("nu nu").run())
            pages.check(pages.opened("heads", {"checkpoint": "bad"}).run())
            assert npz(trace) and html_page(trace, View())
    assert watch.found == []
