"""The embeddings page as a script: each part by link, values out of range, odd text, other checkpoints."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from streamlit.testing.v1 import AppTest

from pages.components import figure
from pages.embeddings import inputs
from tests.support.app import address, messages, switch_page, written
from tests.support.build import VARIANTS, tiny_model, tiny_pretrained, variant_name
from transformer.analysis.embedding import Neighbours, Norms
from transformer.checkpoints.folder import save_checkpoint
from transformer.text.tokenizer import SPECIALS

FIGURES = {
    "norms": ["embedding-norms-source", "embedding-norms-target"],
    "neighbours": ["embedding-neighbours"],
    "map": ["embedding-map-encoder"],
    "residual": ["residual-lengths-encoder", "residual-lengths-tokens-encoder", "residual-shares-encoder"],
    "lens": ["logit-lens"],
    "output": ["output-steps", "output-candidates", "output-row"],
}


@pytest.fixture
def open_page(open_page: Callable[..., AppTest]) -> Callable[..., AppTest]:
    return functools.partial(open_page, "embeddings")


def shown(app: AppTest) -> dict[str, dict[str, Any]]:
    """The data of every figure on the page, by its name."""
    elements = [element for element in app.get("bidi_component") if element.proto.component_name == "headscope.figure"]
    data = [json.loads(element.proto.json) for element in elements]
    return {figure["name"]: {**figure, "figure": json.loads(figure["figure"])} for figure in data}


@pytest.mark.parametrize("part", FIGURES)
def test_every_part_is_reached_by_link_and_has_its_figures(open_page: Callable[..., AppTest], part: str) -> None:
    app = open_page(part=part)
    assert not app.exception and not messages(app)
    assert sorted(shown(app)) == sorted(FIGURES[part])
    assert address(app).get("part", "neighbours") == part
    assert "hs-check hs-bad" not in written(app)
    for data in shown(app).values():
        assert data["figure"]["layout"]["title"]["subtitle"]["text"]


@pytest.mark.slow
@pytest.mark.parametrize("changes", VARIANTS, ids=variant_name)
def test_every_kind_of_model_is_shown(open_page: Callable[..., AppTest], folder: Path, changes: dict[str, Any]) -> None:
    tiny = tiny_pretrained()
    model = tiny_model(vocab_size=len(tiny.tokenizer), decoder_layers=3, **changes)
    name = "other-" + variant_name(changes).replace("=", "-")  # traces are kept by name, from test to test
    save_checkpoint(folder / name, model, tiny.tokenizer, tiny.languages)
    for part in FIGURES:
        for stack in ("encoder", "decoder"):
            app = open_page(checkpoint=name, part=part, stack=stack)
            assert not app.exception and not messages(app), (part, stack)
            assert "hs-check hs-bad" not in written(app), (part, stack)
    if changes.get("positions") == "none":
        assert "adds no positions" in written(open_page(checkpoint=name, part="norms"))


@pytest.mark.parametrize(
    ("part", "name", "asked", "expected"),
    [
        ("neighbours", "token", "99", "6"),
        ("neighbours", "token", "0", "1"),
        ("neighbours", "token", "-7", "1"),
        ("neighbours", "side", "middle", "source"),
        ("map", "layer", "7", "2"),
        ("map", "stack", "cross", "encoder"),
        ("residual", "token", "9" * 40, "6"),
        ("residual", "layer", "0", "1"),
        ("lens", "step", "77", "4"),
        ("lens", "step", "x", "1"),
        ("lens", "step", "<script>alert(1)</script>", "1"),
        ("nonsense", "part", "nonsense", None),
    ],
)
def test_a_value_out_of_range_becomes_the_nearest_with_a_message(
    open_page: Callable[..., AppTest], part: str, name: str, asked: str, expected: str | None
) -> None:
    app = open_page(**{"part": part, name: asked})
    assert not app.exception
    assert f"The link asks for {name} " in messages(app) and "<script>" not in messages(app)
    assert address(app).get(name) == expected and address(app)["source"] == "ka lo mi"
    assert shown(app)


def test_a_link_opens_its_exact_view(open_page: Callable[..., AppTest]) -> None:
    app = open_page(part="residual", stack="decoder", token="2", layer="1")
    assert not app.exception and not messages(app)
    assert {name: address(app)[name] for name in ("part", "stack", "token", "layer")} == {
        "part": "residual", "stack": "decoder", "token": "2", "layer": "1",
    }  # fmt: skip
    assert len(shown(app)["residual-shares-decoder"]["figure"]["layout"]["xaxis"]["ticktext"]) == 3 + 3
    app = open_page(part="map", stack="decoder", layer="2")
    assert shown(app)["embedding-map-decoder"]["start"] == 2


def test_the_slider_of_the_map_reaches_the_link(open_page: Callable[..., AppTest]) -> None:
    app = open_page(part="map")
    assert "layer" not in address(app)
    app.session_state["figure_emb_map"] = {"frame": 2}
    app.run()
    assert not app.exception and address(app)["layer"] == "2"
    app.session_state["figure_emb_map"] = {"frame": 77}
    app.run()
    assert not app.exception and address(app)["layer"] == "2"


def test_neighbours_of_a_typed_word(open_page: Callable[..., AppTest]) -> None:
    model = tiny_pretrained()
    app = open_page(part="neighbours", word="nunu")
    pieces = model.tokenizer.pieces(model.tokenizer.encode("nunu"))
    assert not app.exception and not messages(app)
    (token,) = [box for box in app.selectbox if box.label == "Piece of the word"]
    assert len(token.options) == len(pieces)
    app.text_input("embeddings_word").input("").run()
    assert [box.label for box in app.selectbox][-1] == "Token of the sentence" and "word" not in address(app)
    app.text_input("embeddings_word").input("zen").run()
    assert address(app)["word"] == "zen"


def test_a_word_without_letters_and_one_that_is_not_known(open_page: Callable[..., AppTest]) -> None:
    for word in (" ", "\t", "\x00"):
        app = open_page(part="neighbours", word=word)
        assert not app.exception and "Your word has no readable character" in messages(app)
        assert shown(app)
    app = open_page(part="neighbours", word="語", token="2")
    assert not app.exception and "“語” is not in this model&#x27;s vocabulary" in messages(app, notes=True)
    assert shown(app)["embedding-neighbours"]["figure"]["data"]


@pytest.mark.slow
@pytest.mark.parametrize("part", FIGURES)
@pytest.mark.parametrize("text", ["<script>alert(1)</script>", "$x^2$ **b**", "a\x00b", "שלום", "ka"])
def test_odd_text_stays_text(open_page: Callable[..., AppTest], part: str, text: str) -> None:
    app = open_page(source=text, target=text, part=part, word=text)
    assert not app.exception and shown(app)
    assert "<script>" not in written(app)


@pytest.mark.parametrize("text", ["", " ", "ka " * 500])
def test_unusable_text_gives_one_sentence_and_keeps_the_selection(open_page: Callable[..., AppTest], text: str) -> None:
    app = open_page(source=text, part="lens", step="3")
    assert not app.exception and "The source text" in messages(app) and not shown(app)
    assert address(app)["step"] == "3"
    app.text_input("source").input("ka lo mi").run()
    assert not messages(app) and shown(app) and address(app)["step"] == "3"


def test_the_table_of_the_lens(open_page: Callable[..., AppTest]) -> None:
    model = tiny_pretrained()
    trace = model.trace("ka lo mi", "re sta vu")
    app = open_page(part="lens", step="2")
    tables = re.findall(r"<table class=\"hs-emb-table\">.*?</table>", written(app))
    steps, step_rows = tables
    rows = re.findall(r"<tr>.*?</tr>", steps)[1:]
    assert len(rows) == 3 and all(row.count("<td") == len(trace.target_out) for row in rows)
    assert rows[-1].count("hs-emb-final") == len(trace.target_out)  # the last layer finds what it finds
    assert re.findall(r"<th scope=\"row\">(.*?)</th>", steps) == ["embedding", "layer 1", "layer 2"]
    last = re.findall(r"<small>([0-9.]+)</small>", re.findall(r"<tr>.*?</tr>", step_rows)[-1])
    best = trace.logits[1].softmax(-1).topk(5).values.tolist()
    assert [float(text) for text in last] == pytest.approx(best, abs=0.0006)
    assert "largest deviation of the logits 0" in written(app)


def test_the_shading_of_the_lens_is_the_shown_probability(open_page: Callable[..., AppTest]) -> None:
    app = open_page(part="lens")
    shades = re.findall(r'--p:([0-9.]+)%"><span>.*?</span><small>(.*?)</small>', written(app))
    assert len(shades) > 20
    for shade, probability in shades:
        assert float(shade) / 100 == pytest.approx(float(probability.replace("&lt;", "")), abs=0.0011)
    lens = shown(app)["logit-lens"]
    assert (lens["figure"]["data"][0]["zmin"], lens["figure"]["data"][0]["zmax"]) == (0, 1)
    probability = re.search(
        r"in (\d+) of (\d+) steps the final token is the likeliest already before the last layer", written(app)
    )
    assert probability and 0 <= int(probability[1]) <= int(probability[2]) == len(
        tiny_pretrained().trace("ka lo mi", "re sta vu").target_out
    )


@pytest.mark.parametrize(("part", "key"), [("lens", "emb_lens"), ("output", "emb_steps")])
def test_a_click_chooses_the_step(
    open_page: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch, part: str, key: str
) -> None:
    draw, clicks = figure.draw, [2]

    def clicked(drawn: Any, name: str, *rest: Any, on_pick: Callable[[int], None] | None = None, **more: Any) -> Any:
        if name == key and clicks:
            assert on_pick is not None
            on_pick(clicks.pop())
        return draw(drawn, name, *rest, on_pick=on_pick, **more)

    monkeypatch.setattr(figure, "draw", clicked)
    app = open_page(part=part)
    assert not app.exception and not clicks
    app.run()
    assert not app.exception and address(app)["step"] == "3"
    (step,) = [box for box in app.selectbox if box.label.startswith("Step")]
    assert step.value == 3


def _norms(off: float, factor: float = 16.0) -> Norms:
    """Three tokens whose rows are `off` times as long as the encodings."""
    row = torch.tensor([off, off / 2, off * 2], dtype=torch.float64)
    return Norms(row, factor * row, torch.ones(3, dtype=torch.float64))


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        (0.1, 0.125, "would be 10.0 times as long as the word vectors in the source and 8.0 times in the "
         "target. With it the word vectors are 1.6 and 2.0 times"),
        (0.75, 0.8, "would be 1.3 times as long as the words in the source and 1.2 times in the target. "
         "With it the words are 12.0 and 12.8 times"),
        (0.01, 0.125, "would be 100.0 times as long as the words in the source and 8.0 times in the target. "
         "With it the words are 0.16 and 2.0 times"),
        (2.0, 1.0, "with and without the factor: 2.0 times as long in the source and 1.0 times in the target without "
         "it, 32.0 and 16.0 times with it"),
    ],
)  # fmt: skip
def test_the_headline_compares_the_lengths_of_words_and_positions(source: float, target: float, expected: str) -> None:
    assert expected in inputs._headline([_norms(source), _norms(target)])


def test_the_headline_stands_above_the_figures_and_without_positions_says_so(open_page: Callable[..., AppTest]) -> None:
    text = written(open_page(part="norms"))
    assert text.index("hs-point") < text.index("Section 3.4") and "√d_model" not in text
    none = Norms(torch.ones(2), torch.ones(2), torch.zeros(2))
    assert "adds no positions" in inputs._headline([none, none])


def test_neighbours_are_words_unless_the_toggle_says_otherwise(
    open_page: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = tiny_pretrained()
    pieces = model.tokenizer.pieces(range(len(model.tokenizer)))
    ordinary = [index for index, piece in enumerate(pieces) if piece not in SPECIALS]
    no_words = {index for index in ordinary if len(pieces[index]) < 3 or not pieces[index].startswith("▁")}
    assert set(inputs._parts(model)) == no_words and 0 < len(no_words) < len(ordinary)
    monkeypatch.setattr(inputs, "NEAREST", len(pieces))

    def bars(app: AppTest) -> int:
        assert not app.exception
        return len(shown(app)["embedding-neighbours"]["figure"]["layout"]["meta"]["labels"]["y"])

    app = open_page(part="neighbours")
    words = len(ordinary) - len(no_words)
    assert bars(app) in (words, words - 1) and "words" not in address(app)  # the token itself may be a word
    app.toggle("embeddings_words").set_value(False).run()
    assert bars(app) == len(ordinary) - 1 and address(app)["words"] == "off"
    assert bars(open_page(part="neighbours", words="off")) == len(ordinary) - 1


def test_the_sentence_about_neighbours_names_the_nearest() -> None:
    nearest = Neighbours((7, 8, 9, 10), (0.667, 0.48, -0.1, -0.2), 0.163)
    text = inputs._nearest("yesterday", ("Yesterday", "today", "ago", "far"), nearest)
    assert text.endswith("nearest to “yesterday” are Yesterday (0.67), today (0.48), ago (−0.10).")


def test_the_slider_of_the_residual_stream_reaches_the_link(open_page: Callable[..., AppTest]) -> None:
    app = open_page(part="residual")
    name = "residual-lengths-tokens-encoder"
    frames = [frame["name"] for frame in shown(app)[name]["figure"]["frames"]]
    assert "vector" not in address(app) and frames[shown(app)[name]["start"]] == "x + Sublayer(x)"
    app.session_state["figure_emb_stream_tokens"] = {"frame": 0}
    app.run()
    assert not app.exception and address(app)["vector"] == "enters"
    assert shown(open_page(part="residual", vector="enters"))[name]["start"] == 0


def test_output_opens_on_the_least_certain_step(open_page: Callable[..., AppTest]) -> None:
    app = open_page(part="output")
    trace = tiny_pretrained().trace("ka lo mi", "re sta vu")
    least = min(range(4), key=lambda step: trace.probabilities[step])
    (step,) = [box for box in app.selectbox if box.label.startswith("Step")]
    assert step.value == least + 1 and f"the least certain is step {least + 1}: “" in written(app)


def test_a_sentence_says_that_an_axis_is_thinned(open_page: Callable[..., AppTest]) -> None:
    source = " ".join(["ka lo mi"] * 6)
    count = len(tiny_pretrained().trace(source, "re sta vu").source_labels)
    assert 18 < count <= 36
    app = open_page(source=source, part="residual")
    assert not app.exception and f"The axis labels one in 2 of the {count} tokens; point at" in written(app)
    assert "The axis labels" not in written(open_page(part="residual"))


def test_a_given_target_may_differ_from_the_model_output(open_page: Callable[..., AppTest]) -> None:
    app = open_page(part="output", step="2")
    trace = tiny_pretrained().trace("ka lo mi", "re sta vu")
    figure = shown(app)["output-steps"]["figure"]
    surpassed = int((trace.logits.softmax(-1).amax(-1) > trace.probabilities).sum())
    assert len(figure["data"]) == (2 if surpassed else 1)
    assert "largest difference 0" in written(app)


def test_a_checkpoint_with_fewer_layers_shows_its_nearest_layer(
    open_page: Callable[..., AppTest], folder: Path
) -> None:
    tiny = tiny_pretrained()
    small = tiny_model(vocab_size=len(tiny.tokenizer), encoder_layers=1, decoder_layers=1)
    save_checkpoint(folder / "small", small, tiny.tokenizer, tiny.languages)
    app = open_page(checkpoint="tiny", part="map", layer="2")
    app.selectbox("checkpoint").select("small").run()
    assert not app.exception and not messages(app) and address(app)["layer"] == "1"
    app = open_page(checkpoint="small", part="residual")
    assert not app.exception and shown(app)


def test_choices_stay_after_a_visit_to_another_page(open_page: Callable[..., AppTest]) -> None:
    app = open_page(part="lens", step="3")
    switch_page(app, "model").run()
    switch_page(app, "embeddings").run()
    assert not app.exception and address(app)["part"] == "lens" and address(app)["step"] == "3"
