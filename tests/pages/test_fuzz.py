"""Whole pages with hostile links, hostile typing and damaged checkpoints; see tests/fuzz."""

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pages.runtime.rooms import rooms
from pages.runtime.shared import clear_caches
from tests.fuzz import folders, pages
from tests.fuzz.common import PATHS, examples
from tests.fuzz.guard import watched
from tests.fuzz.links import params, sent
from tests.support.app import address, app_test, checkpoints, every_part, linked
from tests.support.build import tiny_pretrained
from transformer.checkpoints.folder import CONFIG, RECORDING
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


@st.composite
def hostile_links(draw: st.DrawFn) -> tuple[str, dict[str, str]]:
    """A page and the parameters of a link to it, often with a sentence that can be traced: what is below it is drawn
    too."""
    page = draw(st.sampled_from(pages.PAGES))
    asked = {sent(name): sent(text)[:3_000] for name, text in draw(params(page)).items()}
    if draw(st.integers(0, 4)) > 1:
        asked["source"] = draw(st.sampled_from(("ka lo mi", "ti vu <b>zen</b>", "é 12 ﬁ")))
        asked["target"] = draw(st.sampled_from(("", "mi nu", "</s> ka")))
    return page, asked


@given(hostile_links(), st.data())
@examples(25)
def test_any_link_and_any_typing_give_a_page(link: tuple[str, dict[str, str]], data: st.DataObject) -> None:
    """A page with a hostile link; then something is typed into it; and its own link opens the same again."""
    page, asked = link
    with pages.surroundings(pages.good()):
        app = app_test(page, **asked).run()
        pages.check(app)
        if data.draw(st.booleans()):
            pages.type_or_choose(app, data)
            pages.check(app.run())
        if data.draw(st.integers(0, 2)) == 0:
            again = app_test(page, **address(app)).run()
            pages.check(again)
            assert address(again) == address(app)


@given(folders.damages(), st.sampled_from(pages.PAGES), st.booleans())
@examples(15)
def test_a_damaged_checkpoint_leaves_the_others_alone(damage: folders.Damage, page: str, own: bool) -> None:
    """Its page says what is wrong, and that of the good one beside it does not mind."""
    clear_caches()
    with damage.written() as folder:
        folders.write(folder.parent / pages.GOOD, dict(folders.base()))
        with pages.surroundings(folder.parent):
            app = app_test("model" if own else page, checkpoint=folder.name).run()
            pages.check(app)
            there = (folder / CONFIG).is_file()
            assert not there or folder.name in checkpoints(app)
            if set(damage.changed) <= {folders.CARD, RECORDING} or not there:
                assert "cannot be opened" not in " ".join(pages.messages(app))
            other = app_test(page, checkpoint=pages.GOOD, source="ka lo").run()
            pages.check(other)
            assert "cannot be opened" not in " ".join(pages.messages(other))


@pytest.mark.parametrize("page", pages.PAGES)
def test_every_page_says_why_a_checkpoint_cannot_be_opened(page: str, tmp_path: Path) -> None:
    folders.write(tmp_path / "bad", {**folders.base(), folders.WEIGHTS: b"x" * 99})
    folders.write(tmp_path / "good", dict(folders.base()))
    with pages.surroundings(tmp_path):
        app = app_test(page, checkpoint="bad").run()
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
                app = app_test("model", checkpoint=path[:3_000]).run()
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
                app = app_test(page, checkpoint=folder).run()
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
        app_test("heads", **SENTENCE).run()  # what Python and Streamlit do once, at their start, is not a visitor's
        rooms()  # the server's own file
        with watched() as watch:
            for page, part in every_part():
                app = app_test(page, **linked(part, checkpoint="good", zero="cross.1.1", **SENTENCE)).run()
                pages.check(app)
                if any(one.key == "source" for one in app.text_input):
                    pages.check(app.text_input(key="source").set_value("nu nu").run())
            pages.check(app_test("heads", checkpoint="bad").run())
            assert npz(trace) and html_page(trace, View())
    assert watch.found == []
