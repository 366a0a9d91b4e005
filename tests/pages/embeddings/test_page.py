"""The embeddings page as a script: each part by link, values out of range, odd text, other checkpoints."""

import functools
import json
import re

import pytest
import torch
from streamlit.testing.v1 import AppTest

from pages.embeddings import inputs
from tests.support.app import address, click_figure, components, figures, messages, open_page, written
from tests.support.build import tiny_pretrained
from transformer.analysis.embedding import Neighbours, Norms
from transformer.text.tokenizer import SPECIALS

open_embeddings = functools.partial(open_page, "embeddings")


def start_of(app: AppTest, name: str) -> int:
    """The state at which the slider of a figure begins."""
    sent = [json.loads(proto.json) for proto in components(app, "figure")]
    return next(one["start"] for one in sent if one["name"] == name)


def test_a_link_opens_its_exact_view() -> None:
    app = open_embeddings(part="residual", stack="decoder", token="2", layer="1")
    assert not messages(app)
    assert {name: address(app)[name] for name in ("part", "stack", "token", "layer")} == {
        "part": "residual", "stack": "decoder", "token": "2", "layer": "1",
    }  # fmt: skip
    assert len(figures(app)["residual-shares-decoder"]["layout"]["xaxis"]["ticktext"]) == 3 + 3
    app = open_embeddings(part="map", stack="decoder", layer="2")
    assert start_of(app, "embedding-map-decoder") == 2


def test_the_sliders_of_figures_reach_the_link() -> None:
    app = open_embeddings(part="map")
    assert "layer" not in address(app)
    for frame in (2, 77):
        app.session_state["figure_emb_map"] = {"frame": frame}
        app.run()
        assert not app.exception and address(app)["layer"] == "2"
    app = open_embeddings(part="residual")
    name = "residual-lengths-tokens-encoder"
    frames = [frame["name"] for frame in figures(app)[name]["frames"]]
    assert "vector" not in address(app) and frames[start_of(app, name)] == "x + Sublayer(x)"
    app.session_state["figure_emb_stream_tokens"] = {"frame": 0}
    app.run()
    assert not app.exception and address(app)["vector"] == "enters"
    assert start_of(open_embeddings(part="residual", vector="enters"), name) == 0


def test_neighbours_of_a_typed_word() -> None:
    model = tiny_pretrained()
    app = open_embeddings(part="neighbours", word="nunu")
    pieces = model.tokenizer.pieces(model.tokenizer.encode("nunu"))
    assert not app.exception and not messages(app)
    (token,) = [box for box in app.selectbox if box.label == "Piece of the word"]
    assert len(token.options) == len(pieces)
    app.text_input("embeddings_word").input("").run()
    assert [box.label for box in app.selectbox][-1] == "Token of the sentence" and "word" not in address(app)
    app.text_input("embeddings_word").input("zen").run()
    assert address(app)["word"] == "zen"


def test_a_word_without_letters_and_one_that_is_not_known() -> None:
    for word in (" ", "\t", "\x00"):
        app = open_embeddings(part="neighbours", word=word)
        assert "Your word has no readable character" in messages(app)
        assert figures(app)
    app = open_embeddings(part="neighbours", word="語", token="2")
    assert "“語” is not in this model&#x27;s vocabulary" in messages(app, notes=True)
    assert figures(app)["embedding-neighbours"]["data"]


def test_the_table_of_the_lens() -> None:
    model = tiny_pretrained()
    trace = model.trace("ka lo mi", "re sta vu")
    app = open_embeddings(part="lens", step="2")
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


def test_the_shading_of_the_lens_is_the_shown_probability() -> None:
    app = open_embeddings(part="lens")
    shades = re.findall(r'--p:([0-9.]+)%"><span>.*?</span><small>(.*?)</small>', written(app))
    assert len(shades) > 20
    for shade, probability in shades:
        assert float(shade) / 100 == pytest.approx(float(probability.replace("&lt;", "")), abs=0.0011)
    (heat, *_) = figures(app)["logit-lens"]["data"]
    assert (heat["zmin"], heat["zmax"]) == (0, 1)
    probability = re.search(
        r"in (\d+) of (\d+) steps the final token is the likeliest already before the last layer", written(app)
    )
    assert probability and 0 <= int(probability[1]) <= int(probability[2]) == len(
        tiny_pretrained().trace("ka lo mi", "re sta vu").target_out
    )


@pytest.mark.parametrize(("part", "key"), [("lens", "emb_lens"), ("output", "emb_steps")])
def test_a_click_chooses_the_step(monkeypatch: pytest.MonkeyPatch, part: str, key: str) -> None:
    click_figure(monkeypatch, key, clicks := [2])
    app = open_embeddings(part=part)
    assert not clicks and not app.run().exception and address(app)["step"] == "3"
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
    none = Norms(torch.ones(2), torch.ones(2), torch.zeros(2))
    assert "adds no positions" in inputs._headline([none, none])
    text = written(open_embeddings(part="norms"))
    assert text.index("hs-point") < text.index("Section 3.4") and "√d_model" not in text


def test_neighbours_are_words_unless_the_toggle_says_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    model = tiny_pretrained()
    pieces = model.tokenizer.pieces(range(len(model.tokenizer)))
    ordinary = [index for index, piece in enumerate(pieces) if piece not in SPECIALS]
    no_words = {index for index in ordinary if len(pieces[index]) < 3 or not pieces[index].startswith("▁")}
    assert set(inputs._parts(model)) == no_words and 0 < len(no_words) < len(ordinary)
    monkeypatch.setattr(inputs, "NEAREST", len(pieces))

    def bars(app: AppTest) -> int:
        assert not app.exception
        return len(figures(app)["embedding-neighbours"]["layout"]["meta"]["labels"]["y"])

    app = open_embeddings(part="neighbours")
    words = len(ordinary) - len(no_words)
    assert bars(app) in (words, words - 1) and "words" not in address(app)  # the token itself may be a word
    app.toggle("embeddings_words").set_value(False).run()
    assert bars(app) == len(ordinary) - 1 and address(app)["words"] == "off"
    assert bars(open_embeddings(part="neighbours", words="off")) == len(ordinary) - 1
    nearest = Neighbours((7, 8, 9, 10), (0.667, 0.48, -0.1, -0.2), 0.163)
    text = inputs._nearest("yesterday", ("Yesterday", "today", "ago", "far"), nearest)
    assert text.endswith("nearest to “yesterday” are Yesterday (0.67), today (0.48), ago (−0.10).")


def test_output_opens_on_the_least_certain_step() -> None:
    app = open_embeddings(part="output")
    trace = tiny_pretrained().trace("ka lo mi", "re sta vu")
    least = min(range(4), key=lambda step: trace.probabilities[step])
    (step,) = [box for box in app.selectbox if box.label.startswith("Step")]
    assert step.value == least + 1 and f"the least certain is step {least + 1}: “" in written(app)
    surpassed = int((trace.logits.softmax(-1).amax(-1) > trace.probabilities).sum())
    assert len(figures(app)["output-steps"]["data"]) == (2 if surpassed else 1)  # the target may not be the model's
    assert "largest difference 0" in written(app)


def test_a_sentence_says_that_an_axis_is_thinned() -> None:
    source = " ".join(["ka lo mi"] * 6)
    count = len(tiny_pretrained().trace(source, "re sta vu").source_labels)
    assert 18 < count <= 36
    app = open_embeddings(source=source, part="residual")
    assert f"The axis labels one in 2 of the {count} tokens; point at" in written(app)
    assert "The axis labels" not in written(open_embeddings(part="residual"))
