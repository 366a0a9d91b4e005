"""Without a connection: what a person is told, what stays, and that it goes on by itself."""

import re
from collections.abc import Callable

from playwright.sync_api import BrowserContext, Locator, Page, WebSocketRoute, expect

from tests.browser.explorer_page import params_of, wait_for_params
from tests.browser.navigation import link_to, open_room
from tests.browser.stillness import still

SENTENCE = "No connection to the server. What you typed stays here"
KEPT = "The answers that you gave are kept."
DIALOG = """() => {
  const look = () => document.querySelector("[data-testid=stDialog]") && (window.hadDialog = true);
  new MutationObserver(look).observe(document.body, { childList: true, subtree: true });
}"""


def notice(page: Page) -> Locator:
    return page.locator(".hs-lost")


def cut_off(page: Page) -> Callable[[], None]:
    """Call before the page is opened: an open connection of its own to the server. Returns what ends it, and lets none
    come about until what that returns is called."""
    lines: list[WebSocketRoute] = []
    gone = False

    def connect(browser: WebSocketRoute) -> None:
        if gone:
            browser.close(code=1012, reason="no server")
            return
        lines.append(browser)
        browser.connect_to_server()

    page.route_web_socket(re.compile("_stcore/stream"), connect)
    page.route(re.compile("_stcore/"), lambda route: route.abort() if gone else route.continue_())

    def cut(cut: bool = True) -> None:
        nonlocal gone
        gone = cut
        while cut and lines:
            lines.pop().close(code=1012, reason="the server is gone")

    return cut


def test_a_student_without_network_is_told_and_comes_back(
    context: BrowserContext, phone: BrowserContext, server: str
) -> None:
    teacher = context.new_page()
    code = open_room(teacher, server)
    link_to(teacher, "Heads").click()
    teacher.wait_for_selector("[data-testid=explorer][data-drawn]")
    student = phone.new_page()
    student.goto(f"{server}/?room={code}")
    wait_for_params(student, room=code, source=params_of(teacher)["source"])
    still(student)
    expect(notice(student)).to_be_empty()
    assert not notice(student).is_visible()
    phone.set_offline(True)
    expect(notice(student)).to_contain_text(SENTENCE)
    expect(notice(student)).to_contain_text(KEPT)
    box = notice(student).bounding_box()
    assert box is not None and box["x"] >= 0 and box["x"] + box["width"] <= 390 and box["height"] < 200
    link_to(teacher, "Positions").click()
    phone.set_offline(False)
    expect(notice(student)).to_be_empty()
    expect(student.locator("h1.hs-spoken")).to_have_text("Positions")


def test_a_server_that_is_gone_is_told_in_the_readers_language_and_no_dialog_stays(
    context: BrowserContext, server: str
) -> None:
    page = context.new_page()
    cut = cut_off(page)
    page.goto(f"{server}/?lang=ko")
    page.wait_for_selector("[data-testid=explorer][data-drawn]")
    still(page)
    field = page.locator(".st-key-hs-sentence input").first
    field.fill("I am not sent yet.")
    page.evaluate(DIALOG)
    cut()
    expect(notice(page)).to_contain_text("서버와 연결이 끊어졌습니다.")
    expect(notice(page)).not_to_contain_text("보낸 답")  # in no room
    page.wait_for_function("window.hadDialog")  # Streamlit's own
    expect(page.get_by_test_id("stDialog")).to_have_count(0)
    assert field.input_value() == "I am not sent yet."
    cut(False)
    expect(notice(page)).to_be_empty()
    still(page)
    assert field.input_value() == "I am not sent yet."
    field.press("Enter")
    wait_for_params(page, source="I am not sent yet.")
