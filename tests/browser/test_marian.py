"""A folder of Marian's in a real browser: a weight in the explorer, and numbers of the anatomy computed again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest

import transformer
from tests.support.marian import marian_folder
from tests.support.server import start, stop

pytest.importorskip("playwright")
from playwright.sync_api import BrowserContext, expect

from tests.browser.anatomy_page import Anatomy
from tests.browser.explorer_page import hover, weight_in

SOURCE, TARGET = "ka lo minu", "zen pol"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Swish, embeddings left as they are, positions in halves, three tables and a bias on every logit."""
    folder = tmp_path_factory.mktemp("marian") / "theirs"
    marian_folder(folder, "apart-untied")
    return folder


@pytest.fixture(scope="module")
def marian_server(browser_path: str, folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    log = tmp_path_factory.mktemp("server") / "log.txt"
    process, address = start(log, HEADSCOPE_CHECKPOINT=str(folder))
    yield address
    stop(process)


def test_the_explorer_shows_the_weights_of_a_marian_model(
    context: BrowserContext, marian_server: str, folder: Path
) -> None:
    trace = transformer.load(folder).trace(SOURCE, TARGET)
    page = context.new_page()
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    for kind, rows in (("cross", "fed"), ("decoder_self", "fed")):
        asked = {"source": SOURCE, "target": TARGET, "kind": kind, "layer": 1, "head": 2, "rows": rows}
        page.goto(f"{marian_server}/?{urlencode(asked)}")
        page.wait_for_selector("[data-drawn]")
        weights = trace.attention(kind).weights[0, 1]
        for row, column in ((0, 0), (2, 1)):
            text = hover(page, kind, row, column)
            assert weight_in(text) == pytest.approx(float(weights[row, column]), abs=0.5001e-4), text
    assert "<pad>" in hover(page, "decoder_self", 0, 0).split("→")[0] and not problems
    expect(page.get_by_text("Source · en")).to_be_visible()


def test_the_anatomy_counts_the_tables_of_each_side(context: BrowserContext, marian_server: str, folder: Path) -> None:
    model = transformer.load(folder).model
    drawing = Anatomy(context.new_page(), marian_server, source=SOURCE, target=TARGET)
    texts = {}
    for place in ("source", "output"):  # the stack that is not looked at is closed
        drawing.go(zoom="model", place=place)
        told = drawing.element.evaluate("({ anatomy }) => anatomy.scene.map(({ key, text }) => [key, text])")
        texts.update({key: text for key, text in told if text})
    assert model.output_matrix is not None and model.output_bias is not None and model.target_embedding is not None
    output_count = model.output_matrix.numel() + model.output_bias.numel()
    assert texts["count:output"] == f"{output_count:,} own parameters"
    for side, table in (("source", model.embedding), ("target", model.target_embedding)):
        assert texts[f"count:{side}"].split()[0] == f"{table.weight.numel():,}"  # and not "shared table: ..."
    assert not drawing.problems


def test_the_number_panel_recomputes_the_number_of_the_trace(context: BrowserContext, marian_server: str) -> None:
    drawing = Anatomy(context.new_page(), marian_server, source=SOURCE, target=TARGET)
    for place, step, words in (
        ("encoder.ff", "activation", ["x · σ(x)", "exp(−x)"]),
        ("source", "times", ["unchanged"]),
        ("target", "plus", ["cos of"]),
        ("output", "logits", ["row of W", "bias"]),
    ):
        column = 0 if place == "output" else 15  # of 24: in the second half, the cosines
        drawing.go(zoom="number", place=place, step=step, row=1, col=column, t=1)
        assert (drawing.at["zoom"], drawing.at["row"], drawing.at["col"]) == ("number", 1, column)
        texts = drawing.element.evaluate(
            "({ anatomy }) => anatomy.scene.filter((item) => item.text).map((item) => item.text).join(' | ')"
        )
        assert "computed here" in texts and "they differ" not in texts
        assert all(word in texts for word in words), texts
    assert not drawing.problems
