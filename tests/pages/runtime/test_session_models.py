"""Models that a session trained or loaded: on every page, visible to nobody else, bounded, and downloaded as the same
zip."""

import base64
import gc
import weakref
from collections.abc import Iterator
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
    figures,
    kept,
    messages,
    model_sizes,
    switch_page,
    without_error,
)
from tests.support.build import tiny_model, tiny_tokenizer
from transformer.checkpoints.archive import zipped
from transformer.checkpoints.folder import checkpoint_files
from transformer.live_training import training_queue


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
    monkeypatch.setattr(training_queue, "_shared", [training_queue.TrainingQueue(0, 60)])
    clear_caches()
    yield
    clear_caches()


def start(page: str = "heads", models: tuple[SessionModel, ...] = (), **params: str) -> AppTest:
    app = app_test(page, **{"source": "ka lo mi", **params})
    if models:
        kept(app, session_models.OwnModels).models = {session_model.name: session_model for session_model in models}
    return without_error(app.run())


def test_a_session_model_opens_in_its_session_alone(data: bytes) -> None:
    app = start(models=(SessionModel("mine/good", data),))
    assert app.selectbox(key="checkpoint").value != "mine/good"
    app.selectbox(key="checkpoint").select("mine/good").run()
    assert not app.exception and address(app)["checkpoint"] == "mine/good"
    switch_page(app, "model").run()
    assert not app.exception and address(app)["checkpoint"] == "mine/good" == checkpoints(app)[-1]
    assert "data, licence" in " ".join(element.value for element in app.markdown)  # the card of the zip
    assert model_sizes(app)["sacreBLEU"] == "12.5" and "training" in figures(app)
    assert len(app.get("download_button")) == 1
    app = start("lab", checkpoint="mine/good")
    assert "mine/good" not in checkpoints(app) and address(app)["checkpoint"] != "mine/good"
    text = messages(app)
    assert "The link asks for the checkpoint" in text and "mine/good" in text
    assert "in another session" in text and "load the zip on the Training page" in text
    assert "in another session" not in messages(start(checkpoint="nothing"))


def test_two_sessions_with_one_name_never_mix() -> None:
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
def session(monkeypatch: pytest.MonkeyPatch) -> dict[str, SessionModel]:
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


def test_a_model_whose_zip_had_to_go_is_named_and_another_one_opens(data: bytes) -> None:
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
    assert list(session) == ["mine/a"] and session["mine/a"].data == data


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
    return without_error(AppTest.from_function(loading, default_timeout=60, kwargs={"sent": sent}).run())


@pytest.mark.usefixtures("folder")
def test_a_zip_that_a_browser_sends_is_open_at_once(data: bytes) -> None:
    sent = {"name": "good <b>.zip", "data": base64.b64encode(data).decode()}
    app = loaded(sent)
    assert app.text[0].value == "mine/good <b>"
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
        (None, ""),  # no report of a file
        ([], ""),
        ("x", ""),
    ],
    ids=["alphabet", "no-zip", "no-data", "no-name", "large", "none", "a list", "a text"],
)
@pytest.mark.usefixtures("folder")
def test_a_file_that_is_not_a_zip_gives_a_message(sent: object, text: str) -> None:
    app = loaded(sent)
    assert app.text[0].value == "tiny" and text in messages(app) and bool(text) == bool(messages(app))
