"""Sub-layers and neurons left out on the feed-forward page."""

import html
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pages.components.translation import number
from pages.feedforward.knockouts import ListError, read_neurons, strongest, write_neurons
from tests.support.app import address, click_figure, figures, messages, open_page, written
from tests.support.build import D_FF, tiny_pretrained
from transformer.inference.pretrained import Pretrained, load
from transformer.interventions import sets
from transformer.interventions.sets import Interventions


@given(st.sets(st.integers(0, 99)))
def test_a_list_is_read_back(neurons: set[int]) -> None:
    assert read_neurons(write_neurons(sorted(neurons)), 100) == sorted(neurons)


def test_lists_as_people_write_them() -> None:
    assert read_neurons("17, 30-32", 40) == [16, 29, 30, 31] and read_neurons(" 3 – 4 ,,", 40) == [2, 3]
    assert read_neurons("", 40) == [] and write_neurons([0, 1, 2, 7]) == "1-3, 8"
    for text, word in (("x", "“x”"), ("0", "1 to 40"), ("9-3", "write 3-9"), ("50-3", "1 to 40"), ("1;2", "commas")):
        with pytest.raises(ListError, match=word):
            read_neurons(text, 40)
    with pytest.raises(ListError, match=r"these are 2,000; leave out the whole FFN"):
        read_neurons("1-2000", 3000)


def test_the_strongest_are_those_of_a_loop() -> None:
    trace = tiny_pretrained().trace("ka lo mi", "re sta vu")
    sums = [
        sum(trace.decoder_ff.activation[1, token, neuron].item() for token in range(len(trace.target_in)))
        for neuron in range(D_FF)
    ]
    wanted = sorted(range(D_FF), key=lambda neuron: -sums[neuron])[:5]
    assert strongest(trace, "decoder", 1, 5) == wanted


def test_sub_layers_and_neurons_by_link() -> None:
    app = open_page("feedforward", part="knock", skip="encoder.1.ff,decoder.2.cross", neurons="encoder.2.3")
    assert not messages(app)
    assert app.session_state["feedforward_skip_encoder"] == ["encoder.1.ff"]
    assert app.session_state["feedforward_skip_decoder"] == ["decoder.2.cross"]
    expected = (
        "left out: cross-attention, decoder layer 2 and feed-forward, encoder layer 1; neuron 3 of encoder layer 2"
    )
    assert f"After: {expected}" in written(app)
    assert address(app)["skip"] == "decoder.2.cross,encoder.1.ff"
    app.button_group("feedforward_skip_decoder").set_value(["decoder.1.self", "decoder.2.ff"]).run()
    app.button_group("feedforward_skip_encoder").set_value([]).run()
    assert not app.exception and address(app)["skip"] == "decoder.1.self,decoder.2.ff"


def perplexity_of(model: Pretrained, switches: str) -> float:
    trace = model.trace("ka lo mi", "re sta vu", interventions=Interventions.parse(switches))
    logs = [trace.logits[q].log_softmax(-1)[token_id].item() for q, token_id in enumerate(trace.target_out_ids)]
    return math.exp(-sum(logs) / len(logs))


def test_neurons_are_typed_and_put_back() -> None:
    app = open_page("feedforward", part="knock")
    field = "feedforward_neurons_encoder_0"
    app.text_input(field).input("2, 5-7").run()
    assert not app.exception
    assert address(app)["neurons"] == "encoder.1.2,encoder.1.5,encoder.1.6,encoder.1.7"
    assert app.text_input(field).value == "2, 5-7"
    app.button_group("feedforward_stack").set_value("decoder").run()
    app.text_input("feedforward_neurons_decoder_0").input("9").run()
    assert "decoder.1.9" in address(app)["neurons"] and "encoder.1.2" in address(app)["neurons"]
    app.text_input("feedforward_neurons_decoder_0").input("9, nine").run()
    assert "“nine” is not a neuron" in messages(app)
    assert app.text_input("feedforward_neurons_decoder_0").value == "9, nine"  # to be mended
    assert "decoder.1.9" in address(app)["neurons"]
    assert "“nine” is not a neuron" in messages(app.run())  # until it is
    app.button("feedforward_strongest").click().run()
    silent = address(app)["neurons"].count("decoder.1.")
    assert silent >= 10 and not messages(app)
    assert len(read_neurons(app.text_input("feedforward_neurons_decoder_0").value, D_FF)) == silent
    app.button("feedforward_back").click().run()
    assert not app.exception and "neurons" not in address(app)
    assert app.text_input("feedforward_neurons_decoder_0").value == ""


@pytest.mark.parametrize(
    ("typed", "text"),
    [
        ("17, 9-3", "9-3 runs backwards; write 3-9."),
        ("38", "38 is outside this layer; its neurons are 1 to 37."),
        ("1-6", "leave out the whole FFN instead"),
    ],
)
def test_an_error_stands_under_a_list_until_it_is_corrected(
    monkeypatch: pytest.MonkeyPatch, typed: str, text: str
) -> None:
    monkeypatch.setattr(sets, "MANY", 5)
    app = open_page("feedforward", part="knock", skip="encoder.1.ff")
    app.text_input("feedforward_neurons_encoder_0").input(typed).run()
    assert not app.exception and text in html.unescape(messages(app)) and "neurons" not in address(app)
    assert app.text_input("feedforward_neurons_encoder_0").value == typed
    app.text_input("feedforward_neurons_encoder_0").input("3-6").run()
    assert not messages(app) and address(app)["neurons"].count("encoder.1.") == 4


def test_every_sub_layer_is_left_out_alone(folder: Path) -> None:
    app = open_page("feedforward", part="knock")
    model = load(folder / "tiny")
    skips = [
        f"{stack}.{layer}.{part}"
        for stack, parts in (("encoder", ("self", "ff")), ("decoder", ("self", "cross", "ff")))
        for layer in (1, 2)
        for part in parts
    ]
    wanted = [perplexity_of(model, f"skip={skip}") for skip in skips]
    bars, line = figures(app)["feedforward-left-out"]["data"]
    assert bars["y"] == pytest.approx(wanted, rel=1e-4)
    trained = perplexity_of(model, "")
    assert line["y"] == pytest.approx([trained] * 2, rel=1e-4)
    small = sum(value < 1.1 * trained for value in wanted)
    assert "by less than 10%" in written(app)
    assert f"for {small} of the {len(skips)}" in written(app)
    assert f"it goes from {number(trained)} to {number(max(wanted))}" in written(app)
    app = open_page("feedforward", part="knock", skip="decoder.2.ff")
    without = number(perplexity_of(model, "skip=decoder.2.ff"))
    assert f"Perplexity of your target</th><td>{number(trained)}</td><td>{without}</td>" in written(app)


def test_a_click_on_a_bar_leaves_its_sub_layer_out_or_puts_it_back(monkeypatch: pytest.MonkeyPatch) -> None:
    click_figure(monkeypatch, "feedforward_alone", clicks := [9, 3, 9])
    app = open_page("feedforward", part="knock")
    for wanted in ("decoder.2.ff", "decoder.2.ff,encoder.2.ff", "encoder.2.ff"):
        assert not app.run().exception and address(app)["skip"] == wanted
    assert not clicks and address(app)["skip"] == "encoder.2.ff"
    (bars, _line) = figures(app)["feedforward-left-out"]["data"]
    assert [opacity == 1 for opacity in bars["marker"]["opacity"]] == [index == 3 for index in range(10)]
    assert "of the translation differ. For the translation as trained, the perplexity" in written(app)


@pytest.mark.parametrize("params", [{"skip": "encoder.9.ff"}, {"neurons": "encoder.1.99999"}, {"skip": "x"}])
def test_sub_layers_and_neurons_that_the_model_lacks_are_ignored_with_a_message(params: dict[str, str]) -> None:
    app = open_page("feedforward", part="knock", **params)
    assert "which is ignored" in messages(app) and not set(params) & set(address(app))
