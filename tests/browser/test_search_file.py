"""A text file of the viewer's is searched: it goes into the field, and a longer one is refused in one sentence."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import BrowserContext, expect


def test_a_file_is_chosen_and_a_longer_one_is_refused(context: BrowserContext, server: str, tmp_path: Path) -> None:
    page = context.new_page()
    page.goto(f"{server}/roles?part=search&panel=own")
    chosen = page.get_by_test_id("training-file-input")
    (tmp_path / "mine.txt").write_text("ka lo\nmi vu\n")
    chosen.set_input_files(tmp_path / "mine.txt")
    field = page.locator(".st-key-roles_own_text textarea")
    expect(field).to_have_value("ka lo\nmi vu")
    expect(page.get_by_role("button", name="Search 2 lines")).to_be_visible()
    (tmp_path / "long.txt").write_text("ka\n" * 5_001)
    chosen.set_input_files(tmp_path / "long.txt")
    expect(page.locator(".hs-message").first).to_contain_text(
        "The file cannot be searched: the text has 5,001 lines; at most 5,000 are searched, so leave out 1."
    )
    expect(field).to_have_value("ka lo\nmi vu")
    page.close()
