"""A page of another size or theme, and the header's menus of pages."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import BrowserContext, Locator, Page, expect

from pages.registry import pages
from tests.browser.stillness import still


def sized_page(context: BrowserContext, width: int, height: int, **media: Any) -> Page:
    """A new page of this size; media: theme, motion and colours, as `emulate_media` names them."""
    page = context.new_page()
    page.set_viewport_size({"width": width, "height": height})
    page.emulate_media(**media)
    return page


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
