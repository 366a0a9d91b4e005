"""The Attribution page as a script: every method for one token, source against prefix, and patching."""

import functools
import json
import threading
import time
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

import transformer
from pages.attribution import patching, token
from pages.attribution.patching import EXCHANGED, exchanged
from pages.components import task
from pages.runtime.job import Started
from tests.support.app import address, app_test, components, kept, messages, open_link, page_text, started_task
from transformer.attribution import METHODS, attribute, kendall_tau, one_head, one_token
from transformer.attribution.faithfulness import removable
from transformer.cancellation import Stopped
from transformer.interventions.sets import Interventions
from transformer.probing.patching import head_places, recovery
from transformer.tracing.patch import Place
from transformer.view.examples import read_examples

pytestmark = pytest.mark.usefixtures("bundled")
open_attribution = functools.partial(open_link, "attribution", checkpoint="en-de")


def grids(app: AppTest) -> list[Any]:
    return [json.loads(one.json) for one in components(app, "headgrid")]


def test_every_method_is_shown_for_the_chosen_token() -> None:
    app = open_attribution(source="I see a dog.", output="4")
    assert not messages(app)
    chooser, grid, agreement = grids(app)
    assert chooser["chosen"] == [0, 0, 3] and address(app)["output"] == "4"
    model = transformer.load("en-de")
    trace = model.trace("I see a dog.")
    assert [cell["text"] for cell in chooser["panels"][0]["cells"][0]] == list(trace.target_out_labels)
    source, prefix = grid["panels"]
    assert source["columns"] == list(trace.source_labels) and prefix["columns"] == list(trace.target_in_labels[:4])
    contributions = {"one": one_head(trace, "cross", model.config.decoder_layers - 1, model.config.heads - 1)}
    contributions |= {name: attribute(model, trace, name, [3]) for name in METHODS}
    for row, one in enumerate(contributions.values()):
        found = one.joined()[3].double()
        shares = found / found.abs().sum()
        texts = [cell["text"].replace("−", "-") for cell in (*source["cells"][row], *prefix["cells"][row])]
        assert texts == [str(round(100 * share)) for share in shares[: len(texts)].tolist()]
    assert len(grid["saved"]["rows"]) == 1 + len(contributions)
    columns = removable(trace, 3)
    (taus,) = agreement["panels"]
    for row, one in zip(taus["cells"], contributions.values(), strict=True):
        wanted = [kendall_tau(one.joined()[3][columns], other.joined()[3][columns]) for other in contributions.values()]
        assert [float(cell["text"].replace("−", "-")) for cell in row] == pytest.approx(wanted, abs=0.006)
    assert taus["rows"][1] == "2 mean attention" and len(taus["columns"]) == len(contributions)
    text = page_text(app)
    assert "Attention agrees most with" in text and "random order" in text
    assert "The darker a word, the more of the 9 methods put it first for “Hund”." in text
    (areas,) = (one for one in components(app, "saving") if "attribution-areas" in one.json)
    table = json.loads(areas.json)["rows"]
    assert table[0] == ["method", "tau", "area"] and {row[0] for row in table[1:]} == {*contributions, "random"}


def test_the_first_sentence_claims_no_difference_where_there_is_none() -> None:
    app = open_attribution(source="No", output="1")
    assert "has only “No” to rest on, so there is no order to compare" in page_text(app)
    trace = transformer.load("en-de").trace("Go.")
    row = [float(label == "Go") for label in (*trace.source_labels, *trace.target_in_labels)]
    agreed: Any = SimpleNamespace(
        rows=dict.fromkeys(METHODS, row),
        removed={name: SimpleNamespace(area=0.5, probabilities=(0.9, 0.123, 0.1)) for name in (*METHODS, "random")},
        taus=dict.fromkeys(METHODS, dict.fromkeys(METHODS, 1.0)),
    )
    said = token._says(trace, 0, agreed)
    assert said == "“Geh” rests most on “Go”: hide that word, and its probability goes from 90% to 12%."
    assert token._worse(agreed) == ""
    agreed.removed["alti"] = SimpleNamespace(area=0.6)
    assert token._worse(agreed) == "One of 9 methods ranks the tokens worse than random order."
    agreed.removed["norm"] = SimpleNamespace(area=0.6)
    assert token._worse(agreed) == "2 of 9 methods rank the tokens worse than random order."
    assert token._attention_agrees(agreed) == "Attention agrees with each of them alike (1.00)."


def test_the_share_of_the_source_is_a_curve_over_the_steps() -> None:
    app = open_attribution(source="I see a dog.", part="source", by="attention")
    assert not messages(app)
    (drawn,) = components(app, "figure")
    (line,) = json.loads(json.loads(drawn.json)["figure"])["data"]
    model = transformer.load("en-de")
    wanted = attribute(model, model.trace("I see a dog."), "attention").source_share()
    assert line["y"] == pytest.approx(wanted.tolist(), abs=1e-4)


@pytest.mark.parametrize("way", ["denoise", "noise"])
def test_patching_shows_the_recovery_of_every_head_and_place(way: str) -> None:
    sentences = {"source": "My brother is here.", "other": "My sister is here."}
    app = open_attribution(part="patching", way=way, **sentences)
    model = transformer.load("en-de")
    first, second = (model.trace(text) for text in sentences.values())
    assert not messages(app)
    heads, streams, updates = grids(app)
    steps = [one for one in range(len(first.target_out_ids)) if first.target_out_ids[one] != second.target_out_ids[one]]
    base, donor = (first, second) if way == "denoise" else (second, first)
    count = model.config.heads

    def found(places: Sequence[Place]) -> list[int]:
        values = recovery(model, base, donor, places, steps[0], donor.target_out_ids[steps[0]]).values
        return [round(100 * value) for value in values]

    def shown(cells: Sequence[Sequence[Mapping[str, str]]]) -> list[int]:
        return [int(cell["text"].replace("−", "-")) for row in cells for cell in row]

    of_all = {kind: found(places) for kind, places in head_places(model).items()}
    best = max(of_all, key=lambda kind: max(of_all[kind]))
    panel, layer, head = heads["chosen"]  # the strongest head, whose kind comes first
    assert [one["kind"] for one in heads["panels"]] == [best, *(kind for kind in of_all if kind != best)]
    assert (panel, of_all[best][layer * count + head]) == (0, max(of_all[best]))
    (cells,) = (one["cells"] for one in heads["panels"] if one["kind"] == "cross")
    assert shown([row[:count] for row in cells]) == found(head_places(model)["cross"])
    whole = [Place("head_outputs", f"decoder.{layer}.cross") for layer in range(len(cells))]
    assert shown([row[count + 1 :] for row in cells]) == found(whole)
    for row in cells:
        assert shown([row[count : count + 1]])[0] == pytest.approx(sum(shown([row[:count]])) / count, abs=1)
    last = streams["panels"][1]["cells"][-1]  # the last layer's output at the step itself is everything
    assert last[steps[0]]["text"] == "100"
    decoder = updates["panels"][1]
    assert decoder["rows"][:4] == ["1 self", "1 cross", "1 FFN", "2 self"]
    for row, sub_layer in ((0, "decoder.0.self"), (5, "decoder.1.ff"), (10, "decoder.3.cross")):
        places = [Place("update", sub_layer, token=token) for token in range(len(decoder["columns"]))]
        assert shown([decoder["cells"][row]]) == found(places)


@pytest.mark.parametrize(
    "other, said",
    [
        (
            "No.",
            "The sentences have 6 and 3 source tokens, 6 and 3 target tokens; patching needs two pairs of equal "
            "length, so exchange words only for words of as many tokens.",
        ),
        ("My brother is here.", "Both sentences have the same output; choose two that differ in one word."),
        ("a " * 190, "The source text has 191 tokens; at most 128 are allowed, shorten it."),
        (" ", "Type a second sentence with as many tokens as the first: 6"),
    ],
)
def test_sentences_that_cannot_be_patched_are_refused(other: str, said: str) -> None:
    app = open_attribution(part="patching", source="My brother is here.", other=other)
    assert said in page_text(app) and not grids(app)
    assert app.text_input(key="attribution_other").value.strip() == other.strip()


@pytest.mark.parametrize(
    "params",
    [
        {"source": "I see a cat now.", "output": "3"},
        {"source": "My brother is there.", "other": "My sister is there.", "part": "patching"},
    ],
    ids=lambda params: params.get("part", "token"),
)
def test_what_is_long_is_a_background_job_with_the_same_result(
    monkeypatch: pytest.MonkeyPatch, params: dict[str, str]
) -> None:
    monkeypatch.setattr(task, "LONG", 1e15)
    at_once = open_attribution(**params)
    assert not kept(at_once, Started).jobs
    wanted = grids(at_once)
    for jobs in (token.JOBS, patching.JOBS):
        jobs.clear()
    monkeypatch.setattr(task, "LONG", 0)
    app = open_attribution(**params)
    assert not messages(app) and grids(app) == wanted
    job = started_task(app)
    assert job.stage == "done" and job.done == job.total > 0
    # Of seven tokens and seven: 2 s of a free core for all methods.
    monkeypatch.undo()
    model = transformer.load("en-de")
    assert not task.is_long(model, 14 * 14) and task.is_long(model, 14 * (19 * 14 + token.POINTS))


def test_progress_is_shown_until_stop_and_another_head_replaces_the_job(monkeypatch: pytest.MonkeyPatch) -> None:
    begun = threading.Event()

    def slow(*given: Any) -> None:
        progress = given[-1]
        while progress(7, 28):
            begun.set()
            time.sleep(0.01)
        raise Stopped

    open_attribution(source="I see a red cat.", output="2")
    monkeypatch.setattr(task, "LONG", 0)
    monkeypatch.setattr(token, "removal_curve", slow)
    app = app_test("attribution", checkpoint="en-de", source="I see a red cat.", output="2", one="cross.1.1")
    monkeypatch.setattr(task, "WAIT", 0)
    app.run()
    first = started_task(app)
    assert begun.wait(30)
    app.run()
    (shown,) = app.get("progress")
    assert shown.proto.value == 25 and shown.proto.text.startswith("7 of 28, about ")
    assert "Which tokens does" in page_text(app) and len(grids(app)) == 1
    begun.clear()
    app.selectbox(key="attribution_one").select("cross.1.2").run()
    first.thread.join(30)
    assert first.stage == "stopped" and started_task(app) is not first and begun.wait(30)
    app.run()
    app.button(key="hs-task-stop").click().run()
    started_task(app).thread.join(30)
    app.run()
    assert not app.exception and "Stopped at 7 of 28." in page_text(app)
    assert app.button(key="hs-task-start") and not app.get("progress")


def test_what_ships_is_what_the_methods_say() -> None:
    """Shares, curves and sums to half of 1/10,000; only of the trace that was measured, without switches."""
    model = transformer.load("reverse")
    trace = model.trace("abc")
    step = one_token.least_sure(trace)
    data = json.loads(json.dumps(one_token.measured(model, [("abc", "")])))
    found, kept = one_token.of_methods(model, trace, step), one_token.shipped(trace, step, data)
    assert kept is not None
    for name in METHODS:
        assert kept.rows[name] == pytest.approx(found.rows[name], abs=6e-5)
        assert kept.removed[name].probabilities == pytest.approx(found.removed[name].probabilities, abs=6e-5)
    assert (kept.added, kept.wanted) == pytest.approx((found.added, found.wanted), abs=6e-5)
    votes = one_token.votes(trace, step, found)
    assert sum(votes) == len(METHODS)
    assert all(index in removable(trace, step) for index, count in enumerate(votes) if count)
    assert one_token.shipped(model.trace("abd"), step, data) is None
    assert one_token.shipped(model.trace("abc", interventions=Interventions.parse("scaling=off")), step, data) is None
    assert one_token.shipped(trace, step, [{"place": data[0]["place"]}]) is None


def test_every_example_of_en_de_opens_on_what_ships() -> None:
    model = transformer.load("en-de")
    data = json.loads((model.path / "attributions.json").read_text(encoding="utf-8"))
    for example in read_examples(model):
        trace = model.trace(example.source, example.target)
        assert one_token.shipped(trace, one_token.least_sure(trace), data) is not None, example.source


@pytest.mark.parametrize("target", ["Meine Schwester ist hier!", ""])
def test_the_second_sentence_may_have_a_target_of_its_own(target: str) -> None:
    sentences = {"source": "My brother is here.", "other": "My sister is here."}
    app = open_attribution(part="patching", other_target=target, **sentences)
    assert not messages(app)
    model = transformer.load("en-de")
    other = model.trace(sentences["other"], target or None)
    assert f"B: “My sister is here.” → “{other.target_text}”" in page_text(app)
    assert app.text_input(key="attribution_other_target").value == target
    assert address(app).get("other_target", "") == target


def test_words_are_exchanged_one_at_a_time() -> None:
    assert exchanged("My brother, I.") == ["My sister, I.", "My brother, we.", "Your brother, I."]
    assert all(word == word.lower() for pair in EXCHANGED.items() for word in pair)
