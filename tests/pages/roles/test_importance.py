"""The part Importance: shipped results, results on demand, and links to the model without heads."""

import dataclasses
import functools
import json
import shutil
from pathlib import Path

import pytest

import transformer
from pages.roles import importance
from tests.support.app import ROOT, address, app_test, components, messages, open_link, page_text, started_task
from transformer.model.tap import KINDS
from transformer.probing.importance import Effect, all_heads, effects, gradient_importance, name_of, sub_layers
from transformer.probing.probes import probe_pairs

NEAR = 1e-3  # nats a token: another processor adds in another order
BUNDLED = [path.parent.name for path in (ROOT / "checkpoints").glob("*/config.json")]


pytestmark = pytest.mark.usefixtures("bundled")
open_importance = functools.partial(open_link, "roles", part="importance")


@pytest.mark.slow
@pytest.mark.parametrize("name", BUNDLED)
def test_what_ships_is_what_is_measured(name: str) -> None:
    """A part is measured again: of each kind of attention the head that matters most, at 0 and at its mean, the
    sub-layer that matters most, and every gradient."""
    model = transformer.load(name)
    found = importance.shipped(model)
    assert found is not None
    pairs = (probe_pairs(model) or [])[: found.sentences]
    every = {name_of(head): [head] for head in all_heads(model.config)}
    most = {
        kind: max((one for one in every if one.startswith(kind)), key=lambda one: found.heads[one].loss)
        for kind in KINDS
    }
    heads = {head: every[head] for head in most.values()}
    for stored, way in ((found.heads, "zero"), (found.means, "mean")):
        for head, effect in effects(model, pairs, heads, way).items():
            assert_same(stored[head], effect)
    assert max(found.heads[head].loss for head in heads) > 10 * NEAR  # nothing that is 0 passes
    part = max(found.parts, key=lambda one: found.parts[one].loss)
    assert_same(found.parts[part], effects(model, pairs, {part: sub_layers(model.config)[part]})[part])
    assert found.parts[part].loss > 10 * NEAR
    gradient = gradient_importance(model, pairs)
    assert found.gradient == pytest.approx({name_of(head): one for head, one in gradient.items()}, abs=NEAR)
    assert list(found.order) == sorted(every, key=lambda one: found.heads[one].loss)


def assert_same(stored: Effect, measured: Effect) -> None:
    assert stored.loss == pytest.approx(measured.loss, abs=NEAR)
    for one in ("score", "low", "high"):
        assert getattr(stored, one) == pytest.approx(getattr(measured, one), abs=1.5)


@pytest.mark.parametrize("worth", importance.WORTH)
def test_the_grid_shows_the_shipped_numbers(worth: str) -> None:
    app = open_importance(checkpoint="reverse", worth=worth, head="cross.1.2")
    assert not messages(app)
    grid = json.loads(components(app, "headgrid")[0].json)
    found = importance.shipped(transformer.load("reverse"))
    assert found is not None
    values = {
        "loss": found.heads["cross.1.2"].loss, "mean": found.means["cross.1.2"].loss,
        "score": found.heads["cross.1.2"].score, "mean_score": found.means["cross.1.2"].score,
        "gradient": found.gradient["cross.1.2"],
    }  # fmt: skip
    cell = grid["panels"][2]["cells"][0][1]
    assert abs(float(cell["text"].replace("−", "-")) - values[worth]) < 0.06  # type: ignore[operator]
    assert grid["chosen"] == [2, 0, 1] and len(components(app, "figure")) == 2
    assert f"{found.agreement():.2f}" in page_text(app)
    (least,) = found.curves["least"]
    assert f"It breaks below {least.breaks()} heads" in page_text(app)
    assert f"comes from the same {found.sentences} sentence pairs as the scores" in page_text(app)
    pruning = json.loads(json.loads(components(app, "figure")[0].json)["figure"])
    (mark,) = [one for one in pruning["data"] if one.get("name") == f"breaks below {least.breaks()}"]
    assert list(mark["x"]) == [least.breaks()] * 2 and mark["y"][1] == least.score[least.left.index(least.breaks())]


def test_links_open_the_model_without_heads() -> None:
    app = open_importance(checkpoint="reverse", head="cross.1.2", left="3")
    found = importance.shipped(transformer.load("reverse"))
    assert found is not None and address(app)["left"] == "3"
    queries = [one.proto.query_string for one in app.get("page_link")]
    for heads in (["cross.1.2"], found.order[:3]):
        asked = "%2C".join(heads)
        assert queries.count(f"zero={asked}") == len(importance.COMPARE)
        assert queries.count(f"checkpoint=reverse~{asked}") == len(importance.PAGES)
    opened = app_test("lab", checkpoint="reverse", source="abc", zero=",".join(found.order[:3])).run()
    assert not opened.exception and not messages(opened)
    pruned = app_test("roles", part="importance", checkpoint="reverse~" + ",".join(found.order[:3])).run()
    assert not pruned.exception and not messages(pruned)
    assert pruned.button(key="hs-task-start")  # what was measured of the whole model does not hold for it


def test_an_estimate_that_is_the_same_for_all_heads_has_no_correlation(monkeypatch: pytest.MonkeyPatch) -> None:
    found = importance.shipped(transformer.load("reverse"))
    assert found is not None
    flat = dataclasses.replace(found, gradient=dict.fromkeys(found.gradient, 0.5))
    monkeypatch.setattr(importance, "shipped", lambda model: flat)
    text = page_text(open_importance(checkpoint="reverse"))
    assert "No rank correlation: the estimate or the measured change is the same for all heads." in text
    assert " nan" not in text


@pytest.mark.slow
def test_another_model_is_measured_on_demand(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importance, "SENTENCES", 15)
    shutil.copytree(ROOT / "checkpoints" / "reverse", folder / "mine", ignore=lambda *_: ["importance.json"])
    app = app_test("roles", part="importance", checkpoint="mine").run()
    assert not app.exception and not components(app, "headgrid")
    app.button(key="hs-task-start").click().run()
    for _ in range(1000):  # every look keeps the measurement going
        if components(app, "headgrid"):
            break
        started_task(app).thread.join(0.5)
        app.run()
    assert not app.exception
    (grid,) = components(app, "headgrid")
    model = transformer.load("reverse")  # the same weights
    heads = {name_of(head): [head] for head in all_heads(model.config)}
    found = effects(model, (probe_pairs(model) or [])[:15], heads, score=False)
    cells = {
        f"{panel['kind']}.{layer}.{head}": float(cell["text"].replace("−", "-"))
        for panel in json.loads(grid.json)["panels"]
        for layer, row in enumerate(panel["cells"], 1)
        for head, cell in enumerate(row, 1)
    }
    assert cells == {name: pytest.approx(effect.loss, abs=0.006) for name, effect in found.items()}
