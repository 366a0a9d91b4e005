"""Models that one session trained or loaded: on every page, for nobody else, bounded, and back as the same zip."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import streamlit as st
import torch
from streamlit.testing.v1 import AppTest

from pages.runtime import session_models
from pages.runtime.cache import identity
from pages.runtime.kept import Kept
from tests.fuzz.folders import base
from tests.pages.frame.test_frame import address, folder, sentences
from tests.support.app import app_test
from tests.support.build import tiny_model, tiny_tokenizer
from transformer.checkpoints.archive import read_zip, zipped
from transformer.checkpoints.folder import CARD, CheckpointError, checkpoint_files
from transformer.inference.pretrained import open_files
from transformer.live_training import workshop

__all__ = ["folder"]  # the fixture

PAGES = {
    "heads": ("",),
    "lab": ("", "measures", "leak"),
    "positions": ("", "order", "lab"),
    "embeddings": ("", "lens"),
    "feedforward": ("", "neurons", "knock"),
    "anatomy": ("", "compare"),
    "training": ("",),
    "model": ("",),
}


def other_zip(seed: int = 7, **changes: Any) -> bytes:
    """A small model of other weights."""
    tokenizer = tiny_tokenizer()
    model = tiny_model(seed, vocab_size=len(tokenizer), **changes)
    return zipped(checkpoint_files(model, tokenizer, ("Invented", "Imagined")), "other")


@pytest.fixture
def data() -> bytes:
    return zipped(base(), "good")


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing is trained, and what one test opened is not another's."""
    monkeypatch.setattr(workshop, "_shared", [workshop.Workshop(0, 60)])
    st.cache_resource.clear()
    yield
    st.cache_resource.clear()


@pytest.fixture
def start(folder: Path) -> Callable[..., AppTest]:
    def opened(page: str = "heads", models: tuple[session_models.Own, ...] = (), **params: str) -> AppTest:
        app = app_test(page)
        app.query_params.update({"source": "ka lo mi", **params})
        if models:
            app.session_state[session_models.KEY] = {one.name: one for one in models}
        return app.run()

    return opened


def menu(app: AppTest) -> list[str]:
    return list(app.selectbox(key="checkpoint").options)


@pytest.mark.parametrize("page, part", [(page, part) for page, parts in PAGES.items() for part in parts])
def test_it_opens_on_every_page(start: Callable[..., AppTest], data: bytes, page: str, part: str) -> None:
    app = start(
        page, (session_models.Own("mine/good", data),), checkpoint="mine/good", **({"part": part} if part else {})
    )
    assert not app.exception and not sentences(app)
    assert menu(app)[-1] == "mine/good" and app.selectbox(key="checkpoint").value == "mine/good"
    assert address(app)["checkpoint"] == "mine/good"


def test_it_is_chosen_in_the_menu_and_brings_its_examples(start: Callable[..., AppTest], data: bytes) -> None:
    app = start(models=(session_models.Own("mine/good", data),))
    assert app.selectbox(key="checkpoint").value != "mine/good"
    app.selectbox(key="checkpoint").select("mine/good").run()
    assert not app.exception and address(app)["checkpoint"] == "mine/good"
    app.switch_page("pages/lab/page.py").run()
    assert not app.exception and address(app)["checkpoint"] == "mine/good"


def test_the_model_page_shows_what_the_zip_says(start: Callable[..., AppTest], data: bytes) -> None:
    app = start("model", (session_models.Own("mine/good", data),), checkpoint="mine/good")
    shown = " ".join([one.value for one in app.markdown])
    assert "Card" in shown and "data, licence" in shown
    values = {one.label: one.value for one in app.metric}
    assert values["sacreBLEU"] == "12.5" and values["layers"] == "1 + 1"
    assert any("training" in one.proto.json for one in app.get("bidi_component"))  # the curve
    assert len(app.get("download_button")) == 1
    bundled = start("model", (session_models.Own("mine/good", data),), checkpoint="tiny")
    assert not bundled.get("download_button")


def test_a_bare_zip_says_what_it_lacks(start: Callable[..., AppTest]) -> None:
    app = start("model", (session_models.Own("mine/bare", other_zip()),), checkpoint="mine/bare")
    captions = [one.value for one in app.caption]
    assert "This checkpoint brought no training.csv." in captions
    assert "This checkpoint brought no model card (README.md)." in captions


def test_the_card_of_a_zip_is_as_harmless_as_any(start: Callable[..., AppTest]) -> None:
    files = {**base(), CARD: b"# x\n<script>alert(1)</script> ![x](//a.b/c)"}
    app = start("model", (session_models.Own("mine/x", zipped(files, "x")),), checkpoint="mine/x")
    assert not app.exception and "!\\[x](//a.b/c)" in " ".join(one.value for one in app.markdown)
    assert not any(one.proto.allow_html for one in app.markdown)


def test_a_link_to_it_opens_it_for_nobody_else(start: Callable[..., AppTest], data: bytes) -> None:
    start(models=(session_models.Own("mine/good", data),), checkpoint="mine/good")
    app = start("lab", checkpoint="mine/good")
    assert not app.exception and "mine/good" not in menu(app) and address(app)["checkpoint"] != "mine/good"
    said = sentences(app)
    assert "The link asks for the checkpoint" in said and "mine/good" in said
    assert "in another session" in said and "load that on the Training page" in said
    assert "in another session" not in sentences(start(checkpoint="nothing"))


def test_two_sessions_with_one_name_never_mix(start: Callable[..., AppTest]) -> None:
    """The same name, the same sentence, other weights: what is kept for all viewers is kept apart."""

    def packed(app: AppTest) -> list[str]:
        return [one.proto.bytes.hex() if one.proto.bytes else one.proto.json for one in app.get("bidi_component")]

    first, second = (session_models.Own("mine/x", other_zip(seed)) for seed in (7, 8))
    asked = {"checkpoint": "mine/x", "target": "re sta vu"}
    one, two, again = (start(models=(model,), **asked) for model in (first, second, first))
    assert packed(one) == packed(again) and packed(one) != packed(two)


def test_the_same_numbers_stay_kept_when_a_model_made_room(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    """It is opened from its zip again, and counts as the same."""
    models: Kept[Any] = Kept(1, lambda model: 1)
    monkeypatch.setattr(session_models, "_models", lambda: models)
    kept = {one.name: one for one in (session_models.Own("mine/a", data), session_models.Own("mine/b", other_zip()))}
    monkeypatch.setattr(session_models, "owned", lambda: kept)
    first = session_models.load("mine/a")
    assert session_models.load("mine/a") is first
    name = identity(first)
    assert identity(session_models.load("mine/b")) != name
    again = session_models.load("mine/a")
    assert again is not first and identity(again) == name and kept["mine/a"].token in name
    assert torch.equal(again.model.embedding.weight, first.model.embedding.weight)


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch, folder: Path) -> dict[str, session_models.Own]:
    kept: dict[str, session_models.Own] = {}
    monkeypatch.setattr(session_models, "owned", lambda: kept)
    return kept


def test_a_session_keeps_a_bounded_number(session: dict[str, session_models.Own]) -> None:
    """The oldest makes room and is named; what is open now stays."""
    names, said = [], []
    for seed in range(session_models.MOST + 2):
        name, dropped = session_models.add("model", other_zip(seed), current="mine/model")
        names.append(name)
        said += dropped
    assert names[:3] == ["mine/model", "mine/model (2)", "mine/model (3)"]
    assert list(session) == ["mine/model", *names[3:]] and len(session) == session_models.MOST
    assert [one.split(" made room")[0] for one in said] == ["mine/model (2)", "mine/model (3)"]


def test_a_session_keeps_a_bounded_size(
    session: dict[str, session_models.Own], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_models, "ROOM", 2 * len(other_zip()) + 5_000)
    for seed in range(3):
        session_models.add(f"model {seed}", other_zip(seed))
    assert list(session) == ["mine/model 1", "mine/model 2"]


def test_the_same_file_twice_is_one_model(session: dict[str, session_models.Own], data: bytes) -> None:
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
def test_names_are_text_of_a_line(session: dict[str, session_models.Own], data: bytes, title: str, name: str) -> None:
    assert session_models.add(title, data)[0] == name


def test_what_cannot_be_opened_is_not_kept(session: dict[str, session_models.Own]) -> None:
    with pytest.raises(CheckpointError, match="the file is no zip"):
        session_models.add("x", b"x")
    assert not session


def test_a_round_trip_is_the_same_bit_by_bit(session: dict[str, session_models.Own]) -> None:
    data = other_zip()
    name, _said = session_models.add("other", data)
    ours, theirs = session_models.load(name), open_files(read_zip(data), "x")
    assert session[name].data == data
    for key, weight in theirs.model.named_parameters():
        assert torch.equal(weight, ours.model.get_parameter(key))


# -- the field for a file -------------------------------------------------------------------------------------------


def loading(sent: object) -> None:
    """The page after a browser sent a file: as Streamlit does it, the callback first."""
    import streamlit as st

    from pages.frame.frame import begin
    from pages.frame.state import State, current, keep
    from pages.training import controls

    if "sent" not in st.session_state:
        st.session_state["sent"] = True
        keep(State("tiny", "ka lo mi"))
        st.session_state["headscope_unread"] = False
        st.session_state[controls.FILE] = {"file": sent}
        controls._loaded()
        del st.session_state[controls.FILE]
    begin("Model")
    st.text(current().checkpoint)  # type: ignore[union-attr]


def loaded(sent: object, monkeypatch: pytest.MonkeyPatch) -> AppTest:
    monkeypatch.setattr(st, "page_link", lambda *given, **more: None)  # a script of a test has no pages
    return AppTest.from_function(loading, default_timeout=60, kwargs={"sent": sent}).run()


@pytest.mark.usefixtures("folder")
def test_a_zip_that_a_browser_sends_is_open_at_once(data: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    sent = {"name": "good <b>.zip", "data": base64.b64encode(data).decode()}
    app = loaded(sent, monkeypatch)
    assert not app.exception and app.text[0].value == "mine/good <b>"
    said = sentences(app)
    assert "Loaded, and open now on every page, for this session alone: mine/good &lt;b&gt;." in said


@pytest.mark.parametrize(
    "sent, said",
    [
        ({"name": "x.zip", "data": "!"}, "The file cannot be loaded: the file arrived damaged; choose it again."),
        ({"name": "x.zip", "data": "AAAA"}, "The file cannot be loaded: the file is no zip, or not a whole one;"),
        ({"name": "x.zip"}, "The file cannot be loaded: no file arrived; choose it again."),
        ({"name": 3, "data": "AAAA"}, "The file cannot be loaded: no file arrived; choose it again."),
        ({"name": "x", "data": "A" * 22_000_000}, "The file cannot be loaded: the file has more than 16 MB;"),
    ],
    ids=["alphabet", "no-zip", "no-data", "no-name", "large"],
)
@pytest.mark.usefixtures("folder")
def test_what_is_no_zip_is_a_sentence(sent: dict[str, Any], said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    app = loaded(sent, monkeypatch)
    assert not app.exception and app.text[0].value == "tiny"
    assert said in sentences(app)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("sent", [None, [], "x", 7])
def test_what_is_no_file_at_all_is_nothing(sent: object, monkeypatch: pytest.MonkeyPatch) -> None:
    app = loaded(sent, monkeypatch)
    assert not app.exception and app.text[0].value == "tiny" and not sentences(app)


def test_the_examples_of_a_zip_are_read_as_a_folder_s(data: bytes) -> None:
    model = open_files(read_zip(data), "x")
    assert json.loads(model.beside("examples.json", 10_000) or b"")[0]["title"] == "One"
