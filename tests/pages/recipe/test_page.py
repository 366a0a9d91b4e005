"""The Training recipe page as a script."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import transformer
from pages.recipe import batches, rate, smoothing
from tests.support.app import ROOT, address, app_test, components, messages, page_text
from transformer.training.schedule import learning_rate, paper_peak


@pytest.mark.parametrize("part, figures", [("rate", 2), ("dropout", 3), ("smoothing", 2), ("batches", 0)])
def test_every_part_is_drawn_for_any_model(open_page: Callable[..., AppTest], part: str, figures: int) -> None:
    app = open_page("recipe", part=part)
    assert not app.exception and not messages(app) and len(components(app, "figure")) == figures


def test_the_curve_is_equation_3() -> None:
    steps, rates = rate.line(512, 4000, 20_000)
    assert np.allclose(rates, [512**-0.5 * min(step**-0.5, step * 4000**-1.5) for step in steps])
    assert max(rates) == pytest.approx(paper_peak(512, 4000)) == pytest.approx(7e-4, rel=0.01)
    assert steps[rates.index(max(rates))] == 4000
    assert rate.line(512, 4000, 20_000, 2.0)[1][-1] == pytest.approx(2 * learning_rate(20_000, max(rates), 4000, 1))


def test_recorded_runs_have_every_seed_and_bins_that_add_up() -> None:
    found = rate.recorded()
    assert list(found["warmup"]) == ["0", "30", "300", "900"] and list(found["smoothing"]) == ["0.0", "0.1", "0.2"]
    for run in found["warmup"].values():
        assert len(run["loss"]) == len(found["seeds"]) == 3 and {len(one) for one in run["loss"]} == {len(run["step"])}
    for runs in found["smoothing"].values():
        assert len(runs) == 3
        for one in runs:
            count = sum(number for _said, _right, number in one["bins"])
            right = sum(share * number for _said, share, number in one["bins"]) / count
            assert right == pytest.approx(one["accuracy"], abs=1e-3) and one["perplexity"] >= 1


def test_buckets_waste_less_than_random_order_and_lose_no_pair() -> None:
    model = transformer.load(ROOT / "checkpoints" / "en-de")
    found = {way: batches.batched(model, 800, way) for way in (True, False)}
    assert found[True].padding < found[False].padding
    for way in (True, False):
        rows = [i for batch in found[way].batches for i in batch]
        assert sorted(rows) == list(range(len(found[way].source))) == list(range(batches.PAIRS))
        for batch in found[way].batches:
            longest = max(max(len(found[way].source[i]), len(found[way].target[i])) + 1 for i in batch)
            assert len(batch) == 1 or len(batch) * longest <= 800


def test_padding_by_hand() -> None:
    assert [len(batch) for batch in batches.in_random_order([(2, 2)] * 5, 4)] == [2, 2, 1]
    found = batches.Batches(((1,), (1, 2, 3)), ((1,), (1,)), ((0, 1),), 0.0)
    assert batches.most_padded(found) == 1


def test_the_drawn_batch_marks_its_padding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADSCOPE_CHECKPOINTS", str(ROOT / "checkpoints"))
    app = app_test("recipe", checkpoint="en-de", part="batches").run()
    assert not app.exception and not messages(app)
    bodies = " ".join(one.proto.body for one in app.get("html"))
    assert "hs-pad" in bodies and "3.3e+18" in bodies and "2.3e+19" in bodies  # Table 2's costs
    assert "en-de" in page_text(app)


@pytest.mark.parametrize(
    "params, said",
    [
        ({"part": "rate", "warmup": "0"}, "a whole number from 1 to"),
        ({"part": "dropout", "p_drop": "0.9"}, "a number from 0 to 0.5"),
        ({"part": "dropout", "passes": "51"}, "a whole number from 1 to 50"),
        ({"part": "smoothing", "epsilon": "1"}, "a number from 0 to 0.3"),
    ],
)
def test_a_link_out_of_range_is_said(open_page: Callable[..., AppTest], params: dict[str, str], said: str) -> None:
    app = open_page("recipe", **params)
    assert not app.exception and said in messages(app, notes=True)


def test_choices_are_in_the_link(open_page: Callable[..., AppTest]) -> None:
    app = open_page("recipe", part="smoothing")
    app.number_input(key="recipe_epsilon").set_value(0.3).run()
    assert not app.exception and address(app)["epsilon"] == "0.3" and "ε = 0.3" in page_text(app)


def test_bins_of_all_seeds_are_weighted_and_rare_ones_left_out() -> None:
    found = smoothing.together([[0.95, 1.0, 30], [0.91, 0.5, 10], [0.2, 0.0, 29]])
    assert found == ([pytest.approx((0.95 * 30 + 0.91 * 10) / 40)], [pytest.approx(35 / 40)])
