"""Options of a page: kept in session and link, within bounds, with a message for invalid values in links."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from tests.support.app import address, figures, messages, state_of, switch_page
from tests.support.build import tiny_model, tiny_tokenizer
from transformer.checkpoints.folder import save_checkpoint


def test_a_number_is_chosen_kept_and_in_the_link(open_page: Callable[..., AppTest]) -> None:
    app = open_page("positions", part="order")
    assert not app.exception and not messages(app)
    assert "seed" not in address(app) and address(app)["part"] == "order"
    before = figures(app)["permutation"]["data"][1]["y"]
    app.number_input("positions_seed").set_value(7).run()
    assert address(app)["seed"] == "7" and figures(app)["permutation"]["data"][1]["y"] != before
    app.number_input("positions_seed").set_value(0).run()
    assert address(app)["seed"] == "0" and figures(app)["permutation"]["data"][1]["y"] == before


def test_a_link_opens_cold_and_what_was_chosen_stays_over_pages(open_page: Callable[..., AppTest]) -> None:
    app = open_page("positions", part="order", seed="12", big="1")
    assert app.number_input("positions_seed").value == 12 and state_of(app).view.big
    switch_page(app, "model").run()
    assert not app.exception
    switch_page(app, "positions").run()
    assert not app.exception and app.number_input("positions_seed").value == 12
    assert address(app)["seed"] == "12" and address(app)["part"] == "order"


@pytest.mark.parametrize(
    "seed, shown",
    [("-3", 0), ("10000", 9999), ("99999999999999999999", 9999), ("-99999999999999999999", 0), ("x", 0), ("", 0),
     ("1.5", 0), ("\u0663", 0), ("<b>", 0)],
)  # fmt: skip
def test_a_number_out_of_range_becomes_the_nearest_with_a_message(
    open_page: Callable[..., AppTest], seed: str, shown: int
) -> None:
    app = open_page("positions", part="order", seed=seed)
    assert not app.exception and app.number_input("positions_seed").value == shown
    text = messages(app)
    assert "a whole number from 0 to 9999" in text and f"Shown: {shown}." in text and "<b>" not in text
    assert app.text_input("source").value == "ka lo mi"
    app.run()
    assert not messages(app)  # said once


def test_an_unknown_part_gives_a_message_and_the_first_is_shown(open_page: Callable[..., AppTest]) -> None:
    for page, first in (("positions", "encoding"), ("embeddings", "neighbours"), ("feedforward", "activity")):
        app = open_page(page, part="nope")
        assert not app.exception and "'nope'" in messages(app).replace("&#x27;", "'")
        assert app.session_state[f"{page}_part"] == first and "part" not in address(app)


def test_the_layer_of_a_page_is_not_the_layer_of_the_picture(open_page: Callable[..., AppTest]) -> None:
    app = open_page("feedforward", part="neurons", layer="2")
    assert not app.exception and address(app)["layer"] == "2" and "kind" not in address(app)
    switch_page(app, "heads").run()
    assert not app.exception and address(app)["layer"] == "1" and address(app)["kind"] == "cross"


def test_a_choice_beyond_one_part_returns_in_another(open_page: Callable[..., AppTest]) -> None:
    app = open_page("feedforward", part="nonlinearity", token="2")
    assert app.selectbox("feedforward_token").value == 2
    app.button_group("feedforward_part").set_value("neurons").run()
    assert app.selectbox("feedforward_token").value == 2
    app.button_group("feedforward_part").set_value("nonlinearity").run()
    assert app.selectbox("feedforward_token").value == 2 and address(app)["token"] == "2"


def test_a_choice_beyond_a_smaller_model_returns_with_the_larger(
    open_page: Callable[..., AppTest], folder: Path
) -> None:
    small = tiny_model(vocab_size=len(tiny_tokenizer()), encoder_layers=1, d_ff=5)
    save_checkpoint(folder / "small", small, tiny_tokenizer(), ("Invented", "Imagined"))
    app = open_page("feedforward", part="neurons", stack="encoder", layer="2", neuron="30", checkpoint="tiny")
    app.selectbox("checkpoint").set_value("small").run()
    assert not app.exception and address(app)["layer"] == "1" and address(app)["neuron"] == "5"
    app.selectbox("checkpoint").set_value("tiny").run()
    assert address(app)["layer"] == "2" and address(app)["neuron"] == "30"


def test_a_threshold_between_two_steps_gives_a_message(open_page: Callable[..., AppTest]) -> None:
    app = open_page("feedforward", threshold="33")
    assert "'33'" in messages(app).replace("&#x27;", "'") and "Shown: 35." in messages(app)
    assert address(app)["threshold"] == "35"


def test_options_of_hidden_parts_are_kept(open_page: Callable[..., AppTest]) -> None:
    app = open_page("positions", part="lab", seed="5")
    assert not app.exception and address(app)["seed"] == "5"
    app.button_group("positions_part").set_value("order").run()
    assert app.number_input("positions_seed").value == 5
