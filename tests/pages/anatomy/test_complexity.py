"""The part of the anatomy that compares layers: the table, its conclusions, and the measurement in a thread."""

import dataclasses
import logging
import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from pages.anatomy import complexity, complexity_texts, layer_timing
from pages.anatomy.complexity_texts import as_built, by_table, paths, winners
from pages.anatomy.layer_timing import POINTS, Measurement, key_of
from pages.runtime.job import Started
from pages.runtime.shared import clear_caches
from tests.support.app import MODELS, address, content_test, figures, kept, page_text, written
from tests.support.build import D_MODEL, HEADS, tiny_model, tiny_pretrained
from transformer.cancellation import Stopped
from transformer.cost.complexity import KINDS, Sizes, costs, fewest, multiply_adds, order, products
from transformer.cost.layer_timing import KINDS as MEASURED
from transformer.cost.layer_timing import LENGTHS, ROUNDS, Timing
from transformer.figures import complexity as complexity_figures

pytestmark = pytest.mark.slow  # many cold pages

SENTENCE = "ka lo mi nu"


def start(model: str = "tiny", source: str = SENTENCE, **asked: str) -> AppTest:
    """The part, drawn as a link asks for it."""
    return content_test("anatomy", "compare", model, source, **asked)


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    """Models to draw with, and empty caches before and after."""
    clear_caches()
    tiny = tiny_pretrained()
    MODELS["tiny"] = tiny
    narrow = tiny_model(vocab_size=len(tiny.tokenizer), d_k=13)
    MODELS["narrow"] = dataclasses.replace(tiny, name="narrow", path=Path("narrow"), model=narrow)
    yield
    clear_caches()


def cells(text: str) -> list[list[tuple[bool, str]]]:
    """For each row of the table: whether a cell is framed, and its number."""
    rows = re.findall(r"<tr><th scope=\"row\">.*?</tr>", text.split('class="hs-cx-table"')[1].split("</table>")[0])
    cell = re.compile(r'<td( class="hs-cx-best")?>.*?<b>(.*?)</b>')
    return [[(bool(best), cell_text) for best, cell_text in cell.findall(row)] for row in rows]


def built(text: str) -> list[list[str]]:
    """The cells of each row of the table of the layers as built."""
    rows = text.split('class="hs-cx-built"')[1].split("</table>")[0].split("<tr>")[2:]
    return [re.findall(r"<td>(.*?)</td>", row) for row in rows]


def chosen(app: AppTest) -> dict[str, str]:
    """The part's own options in the address bar."""
    return {name: value for name, value in address(app).items() if name in ("n", "kernel", "restricted")}


def labels(app: AppTest) -> list[str]:
    return [button.label for button in app.button if str(button.key).startswith("hs-layers")]


# -- the table --------------------------------------------------------------------------------------------------------


def test_the_table_has_the_numbers_of_this_sentence_and_model() -> None:
    app = start()
    n = len(MODELS["tiny"].trace(SENTENCE).source_ids)
    sizes = Sizes(n, D_MODEL, HEADS, complexity.KERNEL, complexity.WINDOW)
    layer_costs = costs(sizes)
    in_paper = [cost for cost in layer_costs if cost.kind != "separable"]  # the rows and columns of the paper's table
    columns = ("order", "sequential_order", "path_order")
    shown = cells(written(app))
    assert len(shown) == 4
    for row, cost in zip(shown, in_paper, strict=True):
        numbers = [float(cell_text.replace(",", "")) for _best, cell_text in row]
        assert numbers == pytest.approx([getattr(cost, column) for column in columns], abs=0.05)
        assert [best for best, _number in row] == [cost.kind in fewest(in_paper, column) for column in columns]
    for row, cost in zip(built(written(app)), layer_costs, strict=True):
        assert row[:3] == [f"{number:,}" for number in (cost.multiply_adds, cost.mixing, cost.sequential)]
        assert row[3].startswith(str(cost.path)) and len(row) == 4
    for text in (by_table(sizes), as_built(sizes), winners(layer_costs), paths(sizes)):
        assert text in page_text(app)
    assert f"n = {n} tokens and d = {D_MODEL} numbers" in page_text(app) and not chosen(app)
    assert written(app).count("smallest") == 1 + sum(best for row in shown for best, _number in row)  # and the legend


def test_the_table_has_the_formulas_of_the_paper() -> None:
    table = written(start()).split('class="hs-cx-table"')[1].split("</table>")[0]
    assert [re.sub("<[^>]*>", "", one) for one in re.findall(r"<td.*?<small>(.*?)</small>", table)] == [
        "O(n² · d)", "O(1)", "O(1)", "O(n · d²)", "O(n)", "O(n)", "O(k · n · d²)", "O(1)", "O(logk n)", "O(r · n · d)",
        "O(1)", "O(n / r)",
    ]  # fmt: skip


def test_every_product_is_listed_and_adds_up() -> None:
    app = start("narrow", n="9")
    table = written(app).split('class="hs-cx-products"')[1]
    sizes = Sizes(9, D_MODEL, HEADS, 3, 5, 13)
    bodies = re.findall(r"<tbody>(.*?)</tbody>", table)
    assert len(bodies) == len(KINDS)
    for body, kind in zip(bodies, KINDS, strict=True):
        rows = [re.findall(r"<td>(.*?)</td>", row) for row in re.findall(r"<tr.*?</tr>", body)]
        whole, *each = rows
        assert whole == [f"{multiply_adds(kind, sizes):,}", f"{multiply_adds(kind, sizes, mixing=True):,}"]
        assert len(each) == len(products(kind, sizes))
        for (shapes, count, between), product in zip(each, products(kind, sizes), strict=True):
            factors = [int(factor_text.replace(",", "")) for factor_text in re.findall(r"\d[\d,]*\d|\d", shapes)]
            times = factors[0] if len(factors) == 5 else 1
            rows_, inner, again, columns = factors[-4:]
            assert inner == again and int(count.replace(",", "")) == times * rows_ * inner * columns
            assert between == (count if product.mixes else "–")


def test_n_k_and_r_are_chosen_and_in_the_link() -> None:
    app = start(n="512", kernel="7", restricted="17")
    sizes = Sizes(512, D_MODEL, HEADS, 7, 17)
    assert cells(written(app))[0][0][1] == f"{512 * 512 * D_MODEL:,}" and by_table(sizes) in page_text(app)
    assert chosen(app) == {"n": "512", "kernel": "7", "restricted": "17"}
    app.button_group("anatomy_kernel").set_value(15).run()
    assert cells(written(app))[2][0][1] == f"{order('convolution', dataclasses.replace(sizes, kernel=15)):,}"
    app.number_input("anatomy_n").set_value(2).run()
    assert chosen(app)["n"] == "2" and cells(written(app))[1][2][1] == "2"
    app.button("anatomy_n_own").click().run()
    sentence_tokens = len(MODELS["tiny"].trace(SENTENCE).source_ids)
    assert "n" not in chosen(app) and app.number_input("anatomy_n").value == sentence_tokens
    assert "anatomy_n_own" not in [button.key for button in app.button]
    app.session_state["sentence"] = "ka lo mi nu re sta vu"
    longer = len(MODELS["tiny"].trace("ka lo mi nu re sta vu").source_ids)
    assert app.run().number_input("anatomy_n").value == longer > sentence_tokens  # it follows the sentence again


def test_the_curves_are_the_counts() -> None:
    app = start(n="300")
    for name, count in (("anatomy-orders", order), ("anatomy-multiply-adds", multiply_adds)):
        figure = figures(app)[name]
        for trace, kind in zip(figure["data"], KINDS, strict=True):
            assert trace["name"] == complexity_texts.names()[kind] and 300 in trace["x"] and trace["x"][0] == 2
            assert trace["y"] == [count(kind, Sizes(n, D_MODEL, HEADS, 3, 5)) for n in trace["x"]]
        assert [shape["x0"] for shape in figure["layout"]["shapes"]] == [300, D_MODEL]
    assert max(complexity._lengths(10_000)) == 20_000 and complexity._lengths(12)[0] == 2
    assert len(complexity._lengths(10_000)) < 120  # a payload of a few kilobytes


def test_every_kind_of_layer_and_every_product_has_a_name() -> None:
    assert set(complexity_texts.names()) == set(KINDS) | set(MEASURED) == set(complexity_figures.STROKES)
    assert set(complexity._product_names()) == {one.name for kind in KINDS for one in products(kind, Sizes(3, 4))}


# -- measured on demand; what holds for every background job: tests/pages/runtime/test_job.py


class Slow:
    """Stands in for `measure`: yields a few points, then waits until it may go on."""

    def __init__(self, first: int = 12, error: Exception | None = None) -> None:
        self.first, self.error = first, error
        self.go, self.there = threading.Event(), threading.Event()
        self.asked: list[Sizes] = []

    def __call__(self, made: Any, sizes: Sizes, wanted: Any) -> Iterator[Timing]:
        assert tuple(made) == MEASURED
        self.asked.append(sizes)
        points = [Timing(kind, n, n / 1000, n / 1100, n / 900, 6) for n in LENGTHS for kind in MEASURED]
        for index, point in enumerate(points * ROUNDS):
            if index == self.first:
                self.there.set()
                if self.error:
                    raise self.error
                while wanted() and not self.go.wait(0.01):
                    time.sleep(0.005)
            if not wanted():
                raise Stopped
            yield point


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Iterator[Slow]:
    made = Slow()
    monkeypatch.setattr(layer_timing, "measure", made)
    yield made
    made.go.set()
    for thread in threading.enumerate():
        if thread.name == "headscope-layers":
            thread.join(30)  # or its times would be there for the next test


def begun(app: AppTest, slow: Slow) -> Measurement:
    """The measurement that the button started, after its first points."""
    app.button(key="hs-layers-start").click().run()
    assert slow.there.wait(30)
    measurement = kept(app, Started).jobs[Measurement]
    assert isinstance(measurement, Measurement)
    return measurement


def finished(app: AppTest) -> AppTest:
    kept(app, Started).jobs[Measurement].thread.join(60)
    return app.run()


def test_a_stopped_measurement_keeps_its_results(slow: Slow) -> None:
    app = start()
    assert labels(app) == ["Measure on this machine"] and "anatomy-timing" not in figures(app)
    assert "PyTorch with 1 thread. It takes 5 to 30 seconds." in page_text(app)
    begun(app, slow)
    app.run()
    assert labels(app) == ["Stop"]
    (bar,) = app.get("progress")
    assert bar.proto.value == 100 * 12 // (ROUNDS * POINTS)
    assert bar.proto.text == f"Round 1 of 3, n = 32; d = {D_MODEL}, k = 3, r = 5"
    shown = figures(app)["anatomy-timing"]["data"]
    middles = [line for line in shown if line.get("showlegend") is not False]
    assert [line["name"] for line in middles] == [complexity_texts.names()[kind] for kind in MEASURED]
    assert [len(line["x"]) for line in middles] == [3, 3, 2, 2, 2]
    assert "This is time, not operations" not in page_text(app)  # sentences wait for the end
    app.button(key="hs-layers-stop").click().run()
    finished(app)
    assert labels(app) == ["Measure on this machine"] and not app.get("progress")
    assert "Stopped after 8% of the passes. The results so far are kept." in page_text(app)
    assert figures(app)["anatomy-timing"]["data"] == shown and "This is time, not operations" in page_text(app)
    # Stopped is not forbidden.
    slow.go.set()
    finished(app.button(key="hs-layers-start").click().run())
    assert labels(app) == ["Measure again"] and "Stopped after" not in page_text(app)
    everything = figures(app)["anatomy-timing"]["data"]
    assert [len(line["x"]) for line in everything] == [len(LENGTHS)] * 3 * len(MEASURED)
    assert everything[2]["y"] == pytest.approx([1.0 * n for n in LENGTHS])  # milliseconds
    assert "At n = 8" in page_text(app)


def test_times_are_shown_only_for_their_widths(slow: Slow) -> None:
    app = start()
    begun(app, slow)
    app.button_group("anatomy_kernel").set_value(7).run()
    assert labels(app) == ["Stop"] and "anatomy-timing" not in figures(app)
    slow.go.set()
    finished(app)
    assert "anatomy-timing" not in figures(app) and labels(app) == ["Measure on this machine"]
    app.button_group("anatomy_kernel").set_value(3).run()
    assert "anatomy-timing" in figures(app) and labels(app) == ["Measure again"]
    app.number_input("anatomy_n").set_value(100).run()
    assert "anatomy-timing" in figures(app) and "the measured length nearest to 100" in page_text(app)
    assert "anatomy-timing" in figures(start())  # another viewer has them too
    assert len(slow.asked) == 1


@pytest.mark.parametrize(
    ("state", "said"),
    [
        ({"stage": "waiting", "done": 0}, "Another measurement is running. This one starts when it ends."),
        ({"stage": "stopped", "done": 12}, "You left this part of the page, so the measurement ended after 8%"),
    ],
)
def test_a_measurement_that_waits_or_was_left_says_so(state: dict[str, Any], said: str) -> None:
    app, config = start(), MODELS["tiny"].config
    sizes = Sizes(9, D_MODEL, HEADS, 3, 5, config.d_k, config.d_v)
    kept(app, Started).jobs[Measurement] = SimpleNamespace(
        key=key_of(sizes), sizes=sizes, found=(), running=state["done"] == 0, stopping=False, look=lambda: None,
        stop=lambda: None, **state,
    )  # fmt: skip
    app.run()
    assert said in page_text(app) + "".join(bar.proto.text for bar in app.get("progress"))


def test_an_error_in_the_thread_gives_one_sentence(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(layer_timing, "measure", Slow(error=RuntimeError("no <b>memory")))
    app = start()
    with caplog.at_level(logging.ERROR):
        finished(app.button(key="hs-layers-start").click().run())
    assert "The measurement failed: RuntimeError: no <b>memory." in page_text(app) and "<b>memory" not in written(app)
    assert labels(app) == ["Measure on this machine"] and "RuntimeError" in caplog.text
    assert "anatomy-timing" in figures(app)  # what came before it
