"""The training slider of the explorer as a script: opened, moved, linked, and where nothing can be shown."""

import dataclasses
import functools
import json
import struct
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from pages.frame.state import Session
from tests.support.app import address, components, kept, messages, open_page, state_of
from tests.support.recordings import PAIRS, made_recording

EXAMPLES = [{"title": "One", "source": PAIRS[0][0]}, {"title": "Two", "source": PAIRS[1][0], "target": PAIRS[1][1]}]


@pytest.fixture(autouse=True)
def folder(folder: Path) -> Path:
    """Of `tiny`, with a recording of its training."""
    (folder / "tiny" / "learning.npz").write_bytes(made_recording().to_bytes())
    (folder / "tiny" / "examples.json").write_text(json.dumps(EXAMPLES))
    return folder / "tiny"


open_app = functools.partial(open_page, "heads", source=PAIRS[0][0], target=PAIRS[0][1])


def states(app: AppTest) -> dict[str, Any]:
    """The header of the slider's data."""
    (feed,) = components(app, "recording")
    data = feed.bytes
    return json.loads(data[8 : 8 + struct.unpack("<I", data[4:8])[0]])


def press(app: AppTest, opened: bool) -> AppTest:
    """The browser's report after a press of the picture's button; the callback runs before the script."""
    app.session_state["explorer"] = {"formation": opened}
    state = state_of(app)
    training = (state.view.training or 0) if opened else None
    kept(app, Session).state = dataclasses.replace(state, view=dataclasses.replace(state.view, training=training))
    return app.run()


def test_a_link_opens_the_part_and_a_move_changes_the_link() -> None:
    app = open_app(training="3")
    assert not messages(app, notes=True) and states(app)["step"] == 3
    sent = components(app, "recording")[0].bytes
    revision = state_of(app).revision
    app.session_state["formation"] = {"training": {"step": 20, "revision": revision}}
    app.run()
    assert address(app)["training"] == "20"
    assert components(app, "recording")[0].bytes == sent  # nothing travels for a move
    for odd in ({"step": 7, "revision": revision}, {"step": "3", "revision": revision}, {"step": 3}, [3], None):
        app.session_state["formation"] = {"training": odd}
        app.run()
        assert not app.exception and address(app)["training"] == "20"


def test_a_step_that_was_not_recorded_becomes_the_nearest() -> None:
    app = open_app(training="999999999")
    assert "The link asks for training step 999,999,999. The nearest recorded step, 20," in messages(app, notes=True)
    assert address(app)["training"] == "20" and not messages(app.run(), notes=True)


def test_the_slider_opens_at_the_first_recorded_state(folder: Path) -> None:
    (folder / "learning.npz").write_bytes(made_recording((5, 6, 7)).to_bytes())
    app = open_app()
    assert not components(app, "formation") and not components(app, "recording")  # of a closed slider nothing is sent
    app = press(app, True)
    assert not app.exception and not messages(app, notes=True)
    assert address(app)["training"] == "5" and states(app)["step"] == 5


def test_a_checkpoint_without_a_recording_says_so(folder: Path) -> None:
    (folder / "learning.npz").unlink()
    app = open_app(training="3")
    assert "has no recording of its training" in messages(app, notes=True) and not components(app, "formation")
    assert "training" not in address(app) and not messages(app.run(), notes=True)
    assert b'"recorded":false' in components(app, "pack")[0].bytes


def test_a_damaged_recording_gives_a_sentence(folder: Path) -> None:
    whole = (folder / "learning.npz").read_bytes()
    for data in (whole[:-200], b"", b"PK\x05\x06" + bytes(18)):
        (folder / "learning.npz").write_bytes(data)
        app = open_app(training="3")
        assert not components(app, "formation")
        refused = "The page cannot show how the heads formed: learning.npz is not a recording: "
        assert refused in messages(app, notes=True)
        assert len(components(app, "explorer")) == 1  # the rest of the page is as ever


def test_a_recording_of_another_model_gives_a_sentence(folder: Path) -> None:
    recording = made_recording()
    weights = {kind: tuple(array[:, :1] for array in arrays) for kind, arrays in recording.weights.items()}
    (folder / "learning.npz").write_bytes(dataclasses.replace(recording, weights=weights).to_bytes())
    app = open_app(training="3")
    assert "no recorded sentence matches the tokens" in messages(app, notes=True)


def test_an_example_keeps_the_section_open() -> None:
    app = open_app(training="3")
    app.session_state["hs-examples-0"] = True
    app.run().button("example-1").click().run()
    assert address(app)["source"] == "mi" and address(app)["training"] == "3"
    assert states(app)["writes"][2] == "state 20 of mi"


def test_the_explanation_describes_this_model(folder: Path) -> None:
    assert any("How it learned" in element.value for element in open_app().markdown)
    (folder / "learning.npz").unlink()
    assert not any("How it learned" in element.value for element in open_app().markdown)
