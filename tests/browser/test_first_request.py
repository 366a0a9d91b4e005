"""The first request that a fresh server gets, for a page that is not the first."""

from pathlib import Path

from playwright.sync_api import BrowserContext, expect

from tests.support.server import served


def test_a_fresh_server_opens_the_page_of_a_link_without_a_dialog(
    browser_path: str, tmp_path: Path, context: BrowserContext
) -> None:
    """Whatever else the console tells of is not Streamlit's search for its server (pages/runtime/streamlit.py)."""
    with served(tmp_path) as app:
        page, missing, errors = context.new_page(), [], []
        page.on("response", lambda answer: missing.append(answer.url) if answer.status == 404 else None)
        page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
        page.goto(f"{app.address}/lab?part=softmax")
        page.wait_for_selector("[data-testid=softmax]")
        expect(page.locator("[role=dialog]")).to_have_count(0)
        assert page.title() == "Lab · Headscope"
        assert sorted(missing) == [f"{app.address}/lab/_stcore/{name}" for name in ("health", "host-config")]
        assert len(errors) == len(missing) and all("404" in text for text in errors)
