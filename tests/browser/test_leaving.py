"""Going to another page while the old page still sends messages. The first message of the new page is delayed, as on a
slow connection: until it arrives, Streamlit's code in the browser names the old page in every message."""

import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, WebSocketRoute, expect
from streamlit.proto.BackMsg_pb2 import BackMsg

from tests.browser.live_training_page import opened, press, settled, stage, step, train, wait_for_step
from tests.browser.navigation import link_to

PRESSED = re.compile(r'"event":"go","value":"(\w*)"')
SLOW = 2_000  # milliseconds in which the picture of a training asks several times


class Line:
    """The connection between browser and server. held: delayed messages of the server, None while it is not slow;
    loses: whether what the browser requests is lost; asked: (page, part of it) of every rerun that the browser
    requested, with Streamlit's names; for a link in the header, the path it leads to."""

    def __init__(self, page: Page) -> None:
        self.held: list[str | bytes] | None = None
        self.loses = False
        self.asked: list[tuple[str, str]] = []
        page.route_web_socket(re.compile("_stcore/stream"), self._connect)

    def _connect(self, browser: WebSocketRoute) -> None:
        server = browser.connect_to_server()
        self.browser, self.server = browser, server
        server.on_message(lambda message: browser.send(message) if self.held is None else self.held.append(message))

        def to_server(message: str | bytes) -> None:
            request = BackMsg.FromString(message if isinstance(message, bytes) else message.encode())
            if request.WhichOneof("type") == "rerun_script":
                pressed = PRESSED.search(
                    "".join(one.json_trigger_value for one in request.rerun_script.widget_states.widgets)
                )
                page = pressed[1] if pressed else request.rerun_script.page_script_hash
                self.asked.append((page, request.rerun_script.fragment_id))
            if not self.loses:
                server.send(message)

        browser.on_message(to_server)

    def slow(self, page: Page, act: Callable[[], Any]) -> None:
        """Delay the answers to what `act` requests."""
        self.held, self.asked = [], []
        act()
        page.wait_for_timeout(SLOW)
        held, self.held = self.held, None
        for message in held:
            self.browser.send(message)

    @property
    def leads_away(self) -> bool:
        """Whether the last request is for a whole page that the browser had not requested before."""
        *before, (page, part) = self.asked
        return not part and page not in {earlier for earlier, _ in before}

    def breaks(self) -> None:
        for end in (self.browser, self.server):
            end.close(code=1012, reason="the line breaks")


@pytest.fixture
def page(context: BrowserContext) -> Page:
    context.set_default_timeout(60_000)
    return context.new_page()


@pytest.fixture
def line(page: Page) -> Line:
    return Line(page)


def trains(page: Page, server: str) -> None:
    """Open the Heads page, then the Training page, and start a long run, which the picture polls."""
    opened(page, server, "?steps=4000")
    link_to(page, "Heads").click()
    there(page, "Heads")
    link_to(page, "Training").click()
    page.wait_for_selector(".st-key-training_train")
    settled(page)
    train(page, 1)


def there(page: Page, title: str, drawn: bool = True) -> None:
    """The page is complete: its title, its header and its picture."""
    expect(page.locator("h1")).to_have_text(title)
    expect(page.locator(".hs-pages-wide")).to_be_visible()
    if drawn:
        page.wait_for_selector("[data-drawn]")
    settled(page)


def test_links_the_back_button_and_a_broken_connection_while_a_picture_polls(
    page: Page, server: str, line: Line
) -> None:
    trains(page, server)
    link_to(page, "Heads").click()  # pressing Train made an entry of the history
    there(page, "Heads")
    link_to(page, "Training").click()
    stage(page, "training")
    wait_for_step(page, 1)
    line.asked = []
    page.wait_for_timeout(SLOW)  # without anyone going anywhere it asks: there is something to hold back
    ((picture, times),) = Counter(line.asked).most_common(1)
    assert times >= 2 and all(picture)

    line.slow(page, lambda: page.evaluate("history.back()"))
    assert line.leads_away, line.asked
    there(page, "Heads")
    line.slow(page, lambda: page.evaluate("history.forward()"))
    assert line.leads_away, line.asked
    expect(page.locator("h1")).to_have_text("Training")
    stage(page, "training")
    wait_for_step(page, 1)

    link_to(page, "Training").click()  # a link that leads nowhere else
    line.asked = []
    page.wait_for_timeout(5_000)  # an ask that the rerun took with it is asked again after three
    assert len([part for _, part in line.asked if part]) >= 2

    line.slow(page, link_to(page, "Lab").click)
    assert line.leads_away, line.asked
    there(page, "Lab")
    link_to(page, "Training").click()
    stage(page, "training")
    wait_for_step(page, 1)

    # Streamlit reconnects by itself; the run has continued, and so does its picture.
    before = step(page)
    line.breaks()
    wait_for_step(page, before + 20)
    expect(page.get_by_test_id("training-run")).to_have_count(1)

    # A click on a link is lost on the way: after ten seconds the picture polls again.
    line.asked = []
    page.wait_for_timeout(3 * SLOW)  # the page that is connected again is drawn first
    asked = Counter(one for one in line.asked if all(one))
    ((picture, _),) = asked.most_common(1)  # the sentence under Train asks less
    line.loses = True
    link_to(page, "Paper").click()
    page.wait_for_timeout(1_000)
    line.loses, line.asked = False, []
    page.wait_for_timeout(2_000)
    assert picture not in line.asked
    page.wait_for_timeout(9_000)
    assert line.asked.count(picture) >= 2

    press(page, "stop")
    stage(page, "done")
    page.get_by_test_id("training-slider").press("Home")
    assert step(page) == 0


def test_links_to_a_trained_model_work_while_another_run_trains(page: Page, server: str, line: Line) -> None:
    trains(page, server)
    press(page, "stop")
    stage(page, "done")
    press(page, "again")
    stage(page, "training", 1)
    after = page.locator("[class*=st-key-hs-after-]")
    line.slow(page, lambda: after.get_by_role("link", name="Lab").click())
    assert line.leads_away, line.asked
    there(page, "Lab")
    page.wait_for_url(re.compile("/lab[?]checkpoint=mine"))
    assert "open=" not in page.url
    link_to(page, "Training").click()
    stage(page, "training", 1)
    line.slow(page, lambda: press(page, "open"))
    assert line.leads_away, line.asked
    there(page, "Heads")
    page.wait_for_url(re.compile("/[?]checkpoint=mine"))


def test_a_delayed_report_does_not_undo_a_change_of_page(page: Page, server: str, line: Line) -> None:
    """The Positions page reports to Python a moment after the last move; here the user leaves before that."""
    page.goto(f"{server}/positions")
    page.wait_for_selector("[data-drawn]")
    settled(page)
    paper = link_to(page, "Paper")

    def act() -> None:
        page.get_by_test_id("positions-length").press("ArrowRight")
        paper.click()

    line.slow(page, act)
    assert line.leads_away, line.asked
    there(page, "Paper", drawn=False)
