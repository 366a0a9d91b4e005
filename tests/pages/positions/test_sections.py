"""The sections about encodings: links, reports of the browser, learned tables and longer inputs."""

import dataclasses
import html
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from streamlit.testing.v1 import AppTest

from pages.components import task
from pages.positions import encoding, learned
from pages.positions.learned import COUNT, FORMULA, LEARNED, exact, pair_of, trained_lengths, trained_positions
from pages.runtime.shared import clear_caches
from tests.support.app import (
    MODELS,
    address,
    components,
    content_test,
    figures,
    messages,
    page_text,
    state_of,
    without_error,
    written,
)
from tests.support.build import tiny_model, tiny_pretrained
from transformer.analysis.positions import neighbour_cosines
from transformer.cancellation import Stopped
from transformer.inference.pretrained import Pretrained, load
from transformer.training.tasks import task_pairs

SENTENCE = "ka lo mi nu"


def start(part: str, model: str = "tiny", source: str = SENTENCE, **asked: str) -> AppTest:
    """A section, drawn as a link asks for it."""
    return content_test("positions", part, model, source, **asked)


def variant(name: str, **changes: Any) -> Pretrained:
    """The tiny model with another configuration, under its own name."""
    tiny = tiny_pretrained()
    model = tiny_model(vocab_size=len(tiny.tokenizer), **changes)
    return dataclasses.replace(tiny, name=name, path=Path(name), model=model)


@pytest.fixture(autouse=True)
def fresh() -> None:
    """Models to draw with, and empty caches."""
    clear_caches()
    MODELS.update(tiny=tiny_pretrained(), none=variant("none", positions="none"))
    MODELS.update({"le<b>arned": variant("le<b>arned", positions="learned")})
    MODELS.update({name: load(name) for name in (FORMULA, LEARNED)})


def handed(app: AppTest) -> dict[str, Any]:
    """The data of the slider component."""
    (drawn,) = components(without_error(app), "positions")
    assert len(drawn.json) < 60_000  # templates, not tables
    return json.loads(drawn.json)


def chosen(app: AppTest) -> dict[str, str]:
    """The part's own options in the address bar."""
    return {name: value for name, value in address(app).items() if name in ("d_model", "length", "dims", "k", "q")}


def report(app: AppTest, **values: Any) -> AppTest:
    """The browser's report after a person moves a slider."""
    revision = state_of(app).revision
    app.session_state[encoding.KEY] = {"values": {"revision": revision, **values}}
    return app.run()


# -- sliders ----------------------------------------------------------------------------------------------------------


def test_the_sliders_begin_at_the_loaded_model() -> None:
    model = MODELS["tiny"]
    app = start("encoding")
    data, tokens = handed(app), list(model.trace(SENTENCE).source_labels)
    assert data["values"] == {"d_model": 66, "length": max(8, len(tokens)), "dims": None}
    assert (data["own"], data["model"]) == (66, "tiny")
    assert (data["part"], data["tokens"], data["big"], data["layout"]) == ("encoding", tokens, False, "")
    assert list(data["figures"]) == ["encoding", "curves", "wavelengths"]
    assert not chosen(app) and not messages(app)
    frame: Any = SimpleNamespace(trace=None, model=model, state=SimpleNamespace(source=SENTENCE))
    assert list(encoding.source_labels(frame)) == tokens  # without a pass
    data = handed(start("distance"))
    assert data["values"] == {"d_model": 66, "length": 64, "k": 5, "q": 10}
    assert list(data["figures"]) == ["products", "offsets", "map", "shifted"]
    data = handed(start("encoding", source="ka lo mi nu re sta " * 5))
    assert data["values"]["length"] == len(data["tokens"]) > 8


def test_a_link_is_shown_and_kept() -> None:
    app = start("encoding", d_model="128", length="30", dims="0,5,64", k="7")
    assert handed(app)["values"] == {"d_model": 128, "length": 30, "dims": [0, 5, 64]}
    assert not messages(app)
    assert chosen(app) == {"d_model": "128", "length": "30", "dims": "0,5,64", "k": "7"}  # of the other part too
    app.session_state["part"] = "distance"
    assert handed(app.run())["values"] == {"d_model": 128, "length": 30, "k": 7, "q": 10}
    assert chosen(app)["dims"] == "0,5,64"


@pytest.mark.parametrize(
    ("part", "asked", "wanted", "sentence"),
    [
        ("distance", {"d_model": "9999"}, {"d_model": 512}, "Allowed: a whole number from 2 to 512"),
        ("distance", {"d_model": "x<b>"}, {"d_model": 66}, "d_model 'x<b>'"),
        ("distance", {"d_model": "7"}, {"d_model": 6}, "the encoding needs an even number: 6 is shown."),
        ("distance", {"length": "1"}, {"length": 2, "k": 1, "q": 1}, "length '1'"),
        ("distance", {"k": "64"}, {"k": 63}, "Allowed: a whole number from 0 to 63. Shown: 63."),
        ("distance", {"length": "8", "q": "8"}, {"length": 8, "q": 7}, "Allowed: a whole number from 0 to 7"),
        ("encoding", {"dims": "x, -1, 65"}, {"dims": [65]}, "left out: x, -1."),
        ("encoding", {"dims": "<b>"}, {"dims": None}, "left out: <b>."),
    ],
)
def test_what_a_link_asks_out_of_bounds_becomes_the_nearest_with_a_message(
    part: str, asked: dict[str, str], wanted: dict[str, Any], sentence: str
) -> None:
    app = start(part, **asked)
    values = handed(app)["values"]
    assert wanted.items() <= values.items() and sentence in html.unescape(messages(app))
    assert not messages(app.run()) and handed(app)["values"] == values  # said once


def test_values_from_the_browser_are_in_the_link() -> None:
    app = report(start("encoding"), d_model=256, length=100, dims=[0, 200])
    assert chosen(app) == {"d_model": "256", "length": "100", "dims": "0,200"}
    assert handed(app)["values"] == {"d_model": 256, "length": 100, "dims": [0, 200]}
    start_length = len(MODELS["tiny"].trace(SENTENCE).source_labels)
    app = report(app, d_model=66, length=max(8, start_length), dims=None)
    assert chosen(app) == {} and handed(app)["values"]["dims"] is None
    app = report(start("distance"), d_model=66, length=20, k=19.0, q=3)
    assert chosen(app) == {"length": "20", "k": "19", "q": "3"}
    app = report(start("distance"), part="encoding", d_model=66, length=max(8, start_length))  # of the part before
    assert not chosen(app)
    app = report(start("distance", k="40"), d_model=66, length=10, k=9, q=5)  # a shorter table has fewer shifts
    assert handed(app)["values"] == {"d_model": 66, "length": 10, "k": 9, "q": 5} and not messages(app)


def test_invalid_values_from_the_browser_are_not_stored() -> None:
    app = start("encoding", dims="2")
    before = handed(app)["values"]
    for values in (
        *({"d_model": d_model, "length": 10} for d_model in (7, 1000, "8", True, 8.5)),
        *({"d_model": 66, "length": 8, "dims": dims} for dims in ([], "0,1", [0.5], ["0"], [66], [0] * 7, 3, {"0": 1})),
        {"d_model": 8},
        {},
        {"d_model": 8, "length": 10, "revision": -1},
        {"d_model": 8, "length": 1, "part": []},
    ):
        assert handed(report(app, **values))["values"] == before, values


# -- learned positions ------------------------------------------------------------------------------------------------


def test_the_learned_table_of_the_loaded_model() -> None:
    app = start("learned", LEARNED, "abc")
    drawn = figures(app)
    assert sorted(drawn) == ["positions_cosines", "positions_exact", "positions_norms", "positions_tables"]
    for name in drawn:
        assert drawn[name]["layout"]["shapes"], name
    assert drawn["positions_tables"]["layout"]["shapes"][0]["y0"] == 16.5
    assert [line["name"] for line in drawn["positions_norms"]["data"]] == ["formula", LEARNED]
    text = page_text(app)
    assert f"The positions of {LEARNED} are learned" in text
    table = load(LEARNED).model.positions.table.detach()
    cosines = neighbour_cosines(table)
    near, far = (f"{part.mean():.2f}".replace("-", "−") for part in (cosines[:16], cosines[17:]))
    assert (near, far) == ("0.68", "−0.01")
    assert f"{LEARNED} saw at most 16 symbols and </s>, so only positions 0 to 16 were trained." in text
    assert f"are similar (mean cosine {near}); below it they are still the random numbers" in text
    assert f"(mean cosine {far})" in text
    (more,) = app.expander
    source = html.unescape(" ".join(element.proto.body for element in more.get("html")))
    assert "“reverse, 1 to 16 symbols, unseen”" in source and "variance 1 / <i>d</i><sub>model</sub>" in source
    right = [f"{100 * exact(load(LEARNED), 'reverse', length):.0f}%" for length in (16, 17)]
    assert f"It gets {right[0]} of the inputs with 16 symbols right and {right[1]} of those with 17." in page_text(app)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        ("tiny", "tiny adds the encoding of the formula, which is computed and not learned"),
        (FORMULA, "reverse adds the encoding of the formula"),
        ("none", "none adds no positions, so it has no position vectors to show"),
    ],
)
def test_other_models_show_the_bundled_one(model: str, sentence: str) -> None:
    app = start("learned", model, "abc" if model == FORMULA else SENTENCE)
    assert sentence in page_text(app) and len(figures(app)) == 4
    assert "their recipes differ in one line" in page_text(app)


def test_a_learned_model_without_a_task_shows_its_own_table() -> None:
    app = start("learned", "le<b>arned")
    drawn = figures(app)
    assert [line["name"] for line in drawn["positions_norms"]["data"]] == ["formula", "le&lt;b&gt;arned"]
    assert not drawn["positions_norms"]["layout"].get("shapes")
    assert "le<b>arned does not say which positions it was trained on" in page_text(app)
    assert "positions_exact" in drawn and "hs-point" not in written(app)  # exact answers are those of the toys


def test_without_toy_checkpoints_the_page_shows_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learned, "_bundled", lambda name: None)
    app = start("learned")
    assert "No checkpoint with learned positions was found" in page_text(app) and not figures(app)
    app = start("learned", LEARNED, "abc")  # the other half is missing
    assert len(figures(app)) == 3 and "hs-point" not in written(app)


def test_exact_answers_beyond_the_trained_length(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learned, "COUNT", 12)
    monkeypatch.setattr(learned, "LENGTHS", range(15, 19))
    app = start("learned", LEARNED, "abc")
    lines = figures(app)["positions_exact"]["data"]
    assert [line["name"] for line in lines] == [FORMULA, LEARNED]
    for name, line in zip((FORMULA, LEARNED), lines, strict=True):
        model = load(name)
        for length in range(15, 19):
            pairs = task_pairs("reverse", 12, (length, length), learned.SEED)
            right = sum(model.translate(source).text == target for source, target in pairs)
            assert exact(model, "reverse", length) == right / 12
        assert line["mode"] == "lines+markers"
    assert [exact(load(LEARNED), "reverse", length) for length in (15, 16, 17, 18)] == [1, 1, 0, 0]
    text = page_text(app)
    share = f"{100 * exact(load(FORMULA), 'reverse', 17):.0f}%"
    conclusion = "Here, trained on at most 16 symbols, reverse got inputs of up to 17 symbols right "
    assert f"{conclusion}({share} of those with 17), and reverse-learned none beyond 16." in text
    assert f"{LEARNED}: 100% exact at 16 symbols, the longest it was trained on; 0% at 17, 0% at 18." in text
    assert not app.get("progress")


@pytest.mark.parametrize(
    ("by_formula", "by_table", "sentence"),
    [
        ([1, 0, 0], [1, 0, 0], "neither reverse nor reverse-learned got a single longer input right."),
        ([1, 0.5, 0.1], [1, 0, None], "up to 18 symbols right (50% of those with 17), and reverse-learned none beyond"),
        ([1, 0, 0], [1, 0.2, 0], "(0% of those with 17), and reverse-learned of up to 17 (20% of those with 17)."),
    ],
)
def test_the_conclusion_is_computed(
    by_formula: list[float], by_table: list[float | None], sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(learned, "LENGTHS", range(16, 19))
    shares = {FORMULA: by_formula, LEARNED: by_table}
    text = learned._conclusion((MODELS[FORMULA], MODELS[LEARNED]), shares, 16)
    assert text.startswith("Section 3.5 says sinusoids “may allow the model to extrapolate to") and sentence in text


def test_lengths_beyond_the_positions_give_a_message_and_are_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    assert exact(load(LEARNED), "reverse", 64) is None
    monkeypatch.setattr(learned, "COUNT", 2)
    monkeypatch.setattr(learned, "LENGTHS", range(62, 66))
    app = start("learned", LEARNED, "abc")
    assert f"{LEARNED} has 64 positions, </s> included: inputs of 64 symbols or more do not fit." in page_text(app)


def test_dissimilar_rows_are_not_called_similar() -> None:
    table = torch.eye(8)
    text = learned._row_statistics(table, (0, 3), "m")
    assert "neighbouring rows have a mean cosine of 0.00; below it" in text and "(mean cosine 0.00)" in text
    assert "(mean cosine –)" in learned._row_statistics(table, (0, 6), "m")


def test_a_long_count_says_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, int]] = []

    def long(jobs: Any, key: Any, label: str, work: Any, model: Pretrained, tokens: int) -> None:
        assert not task.is_long(model, tokens) and tokens > COUNT  # the bundled ones are counted at once
        with pytest.raises(Stopped):
            work(lambda done, total: asked.append((done, total)) or done < 2)

    monkeypatch.setattr(learned, "COUNT", 2)
    monkeypatch.setattr(task, "sized_result", long)
    assert "positions_exact" not in figures(start("learned", LEARNED, "abc"))
    assert asked == [(0, 21), (1, 21), (2, 21)]


@pytest.mark.parametrize(
    ("metrics", "lengths"),
    [
        ({"data": ["reverse, 1 to 16 symbols, unseen"]}, (1, 16)),
        ({"data": ["x", "sort, 3 to 20 symbols"]}, (3, 20)),
        ({"data": ["9 to 3 symbols"]}, None),
        ({"data": "1 to 16 symbols"}, None),
        ({"data": [7, None]}, None),
        ({"data": ["reverse, 1 to 63 symbols"]}, (1, 63)),
        ({}, None),
    ],
)
def test_the_trained_range_is_read_from_the_metrics(metrics: dict[str, Any], lengths: tuple[int, int] | None) -> None:
    model = dataclasses.replace(tiny_pretrained(), metrics=metrics)
    assert trained_lengths(model) == lengths
    assert trained_positions(model) == ((0, lengths[1]) if lengths and lengths[1] < 63 else None)


@pytest.mark.parametrize("name", [LEARNED, FORMULA, "tiny", "none", "le<b>arned"])
def test_which_models_are_compared(name: str) -> None:
    pair = pair_of(MODELS[name])
    assert pair is not None
    own = name == "le<b>arned"  # its task is not known
    assert pair.learned.name == (name if own else LEARNED)
    assert (pair.formula and pair.formula.name, pair.task) == ((None, None) if own else (FORMULA, "reverse"))
