"""The feed-forward page as a script: links, sentences, the probe set, and values that cannot be shown."""

import functools
import json
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

from pages.components import task
from pages.components.pieces import stack_labels
from pages.feedforward import activity, neurons
from pages.runtime import cache
from tests.support.app import (
    ROOT,
    address,
    app_test,
    array,
    click_figure,
    components,
    figures,
    messages,
    open_page,
    page_text,
    started_task,
)
from tests.support.build import tiny_model, tiny_pretrained
from transformer.analysis.activations import active_counts, histogram, spread, thresholds
from transformer.checkpoints.folder import save_checkpoint
from transformer.inference.pretrained import load
from transformer.probing.neuron_survey import TOP_TOKENS, Reading

open_feedforward = functools.partial(open_page, "feedforward")


@pytest.fixture
def sort(folder: Path) -> Path:
    """A checkpoint with a probe set."""
    return Path(shutil.copytree(ROOT / "checkpoints" / "sort", folder / "sort"))


def picture(app: AppTest) -> dict[str, Any]:
    """The data of the part Activity."""
    (proto,) = components(app, "feedforward")
    return dict(json.loads(proto.json))


def chosen(app: AppTest, **state: Any) -> AppTest:
    """The browser's report after a person chose something in the picture."""
    app.session_state[activity.KEY] = {"state": {"revision": picture(app)["revision"], **state}}
    return app.run()


def test_the_counts_are_those_of_the_trace(folder: Path) -> None:
    found = picture(open_feedforward())["numbers"]
    trace = load(folder / "tiny").trace("ka lo mi", "re sta vu")
    assert (found["source"], found["target"], found["activation"]) == ("ka lo mi", "re sta vu", "relu")
    for stack, side in activity.sides(trace).items():
        counts = found[stack]
        assert counts["tokens"] == list(stack_labels(trace, stack)) and counts["neurons"] == 37
        assert counts["active"] == active_counts(side.activation, thresholds()).tolist()
        assert counts["spread"][1][10] == spread(side.activation, 0.5)[1].tolist()
        first, edges = counts["histogram"][0], histogram(side.pre_activation[0], side.activation[0]).edges
        assert [(first["first"] + bin) * first["width"] for bin in range(len(edges))] == pytest.approx(edges.tolist())
        assert sum(first["before"]) == sum(first["after"]) == side.activation[0].numel()
        assert first["negative"] == int((side.pre_activation[0] < 0).sum())
        assert first["zero"] == int((side.activation[0] == 0).sum())


def test_what_a_person_chooses_is_in_the_link() -> None:
    app = open_feedforward(threshold="50", panel="few")
    assert picture(app)["state"] == {"stack": "encoder", "layer": 1, "threshold": 50, "panel": "few"}
    assert address(app)["panel"] == "few"
    app = chosen(app, threshold=100, stack="decoder", layer=2, panel="")
    assert not app.exception and not messages(app)
    assert picture(app)["state"] == {"stack": "decoder", "layer": 2, "threshold": 100, "panel": ""}
    params = address(app)
    assert (params["threshold"], params["stack"], params["layer"]) == ("100", "decoder", "2") and "panel" not in params
    app = chosen(app, threshold="5", stack="middle", layer=True, panel="x")
    assert picture(app)["state"]["threshold"] == 100 and picture(app)["state"]["stack"] == "decoder"
    app = chosen(app, threshold=0, revision=99)
    assert picture(app)["state"]["threshold"] == 100  # older than Python's last change


def test_a_gelu_has_another_threshold(folder: Path) -> None:
    tiny = tiny_pretrained()
    model = tiny_model(vocab_size=len(tiny.tokenizer), activation="gelu")
    save_checkpoint(folder / "gelu", model, tiny.tokenizer, tiny.languages)
    assert "from 0 to 200 in steps of 5. Shown: 5." in messages(open_feedforward(checkpoint="gelu", threshold="3"))
    app = open_feedforward(checkpoint="gelu")
    assert picture(app)["state"]["threshold"] == 20 and "threshold" not in address(app)
    assert picture(app)["numbers"]["activation"] == "gelu"
    overflowing = torch.tensor([[1.0, torch.inf]])
    assert activity._histogram(overflowing, overflowing) is None  # what is not finite is not counted
    assert [activity.percent(share) for share in (0.0, 1e-5, 0.0004, 0.03, 0.9999, 1.0)] == [
        "0%", "<\xa00.01%", "0.04%", "3.0%", ">\xa099.9%", "100%"
    ]  # fmt: skip


def test_without_a_choice_the_neuron_is_the_tokens_strongest(folder: Path) -> None:
    trace = load(folder / "tiny").trace("ka lo mi", "re sta vu")
    for token in (1, 3):
        app = open_feedforward(part="neurons", stack="decoder", layer="2", token=str(token))
        first = int(trace.decoder_ff.activation[1, token - 1].argmax()) + 1
        assert app.number_input("feedforward_neuron").value == first and "neuron" not in address(app)
        assert f"neuron {first} of decoder layer 2" in page_text(app) and "rank 1 of 37" in page_text(app)
    app.number_input("feedforward_neuron").set_value(5).run()
    assert address(app)["neuron"] == "5" and "euron 5 of decoder layer 2" in page_text(app)
    app.selectbox("feedforward_token").select(2).run()
    assert "euron 5 of decoder layer 2" in page_text(app)


def test_the_first_neuron_is_one_of_the_decoders_last_layer_at_its_longest_token(folder: Path) -> None:
    trace = load(folder / "tiny").trace("ka lo mi", "re sta vu")
    app = open_feedforward(part="neurons")
    labels = trace.target_in_labels[1:]  # without <s>, which is longer than any
    token = 2 + [len(label) for label in labels].index(max(map(len, labels)))
    first = int(trace.decoder_ff.activation[1, token - 1].argmax()) + 1
    assert app.selectbox("feedforward_token").value == token and app.selectbox("feedforward_layer").value == 2
    assert f"neuron {first} of decoder layer 2" in page_text(app)
    assert not {"stack", "layer", "token", "neuron"} & set(address(app))
    assert "There is no probe set from Invented to Imagined" in messages(app, notes=True)
    assert "Its strongest activations" not in page_text(app) and "feedforward-silent" not in figures(app)


def test_a_neuron_with_examples_is_selected_after_counting_unless_one_was_shown(sort: Path) -> None:
    params = {"checkpoint": "sort", "source": "314", "target": "", "part": "neurons"}
    model = load(sort)
    activation = model.trace("314", None).decoder_ff.activation[-1, 1]
    first, second = activation.topk(2).indices.tolist()
    app = open_feedforward(**params)
    assert f"neuron {first + 1} of" in page_text(app)
    key = neurons.key_of(cache.load("sort", str(sort)))  # as the page has it, with the state of its folder

    def seldom(*which: int) -> None:
        """Makes these neurons of the last layer fire on one token less than the number of examples."""
        found = neurons.JOBS.find(key)
        assert found is not None
        counts = found.decoder.counts.clone()
        counts[-1, list(which)] = TOP_TOKENS - 1
        neurons.JOBS.store(key, replace(found, decoder=replace(found.decoder, counts=counts)))

    seldom(first)
    assert f"neuron {first + 1} of" in page_text(app.run())
    assert f"neuron {second + 1} of" in page_text(open_feedforward(**params))
    seldom(*range(model.config.d_ff))
    assert f"neuron {first + 1} of" in page_text(open_feedforward(**params))


def test_a_click_on_a_bar_chooses_its_neuron(monkeypatch: pytest.MonkeyPatch) -> None:
    click_figure(monkeypatch, "feedforward_strongest", clicks := list[int]())
    app = open_feedforward(part="neurons")
    assert "Click a bar" in page_text(app)
    third = figures(app)["feedforward-strongest"]["data"][0]["customdata"][2]
    clicks.append(2)
    app.run()
    app.run()
    assert address(app)["neuron"] == third and f"neuron {third} of decoder layer 2" in page_text(app)
    assert app.number_input("feedforward_neuron").value == int(third)
    clicks.append(99)  # of a figure that had more bars
    assert not app.run().exception and address(app)["neuron"] == third


def test_the_bars_are_the_activations_and_their_lengths(folder: Path) -> None:
    app = open_feedforward(part="neurons", stack="encoder", layer="1", token="2")
    model = load(folder / "tiny")
    activation = model.trace("ka lo mi", "re sta vu").encoder_ff.activation[0, 1]
    lengths = activation.abs() * model.model.encoder[0].feed_forward.outer.weight.norm(dim=0)
    count = min(12, int((activation != 0).sum()))
    order = activation.argsort(descending=True)[:count].tolist()
    bars, marks = figures(app)["feedforward-strongest"]["data"]
    assert bars["customdata"] == [str(neuron + 1) for neuron in order]
    assert array(bars["y"]) == pytest.approx(activation[order].tolist())
    assert array(marks["y"]) == pytest.approx(lengths[order].tolist())
    missed = [neuron for neuron in lengths.argsort(descending=True)[:count].tolist() if neuron not in order]
    match = re.search(r"These also lead by length: ([^.]*(?:\.\d[^.]*)*)\.", page_text(app))
    assert (match is not None) == bool(missed) and all(f"{neuron + 1} (" in match[1] for neuron in missed if match)


def test_the_probe_set_is_counted_once(sort: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    real = neurons.neuron_statistics
    monkeypatch.setattr(neurons, "neuron_statistics", lambda *given: calls.append(1) or real(*given))
    params = {"checkpoint": "sort", "source": "31415926", "target": "", "part": "neurons", "layer": "2"}
    app = open_feedforward(**params, stack="decoder")
    assert len(calls) == 1
    text = page_text(app)
    assert "Its strongest activations in the probe set" in text and "120 sentence pairs" in text
    assert re.search(
        r"At \d of these \d, the reference continues with one of the \d+ pieces that the neuron promotes most, "
        r"which are \d+\.\d% of",
        text,
    )
    (tokens,) = [element.proto.body for element in app.get("html") if "<ol" in element.proto.body]
    assert 1 <= tokens.count("<mark>") == tokens.count("<li>") <= 8 and "hs-ff-decoder" in tokens
    open_feedforward(**params, stack="decoder")
    app = open_feedforward(**params, stack="encoder")
    assert len(calls) == 1 and "does not write to the vocabulary" in page_text(app)
    assert "the reference continues" not in page_text(app)


@pytest.mark.parametrize(("part", "drawn_last"), [("neurons", "feedforward-silent"), ("knock", "feedforward-left-out")])
def test_what_is_long_shows_its_progress_below_the_page_until_stop(
    sort: Path, monkeypatch: pytest.MonkeyPatch, part: str, drawn_last: str
) -> None:
    app = app_test("feedforward", checkpoint="sort", source="314", part=part)
    monkeypatch.setattr(task, "LONG", 0)
    monkeypatch.setattr(task, "WAIT", 0)
    monkeypatch.setattr(task.Task, "_progress", lambda self, done, total: self._stop.wait(30) is None)
    app.run()
    assert not app.exception and len(app.get("progress")) == 1 and drawn_last not in figures(app)
    app.button(key="hs-task-stop").click().run()
    started_task(app).thread.join(30)
    assert not app.run().exception and started_task(app).stage == "stopped"
    monkeypatch.setattr(task.Task, "_progress", lambda self, done, total: True)
    app.button(key="hs-task-start").click().run()
    started_task(app).thread.join(30)
    assert not app.run().exception and drawn_last in figures(app) and not app.get("progress")


@pytest.mark.parametrize(
    ("pieces", "place", "wanted"),
    [
        (("<s>", "▁Das", "▁Haus", "."), 2, "&lt;s&gt; Das <mark>Haus</mark>."),
        (("▁wär", "m", "er", "</s>"), 1, "wär<mark>m</mark>er &lt;/s&gt;"),
        (("▁", "1", "2", "</s>"), 0, "<mark>␣</mark>12 &lt;/s&gt;"),
        (("▁<b>", "&"), 1, "&lt;b&gt;<mark>&amp;</mark>"),
    ],
)
def test_a_token_in_its_sentence(pieces: tuple[str, ...], place: int, wanted: str) -> None:
    read = Reading(pieces, pieces, tuple(range(len(pieces))), tuple(range(len(pieces))))
    assert neurons.in_context(read, place) == wanted


def columns(app: AppTest) -> list[np.ndarray]:
    """What the pictures of the part Position-wise draw, after attention and after the network: [d_model, token]."""
    drawn = [json.loads(proto.json)["figure"] for proto in components(app, "figure")]
    return [array(json.loads(figure)["data"][0]["z"]) for figure in drawn]


def test_a_token_is_exchanged_in_the_text_and_only_its_column_moves_after_the_network(folder: Path) -> None:
    model = load(folder / "tiny")
    trace = model.trace("ka lo mi", "re sta vu")
    app = open_feedforward(part="position", token="1", other="sta")
    after = model.retrace(trace, read={0: model.encode("sta")[0]})
    assert not app.exception and not messages(app) and address(app)["other"] == "sta"
    difference = (after.encoder_self.update[0] - trace.encoder_self.update[0]).abs().T.numpy()
    after_attention, after_ff = columns(app)
    assert np.allclose(after_attention, difference, atol=1e-6) and np.flatnonzero(after_ff.max(0)).tolist() == [0]
    count = len(trace.source_ids)
    drawn = [json.loads(one.proto.json) for one in app.get("bidi_component") if one.proto.json]
    names = [one["about"] for one in drawn if one.get("name") == "position-wise"]
    assert names == ["self-encoder-1-1", "ff-encoder-1-1"]  # of the saved files
    assert f"1 of {count} vectors that enter layer 1 change, and attention changes {count} of {count}" in page_text(app)
    app = open_feedforward(part="position", stack="decoder", layer="2", token="2")
    later = list(range(1, len(trace.target_in)))
    assert np.flatnonzero(columns(app)[0].max(0) > 1e-7).tolist() == later
    assert "In the masked decoder no token before it changes." in page_text(app)


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("", "“mi” instead of “lo”"),  # the next token of the text
        ("sta vu", "Your text has 2 tokens; the first, “sta”, is put there."),
        ("lo", "“lo” is there already, so nothing changes. Type another token."),
        ("\u200b", "Your text has no readable character, so “mi” is put there."),
        ("<b>", "“<” instead of “lo”"),
    ],
)
def test_what_is_typed_as_the_other_token_is_answered(typed: str, said: str) -> None:
    app = open_feedforward(part="position", token="4", other=typed)
    assert said in page_text(app) and address(app).get("other", "") == typed
    assert app.text_input(key="feedforward_other").value == typed
