"""The Training recipe page as a script."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

import transformer
from pages.components.training_log import training_cost
from pages.recipe import batches, dropout, rate, smoothing
from tests.support.app import ROOT, address, array, figures, messages, open_link, open_page, page_text
from tests.support.build import tiny_pretrained
from transformer.analysis.smoothing import smooth
from transformer.probing.dropout import dropout_passes
from transformer.training.schedule import learning_rate, paper_peak


def test_the_curve_is_equation_3() -> None:
    steps, rates = rate.line(512, 4000, 20_000)
    assert np.allclose(rates, [512**-0.5 * min(step**-0.5, step * 4000**-1.5) for step in steps])
    assert max(rates) == pytest.approx(paper_peak(512, 4000)) == pytest.approx(7e-4, rel=0.01)
    assert steps[rates.index(max(rates))] == 4000
    assert rate.line(512, 4000, 20_000, 2.0)[1][-1] == pytest.approx(2 * learning_rate(20_000, max(rates), 4000, 1))


@pytest.mark.parametrize(
    "rates, again",
    [([1, 2, 3], []), ([1, 3, 2, 1], []), ([1, 3, 2, 4, 5, 1, 2, 2], [3, 6]), ([2, 2, 1, 1, 2], [4]), ([1], [])],
)
def test_a_rate_that_rises_after_it_fell_is_found(rates: list[float], again: list[int]) -> None:
    assert rate.resumed(rates) == again


def test_what_is_said_of_a_log_by_hand() -> None:
    # Equation 3 halves the rate from step 100 to step 400.
    one = rate._logged([100, 200, 400], [0.004, 0.0028284, 0.002])
    assert "0.004 at most, 0.002 at its last step, 400" in one and "rises again" not in one
    assert "cool-down" not in one
    two = rate._logged([100, 200, 300, 400], [0.004, 0.001, 0.002, 0.0001])
    assert "falls from its highest point to 0.002 only" in two and "rises again at step 300," in two


LOGS = [
    None, "", "step,learning_rate\n", "step,loss\n1,2\n", "step,learning_rate\nx,1\n", "step,learning_rate\n1\n",
    "step,learning_rate\n1,nan\n", "step,learning_rate\n1,inf\n", "step,learning_rate\n0,1\n", "step,seconds\n1,2\n",
    "seconds,tokens\nx,1\n", "seconds,tokens\n1,nan\n",
]  # fmt: skip


@pytest.mark.parametrize("log", LOGS)
def test_a_log_that_cannot_be_read_has_no_rates_and_no_cost(folder: Path, log: str | None) -> None:
    if log is not None:
        (folder / "tiny" / "training.csv").write_text(log)
    model = transformer.load(folder / "tiny")
    assert rate.logged(model) is training_cost(model) is None


def test_the_figure_has_the_rates_of_paper_and_open_model() -> None:
    app = open_link("recipe", checkpoint="en-de", part="rate", width="256", warmup="1000", factor="2")
    yours, base, big, own = figures(app)["learning-rate"]["data"]
    assert max(yours["y"]) == pytest.approx(2 * (256 * 1000) ** -0.5)
    assert max(base["y"]) == pytest.approx((512 * 4000) ** -0.5)
    assert max(big["y"]) == pytest.approx((1024 * 4000) ** -0.5)
    assert max(own["y"]) == pytest.approx(0.0012, rel=0.02) and own["name"] == "en-de, as it was trained"
    log = (ROOT / "checkpoints" / "en-de" / "training.csv").read_text().splitlines()[1:]
    assert own["x"] == [float(row.split(",")[0]) for row in log]
    assert own["y"] == [float(row.split(",")[2]) for row in log]


def recorded_ends() -> dict[int, list[float]]:
    return {int(steps): [run[-1] for run in of["loss"]] for steps, of in rate.recorded()["warmup"].items()}


def test_the_bars_prove_the_sentence() -> None:
    app = open_page("recipe", part="rate")
    bars, *runs = figures(app)["warm-up-ends"]["data"]
    last = recorded_ends()
    ends = rate._ends(last)
    assert bars["y"] == pytest.approx(list(ends.values()))
    assert [one["y"] for one in runs] == [[found[seed] for found in last.values()] for seed in range(3)]
    last_losses = {0: [1.0, 3.0], 30: [0.5, 2.5], 300: [4.0]}
    said = rate._says(last_losses)
    assert "with a warm-up of 30 steps the mean loss ends at 1.500, without warm-up at 2.000" in said
    drawn = figures(app)["warm-up"]["data"]  # curves of single runs wait in the legend
    hidden = [one for one in drawn if one.get("visible") == "legendonly"]
    assert (len(drawn), len(hidden)) == (16, 12) and sum(one["showlegend"] for one in hidden) == 1
    (marked,) = (text for text in bars["text"] if "lowest" in text)
    assert f"{min(ends.values()):.3f}" in marked and len(set(bars["marker"]["color"])) == 2


def test_recorded_runs_have_every_seed_and_bins_that_add_up() -> None:
    found = rate.recorded()
    assert list(found["warmup"]) == ["0", "30", "300", "900"] and list(found["smoothing"]) == ["0.0", "0.1", "0.2"]
    for run in found["warmup"].values():
        assert len(run["loss"]) == len(found["seeds"]) == 3 and {len(one) for one in run["loss"]} == {len(run["step"])}
    ends = rate._ends(recorded_ends())
    assert max(ends, key=ends.__getitem__) == 0  # without warm-up it is worst
    for one in (one for runs in found["smoothing"].values() for one in runs):
        count = sum(number for _said, _right, number in one["bins"])
        right = sum(share * number for _said, share, number in one["bins"]) / count
        assert right == pytest.approx(one["accuracy"], abs=1e-3) and one["perplexity"] >= 1
    said = smoothing._verdict(found["smoothing"])
    assert "1.020 (1.012–1.025) → 1.137 (1.130–1.142): yes." in said and said.count("no clear difference here") == 2


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
    # With </s>: sources of 2 and 4 tokens, targets of 2 and 2, so 12 positions hold 10 tokens.
    one = batches.Batches(((1,), (1, 2, 3)), ((1,), (1,)), ((0, 1),))
    assert one.lengths([1, 0]) == ([4, 2], [2, 2]) and one.step([0, 1]) == (6, 4, 2)
    assert one.padding == pytest.approx(2 / 12)


def test_the_batch_shown_first_has_the_padding_of_its_order() -> None:
    # Padding of positions: 0 of 16, 6 of 24, 12 of 32, and 2 of 12 in two pairs; 20 of 84 in all.
    sources = [(1,)] * 7 + [(1, 2, 3)] + [(1,)] * 3 + [(1,) * 5] + [(1,), (1, 2, 3)]
    four = batches.Batches(tuple(sources), ((1,),) * 14, ((0, 1, 2, 3), (4, 5, 6, 7), (8, 9, 10, 11), (12, 13)))
    assert [four.step(rows)[2] for rows in four.batches] == [0, 6, 12, 2] and batches.typical(four) == 2
    # Two pairs show little of an order: not even where their padding is the mean.
    few = batches.Batches(tuple(sources), ((1,),) * 14, ((0, 1, 2, 3), (12, 13)))
    assert batches.typical(few) == 1
    model = transformer.load(ROOT / "checkpoints" / "en-de")
    for way in (True, False):
        found = batches.batched(model, 1000, way)
        *tokens, padding = found.step(found.batches[batches.typical(found) - 1])
        assert padding / (sum(tokens) + padding) == pytest.approx(found.padding, abs=0.01)


def test_the_drawn_batch_marks_its_padding() -> None:
    app = open_link("recipe", checkpoint="en-de", part="batches", tokens="400", batch="3")
    assert not app.exception and not messages(app)
    found = batches.batched(transformer.load(ROOT / "checkpoints" / "en-de"), 400, True)
    rows = found.batches[2]
    longest = max(len(found.source[i]) for i in rows) + max(len(found.target[i]) for i in rows) + 2
    (source, target), count = found.lengths(rows), len(rows)
    grids = [one.proto.body for one in app.get("html") if 'class="hs-batch"' in one.proto.body]
    if count <= batches.ROWS:
        assert sum(grid.count("hs-pad") for grid in grids) == count * longest - sum(source) - sum(target)
    card = (ROOT / "checkpoints" / "en-de" / "README.md").read_text(encoding="utf-8")
    assert "Tatoeba" in card and batches.TEXT in card
    assert "from 10 to 30 target tokens here, 20 on average" in batches._steps([10, 30])
    text = page_text(app)
    assert f"Its loss is the mean over {sum(target)} tokens" in text and "Tatoeba's pairs, which do not come" in text
    lengths, steps = figures(app)["sentence-lengths"], figures(app)["tokens-a-step"]
    assert [sum(one["y"]) for one in lengths["data"]] == [batches.PAIRS] * 2
    band = lengths["layout"]["shapes"][0]
    assert (band["x0"], band["x1"]) == (min(source + target) - 0.5, max(source + target) + 0.5)
    assert [one["y"][2] for one in steps["data"]] == list(found.step(rows))
    assert all(len(one["y"]) == len(found.batches) for one in steps["data"])


def cost_rows(app: AppTest) -> list[list[str]]:
    (found,) = [one.proto.body for one in app.get("html") if "hs-recipe-cost" in one.proto.body]
    return [re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row) for row in re.findall("<tr>(.*?)</tr>", found, re.DOTALL)]


def test_costs_by_hand(folder: Path) -> None:
    # Table 2: 12 hours of 8 GPUs at 9.5 TFLOPS, and 84 hours.
    app = open_page("recipe", part="cost")
    head, *paper = cost_rows(app)
    assert len(head) == 5 and [row[1:4] for row in paper] == [
        ["12 hours", "8 × 9.5", "3.3e+18"], ["84 hours", "8 × 9.5", "2.3e+19"],
    ]  # fmt: skip
    assert "3.3e+18 operations to train, its big one 2.3e+19; tiny has no log" in page_text(app)
    (folder / "tiny" / "training.csv").write_text("step,seconds,tokens\n5,3600,1000\n9,7200,500\n")
    app = open_page("recipe", part="cost", speed="0.5")
    own = cost_rows(app)[-1]
    parameters = sum(one.numel() for one in transformer.load(folder / "tiny").model.parameters())
    assert own == ["tiny", "2 hours", "0.5", "3.6e+15", f"{9000 * parameters:.1e}"]  # 6 × parameters × 1,500 tokens
    assert f"tiny took {9000 * parameters:.1e}." in page_text(app)
    assert cost_rows(open_page("recipe", part="cost"))[-1][2] == "0.01"  # what the count gives is less


def test_the_bundled_model_cost_what_its_card_says() -> None:
    # 9 minutes on a GPU, 13 on two CPU cores and 294 on one; 19,931,520 parameters, 242 million target tokens: 2.9e16.
    found = training_cost(transformer.load(ROOT / "checkpoints" / "en-de"))
    assert found is not None and found.seconds / 60 == pytest.approx(316, abs=0.5)
    assert found.tokens == pytest.approx(242e6, rel=3e-3) and f"{found.operations:.1e}" == "2.9e+16"
    _name, hours, speed, by_speed, counted = cost_rows(open_link("recipe", checkpoint="en-de", part="cost"))[-1]
    assert by_speed == counted == "2.9e+16" and hours == "5.27 hours" and float(speed) == pytest.approx(1.5, abs=0.1)


def test_another_head_shows_its_own_scatter() -> None:
    one = open_page("recipe", part="dropout", kind="cross", layer="1", head="1")
    two = open_page("recipe", part="dropout", dropped_head="encoder_self.2.2")
    maps = [figures(app)["dropout-attention"]["data"][0]["z"] for app in (one, two)]
    assert one.selectbox(key="recipe_dropped_head").value == "cross.1.1" and maps[0] != maps[1]
    assert address(two)["dropped_head"] == "encoder_self.2.2" and "layer 2, head 2" in json.dumps(figures(two))
    tiny = tiny_pretrained()
    trace = tiny.trace("ka lo mi", "re sta vu")
    wanted = dropout_passes(tiny, trace, 0.1, 20).deviation["encoder_self"][1, 1]
    assert np.allclose(array(maps[1]), wanted, atol=1e-3)  # the checkpoint has 16-bit weights


def test_what_is_said_of_the_passes() -> None:
    assert "gets between 58% and 71%, without dropout 69%" in dropout._says(0.1, "x", [0.62, 0.58, 0.71], 0.69)
    assert "gets 58%, without dropout 69%" in dropout._says(0.1, "x", [0.58], 0.69)
    assert "every pass is the same: here “x” gets 69%" in dropout._says(0.0, "x", [0.69, 0.69], 0.69)
    deviation, visible = torch.tensor([[0.1, 0.9], [0.3, 0.2]]), torch.tensor([[True, False], [True, True]])
    assert "by 0.200 on average, and by 0.300 at most" in dropout._scatters(deviation, visible)  # of what is seen
    for passes, said in (("1", "dots: one pass with dropout 0.1"), ("2", "dots: 2 passes with")):
        drawn = figures(open_page("recipe", part="dropout", passes=passes))["dropout"]
        assert said in str(drawn["layout"]["title"]["subtitle"]["text"])


def test_without_label_smoothing_the_target_is_1_and_the_smallest_loss_0() -> None:
    logits = torch.tensor([0.0, 0.0])  # each token has the probability 0.5: a loss of ln 2
    none, some = (
        smoothing._says(smooth(logits, 1, epsilon), epsilon, 1, "x", 0.5) for epsilon in (0.0, 0.1)
    )  # fmt: skip
    assert "target for “x” is 1 and" in none and "the loss is 0.693 nats; the smallest possible is 0." in none
    assert "is 0.950, not 1" in some and "-0" not in none
    assert str(smooth(logits, 1, 0.0).least) == "0"
    little = smoothing._says(smooth(logits, 1, 0.0002), 0.0002, 1, "x", 0.5)
    assert "With ε = 0.0002 the target for “x” is 0.9999, not 1" in little and "smallest possible is 0.0010." in little


def test_the_verdict_on_label_smoothing_by_hand() -> None:
    def runs(*found: tuple[float, float, float]) -> list[dict[str, float]]:
        return [dict(zip(("perplexity", "accuracy", "exact"), one, strict=True)) for one in found]

    plain = runs((1.0, 0.90, 0.5), (1.2, 0.92, 0.6))
    # Perplexity is above its range, right tokens overlap by their ends, whole outputs are below.
    said = smoothing._verdict({"0.0": plain, "0.1": runs((1.3, 0.92, 0.3), (1.5, 0.98, 0.4)), "0.2": plain})
    assert "with ε = 0.1 instead of 0?" in said and "BLEU is not measured" in said
    assert "Perplexity 1.100 (1.000–1.200) → 1.400 (1.300–1.500): yes." in said
    assert "Right tokens 91.00% (90.00–92.00) → 95.00% (92.00–98.00): no clear difference here." in said
    assert "stand for it, 55.00% (50.00–60.00) → 35.00% (30.00–40.00): no." in said


def test_bins_of_all_seeds_are_weighted_and_rare_ones_left_out() -> None:
    found = smoothing.together([[0.95, 1.0, 30], [0.91, 0.5, 10], [0.2, 0.0, 29]])
    assert found == ([pytest.approx((0.95 * 30 + 0.91 * 10) / 40)], [pytest.approx(35 / 40)])
