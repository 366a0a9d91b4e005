"""Modules of frontend/src in an empty page, as they lie there: a browser loads them by itself, without Node."""

from pathlib import Path

from playwright.sync_api import Page, Route

SOURCES = Path(__file__).parents[2] / "frontend" / "src"
ORIGIN = "http://headscope.test"


def open_modules(page: Page, *paths: str, html: str = "<!doctype html><meta charset=utf-8><body></body>") -> None:
    """Open a page whose window has everything that these modules export. paths: as "anatomy/view.js"."""

    def answer(route: Route) -> None:
        path = route.request.url.removeprefix(f"{ORIGIN}/")
        if path:
            route.fulfill(path=SOURCES / path, content_type="text/javascript")
        else:
            route.fulfill(body=html, content_type="text/html")

    page.route(f"{ORIGIN}/**", answer)
    page.goto(f"{ORIGIN}/")
    load = "async (paths) => { for (const path of paths) Object.assign(window, await import(path)); }"
    page.evaluate(load, [f"/{path}" for path in paths])
