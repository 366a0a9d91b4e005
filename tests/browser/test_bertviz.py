"""What the explorer says of a cell, in a real Chromium, against the number that BertViz's page holds for it."""

from __future__ import annotations

import itertools
import random

import pytest

from tests.support.bertviz import SENTENCE, as_read, bertviz
from transformer.inference.pretrained import Pretrained
from transformer.tracing.trace import KINDS

pytest.importorskip("playwright")
from playwright.sync_api import BrowserContext, expect

from tests.browser.explorer_page import cell, click_head, exact, hover, opened, wait_for_params, weight_in

HEADS, CELLS = 3, 4  # of each kind; tooltips of 36 cells, and the arithmetic of every second one


def test_thirty_six_weights_equal_those_of_bertviz(context: BrowserContext, server: str, model: Pretrained) -> None:
    trace = model.trace(SENTENCE)
    expected = bertviz(trace)
    page = opened(context, server, source=SENTENCE, rows="fed")  # BertViz labels decoder rows by the token fed in
    page.wait_for_selector(f'[data-drawn^="{trace.id}"]')
    draw = random.Random(14)
    large = 0
    for kind in KINDS:
        page.get_by_test_id(f"kind-{kind}").click()
        weights, left, right = expected[kind].weights, as_read(expected[kind].left), as_read(expected[kind].right)
        places = draw.sample(list(itertools.product(*map(range, weights.shape[:2]))), HEADS)
        for layer, head in places:
            click_head(page, kind, layer, head)
            wait_for_params(page, kind=kind, layer=str(layer + 1), head=str(head + 1))
            exact(page)
            cells = draw.sample(list(itertools.product(*map(range, weights.shape[2:]))), CELLS - 1)
            row = draw.randrange(len(left))
            cells.append((row, int(weights[layer, head, row].argmax())))  # most cells are nearly 0; this one is not
            for number, (query, key) in enumerate(cells):
                wanted = float(weights[layer, head, query, key])
                text = hover(page, kind, query, key)
                assert weight_in(text) == pytest.approx(wanted, abs=0.5001e-4), (kind, layer, head, query, key, text)
                assert left[query] in text and right[key] in text, text
                large += wanted > 0.1
                if number % 2:
                    page.get_by_test_id(f"head-{kind}").click(position=cell(page, kind, query, key))
                    wait_for_params(page, cell=f"{query + 1},{key + 1}")
                    line = page.get_by_test_id("cell")
                    expect(line.get_by_test_id("cell-check")).to_be_visible()
                    assert weight_in(line.inner_text()) == pytest.approx(wanted, abs=0.5001e-4), line.inner_text()
    assert large >= len(KINDS) * HEADS
    assert not page.problems  # type: ignore[attr-defined]
