"""The Results page in Chromium."""

from __future__ import annotations

import pytest
import sacrebleu
from playwright.sync_api import BrowserContext, expect

from tests.browser.explorer_page import wait_for_params


def test_a_typed_hypothesis_is_scored_at_once(context: BrowserContext, server: str) -> None:
    page = context.new_page()
    page.goto(f"{server}/results")
    page.wait_for_selector(".hs-bleu-lit")
    references = [page.get_by_label(f"Reference {n}:").input_value() for n in (1, 2, 3)]
    typed = "Sie wohnt drei Jahre in Berlin."
    field = page.get_by_label("Hypothesis:")
    field.fill(typed)
    field.press("Enter")
    wanted = sacrebleu.sentence_bleu(typed, references)
    expect(page.locator(".hs-bleu-product")).to_contain_text(f"{wanted.score:.4f}")
    lit = page.locator(".hs-bleu-texts > div").first.locator(".hs-bleu-lit")
    assert lit.count() == wanted.counts[0]
    page.get_by_text("n = 2", exact=True).click()
    wait_for_params(page, n="2")
    expect(page.locator(".hs-bleu-counts tbody tr")).to_have_count(wanted.totals[1])
    page.close()


@pytest.mark.parametrize("part, points", [("subsets", 5), ("table2", 7)])
def test_figures_of_the_other_parts_are_drawn(context: BrowserContext, server: str, part: str, points: int) -> None:
    page = context.new_page()
    page.goto(f"{server}/results?part={part}")
    name = {"subsets": "bleu-subsets", "table2": "table-2"}[part]
    expect(page.locator(f"[data-testid=figure][data-name={name}] .point")).to_have_count(points)
    page.close()
