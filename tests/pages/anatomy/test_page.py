"""The anatomy page as a script: links to every zoom and step, reports of the browser, and the data it gets."""

import os
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from tests.support.app import address, loaded, messages, open_page, payloads, state_of, switch_page
from tests.support.build import tiny_model, tiny_pretrained, tiny_tokenizer
from tests.support.payloads import unpack
from transformer.checkpoints.folder import save_checkpoint
from transformer.inference.pretrained import Pretrained
from transformer.interventions.sets import Interventions
from transformer.tracing.trace import Trace
from transformer.view.anatomy_pack import MATRICES, place_pack, weights_pack
from transformer.view.anatomy_state import PLACES, AnatomyState, steps_of, zooms_of

SWITCHES = {
    "scaling": "off@cross", "causal": "off@decoder_self.1", "padding": "off", "pad": "2", "hide": "source.2",
    "zero": "cross.2.3", "weights": "uniform@decoder_self.2", "positions": "shift.5@source", "skip": "encoder.1.ff",
    "neurons": "decoder.1.17",
}  # fmt: skip


START = AnatomyState(place="source", step="row")  # of a page without a link


def feeds(app: AppTest) -> dict[str, bytes]:
    """The data of the drawing, by part."""
    return payloads(app, "anatomy")


def header(app: AppTest, sort: str = "trace") -> dict[str, Any]:
    return unpack(feeds(app)[sort])[0]


def model() -> Pretrained:
    return loaded(Path(os.environ["HEADSCOPE_CHECKPOINTS"]) / "tiny")


def traced(**switches: str) -> Trace:
    return model().trace("ka lo mi", "re sta vu", interventions=Interventions.parse(switches))


def report(app: AppTest, **values: Any) -> AppTest:
    """The browser's report after a person moves or sets a switch."""
    state = state_of(app)
    stand = {**header(app)["state"], "switches": state.switches.to_params(), "revision": state.revision, **values}
    app.session_state["anatomy"] = {"anatomy": stand}
    return app.run()


def test_the_page_opens_with_the_whole_model() -> None:
    app = open_page("anatomy")
    assert not messages(app)
    assert set(feeds(app)) == {"trace", "open"}  # from afar no exact numbers of a place are needed
    assert header(app)["id"] == traced().id == header(app, "open")["id"]
    assert header(app)["state"] == {**START.to_browser(), "big": False, "revision": 0}
    given = {"checkpoint": "tiny", "source": "ka lo mi", "target": "re sta vu"}
    assert address(app) == {**given, "head": "1", "place": "source"}


LINKS = [
    (place, step, zooms_of(place)[index % len(zooms_of(place))])
    for place in PLACES
    for index, step in enumerate(steps_of(place, tiny_pretrained().config))
]


@pytest.mark.slow
@pytest.mark.parametrize("place, step, zoom", LINKS)
def test_a_link_to_every_place_step_and_zoom_opens_cold(place: str, step: str, zoom: str) -> None:
    link = {"place": place, "step": step, "zoom": zoom, "encoder": "2", "decoder": "2", "head": "3", "t": "2"}
    app = open_page("anatomy", row="1", col="1", **link)
    assert not messages(app)
    stand = AnatomyState(zoom, place, 1, 1, 2, step, row=0, col=0, t=1)
    assert header(app)["state"] == {**stand.to_browser(), "big": False, "revision": 0}
    assert header(app, "open")["encoder"] == header(app, "open")["decoder"] == 1
    near = zoom in ("sub", "head", "number")
    assert ("place" in feeds(app)) == near
    assert ("weights" in feeds(app)) == (near and step in MATRICES and "." in place)
    if near:
        assert feeds(app)["place"] == place_pack(model(), traced(), stand.name, 1)
    if "weights" in feeds(app):
        assert feeds(app)["weights"] == weights_pack(model(), stand.name, step)
    shown = address(app)
    assert {name: shown[name] for name in ("encoder", "decoder", "head", "t", "col")} == {
        "encoder": "2", "decoder": "2", "head": "3", "t": "2", "col": "1"
    }  # fmt: skip
    assert shown.get("place", AnatomyState.place) == place and shown.get("zoom", AnatomyState.zoom) == zoom
    assert not messages(app.run())


@pytest.mark.parametrize(
    ("name", "asked", "sentence", "expected"),
    [
        ("place", "nowhere", "Allowed: source, encoder.self", AnatomyState()),
        ("step", "<script>", "Allowed: x, project", AnatomyState()),
        ("matrix", "x" * 5000, "Allowed: queries, keys", AnatomyState()),
        ("encoder", "3", "from 1 to 2. Shown: 2.", AnatomyState(encoder=1)),
        ("decoder", "99999999999999999", "from 1 to 2. Shown: 2.", AnatomyState(decoder=1)),
        ("head", "-1", "from 1 to 3. Shown: 1.", AnatomyState()),
        ("row", "²", "a whole number from 1 to", AnatomyState()),
        ("col", "-7", "a whole number from 0 to 66. Shown: 0.", AnatomyState()),
        ("t", "0", "a whole number from 1 to", AnatomyState()),
        ("opened", "all", "Allowed: , more", AnatomyState()),
        ("tempo", "faster", "Allowed: normal, slow, fast", AnatomyState()),
    ],
)
def test_a_wrong_value_in_a_link_is_reported_and_the_nearest_is_shown(
    name: str, asked: str, sentence: str, expected: AnatomyState
) -> None:
    app = open_page("anatomy", **{name: asked})
    assert f"The link asks for {name} " in messages(app) and sentence in messages(app)
    assert "<script>" not in messages(app) and len(messages(app)) < 400
    assert header(app)["state"] == {**expected.to_browser(), "big": False, "revision": 0}
    assert asked not in address(app).values() and not messages(app.run())  # said once


@pytest.mark.parametrize(("part", "name"), [("flow", "about"), ("compare", "columns"), ("compare", "products")])
def test_a_link_opens_a_folded_explanation(part: str, name: str) -> None:
    def opened(app: AppTest) -> int:
        return sum(fold.proto.expanded for fold in app.get("expander"))

    assert opened(open_page("anatomy", part=part)) == 0
    app = open_page("anatomy", part=part, panel=name)
    assert opened(app) == 1 and address(app)["panel"] == name


def test_a_zoom_that_a_place_lacks_becomes_the_nearest() -> None:
    app = open_page("anatomy", place="encoder.ff", zoom="head")
    assert "which &#x27;encoder.ff&#x27; does not have; &#x27;sub&#x27; is shown" in messages(app)
    assert header(app)["state"]["zoom"] == address(app)["zoom"] == "sub"
    assert not messages(app.run())


def test_a_cell_is_bounded_by_its_matrix() -> None:
    app = open_page("anatomy", place="decoder.cross", step="softmax", zoom="number", row="99", col="99")
    trace = traced()
    state = header(app)["state"]
    assert (state["row"], state["col"]) == (len(trace.target_in) - 1, len(trace.source_ids) - 1)
    assert "from 1 to" in messages(app) and "from 0 to" in messages(app)


def test_a_move_in_the_drawing_reaches_the_link_and_the_numbers() -> None:
    app = open_page("anatomy")
    first = feeds(app)
    stand = AnatomyState("head", "decoder.cross", 1, 1, 2, "project", "keys", 2, 4, 1, "more.switches", "fast")
    app = report(app, **stand.to_browser())
    assert not app.exception and not messages(app)
    shown = address(app)
    expected = {"place": "decoder.cross", "zoom": "head", "step": "project", "matrix": "keys", "encoder": "2",
                "decoder": "2", "head": "3", "row": "3", "col": "5", "t": "2",
                "opened": "more.switches", "tempo": "fast"}  # fmt: skip
    assert {name: shown[name] for name in expected} == expected
    assert feeds(app)["trace"] == first["trace"]  # the picture is not sent again
    assert header(app, "open")["decoder"] == 1 and header(app, "place")["place"] == "decoder.1.cross"
    assert set(header(app, "weights")["matrices"]) == {"W_q", "W_k", "W_v"}
    sent = feeds(app)
    app = report(app, **{**stand.to_browser(), "step": "softmax", "col": 3})
    assert "weights" not in feeds(app) and feeds(app)["place"] == sent["place"] and feeds(app)["open"] == sent["open"]
    app = report(app, **AnatomyState().to_browser())
    assert set(feeds(app)) == {"trace", "open"} and address(app)["head"] == "1" and "zoom" not in address(app)


def test_the_words_of_every_step_of_decoding() -> None:
    app = open_page("anatomy", place="output", step="logits", zoom="sub")
    for t in range(len(traced().target_in)):
        app = report(app, place="output", step="logits", zoom="sub", t=t)
        assert feeds(app)["place"] == place_pack(model(), traced(), "output", t)


def test_big_text_is_taken_over_with_where_one_stands() -> None:
    app = report(open_page("anatomy"), zoom="sub", head=2)
    app.button("hs-big").click().run()
    state = header(app)["state"]
    assert state["big"] is True and state["zoom"] == "sub" and state["head"] == 2 and state["revision"] == 1
    assert "big" not in address(app)


# -- switches ---------------------------------------------------------------------------------------------------------


def test_switches_that_do_not_fit_together_are_left_out() -> None:
    app = report(open_page("anatomy"), switches={"hide": "target.1", "scaling": "off"})
    assert not app.exception and "nothing to attend to" in messages(app)
    assert address(app)["hide"] == "target.1" and header(app)["switches"]["hide"] == "target.1"
    assert header(app)["id"] == traced(scaling="off").id
    assert header(app)["holding"] == {"scaling": "off"}


def test_every_switch_travels_by_link_and_by_report() -> None:
    app = open_page("anatomy", zoom="sub", place="decoder.cross", decoder="2")
    plain = unpack(feeds(app)["trace"])[1]
    link = open_page("anatomy", zoom="sub", place="decoder.cross", decoder="2", **SWITCHES)
    after, before = traced(**SWITCHES), traced(pad="2")
    for switched in (link, report(app, switches=SWITCHES)):
        assert not switched.exception and not messages(switched)
        assert {name: address(switched)[name] for name in SWITCHES} == SWITCHES
        assert header(switched)["id"] == header(switched, "place")["id"] == after.id
        assert header(switched)["switches"] == SWITCHES and header(switched)["changed"]["decoder.output"] > 0
        assert feeds(switched)["place"] == place_pack(model(), after, "decoder.1.cross", 0, before)
        assert header(switched)["holding"] == after.interventions.to_params()
    app = report(app, switches={})
    assert not set(SWITCHES) & set(address(app)) and header(app)["id"] == traced().id
    assert header(app)["holding"] == {} and unpack(feeds(app)["trace"])[1] == plain


@pytest.mark.parametrize(
    "values",
    [
        {"switches": None},
        {"switches": {"scaling": 1}},
        {"switches": {"zero": "cross.9.1"}},
        {"switches": {"x": "off"}},
        {"zoom": "layer", "switches": {}, "revision": -1},  # older than a change of Python's
    ],
)
def test_nonsense_from_a_browser_changes_nothing(values: dict[str, Any]) -> None:
    app = open_page("anatomy", zoom="sub", place="decoder.cross", skip="encoder.1.ff")
    before = address(report(app))
    assert address(report(app, **values)) == before and not app.exception and not messages(app)
    for no_report in (None, 7, []):
        app.session_state["anatomy"] = {"anatomy": no_report}
        assert address(app.run()) == before and not app.exception
    for wrong in ({"place": 3}, {"t": "x", "head": 1e99, "zoom": "<b>"}):
        assert not report(app, **wrong).exception and address(app)["t"] == "1" and not messages(app)
    assert header(app)["id"] == traced(skip="encoder.1.ff").id


# -- text, length, other pages ----------------------------------------------------------------------------------------


def of_tokens(count: int) -> str:
    """A text of that many tokens, </s> among them."""
    texts = (unit * times for unit in ("ka ", ", ", "ka, ") for times in range(1, count))
    return next(text.strip() for text in texts if len(tiny_tokenizer().encode(text)) == count - 1)


def test_at_most_sixty_four_tokens_are_drawn(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    longer = tiny_model(vocab_size=len(tiny_tokenizer()), max_positions=128)
    save_checkpoint(folder / "longer", longer, tiny_tokenizer(), ("A", "B"))
    monkeypatch.setenv("HEADSCOPE_MAX_TOKENS", "100")
    assert len(tiny_tokenizer().encode(of_tokens(64))) == 63
    app = open_page("anatomy", checkpoint="longer", source=of_tokens(64))
    assert not messages(app) and header(app)["config"]["max_positions"] == 128
    padded = header(open_page("anatomy", checkpoint="longer", source=of_tokens(64), pad="1"))
    assert padded["sort"] == "long" and padded["source"] == 65
    for side in ("source", "target"):
        text = of_tokens(65)
        app = open_page("anatomy", checkpoint="longer", zoom="sub", place="output", **{side: text})
        assert not messages(app) and set(feeds(app)) == {"trace"}
        assert header(app)["sort"] == "long" and header(app)[side] == 65 and header(app)["limit"] == 64
        assert app.text_input(side).value == text == address(app)[side] and address(app)["place"] == "output"
        app.text_input(side).input("ka lo").run()
        assert not messages(app) and header(app)["sort"] == "trace" and "place" in feeds(app)
        assert header(app)["state"]["place"] == "output"
    app = open_page("anatomy", checkpoint="longer", source=of_tokens(64), target="")  # it writes until its limit
    assert header(app)["own"] and len(header(app)["tokens"]["target_in"]) == 64 and header(app)["whole"] == 100


def test_a_browser_with_the_engine_gets_what_is_not_the_sentences(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pages.frame.live.engine_model", lambda: "tiny")
    app = open_page("anatomy", zoom="sub", place="encoder.ff", scaling="off")
    assert not messages(app) and set(feeds(app)) == {"trace"}
    found, data = unpack(feeds(app)["trace"])
    assert found["sort"] == "facts" and not data and found["boxes"] and found["switches"] == {"scaling": "off"}
    assert found["state"]["place"] == "encoder.ff" and found["state"]["zoom"] == "sub"
    assert header(report(app, head=2))["sort"] == "facts" and address(app)["head"] == "3"
    for server_only in ({"resample": "7@cross"}, {"mean": "cross.1"}, {"positions": "shuffle.3"}):
        assert header(open_page("anatomy", **server_only))["sort"] == "trace", server_only


def test_a_shorter_sentence_bounds_the_step_of_decoding() -> None:
    last = len(traced().target_in)
    app = open_page("anatomy", zoom="sub", place="output", t=str(last))
    app.text_input("target").input("re").run()
    assert not app.exception and not messages(app) and int(address(app)["t"]) < last
    app.text_input("target").input("re sta vu").run()
    assert address(app)["t"] == str(last) and header(app, "place")["t"] == last - 1


def test_a_smaller_model_shows_the_nearest(folder: Path) -> None:
    small = tiny_model(vocab_size=len(tiny_tokenizer()), encoder_layers=1, d_model=24, heads=2, norm="pre")
    save_checkpoint(folder / "small", small, tiny_tokenizer(), ("Invented", "Imagined"))
    app = open_page("anatomy", checkpoint="tiny", zoom="head", encoder="2", head="3", step="norm", col="60")
    app.selectbox("checkpoint").set_value("small").run()
    assert not app.exception and not messages(app)
    state = header(app)["state"]
    assert (state["encoder"], state["head"], state["col"], state["step"]) == (0, 1, 23, "norm")
    assert "normed" in header(app, "place")["matrices"]
    app.selectbox("checkpoint").set_value("tiny").run()
    assert (address(app)["encoder"], address(app)["head"], address(app)["col"]) == ("2", "3", "60")


def test_the_page_uses_the_head_of_other_pages_until_one_is_selected() -> None:
    app = switch_page(open_page("heads", kind="cross", layer="2", head="3"), "anatomy").run()
    assert not app.exception and header(app)["state"]["head"] == 2
    assert address(app)["head"] == "3" and "layer" not in address(app) and "kind" not in address(app)
    app = report(app, head=0)
    assert address(app)["head"] == "1"  # for whom it is sent to comes from another head
    switch_page(app, "heads").run()
    assert not app.exception and address(app)["head"] == "3" and address(app)["layer"] == "2"
    switch_page(app, "anatomy").run()
    assert header(app)["state"]["head"] == 0


def test_switching_to_another_part_and_back_keeps_the_state() -> None:
    app = report(open_page("anatomy", skip="encoder.1.ff"), zoom="sub", place="source", step="plus")
    before = header(app)["state"]["revision"]
    for part in ("compare", "before"):
        app.button_group("anatomy_part").set_value(part).run()
        assert not app.exception and not feeds(app) and address(app)["part"] == part
        assert "They have no effect here" in messages(app, notes=True)
    app.button_group("anatomy_part").set_value("flow").run()
    state = header(app)["state"]
    assert state["revision"] > before and (state["zoom"], state["place"], state["step"]) == ("sub", "source", "plus")
    assert "part" not in address(app) and header(app)["id"] == traced(skip="encoder.1.ff").id
