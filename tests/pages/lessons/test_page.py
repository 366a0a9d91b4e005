"""The page Lessons: its cards, and printed sheets."""

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


def test_one_lesson_is_for_who_is_new_and_a_class_is_joined_by_one_field() -> None:
    app = app_test("lessons").run()
    cards = [one.proto.body for one in app.get("html") if one.proto.body.startswith("<img")]
    assert ["New here?" in card for card in cards] == [True, False, False, False]
    assert "Attention in 10 minutes" in cards[0] and all("data:image/webp;base64," in card for card in cards)
    assert [one.label for one in app.text_input] == ["Join a class"]
    starts = [one for one in app.button if str(one.key).startswith("hs-lesson-start-")]
    assert [one.proto.type for one in starts] == ["primary", "secondary", "secondary", "secondary"]
