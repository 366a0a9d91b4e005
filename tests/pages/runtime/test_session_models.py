"""Models that a session trained or loaded: on every page, visible to nobody else, bounded, and downloaded as the same
zip."""

from __future__ import annotations

import base64
import gc
import json
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from streamlit.testing.v1 import AppTest

from pages.runtime import cache, session_models
from pages.runtime.memory import MEMORY, weigh
from pages.runtime.session_models import SessionModel
from pages.runtime.shared import SharedCache, clear_caches, identity
from tests.fuzz.folders import base
from tests.support.app import (
    address,
    app_test,
    checkpoints,
    every_part,
    kept,
    linked,
    messages,
    model_sizes,
    switch_page,
)
from tests.support.build import tiny_model, tiny_tokenizer
from transformer.checkpoints.archive import read_zip, zipped
from transformer.checkpoints.folder import CARD, CheckpointError, checkpoint_files
from transformer.inference.pretrained import open_files
from transformer.live_training import workshop


def other_zip(seed: int = 7, **changes: Any) -> bytes:
    """A small model with other weights."""
    tokenizer = tiny_tokenizer()
    model = tiny_model(seed, vocab_size=len(tokenizer), **changes)
    return zipped(checkpoint_files(model, tokenizer, ("Invented", "Imagined")), "other")


@pytest.fixture
def data() -> bytes:
    return zipped(base(), "good")


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing is trained, and no test sees the models of another."""
    monkeypatch.setattr(workshop, "_shared", [workshop.Workshop(0, 60)])
    clear_caches()
    yield
    clear_caches()


@pytest.fixture
def start(folder: Path) -> Callable[..., AppTest]:
    def opened(page: str = "heads", models: tuple[SessionModel, ...] = (), **params: str) -> AppTest:
        app = app_test(page, **{"source": "ka lo mi", **params})
        if models:
            kept(app, session_models.OwnModels).models = {session_model.name: session_model for session_model in models}
        return app.run()

    return opened


@pytest.mark.slow
@pytest.mark.parametrize("page, part", every_part())
def test_a_session_model_opens_on_every_page(start: Callable[..., AppTest], data: bytes, page: str, part: str) -> None:
    app = start(page, (SessionModel("mine/good", data),), checkpoint="mine/good", **linked(part))
    assert not app.exception and not messages(app)
    assert checkpoints(app)[-1] == "mine/good" and app.selectbox(key="checkpoint").value == "mine/good"
    assert address(app)["checkpoint"] == "mine/good"


def test_a_session_model_is_in_the_menu_with_its_examples(start: Callable[..., AppTest], data: bytes) -> None:
    app = start(models=(SessionModel("mine/good", data),))
    assert app.selectbox(key="checkpoint").value != "mine/good"
    app.selectbox(key="checkpoint").select("mine/good").run()
    assert not app.exception and address(app)["checkpoint"] == "mine/good"
    switch_page(app, "lab").run()
    assert not app.exception and address(app)["checkpoint"] == "mine/good"


def test_the_model_page_shows_the_metadata_of_the_zip(start: Callable[..., AppTest], data: bytes) -> None:
    app = start("model", (SessionModel("mine/good", data),), checkpoint="mine/good")
    shown = " ".join([element.value for element in app.markdown])
    assert "Card" in shown and "data, licence" in shown
    values = model_sizes(app)
    assert values["sacreBLEU"] == "12.5" and values["layers"] == "1 + 1"
    assert any("training" in element.proto.json for element in app.get("bidi_component"))  # the curve
    assert len(app.get("download_button")) == 1
    bundled = start("model", (SessionModel("mine/good", data),), checkpoint="tiny")
    assert not bundled.get("download_button")


def test_a_zip_without_card_and_log_says_what_is_missing(start: Callable[..., AppTest]) -> None:
    app = start("model", (SessionModel("mine/bare", other_zip()),), checkpoint="mine/bare")
    captions = [element.value for element in app.caption]
    assert "This checkpoint has no log of its training (training.csv)." in captions
    assert "This checkpoint has no model card (README.md)." in captions


def test_the_card_of_a_zip_is_as_harmless_as_any(start: Callable[..., AppTest]) -> None:
    files = {**base(), CARD: b"# x\n<script>alert(1)</script> ![x](//a.b/c)"}
    app = start("model", (SessionModel("mine/x", zipped(files, "x")),), checkpoint="mine/x")
    assert not app.exception and "!\\[x](//a.b/c)" in " ".join(element.value for element in app.markdown)
    assert not any(element.proto.allow_html for element in app.markdown)


def test_a_link_to_a_session_model_works_only_in_its_session(start: Callable[..., AppTest], data: bytes) -> None:
    start(models=(SessionModel("mine/good", data),), checkpoint="mine/good")
    app = start("lab", checkpoint="mine/good")
    assert not app.exception and "mine/good" not in checkpoints(app) and address(app)["checkpoint"] != "mine/good"
    text = messages(app)
    assert "The link asks for the checkpoint" in text and "mine/good" in text
    assert "in another session" in text and "load the zip on the Training page" in text
    assert "in another session" not in messages(start(checkpoint="nothing"))


def test_two_sessions_with_one_name_never_mix(start: Callable[..., AppTest]) -> None:
    """Same name and sentence, other weights: the shared caches keep them apart."""

    def packed(app: AppTest) -> list[str]:
        return [
            element.proto.bytes.hex() if element.proto.bytes else element.proto.json
            for element in app.get("bidi_component")
        ]

    first, second = (SessionModel("mine/x", other_zip(seed)) for seed in (7, 8))
    asked = {"checkpoint": "mine/x", "target": "re sta vu"}
    first_app, two, again = (start(models=(model,), **asked) for model in (first, second, first))
    assert packed(first_app) == packed(again) and packed(first_app) != packed(two)


def test_results_stay_cached_when_a_model_is_evicted(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    """It is opened from its zip again and counts as the same model."""
    models: SharedCache[Any] = SharedCache("models")
    monkeypatch.setattr(session_models, "MODELS", models)
    kept = {model.name: model for model in (SessionModel("mine/a", data), SessionModel("mine/b", other_zip()))}
    monkeypatch.setattr(session_models, "own_models", lambda: kept)
    first = session_models.load("mine/a")
    assert session_models.load("mine/a") is first
    name = identity(first)
    assert identity(session_models.load("mine/b")) != name
    models.remove(kept["mine/a"].id)
    again = session_models.load("mine/a")
    assert again is not first and identity(again) == name and kept["mine/a"].id in name
    assert torch.equal(again.model.embedding.weight, first.model.embedding.weight)


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch, folder: Path) -> dict[str, SessionModel]:
    models: dict[str, SessionModel] = {}
    monkeypatch.setattr(session_models, "own_models", lambda: models)
    return models


def test_a_session_keeps_a_bounded_number(session: dict[str, SessionModel]) -> None:
    """The oldest model is removed and named; the open model stays."""
    names, messages_ = [], []
    for seed in range(session_models.MOST + 2):
        name, dropped = session_models.add("model", other_zip(seed), current="mine/model")
        names.append(name)
        messages_ += dropped
    assert names[:3] == ["mine/model", "mine/model (2)", "mine/model (3)"]
    assert list(session) == ["mine/model", *names[3:]] and len(session) == session_models.MOST
    assert [message.split(" was removed")[0] for message in messages_] == ["mine/model (2)", "mine/model (3)"]


def test_a_session_keeps_a_bounded_size(session: dict[str, SessionModel], monkeypatch: pytest.MonkeyPatch) -> None:
    session_models.add("model 0", other_zip(0))
    one = session["mine/model 0"].bytes
    assert one > len(other_zip(0)) + weigh(session_models.load("mine/model 0").model)
    monkeypatch.setattr(session_models, "MOST_BYTES", int(2.5 * one))
    for seed in (1, 2):
        session_models.add(f"model {seed}", other_zip(seed))
    assert list(session) == ["mine/model 1", "mine/model 2"]


def test_a_removed_model_leaves_nothing(session: dict[str, SessionModel]) -> None:
    """Its zip, the opened model, and the traces made with it."""
    name, _said = session_models.add("x", other_zip())
    model = session_models.load(name)
    owner = session[name].id
    before = MEMORY.bytes_of(owner)
    cache.trace(model, name, "ka lo", "", 32)
    assert MEMORY.bytes_of(owner) > before
    gone = weakref.ref(model.model)
    del session[name], model
    gc.collect()
    MEMORY.settle()
    gc.collect()
    assert MEMORY.bytes_of(owner) == 0 and gone() is None


def test_a_model_whose_zip_had_to_go_is_named_and_another_one_opens(start: Callable[..., AppTest], data: bytes) -> None:
    app = start(models=(SessionModel("mine/good", data),), checkpoint="mine/good")
    assert app.selectbox(key="checkpoint").value == "mine/good"
    session_models.ZIPS.clear()
    app.run()
    assert not app.exception and checkpoints(app)[0] == app.selectbox(key="checkpoint").value
    assert "mine/good was removed: the server needed its memory. Load its zip again" in messages(app)
    app.run()
    assert not app.exception and not messages(app) and "mine/good" not in checkpoints(app)


def test_the_same_file_twice_is_one_model(session: dict[str, SessionModel], data: bytes) -> None:
    assert session_models.add("a", data) == session_models.add("b", data) == ("mine/a", [])
    assert list(session) == ["mine/a"]


@pytest.mark.parametrize(
    "title, name",
    [
        ("a/b", "mine/a-b"),
        ("", "mine/model"),
        ("  a \n b ", "mine/a b"),
        ("\ud800", "mine/?"),
        ("x" * 99, "mine/" + "x" * 60),
    ],
)
def test_names_are_text_of_a_line(session: dict[str, SessionModel], data: bytes, title: str, name: str) -> None:
    assert session_models.add(title, data)[0] == name


def test_a_zip_that_cannot_be_opened_is_not_stored(session: dict[str, SessionModel]) -> None:
    with pytest.raises(CheckpointError, match="this file is not a complete zip"):
        session_models.add("x", b"x")
    assert not session


def test_a_round_trip_is_the_same_bit_by_bit(session: dict[str, SessionModel]) -> None:
    data = other_zip()
    name, _said = session_models.add("other", data)
    loaded, read = session_models.load(name), open_files(read_zip(data), "x")
    assert session[name].data == data
    for key, weight in read.model.named_parameters():
        assert torch.equal(weight, loaded.model.get_parameter(key))


# -- the field for a file -------------------------------------------------------------------------------------------


def loading(sent: object) -> None:
    """The page after a browser sent a file: the callback runs first, as in Streamlit."""
    import streamlit as st

    from pages.frame.frame import open_frame
    from pages.frame.state import State, current_state, session, store_state
    from pages.registry import pages
    from pages.training import controls

    if "sent" not in st.session_state:
        st.session_state["sent"] = True
        store_state(State("tiny", "ka lo mi"))
        session().link_was_read = True
        st.session_state[controls.FILE] = {"file": sent}
        controls._loaded()
        del st.session_state[controls.FILE]
    open_frame(pages()[-1], {})
    st.text(current_state().checkpoint)  # type: ignore[union-attr]


def loaded(sent: object) -> AppTest:
    return AppTest.from_function(loading, default_timeout=60, kwargs={"sent": sent}).run()


@pytest.mark.usefixtures("folder")
def test_a_zip_that_a_browser_sends_is_open_at_once(data: bytes) -> None:
    sent = {"name": "good <b>.zip", "data": base64.b64encode(data).decode()}
    app = loaded(sent)
    assert not app.exception and app.text[0].value == "mine/good <b>"
    text = messages(app)
    assert "Loaded: mine/good &lt;b&gt;. It is open now on every page, for this session only." in text


@pytest.mark.parametrize(
    "sent, text",
    [
        (
            {"name": "x.zip", "data": "!"},
            "The file cannot be loaded: the file was damaged on the way; choose it again.",
        ),
        ({"name": "x.zip", "data": "AAAA"}, "The file cannot be loaded: this file is not a complete zip;"),
        ({"name": "x.zip"}, "The file cannot be loaded: the file is missing; choose it again."),
        ({"name": 3, "data": "AAAA"}, "The file cannot be loaded: the file is missing; choose it again."),
        ({"name": "x", "data": "A" * 22_000_000}, "The file cannot be loaded: the file has more than 16 MB;"),
    ],
    ids=["alphabet", "no-zip", "no-data", "no-name", "large"],
)
@pytest.mark.usefixtures("folder")
def test_a_file_that_is_not_a_zip_gives_a_message(sent: dict[str, Any], text: str) -> None:
    app = loaded(sent)
    assert not app.exception and app.text[0].value == "tiny"
    assert text in messages(app)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("sent", [None, [], "x", 7])
def test_a_report_without_a_file_is_ignored(sent: object) -> None:
    app = loaded(sent)
    assert not app.exception and app.text[0].value == "tiny" and not messages(app)


def test_the_examples_of_a_zip_are_read_as_a_folder_s(data: bytes) -> None:
    model = open_files(read_zip(data), "x")
    assert json.loads(model.beside("examples.json", 10_000) or b"")[0]["title"] == "One"
