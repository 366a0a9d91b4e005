"""The page Lessons: printed sheets."""

from __future__ import annotations

from streamlit.testing.v1 import AppTest

from tests.support.app import address, app_test


def downloads(app: AppTest) -> dict[str, str]:
    return {one.proto.label: one.proto.url for one in app.get("download_button")}


def test_sheets_are_made_when_their_menu_is_open() -> None:
    app = app_test("lessons", checkpoint="en-de", source="The dog sees the cat.").run()
    assert not app.exception and not downloads(app)
    app.session_state["hs-lesson-print-reading-heads"] = True
    app.run()
    assert not app.exception and list(downloads(app)) == ["Worksheet", "Answers"]
    assert address(app)["source"] == "The dog sees the cat."
