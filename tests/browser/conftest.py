"""A real browser and a real server, one each for the whole session."""

from __future__ import annotations

import contextlib
import importlib.util
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.browser.find import FLAGS, find_browser, find_nginx, needed
from tests.support.app import loaded
from tests.support.server import WAIT, served
from transformer.inference.pretrained import Pretrained

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, ViewportSize, WebError

if importlib.util.find_spec("playwright") is None:
    collect_ignore_glob = ["test_*.py"]
DESK: ViewportSize = {"width": 1440, "height": 900}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)
            if item.path.name != "test_tour.py":
                item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def browser_path() -> str:
    """The program file of the browser."""
    return needed(find_browser, "a browser")


@pytest.fixture(scope="session")
def nginx_path() -> str:
    """The program file of nginx."""
    return needed(find_nginx, "nginx")


@pytest.fixture(scope="session")
def browser(browser_path: str) -> Iterator[Browser]:
    """Headless Chromium through Playwright."""
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=WAIT)  # Playwright's own 5 s are short for a machine that runs other tests beside
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=browser_path, args=[*FLAGS, "--process-per-site"])
        yield found
        found.close()


@pytest.fixture(scope="session")
def profile(browser: Browser) -> Iterator[BrowserContext]:
    """The one context of all tests, whose first page stays open: so Chromium keeps its process and the scripts it has
    compiled, and a page opens with half of the computing that one in a new context takes."""
    context = browser.new_context(viewport=DESK)
    kept = context.new_page()
    kept.route("**/*", lambda route: route.fulfill(body=""))
    kept.goto("http://localhost/")
    yield context
    context.close()


@contextlib.contextmanager
def without_errors(context: BrowserContext) -> Iterator[BrowserContext]:
    """Fails if a script of a page ends in an error that nobody caught."""
    errors: list[str] = []

    def keep(error: WebError) -> None:
        errors.append(str(error.error))

    context.set_default_timeout(WAIT)
    context.on("weberror", keep)
    yield context
    context.remove_listener("weberror", keep)
    assert errors == []


@pytest.fixture
def context(profile: BrowserContext) -> Iterator[BrowserContext]:
    """A person's browser: 1440x900, without cookies and local storage, where the app keeps what a viewer chose. A page
    may get another size, theme or motion (navigation.py: `sized_page`). What belongs to a whole context (its language,
    its scripts, a second person) needs one of its own: `another`."""
    before = profile.pages
    with without_errors(profile):
        yield profile
        profile.set_offline(False)
        for page in profile.pages:
            if page not in before:
                page.close()
        profile.set_storage_state({"cookies": [], "origins": []})


@pytest.fixture
def silent(context: BrowserContext) -> Iterator[BrowserContext]:
    """The same, whose console has no error and no warning."""
    found: list[str] = []

    def keep(said: ConsoleMessage) -> None:
        found.extend([said.text] if said.type in ("error", "warning") else [])

    context.on("console", keep)
    yield context
    context.remove_listener("console", keep)
    assert found == []


@pytest.fixture
def another(browser: Browser) -> Iterator[Callable[..., BrowserContext]]:
    """Makes the browser of another person, at a desk unless told otherwise."""
    with contextlib.ExitStack() as made:

        def make(**options: Any) -> BrowserContext:
            found = browser.new_context(**{"viewport": DESK, **options})
            made.callback(found.close)
            return made.enter_context(without_errors(found))

        yield make


@pytest.fixture
def phone(another: Callable[..., BrowserContext]) -> BrowserContext:
    """A second person's browser."""
    return another(viewport={"width": 390, "height": 844})


@pytest.fixture
def visitor(another: Callable[..., BrowserContext]) -> BrowserContext:
    """A second person's browser at a desk."""
    return another()


@pytest.fixture(scope="session")
def model() -> Pretrained:
    return loaded("en-de")


@pytest.fixture(scope="session")
def reverse() -> Pretrained:
    return loaded("reverse")


def _running(factory: pytest.TempPathFactory, **environment: str) -> Iterator[str]:
    folder = factory.mktemp("server")
    with served(folder, HEADSCOPE_ROOMS=str(folder / "rooms"), **environment) as app:
        yield app.address


@pytest.fixture(scope="session")
def server(browser_path: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a running app. Needs browser_path, so that no server starts without a browser."""
    yield from _running(tmp_path_factory)


@pytest.fixture(scope="session")
def live_server(browser_path: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of an app whose pages load the engine; those of the others do not."""
    yield from _running(tmp_path_factory, HEADSCOPE_ENGINE="on")
