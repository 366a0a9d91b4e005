"""The position lab: links, menus, and the picture that follows."""

import os
from pathlib import Path

from streamlit.testing.v1 import AppTest

from tests.support.app import address, figures, messages, open_page, payloads, state_of, switch_page, trace_ids
from tests.support.build import tiny_model, tiny_tokenizer
from tests.support.payloads import unpack
from transformer.checkpoints.folder import save_checkpoint
from transformer.inference.pretrained import load
from transformer.interventions.sets import Interventions


def traced(switches: str) -> str:
    model = load(Path(os.environ["HEADSCOPE_CHECKPOINTS"]) / "tiny")
    return model.trace("ka lo mi", "re sta vu", interventions=Interventions.parse(switches)).id


def choose(app: AppTest, key: str, value: object) -> AppTest:
    return app.button_group(key).set_value(value).run()


def test_a_link_switches_positions_and_the_picture_shows_them() -> None:
    app = open_page("positions", part="lab", positions="shift.3@source,remove@target")
    assert not messages(app)
    assert address(app)["positions"] == "shift.3@source,remove@target"
    assert trace_ids(app) == (traced(""), traced("positions=shift.3@source,remove@target"))
    header = unpack(payloads(app, "lab")["after"])[0]
    assert header["cards"] is False and header["pictures"] is True
    assert app.number_input("positions_amount_source_shift").value == 3
    assert app.session_state["positions_rule_target"] == "remove"


def test_each_side_has_its_menu() -> None:
    app = open_page("positions", part="lab")
    choose(app, "positions_rule_source", "shift")
    assert address(app)["positions"] == "shift.5@source"
    app.number_input("positions_amount_source_shift").set_value(9).run()
    choose(app, "positions_rule_target", "scale")
    assert address(app)["positions"] == "shift.9@source,scale.0.5@target"
    choose(app, "positions_amount_target_scale", 2.0)
    choose(app, "positions_rule_source", "trained")
    assert not app.exception and address(app)["positions"] == "scale.2.0@target"
    assert trace_ids(app)[1] == traced("positions=scale.2.0@target")
    choose(app, "positions_rule_target", "trained")
    assert "positions" not in address(app) and trace_ids(app)[0] == trace_ids(app)[1]


def test_a_move_of_both_sides_counts_for_each_side() -> None:
    app = open_page("positions", part="lab", positions="reverse")
    assert app.session_state["positions_rule_source"] == app.session_state["positions_rule_target"] == "reverse"
    choose(app, "positions_rule_target", "trained")
    assert address(app)["positions"] == "reverse@source"


def test_a_shift_too_large_for_the_sentence_gives_a_message() -> None:
    app = open_page("positions", part="lab", positions="shift.62@source")
    assert "this model has 64" in messages(app) and "shift less" in messages(app)
    assert address(app)["positions"] == "shift.62@source"  # nothing lost: a shorter sentence may allow it
    assert trace_ids(app)[0] == trace_ids(app)[1] == traced("")


def test_of_two_moves_the_one_that_fits_holds() -> None:
    app = open_page("positions", part="lab", positions="shift.62@source,reverse@target")
    assert "Not applied: positions of the source shifted by 62. Your other switches still apply." in messages(app)
    assert trace_ids(app)[1] == traced("positions=reverse@target")
    assert address(app)["positions"] == "shift.62@source,reverse@target"
    app = open_page("positions", part="lab", positions="shift.62@source,shift.62@target")
    assert "No switch is on now" in messages(app) and trace_ids(app)[0] == trace_ids(app)[1]


def test_moves_that_a_link_brings_together_stay_together() -> None:
    app = open_page("positions", part="lab", positions="reverse@source,shift.5@source")
    assert "These changes apply together, in this order" in messages(app, notes=True)
    app.number_input("positions_amount_source_shift").set_value(6).run()
    assert address(app)["positions"] == "reverse@source,shift.6@source"
    choose(app, "positions_rule_source", "remove")
    assert address(app)["positions"] == "remove@source"


def test_a_model_without_positions_has_nothing_to_compare(folder: Path) -> None:
    model = tiny_model(vocab_size=len(tiny_tokenizer()), positions="none")
    save_checkpoint(folder / "bare", model, tiny_tokenizer(), ("a", "b"))
    app = open_page("positions", part="order", checkpoint="bare")
    shown = " ".join(element.proto.body for element in app.get("html"))
    assert not app.exception and "trained without positions" in shown and "With positions" not in shown
    assert len(figures(app)["permutation"]["data"]) == 2


def test_switches_of_other_pages_have_no_effect_here() -> None:
    app = open_page("positions", part="lab", scaling="off", positions="remove", skip="encoder.1.ff")
    assert "Switches of other pages have no effect here" in messages(app, notes=True)
    assert trace_ids(app)[1] == traced("positions=remove")
    switch_page(app, "lab").run()
    assert trace_ids(app)[1] == traced("scaling=off") and "no positions" in messages(app, notes=True)
    state = state_of(app)
    shown = {"kind": "cross", "layer": 0, "head": 0, "revision": state.revision}
    app.session_state["lab"] = {"lab": {**shown, "switches": {"causal": "off"}}}
    app.run()  # what the lab's cards report leaves the others as they are
    params = address(app)
    assert (params["causal"], params["positions"], params["skip"]) == ("off", "remove", "encoder.1.ff")
    assert "scaling" not in params


def test_the_picture_chooses_heads_here_too() -> None:
    app = open_page("positions", part="lab", positions="remove")
    state = state_of(app)
    chosen = {"kind": "encoder_self", "layer": 1, "head": 2, "revision": state.revision, "switches": {}}
    app.session_state["lab"] = {"lab": chosen}
    app.run()
    params = address(app)
    assert (params["kind"], params["layer"], params["head"], params["positions"]) == (
        "encoder_self",
        "2",
        "3",
        "remove",
    )
