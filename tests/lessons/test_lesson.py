"""Lesson files: what is read, what is refused with line, field and what is allowed, and the way back to a file."""

import pytest

from transformer.lessons import Computed, LessonError, Link, parse_lesson, to_toml

GOOD = '''
title = "One head"
about = "For a first look."
minutes = 10

[[stop]]
title = "Where it looks"
section = "3.2.1"
view = "?kind=cross&layer=1&head=2&source=ka+lo"
lit = "picture"
text = """
Every row adds up to 1.
view = "not a field"
"""

[stop.question]
kind = "choose"
ask = "Which token has the largest weight in row 2?"
options = {function = "source_tokens"}
answer = {function = "largest_key", kind = "cross", layer = 1, head = 2, row = 2}
why = "The row is a softmax."
cover = true

[[stop]]
title = "Order"
view = "paper"
text = "The steps of attention."
cell = {function = "largest_cell", kind = "cross", layer = 1, head = 2, row = 2}

[stop.question]
kind = "order"
ask = "What comes first?"
options = ["scores", "softmax", "sum"]
'''


def test_a_good_file_is_read() -> None:
    lesson = parse_lesson(GOOD, "one", ("", "paper"))
    first, second = lesson.stops
    assert (lesson.name, lesson.title, lesson.minutes, len(lesson.questions)) == ("one", "One head", 10, 2)
    assert first.view == Link("", (("kind", "cross"), ("layer", "1"), ("head", "2"), ("source", "ka lo")))
    assert first.text.startswith("Every row") and first.lit == "picture" and first.section == "3.2.1"
    assert second.cell == Computed("largest_cell", {"kind": "cross", "layer": 1, "head": 2, "row": 2})
    assert first.question and first.question.cover
    assert first.question.answer == Computed("largest_key", {"kind": "cross", "layer": 1, "head": 2, "row": 2})
    assert second.view == Link("paper") and second.question
    assert second.question.answer == ("scores", "softmax", "sum")


def test_a_lesson_is_written_and_read_again() -> None:
    lesson = parse_lesson(GOOD, "one")
    assert parse_lesson(to_toml(lesson), "one") == lesson


def test_a_link_may_be_a_whole_address() -> None:
    assert Link.parse("http://10.0.0.7:8501/anatomy?zoom=head&layer=2") == Link(
        "anatomy", (("zoom", "head"), ("layer", "2"))
    )
    assert str(Link("anatomy", (("source", "a b"),))) == "anatomy?source=a+b"


BAD = {
    'title = "One head"': ("title = 5", "line 2: title of the lesson: it is 5; it must be a text"),
    "minutes = 10": ("minute = 10", "line 4: minute of the lesson: there is no such field; .*did you mean minutes"),
    'section = "3.2.1"': ('section = "nine"', "line 8: section of stop 1: it is 'nine'; write a section"),
    'lit = "picture"': ('lit = "pictures"', "line 10: lit of stop 1: it is 'pictures'; .*did you mean picture"),
    'view = "paper"': ('view = "papers"', "line 26: view of stop 2: no page .*did you mean paper"),
    'kind = "choose"': ('kind = "guess"', "line 17: kind of the question of stop 1: it is 'guess'; choose"),
    '"largest_key"': ('"os.system"', "line 20: answer of the question of stop 1: no function is named 'os.system'"),
    "row = 2}": ("rows = 2}", "line 20: answer .*largest_key has no argument 'rows'"),
    "layer = 1, head": ('layer = "one", head', "line 20: .*layer of largest_key is 'one'; it must be a whole"),
    ", row = 2}": ("}", "line 20: answer .*largest_key needs the argument row"),
    "cover = true": ("cover = 1", "line 22: cover .*write true or false"),
    '"largest_cell"': ('"weight"', "line 28: cell of stop 2: write a function that gives one: largest_cell"),
    '["scores", "softmax", "sum"]': ('["sum", "sum"]', "line 33: options of the question of stop 2: .*two different"),
    "[[stop]]": ("[[stop", "this is not a TOML file: .*line 6"),
}  # fmt: skip


@pytest.mark.parametrize("old", BAD)
def test_an_error_names_line_field_and_what_is_allowed(old: str) -> None:
    new, message = BAD[old]
    with pytest.raises(LessonError, match=message):
        parse_lesson(GOOD.replace(old, new, 1), "one", ("", "paper", "anatomy"))


def test_a_lesson_has_stops_and_limits() -> None:
    with pytest.raises(LessonError, match="1 to 60 stops"):
        parse_lesson('title = "Empty"', "empty")
    with pytest.raises(LessonError, match="200,000 bytes"):
        parse_lesson("#" * 200_001, "long")
