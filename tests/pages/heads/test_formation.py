"""The training slider of the explorer as a script: opened, moved, linked, and where nothing can be shown."""

from __future__ import annotations

import dataclasses
import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from pages.components import payloads
from pages.frame.state import Session
from pages.heads import formation
from tests.support.app import address, app_test, components, kept, messages, state_of
from tests.support.build import saved_checkpoint
from tests.support.recordings import PAIRS, made_recording

EXAMPLES = [{"title": "One", "source": PAIRS[0][0]}, {"title": "Two", "source": PAIRS[1][0], "target": PAIRS[1][1]}]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    made = saved_checkpoint(tmp_path)
    (made / "learning.npz").write_bytes(made_recording().to_bytes())
    (made / "examples.json").write_text(json.dumps(EXAMPLES))
    monkeypatch.setenv("HEADSCOPE_CHECKPOINTS", str(tmp_path))
    monkeypatch.setenv("HEADSCOPE_MAX_TOKENS", "40")
    for name in ("HEADSCOPE_CHECKPOINT", "HEADSCOPE_DEVICE"):
        monkeypatch.delenv(name, raising=False)
    return made


@pytest.fixture
def open_app(folder: Path) -> Callable[..., AppTest]:
    def start(**params: str) -> AppTest:
        return app_test(**{"source": PAIRS[0][0], "target": PAIRS[0][1], **params}).run()

    return start


def states(app: AppTest) -> dict[str, Any]:
    """The header of the slider's data."""
    (feed,) = components(app, "recording")
    data = feed.bytes
    return json.loads(data[8 : 8 + struct.unpack("<I", data[4:8])[0]])


def test_nothing_is_read_or_sent_before_it_is_asked_for(
    open_app: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(formation, "formed", lambda model: pytest.fail("read"))
    app = open_app()
    assert not app.exception and not components(app, "formation") and not components(app, "recording")
    (picture,) = components(app, "pack")
    assert b'"recorded":true' in picture.bytes
    assert "training" not in address(app)


def press(app: AppTest, opened: bool) -> AppTest:
    """The browser's report after a press of the picture's button; the callback runs before the script."""
    app.session_state["explorer"] = {"formation": opened}
    state = state_of(app)
    training = (state.view.training or 0) if opened else None
    kept(app, Session).state = dataclasses.replace(state, view=dataclasses.replace(state.view, training=training))
    return app.run()


def test_the_open_slider_has_every_state_of_the_sentence(open_app: Callable[..., AppTest]) -> None:
    app = press(open_app(), True)
    assert not app.exception and not messages(app, notes=True) and len(components(app, "formation")) == 1
    assert address(app)["training"] == "0"
    header = states(app)
    assert header["steps"] == [0, 3, 20] and header["step"] == 0 and set(header["kinds"]) == {
        "encoder_self", "decoder_self", "cross"
    }  # fmt: skip
    assert header["id"] in kept(app, payloads.Sent).names["explorer"]["pack"][0][0]
    app = press(app, False)
    assert not components(app, "formation") and "training" not in address(app)


def test_a_link_opens_the_part_and_a_move_changes_the_link(open_app: Callable[..., AppTest]) -> None:
    app = open_app(training="3")
    assert not app.exception and not messages(app, notes=True) and states(app)["step"] == 3
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


def test_a_step_that_was_not_recorded_becomes_the_nearest(open_app: Callable[..., AppTest]) -> None:
    app = open_app(training="999999999")
    assert "The link asks for training step 999,999,999. The nearest recorded step, 20," in messages(app, notes=True)
    assert address(app)["training"] == "20" and not messages(app.run(), notes=True)


def test_the_slider_opens_at_the_first_recorded_state(open_app: Callable[..., AppTest], folder: Path) -> None:
    (folder / "learning.npz").write_bytes(made_recording((5, 6, 7)).to_bytes())
    app = press(open_app(), True)
    assert not app.exception and not messages(app, notes=True)
    assert address(app)["training"] == "5" and states(app)["step"] == 5


def test_another_sentence_is_recognised_and_recorded_ones_are_offered(open_app: Callable[..., AppTest]) -> None:
    app = open_app(source="re sta", target="lo", training="3")
    header = states(app)
    assert not app.exception and header["kinds"] == {}
    assert [sentence["source"] for sentence in header["sentences"]] == ["ka lo", "mi"]
    assert not any(sentence["same"] for sentence in header["sentences"])
    app = open_app(target="lo", training="3")  # a recorded source, with another target
    assert [sentence["same"] for sentence in states(app)["sentences"]] == [True, False]


def test_a_checkpoint_without_a_recording_says_so(open_app: Callable[..., AppTest], folder: Path) -> None:
    (folder / "learning.npz").unlink()
    app = open_app(training="3")
    assert "has no recording of its training" in messages(app, notes=True) and not components(app, "formation")
    assert "training" not in address(app) and not messages(app.run(), notes=True)
    assert b'"recorded":false' in components(app, "pack")[0].bytes


def test_a_damaged_recording_gives_a_sentence(open_app: Callable[..., AppTest], folder: Path) -> None:
    whole = (folder / "learning.npz").read_bytes()
    for data in (whole[:-200], b"", b"PK\x05\x06" + bytes(18)):
        (folder / "learning.npz").write_bytes(data)
        app = open_app(training="3")
        assert not app.exception and not components(app, "formation")
        refused = "The page cannot show how the heads formed: learning.npz is not a recording: "
        assert refused in messages(app, notes=True)
        assert len(components(app, "explorer")) == 1  # the rest of the page is as ever


def test_a_recording_of_another_model_gives_a_sentence(open_app: Callable[..., AppTest], folder: Path) -> None:
    recording = made_recording()
    weights = {kind: tuple(array[:, :1] for array in arrays) for kind, arrays in recording.weights.items()}
    (folder / "learning.npz").write_bytes(dataclasses.replace(recording, weights=weights).to_bytes())
    app = open_app(training="3")
    assert not app.exception and "no recorded sentence matches the tokens" in messages(app, notes=True)


def test_an_example_keeps_the_section_open(open_app: Callable[..., AppTest]) -> None:
    app = open_app(training="3")
    app.session_state["hs-examples-0"] = True
    app.run().button("example-1").click().run()
    assert address(app)["source"] == "mi" and address(app)["training"] == "3"
    assert states(app)["writes"][2] == "state 20 of mi"


def test_the_explanation_describes_this_model(open_app: Callable[..., AppTest], folder: Path) -> None:
    assert any("How it learned" in element.value for element in open_app().markdown)
    (folder / "learning.npz").unlink()
    assert not any("How it learned" in element.value for element in open_app().markdown)
