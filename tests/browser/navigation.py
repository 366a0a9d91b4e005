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
    group = next(listed.group for listed in pages() if listed.title == title)
    if not page.locator(".st-key-hs-page-links").is_visible():
        menu = header.locator("[class*=st-key-hs-page-menu]").get_by_role("button")
    elif group:
        menu = header.locator("[class*=st-key-hs-group]").get_by_role("button").filter(has_text=group)
    else:
        return header.get_by_test_id("stPageLink").get_by_role("link", name=title, exact=True)
    found = page.get_by_test_id("stPopoverBody").get_by_role("link", name=title, exact=True)
    if not found.count():
        menu.first.click()
    expect(found).to_be_visible()
    return found
