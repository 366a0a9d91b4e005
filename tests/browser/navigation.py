"""Pages of any address, size or theme, the header's menus of pages, files that a page gives, and rooms."""

from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from playwright.sync_api import BrowserContext, Locator, Page, expect

from pages.registry import pages
from tests.browser.stillness import still


def sized_page(context: BrowserContext, width: int, height: int, **media: Any) -> Page:
    """A new page of this size; media: theme, motion and colours, as `emulate_media` names them."""
    page = context.new_page()
    page.set_viewport_size({"width": width, "height": height})
    page.emulate_media(**media)
    return page


def opened_at(context: BrowserContext, address: str, ready: str = "[data-drawn]", **params: str) -> Page:
    """A new page at an address, once `ready` is there."""
    page = context.new_page()
    page.goto(f"{address}?{urlencode(params)}" if params else address)
    page.wait_for_selector(ready)
    return page


def taken(button: Locator) -> tuple[str, bytes]:
    """Name and content of the file that a button gives."""
    with button.page.expect_download() as download:
        button.click()
    return download.value.suggested_filename, Path(download.value.path()).read_bytes()


def saved(where: Page | Locator, menu: str, kind: str) -> tuple[str, bytes]:
    """Name and content of a file from a menu of a picture."""
    where.get_by_test_id(menu).locator("summary").click()
    return taken(where.get_by_test_id(f"{menu}-{kind}"))


def open_room(teacher: Page, address: str) -> str:
    """A new room of a teacher; its code."""
    teacher.goto(f"{address}/lessons")
    teacher.get_by_role("button", name="Open a room").click()
    expect(teacher.locator(".hs-room-code")).to_contain_text("no students yet")
    teacher.wait_for_url("**room=*")
    return parse_qs(urlsplit(teacher.url).query)["room"][0]


def link_to(page: Page, title: str) -> Locator:
    """The header's link to a page, after opening the menu that it is in."""
    header = page.locator(".st-key-hs-header")
    still(page)  # a menu that closes, or a page that comes, would take the link away from under the mouse
    expect(header.locator(".hs-pages")).to_be_visible()
    group = next(listed.group for listed in pages() if listed.title == title)
    wide = header.locator(".hs-pages-wide")
    if not wide.is_visible():
        part, menu = header.locator(".hs-pages-folded"), header.locator(".hs-pages-folded summary")
    else:
        part, menu = wide, wide.locator("summary").filter(has_text=group)
    found = part.get_by_role("link", name=title, exact=True)
    if not found.count():  # in a closed menu
        menu.click()
    expect(found).to_be_visible()
    return found
