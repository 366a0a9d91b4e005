"""The page Lessons: its cards, and printed sheets."""

from tests.support.app import app_test


def test_one_lesson_is_for_who_is_new_and_a_class_is_joined_by_one_field() -> None:
    app = app_test("lessons").run()
    cards = [one.proto.body for one in app.get("html") if one.proto.body.startswith("<img")]
    assert ["New here?" in card for card in cards] == [True, False, False, False]
    assert "Attention in 10 minutes" in cards[0] and all("data:image/webp;base64," in card for card in cards)
    assert [one.label for one in app.text_input] == ["Join a class"]
    starts = [one for one in app.button if str(one.key).startswith("hs-lesson-start-")]
    assert [one.proto.type for one in starts] == ["primary", "secondary", "secondary", "secondary"]
