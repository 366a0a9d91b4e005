"""The Heads page in a browser: open it, choose heads, read cells."""

import re
from urllib.parse import parse_qs, urlsplit

from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.canvas import click_tile, read_cell
from tests.browser.navigation import opened_at

SENTENCE = "The dog sees the cat."


def opened(context: BrowserContext, server: str, **params: str) -> Page:
    """A page on which the picture is drawn."""
    return opened_at(context, f"{server}/", source=params.pop("source", SENTENCE), **params)


def click_head(page: Page, kind: str, layer: int | str, head: int | str) -> None:
    click_tile(page.get_by_test_id(f"grid-{kind}"), layer, head)


def hover(page: Page, kind: str, row: int, column: int) -> str:
    """What the tooltip says over a cell, once the exact numbers are there."""
    return read_cell(page.get_by_test_id(f"head-{kind}"), row, column)


def weight_in(text: str) -> float:
    """The exact weight a tooltip or a cell's line shows: four decimals, "1.2e-6" if smaller, "0" if masked."""
    return float(re.findall(r"(?<![\w.,-])(?:0\.\d{4}|1\.0000|\d\.\de-\d+|0)(?![\w.])", text)[-1])


def params_of(page: Page) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(page.url).query).items()}


def wait_for_params(page: Page, **wanted: str | None) -> None:
    """Wait until the link has these parameters; None: not this one."""
    page.wait_for_function(
        "wanted => { const p = new URLSearchParams(location.search);"
        " return Object.entries(wanted).every(([k, v]) => p.get(k) === v) }",
        arg=wanted,
    )


def exact(page: Page) -> None:
    """Until the chosen head's exact numbers have arrived: its badge can be computed then."""
    expect(page.get_by_test_id("badge-recomputed").first).to_have_attribute("data-ok", "true")
