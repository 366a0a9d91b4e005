"""The lab as a script: links, switches from the browser, and switches that cannot be set."""

import functools
import os
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from pages.lab import scaling
from tests.support.app import address, app_test, loaded, messages, open_page, payloads, state_of, switch_page, trace_ids
from tests.support.build import tiny_model, tiny_pretrained
from tests.support.payloads import unpack
from transformer.checkpoints.folder import save_checkpoint
from transformer.interventions.sets import Interventions

SWITCHES = {
    "scaling": "off@cross,0.5@encoder_self.2.1", "causal": "off@decoder_self.1", "padding": "off", "pad": "2",
    "hide": "source.2", "zero": "cross.2.3,encoder_self.1", "weights": "uniform@decoder_self.2,argmax@cross.1.2",
    "resample": "text.mi+nu%2C+vu|vu+ka@encoder_self.2.2,text.ti@cross.1",
}  # fmt: skip


open_lab = functools.partial(open_page, "lab")


def switch(app: AppTest, **values: Any) -> AppTest:
    """The browser's report after a person sets a switch."""
    state = state_of(app)
    view = state.view.to_browser()
    shown = {"kind": view["kind"], "layer": view["layer"], "head": view["head"]}
    app.session_state["lab"] = {"lab": {**shown, "switches": {}, "revision": state.revision, **values}}
    return app.run()


def traced(**params: str) -> str:
    model = loaded(Path(os.environ["HEADSCOPE_CHECKPOINTS"]) / "tiny")
    return model.trace("ka lo mi", "re sta vu", interventions=Interventions.parse(params)).id


def test_every_switch_is_reached_by_link_and_the_address_keeps_it() -> None:
    app = open_lab(**SWITCHES)
    assert not messages(app)
    assert {name: address(app)[name] for name in SWITCHES} == SWITCHES
    assert trace_ids(app) == (traced(pad="2"), traced(**SWITCHES))
    header = unpack(payloads(app, "lab")["after"])[0]
    assert header["switches"] == SWITCHES and header["base"] == traced(pad="2")
    assert header["kinds"]["encoder_self"]["zero"][0] == [True] * 3


def test_a_switch_in_the_browser_and_back() -> None:
    app = open_lab(**{"try": "nothing"})
    first = payloads(app, "lab")
    assert trace_ids(app) == (traced(), traced())
    app = switch(app, switches={"scaling": "off", "zero": "cross.1.2"}, kind="decoder_self", layer=1)
    assert not app.exception
    assert (address(app)["scaling"], address(app)["zero"], address(app)["kind"]) == ("off", "cross.1.2", "decoder_self")
    assert trace_ids(app) == (traced(), traced(scaling="off", zero="cross.1.2"))
    assert payloads(app, "lab")["before"] == first["before"]  # nothing is sent again that did not change
    app = switch(app, switches={})
    assert trace_ids(app) == (traced(), traced()) and "scaling" not in address(app)
    assert unpack(payloads(app, "lab")["after"])[1] == unpack(first["after"])[1]  # every byte of every picture


def test_without_a_link_scaling_is_off_until_it_is_put_back() -> None:
    app = open_lab()
    assert trace_ids(app) == (traced(), traced(scaling="off")) and not {"scaling", "try"} & set(address(app))
    assert unpack(payloads(app, "lab")["before"])[0]["switches"] == {"scaling": "off"}
    app = switch(app, switches={"scaling": "off"}, head=1)  # another head: still no switch of the person's own
    assert address(app)["head"] == "2" and not {"scaling", "try"} & set(address(app))
    app = switch(app, switches={})
    assert trace_ids(app) == (traced(), traced()) and address(app)["try"] == "nothing"
    app = switch(app, switches={"causal": "off"})
    assert trace_ids(app) == (traced(), traced(causal="off")) and "try" not in address(app)
    app = switch(app, switches={})
    app = switch(app, switches={"scaling": "off"})
    assert trace_ids(app) == (traced(), traced(scaling="off")) and address(app)["scaling"] == "off"
    switch_page(app, "heads").run()
    assert address(app)["scaling"] == "off"


def test_the_leak_has_no_switch_but_those_of_the_person() -> None:
    app = open_lab(part="leak")
    assert trace_ids(app) == (traced(), traced()) and not messages(app)
    switch_page(app, "heads").run()
    assert "Your switches" not in messages(app, notes=True)


def test_what_is_shown_of_the_picture_is_in_the_link() -> None:
    app = switch(open_lab(), switches={"causal": "off"}, cards="open", pane="difference", row=2)
    assert {name: address(app)[name] for name in ("cards", "pane", "row")} == {
        "cards": "open", "pane": "difference", "row": "2",
    }  # fmt: skip
    again = open_lab(cards="open", pane="difference", row="2")
    header = unpack(payloads(again, "lab")["before"])[0]
    assert (header["opened"], header["pane"], header["row"]) == (True, "difference", 2) and not messages(again)
    app = switch(app, switches={"causal": "off"}, cards="folded", pane="after", row=0)
    assert not {"cards", "pane", "row"} & set(address(app))
    for nonsense in ({"cards": "x"}, {"pane": 7}, {"row": "2"}, {"row": 1e9}):
        assert not switch(app, switches={}, **nonsense).exception


def test_the_position_and_token_of_the_leak_are_in_the_link() -> None:
    app = open_lab(part="leak", position="3", token="lo")
    assert (app.selectbox(key="lab_position").value, app.text_input(key="lab_token").value) == (3, "lo")
    app.selectbox(key="lab_position").select(2).run()
    assert (address(app)["position"], address(app)["token"]) == ("2", "lo") and not messages(app)
    app.text_input("source").input("ka lo").run()  # another sentence begins anew
    assert not {"position", "token"} & set(address(app))
    assert "Allowed: a whole number from 2" in messages(open_lab(part="leak", position="99"))


def test_depth_and_scores_are_in_the_link() -> None:
    app = open_lab(part="scaling", d_k="256", draw="3", quantity="key")
    wanted = {"d_k": "256", "draw": "3", "quantity": "key"}
    assert not messages(app) and {name: address(app)[name] for name in wanted} == wanted
    app.session_state["why"] = {"shown": {"depth": 64, "quantity": "product", "chosen": None, "draw": 4}}
    app.run()
    assert (address(app)["d_k"], address(app)["draw"]) == ("64", "4") and "quantity" not in address(app)
    assert "The link asks for d_k" in messages(open_lab(part="scaling", d_k="33"))
    app = open_lab(part="softmax", scores="10,0,0,-2.5,0", temperature="0.5")
    assert not messages(app) and (address(app)["scores"], address(app)["temperature"]) == ("10,0,0,-2.5,0", "0.5")
    app.session_state["softmax"] = {"shown": {"scores": [1, 2, 3, 4, 5.5], "temperature": 1.0}}
    app.run()
    assert address(app)["scores"] == "1,2,3,4,5.5" and "temperature" not in address(app)
    for text in ("1,2", "a,b,c,d,e", "1,2,3,4,nan", "<script>"):
        assert "The link asks for scores" in messages(open_lab(part="softmax", scores=text)), text


BAD = {
    "scaling": ["0", "1" * 5000, "off@cross.1.9"],
    "causal": ["off@cross"],
    "padding": ["1"],
    "pad": ["9999"],
    "hide": ["target.-1"],
    "zero": ["cross.99.1", "", "<script>alert(1)</script>"],
    "weights": ["softmax"],
    "mean": ["cross.99"],
    "resample": ["text.<script>@cross.0"],
    "part": ["nonsense"],
}


@pytest.mark.slow
@pytest.mark.parametrize(("name", "text"), [(name, text) for name, texts in BAD.items() for text in texts])
def test_a_bad_switch_in_a_link_is_left_out_and_reported(name: str, text: str) -> None:
    app = open_lab(**{name: text, "padding" if name != "padding" else "causal": "off"})
    assert f"The link asks for {name} " in messages(app) and "<script>" not in messages(app)
    assert len(messages(app)) < 600
    assert name not in address(app) and address(app)["padding" if name != "padding" else "causal"] == "off"
    assert not messages(app.run())


def test_nonsense_and_old_reports_from_a_browser_change_nothing() -> None:
    app = open_lab(causal="off")
    for switches in (None, 7, [], {"scaling": "0"}, {"scaling": 1}, {"zero": "cross.9.1"}, {"x": "off"}, {1: "off"}):
        assert not switch(app, switches=switches).exception and address(app)["causal"] == "off", switches
    switch(app, switches={}, revision=-1)  # older than a change of Python's
    assert address(app)["causal"] == "off" and trace_ids(app) == (traced(), traced(causal="off"))


def test_more_padding_than_fits_is_refused() -> None:
    assert "at most 40 are allowed together" in messages(open_lab(pad="40"))


def test_a_mask_that_hides_a_whole_row_is_refused_and_the_switch_can_be_taken_back() -> None:
    app = switch(open_lab(), switches={"hide": "target.1", "scaling": "off"})
    assert not app.exception and "nothing to attend to" in messages(app)
    assert "Your other switches still apply" in messages(app)
    assert address(app)["hide"] == "target.1" and trace_ids(app) == (traced(), traced(scaling="off"))
    assert not messages(switch(app, switches={}))


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("mean", "cross.1", "There are no reference sentences from Invented to Imagined"),
        ("resample", "7", "There are no reference sentences from Invented to Imagined"),
        ("resample", "text." + "ka+" * 200, "The sentence to resample from does not fit: the source text has"),
    ],
)
def test_a_head_output_that_is_not_to_be_had_is_left_out(name: str, value: str, reason: str) -> None:
    app = open_lab(**{name: value, "scaling": "off"})
    assert reason in messages(app) and "Your other switches still apply" in messages(app)
    assert name in address(app) and trace_ids(app) == (traced(), traced(scaling="off"))


def test_switches_stay_when_the_person_goes_to_another_page_and_back() -> None:
    app = app_test()
    app.query_params.update({"source": "ka lo mi", "scaling": "off"})
    app.run()
    assert "They have no effect on this page" in messages(app, notes=True)
    switch_page(app, "lab").run()
    app = switch(app, switches={"scaling": "off", "causal": "off"})
    switch_page(app, "model").run()
    assert (address(app)["scaling"], address(app)["causal"]) == ("off", "off")
    switch_page(app, "lab").run()
    header = unpack(payloads(app, "lab")["before"])[0]
    assert header["switches"] == {"scaling": "off", "causal": "off"}


def test_a_model_without_the_heads_switched_begins_unswitched(folder: Path) -> None:
    tiny = tiny_pretrained()
    small = tiny_model(vocab_size=len(tiny.tokenizer), encoder_layers=1, decoder_layers=1)
    save_checkpoint(folder / "small", small, tiny.tokenizer, tiny.languages)
    app = open_lab(zero="cross.2.1", scaling="off", checkpoint="tiny")
    app.selectbox("checkpoint").select("small").run()
    assert not app.exception and "so these switches were removed: zero=cross.2.1." in messages(app)
    assert "zero" not in address(app) and address(app)["scaling"] == "off"


def test_a_hidden_token_that_a_new_sentence_lacks_leaves_the_other_switches() -> None:
    app = open_lab(hide="source.5", scaling="off")
    app.text_input("source").input("ka").run()
    assert not app.exception and "Token 5 of the source cannot be hidden" in messages(app)
    assert (
        unpack(payloads(app, "lab")["after"])[0]["switches"] == {"scaling": "off"}
        and address(app)["hide"] == "source.5"
    )


def test_a_switch_and_a_click_elsewhere_in_one_run_are_both_kept() -> None:
    app = open_lab()
    state = state_of(app)
    app.session_state["lab"] = {"lab": {"switches": {"causal": "off"}, "revision": state.revision}}
    app.button("hs-big").click().run()
    assert address(app)["causal"] == "off" and state_of(app).view.big
    header = unpack(payloads(app, "lab")["before"])[0]
    assert header["switches"] == {"causal": "off"} and header["state"]["revision"] == state.revision + 1


def test_a_model_with_fewer_heads_shows_its_nearest_head(folder: Path) -> None:
    tiny = tiny_pretrained()
    small = tiny_model(vocab_size=len(tiny.tokenizer), heads=2, encoder_layers=1, decoder_layers=1)
    save_checkpoint(folder / "small", small, tiny.tokenizer, tiny.languages)
    for page in ("heads", "lab"):
        app = open_lab(checkpoint="tiny", kind="encoder_self", layer="2", head="3")
        switch_page(app, page).run()
        app.selectbox("checkpoint").select("small").run()
        assert not app.exception and (address(app)["layer"], address(app)["head"]) == ("1", "2"), page


def test_a_head_and_a_depth_reported_together_are_both_in_the_link(monkeypatch: pytest.MonkeyPatch) -> None:
    depths = scaling._random(0).depths
    values = {"depth": depths[-1], "quantity": "key", "chosen": {"kind": "encoder_self", "layer": 1, "head": 0}}
    app = open_lab(part="scaling")
    monkeypatch.setattr(scaling, "_reported", lambda key: values)
    shown = address(app.run())
    assert (shown["kind"], shown["layer"], shown["head"]) == ("encoder_self", "2", "1")
    assert (shown["d_k"], shown["quantity"]) == (str(depths[-1]), "key")
