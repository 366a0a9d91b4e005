"""The Results page as a script: BLEU of what is typed, recorded subsets, Tables 2 and 3."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import sacrebleu
from streamlit.testing.v1 import AppTest

from pages.results.comparable import names, subsets_of
from pages.results.scored import PAIRS
from pages.results.tables import PAPER, Row, described, direction, rows, verdict
from tests.support.app import ROOT, address, app_test, components, messages, page_text
from transformer.analysis.bleu import REFERENCES


def test_typed_texts_are_scored_as_sacrebleu_scores_them(open_page: Callable[..., AppTest]) -> None:
    typed = {
        "hypothesis": "Der Hund schläft <b>.",
        "reference1": "Der Hund schläft.",
        "reference2": "Ein Hund schläft.",
    }
    app = open_page("results", **typed, n="2")
    assert not app.exception and not messages(app)
    wanted = sacrebleu.sentence_bleu(typed["hypothesis"], [typed["reference1"], typed["reference2"]])
    text = page_text(app)
    assert f"{wanted.score:.4f}" in text and "nrefs:2|case:mixed|eff:yes|tok:13a" in text
    bodies = " ".join(one.proto.body for one in app.get("html"))
    assert "<b>." not in bodies and "&lt;" in bodies
    assert typed.items() <= address(app).items() and address(app)["n"] == "2"


@pytest.mark.parametrize(
    "typed, said", [({"hypothesis": " "}, "hypothesis is empty"), ({"reference1": " "}, "no reference")]
)
def test_an_empty_field_is_said_and_the_others_stay(
    open_page: Callable[..., AppTest], typed: dict[str, str], said: str
) -> None:
    app = open_page("results", **typed, **({} if "reference1" in typed else {"reference1": "Ja."}))
    assert not app.exception and said in messages(app)
    assert len([one for one in app.text_input if one.key and one.key.startswith("results_")]) == REFERENCES + 1


def test_the_bundled_model_starts_with_its_own_translation_of_an_example(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADSCOPE_CHECKPOINTS", str(ROOT / "checkpoints"))
    app = app_test("results", checkpoint="en-de", pair="2").run()
    assert not app.exception and not messages(app)
    assert app.text_input(key="results_reference1").value == list(PAIRS.values())[1][0]
    assert app.text_input(key="results_hypothesis").value.strip()
    app.text_input(key="results_hypothesis").input("Ich weiß es nicht.").run()
    assert not app.exception and address(app)["hypothesis"] == "Ich weiß es nicht."
    assert all(1 < len(references) <= REFERENCES for references in PAIRS.values())


def test_recorded_subsets_are_drawn_and_others_said_to_be_missing(
    open_page: Callable[..., AppTest], folder: Path
) -> None:
    app = open_page("results", part="subsets")
    assert not app.exception and not components(app, "figure") and "no recorded scores" in page_text(app)
    part = {"bleu": 40.5, "sentences": 12, "words": 6.5}
    metrics = (
        json.loads((folder / "tiny" / "metrics.json").read_text())
        if (folder / "tiny" / "metrics.json").exists()
        else {}
    )
    metrics["subsets"] = {"all": part, "short": part, "long": {"bleu": "x"}, "other": part}
    assert list(subsets_of(metrics)) == ["all", "short"]
    (folder / "tiny" / "metrics.json").write_text(json.dumps(metrics))
    app = open_page("results", part="subsets")
    assert not app.exception and len(components(app, "figure")) == 1 and "40.5" in page_text(app)


def test_the_bundled_model_has_recorded_every_subset() -> None:
    metrics = json.loads((ROOT / "checkpoints" / "en-de" / "metrics.json").read_text(encoding="utf-8"))
    found = subsets_of(metrics)
    assert list(found) == list(names()) and found["all"]["bleu"] == metrics["bleu"]
    assert found["one_reference"]["bleu"] < found["all"]["bleu"] and found["long"]["bleu"] < found["short"]["bleu"]
    assert sum(found[name]["sentences"] for name in ("short", "middle", "long")) == metrics["sentences"]


def test_directions_and_verdicts_by_hand() -> None:
    assert (
        direction([0.7, 0.8], [0.9, 1.0]) == -1 and direction([0.9], [0.8]) == 1 and direction([0.7, 0.9], [0.8]) == 0
    )
    base = Row("base", (0.9, 0.91))
    assert verdict(Row("d_k-4", (0.8, 0.85)), base) == "same"
    assert verdict(Row("d_k-4", (0.8, 0.95)), base) == "unclear"
    assert verdict(Row("dropout", (0.8, 0.85)), base) == "other"
    assert verdict(Row("gelu", (0.8,)), base) == ""
    assert set(PAPER) <= {row.name for row in rows()}


def test_tables_2_and_3_are_drawn(open_page: Callable[..., AppTest]) -> None:
    app = open_page("results", part="tables")
    assert not app.exception and not messages(app) and len(components(app, "figure")) == 2
    assert set(described()) == {row.name for row in rows()}
    assert all(what in page_text(app) for what, _paper in described().values())
