"""Options of a page: kept in session and link, within bounds, with a message for invalid values in links."""

from pathlib import Path

import pytest

from tests.support.app import address, figures, messages, open_page, state_of, switch_page
from tests.support.build import tiny_model, tiny_pretrained, tiny_tokenizer
from transformer.checkpoints.folder import save_checkpoint


def test_a_number_is_chosen_kept_and_in_the_link() -> None:
    app = open_page("positions", part="order")
    assert not messages(app)
    assert "seed" not in address(app) and address(app)["part"] == "order"
    before = figures(app)["permutation"]["data"][1]["y"]
    app.number_input("positions_seed").set_value(7).run()
    assert address(app)["seed"] == "7" and figures(app)["permutation"]["data"][1]["y"] != before
    app.number_input("positions_seed").set_value(0).run()
    assert address(app)["seed"] == "0" and figures(app)["permutation"]["data"][1]["y"] == before


def test_a_link_opens_cold_and_what_was_chosen_stays_over_pages() -> None:
    app = open_page("positions", part="order", seed="12", big="1")
    assert app.number_input("positions_seed").value == 12 and state_of(app).view.big
    switch_page(app, "model").run()
    assert not app.exception
    switch_page(app, "positions").run()
    assert not app.exception and app.number_input("positions_seed").value == 12
    assert address(app)["seed"] == "12" and address(app)["part"] == "order"


OUT_OF_BOUNDS = [
    *(("positions", "order", "seed", asked, "0") for asked in ("-3", "-99999999999999999999", "x", "1.5", "\u0663")),
    *(("positions", "order", "seed", asked, "9999") for asked in ("10000", "99999999999999999999")),
    ("feedforward", "activity", "layer", "99", "2"),
    ("feedforward", "activity", "stack", "middle", "encoder"),
    ("feedforward", "activity", "threshold", "999", "200"),
    ("feedforward", "activity", "threshold", "33", "35"),  # between two steps
    ("feedforward", "neurons", "token", "40", str(len(tiny_pretrained().encode("re sta vu", "target")))),
    ("feedforward", "neurons", "neuron", "1" * 400, "37"),
    ("feedforward", "neurons", "neuron", "0", "1"),
    ("embeddings", "neighbours", "token", "99", "6"),
    ("embeddings", "neighbours", "side", "middle", "source"),
    ("embeddings", "map", "layer", "7", "2"),
    ("embeddings", "map", "stack", "cross", "encoder"),
    ("embeddings", "residual", "layer", "0", "1"),
    ("embeddings", "lens", "step", "77", "4"),
    ("embeddings", "lens", "step", "<script>alert(1)</script>", "1"),
    ("recipe", "rate", "warmup", "0", "100"),
    ("recipe", "dropout", "p_drop", "0.9", "0.5"),
    ("recipe", "dropout", "passes", "51", "50"),
    ("recipe", "smoothing", "epsilon", "1", "0.3"),
    ("decoding", "beam", "beams", "99", "8"),
    ("decoding", "beam", "alpha", "-1", "0.6"),
    ("decoding", "sampling", "temperature", "0", "0.1"),
    ("anatomy", "compare", "n", "1", "2"),
    ("anatomy", "compare", "n", "99999999999999", "10000"),
    ("anatomy", "compare", "kernel", "4", "3"),
    ("anatomy", "compare", "restricted", "-1", "5"),
    ("anatomy", "before", "heads", "nope", "best"),
    ("lab", "leak", "position", "99", "4"),
    ("lab", "scaling", "d_k", "33", "21"),
]


@pytest.mark.parametrize(("page", "part", "name", "asked", "shown"), OUT_OF_BOUNDS)
def test_a_value_out_of_bounds_becomes_the_nearest_with_a_message(
    page: str, part: str, name: str, asked: str, shown: str
) -> None:
    app = open_page(page, part=part, **{name: asked})
    assert f"The link asks for {name} " in messages(app, notes=True)
    assert f"Shown: {shown}." in messages(app, notes=True) and "<script>" not in messages(app)
    assert address(app).get(name, shown) == shown and address(app)["source"] == "ka lo mi"
    assert "The link asks" not in messages(app.run(), notes=True)  # said once


def test_an_unknown_part_gives_a_message_and_the_first_is_shown() -> None:
    for page, first in (("positions", "encoding"), ("embeddings", "neighbours"), ("feedforward", "activity")):
        app = open_page(page, part="nope")
        assert "'nope'" in messages(app).replace("&#x27;", "'")
        assert app.session_state[f"{page}_part"] == first and "part" not in address(app)


def test_the_layer_of_a_page_is_not_the_layer_of_the_picture() -> None:
    app = open_page("feedforward", part="neurons", layer="2")
    assert address(app)["layer"] == "2" and "kind" not in address(app)
    switch_page(app, "heads").run()
    assert not app.exception and address(app)["layer"] == "1" and address(app)["kind"] == "cross"


def test_a_choice_beyond_one_part_returns_in_another() -> None:
    app = open_page("feedforward", part="nonlinearity", token="2")
    assert app.selectbox("feedforward_token").value == 2
    app.button_group("feedforward_part").set_value("neurons").run()
    assert app.selectbox("feedforward_token").value == 2
    app.button_group("feedforward_part").set_value("nonlinearity").run()
    assert app.selectbox("feedforward_token").value == 2 and address(app)["token"] == "2"


def test_a_choice_beyond_a_smaller_model_returns_with_the_larger(folder: Path) -> None:
    small = tiny_model(vocab_size=len(tiny_tokenizer()), encoder_layers=1, d_ff=5)
    save_checkpoint(folder / "small", small, tiny_tokenizer(), ("Invented", "Imagined"))
    app = open_page("feedforward", part="neurons", stack="encoder", layer="2", neuron="30", checkpoint="tiny")
    app.selectbox("checkpoint").set_value("small").run()
    assert not app.exception and address(app)["layer"] == "1" and address(app)["neuron"] == "5"
    app.selectbox("checkpoint").set_value("tiny").run()
    assert address(app)["layer"] == "2" and address(app)["neuron"] == "30"


def test_options_of_hidden_parts_are_kept() -> None:
    app = open_page("positions", part="lab", seed="5")
    assert address(app)["seed"] == "5"
    app.button_group("positions_part").set_value("order").run()
    assert app.number_input("positions_seed").value == 5
