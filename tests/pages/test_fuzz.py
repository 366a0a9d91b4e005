"""Whole pages with hostile links, hostile typing and damaged checkpoints; see tests/fuzz."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st
from streamlit.testing.v1 import AppTest

from pages.runtime.rooms import rooms
from pages.runtime.shared import clear_caches
from tests.fuzz import folders, pages
from tests.fuzz.common import PATHS, TEXT, fuzz, sent
from tests.fuzz.damage import MARK, write
from tests.fuzz.guard import watched
from tests.fuzz.links import ANY_REPORT, PARAMS
from tests.support.app import address, checkpoints, every_part, linked
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


@st.composite
def typed(draw: st.DrawFn, app: AppTest) -> None:
    """Type or choose something, or report it as a browser that is none."""
    state = app.session_state["headscope"] if "headscope" in app.session_state else None  # noqa: SIM401, it has no get
    kind = draw(st.integers(0, 3))
    if kind == 0 and app.text_input:
        draw(st.sampled_from(list(app.text_input))).set_value(sent(draw(TEXT)))
    elif kind == 1 and (boxes := [one for one in app.selectbox if one.options]):
        box = draw(st.sampled_from(boxes))
        box.select_index(draw(st.integers(0, len(box.options) - 1)))
    elif kind == 2 and app.number_input:
        draw(st.sampled_from(list(app.number_input))).set_value(draw(st.sampled_from((0, 1, -1, 5, 10**6, 2**53))))
    elif state is not None:
        key, part = draw(st.sampled_from((("explorer", "view"), ("lab", "lab"), ("anatomy", "anatomy"))))
        values = draw(ANY_REPORT)
        app.session_state[key] = {part: {**values, "revision": state.revision} if isinstance(values, dict) else values}


@fuzz(25)
@given(
    st.sampled_from(pages.PAGES),
    PARAMS,
    st.sampled_from((None, "ka lo mi", "ti vu <b>zen</b>", "é 12 ﬁ")),  # what can be traced: more is drawn
    st.data(),
)
def test_any_link_and_any_typing_give_a_page(
    page: str, params: dict[str, str], source: str, data: st.DataObject
) -> None:
    """Then something is typed into it, and its own link opens the same again."""
    asked = {sent(name): sent(text)[:3_000] for name, text in params.items()} | ({"source": source} if source else {})
    with TemporaryDirectory() as place, pages.surroundings(Path(place)):
        write(Path(place) / "mine", folders.base())
        app = pages.opened(page, asked).run()
        pages.check(app)
        if data.draw(st.booleans()):
            data.draw(typed(app))
            pages.check(app.run())
        found = address(app)
        again = pages.opened(page, found).run()
        pages.check(again)
        assert address(again) == found, (address(again), found)


@fuzz(12)
@given(st.sampled_from(pages.PAGES), folders.ours())
def test_a_damaged_checkpoint_leaves_the_others_alone(page: str, files: dict[str, bytes]) -> None:
    """Its page says what is wrong, and that of the good one does not mind."""
    clear_caches()
    with TemporaryDirectory() as place, pages.surroundings(Path(place)):
        write(Path(place) / "bad", files)
        write(Path(place) / "mine", folders.base())
        app = pages.opened(page, {"checkpoint": "bad"}).run()
        pages.check(app)
        assert "bad" in checkpoints(app)
        if {name for name, data in folders.base().items() if files[name] != data} <= {folders.CARD, folders.RECORDING}:
            assert "cannot be opened" not in " ".join(pages.messages(app))
        other = pages.opened(page, {"checkpoint": "mine", "source": "ka lo"}).run()
        pages.check(other)
        assert "cannot be opened" not in " ".join(pages.messages(other))
        assert not MARK.exists(), "code of a checkpoint was run"


@pytest.mark.parametrize("page", pages.PAGES)
def test_every_page_says_why_a_checkpoint_cannot_be_opened(page: str, tmp_path: Path) -> None:
    write(tmp_path / "bad", {**folders.base(), folders.WEIGHTS: b"x" * 99})
    write(tmp_path / "good", folders.base())
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
    write(tmp_path / "inside" / "good", folders.base())
    write(tmp_path / "outside" / "secret", folders.base())
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
        write(tmp_path / "all" / folder, folders.base())
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
    write(tmp_path / "good", folders.base())
    write(tmp_path / "bad", {**folders.base(), folders.TOKENIZER: b"x"})
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
