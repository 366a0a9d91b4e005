"""The panel of a lesson: where it goes, what it covers, what it asks, and the way back."""

from __future__ import annotations

import html
from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Button

import transformer
from pages.frame.state import Move, Session
from pages.frame.styles import PROJECTOR
from pages.runtime.texts import plain_markdown
from tests.support.app import ROOT, address, app_test, kept, messages, page_text, switch_page, written
from transformer.lessons import Link

LESSON = """
title = "One <b>head</b>"
about = "For a first look."
minutes = 5

[[stop]]
title = "Where it looks"
section = "3.2.1"
view = "?kind=cross&layer=2&head=1&source=abc"
cell = {function = "largest_cell", kind = "cross", layer = 2, head = 1, row = 2}
lit = "picture"
text = "Every row adds up to **1**. ![x](http://elsewhere/x.png) ![y][z]"

[[stop]]
title = "One row"
view = "?kind=cross&layer=1&head=2"

text = "Predict it."
[stop.question]
kind = "choose"
ask = "Which token has the largest weight in row 2?"
options = {function = "source_tokens"}
answer = {function = "largest_key", kind = "cross", layer = 1, head = 2, row = 2}
why = "It is the darkest cell."
cover = true

[[stop]]
title = "A cell"
view = "?kind=cross&layer=1&head=2&cell=2,1"
text = "Press it."
[stop.question]
kind = "head"
ask = "Press layer 1, head 2."
answer = "1.2"
"""


@pytest.fixture
def lesson(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., AppTest]:
    (tmp_path / "one.toml").write_text(LESSON, encoding="utf-8")
    (tmp_path / "broken.toml").write_text('title = "Broken"\n[[stop]]\ntitle = 3\n', encoding="utf-8")
    monkeypatch.setenv("HEADSCOPE_LESSONS", str(tmp_path))
    monkeypatch.setenv("HEADSCOPE_CHECKPOINTS", str(ROOT / "checkpoints"))
    monkeypatch.setenv("HEADSCOPE_CHECKPOINT", "reverse")
    return lambda page="heads", **params: app_test(page, **params).run()


def press(app: AppTest, key: str) -> AppTest:
    return app.button(key=key).click().run()


def send(app: AppTest) -> Button:
    return next(one for one in app.button if str(one.key).endswith("-send"))


def covers(app: AppTest) -> bool:
    """Whether the page's own blocks are not to be seen."""
    return any("visibility: hidden !important" in one.proto.body for one in app.get("html"))


def test_a_link_that_names_only_a_lesson_opens_the_view_of_its_stop(lesson: Callable[..., AppTest]) -> None:
    app = lesson(lesson="one", stop="1")
    assert not app.exception and not messages(app)
    found = address(app)
    assert (found["kind"], found["layer"], found["head"], found["source"]) == ("cross", "2", "1", "abc")
    assert (found["lesson"], found["stop"]) == ("one", "1")
    assert "1 of 3" in page_text(app) and "Section 3.2.1 of the paper" in page_text(app)
    assert "One &lt;b&gt;head&lt;/b&gt;" in written(app)
    assert any("**1**. !\\[x]" in one.value and "![" not in one.value for one in app.markdown)  # fetches nothing
    assert app.button(key="hs-lesson-back").disabled and not app.button(key="hs-lesson-next").disabled


def test_a_link_of_a_worksheet_brings_the_sentence_that_its_stop_leaves_open(lesson: Callable[..., AppTest]) -> None:
    found = address(lesson(lesson="one", stop="2", source="cab"))
    assert (found["source"], found["layer"], found["head"], found["stop"]) == ("cab", "1", "2", "2")
    assert address(lesson(lesson="one", stop="2", source="cab", lang="ko")) == found  # the language is the viewer's own
    named = address(lesson(lesson="one", stop="1", source="cab"))  # its view names another
    assert (named["source"], named["layer"]) == ("abc", "2")


def test_a_stop_opens_with_its_own_sentence_or_with_the_one_typed_there(
    lesson: Callable[..., AppTest], tmp_path: Path
) -> None:
    other = 'view = "?kind=cross&layer=1&head=1&source=decade"\ntext = "Another sentence."\n'
    (tmp_path / "one.toml").write_text(f'{LESSON}\n[[stop]]\ntitle = "Other"\n{other}', encoding="utf-8")

    def at(app: AppTest, way: str) -> tuple[str, str, str]:
        found = address(press(app, f"hs-lesson-{way}"))
        return found["stop"], found["layer"], found["source"]

    app = lesson(lesson="one", stop="1")
    assert at(app, "next") == ("2", "1", "abc")  # the second stop names no sentence
    app.text_input(key="source").input("cab").run()
    assert at(app, "back") == ("1", "2", "abc") and at(app, "stop-3") == ("3", "1", "cab")
    assert address(app)["cell"] == "2,1"
    assert at(app, "next") == ("4", "1", "decade") and at(app, "back") == ("3", "1", "cab")
    assert at(app, "back") == ("2", "1", "cab")  # typed there
    assert at(app, "return") == ("2", "1", "abc")
    assert at(app, "back") == ("1", "2", "abc") and at(app, "next") == ("2", "1", "abc")
    assert address(lesson(lesson="one", stop="3"))["source"] == "abc"  # a link that names none


def test_a_sentence_typed_where_none_is_named_goes_on_until_one_is(
    lesson: Callable[..., AppTest], tmp_path: Path
) -> None:
    view = 'view = "?kind=cross&layer=1&head=1"\ntext = "The same sentence."\n'
    more = f'[[stop]]\ntitle = "More"\n{view}'
    (tmp_path / "one.toml").write_text(f"{LESSON}\n{more}", encoding="utf-8")
    app = lesson(lesson="one", stop="1")
    app.text_input(key="source").input("bad").run()
    assert address(press(app, "hs-lesson-next"))["source"] == "abc"  # the first stop names one
    app.text_input(key="source").input("cab").run()
    assert address(press(app, "hs-lesson-stop-4"))["source"] == "cab"
    assert address(press(app, "hs-lesson-stop-1"))["source"] == "bad"
    assert address(press(app, "hs-lesson-return"))["source"] == "abc"


def test_where_no_stop_names_a_sentence_the_readers_own_stays(lesson: Callable[..., AppTest], tmp_path: Path) -> None:
    (tmp_path / "one.toml").write_text(LESSON.replace("&source=abc", ""), encoding="utf-8")
    app = lesson(lesson="one", stop="1")
    app.text_input(key="source").input("cab").run()
    assert address(press(app, "hs-lesson-next"))["source"] == "cab"


def test_a_covered_view_opens_with_the_answer(lesson: Callable[..., AppTest]) -> None:
    app = lesson(lesson="one", stop="2", source="abc", kind="cross", layer="1", head="2")
    assert "Predict first" in page_text(app)
    trace = transformer.load("reverse").trace("abc")
    right = trace.source_labels[int(trace.cross.weights[0, 1, 1].argmax())]
    assert app.button(key="hs-lesson-next").proto.type == "secondary" and send(app).proto.type == "primary"
    tokens = "".join(f"<li>{html.escape(label)}</li>" for label in trace.target_out_labels)
    assert f'<ol class="hs-lesson-output">{tokens}</ol>' in written(app)  # which row is the second one?
    assert list(app.radio[0].options) == [plain_markdown(one) for one in trace.source_labels]
    app.radio[0].set_value(plain_markdown(right))
    send(app).click().run()
    text = page_text(app)
    assert "Predict first" not in text and "Right. It is the darkest cell." in text
    assert "Right answer" in text and not app.radio and "hs-lesson-output" not in written(app)
    assert app.button(key="hs-lesson-next").proto.type == "primary"
    labels = [app.button(key=f"hs-lesson-stop-{number}").label for number in (1, 2, 3)]
    assert labels == ["1. Where it looks", "2. One row ✓ answered", "3. A cell"]
    app.text_input(key="source").input("cba").run()
    assert app.radio and "Predict first" not in page_text(app) and not covers(app)  # asks again, and covers nothing


def test_every_question_stands_before_its_view_and_only_there(lesson: Callable[..., AppTest]) -> None:
    for stop in ("2", "3"):  # a covered view, an open one
        app = lesson(lesson="one", stop=stop)
        assert written(app).count('class="hs-lesson-ask hs-predicts"') == 1
        assert written(press(app, "hs-lesson-fold")).count("hs-lesson-ask") == 1  # the panel is hidden
        assert "hs-lesson-ask" not in written(switch_page(app, "embeddings").run())


def test_tokens_are_not_translated(lesson: Callable[..., AppTest]) -> None:
    app = lesson(lesson="one", stop="2", checkpoint="en-de", source="A new car.", lang="ko")
    assert "new (새로운)" in [plain_markdown(option) for option in app.radio[0].options]  # the app has a text "new"


TYPED = """
title = "Typed"
about = "Answers that are typed, or put in order."
minutes = 1

[[stop]]
title = "A number"
view = "?kind=cross"
text = "Count."
[stop.question]
kind = "number"
ask = "How many?"
answer = 4
tolerance = 0.5
why = "Because."

[[stop]]
title = "A shape"
view = "?kind=cross"
text = "Look."
[stop.question]
kind = "shape"
ask = "Which?"
answer = {function = "shape", tensor = "cross.values"}

[[stop]]
title = "Order"
view = "?kind=cross"
text = "Sort."
[stop.question]
kind = "order"
ask = "What comes first?"
options = ["scores", "mask", "softmax"]
answer = ["scores", "mask", "softmax"]
"""


@pytest.mark.parametrize(
    ("stop", "mistakes", "answer"),
    [
        ("1", {"": "The field is empty.", "four": "“four” is not a number. Answer with a number such as 4"}, "4,2"),
        ("2", {"  ": "The field is empty.", "big": "“big” has no numbers."}, "1, 1, 1, 1"),
    ],
)
def test_what_is_typed_is_answered_by_one_press_and_what_is_no_answer_is_said(
    lesson: Callable[..., AppTest], tmp_path: Path, stop: str, mistakes: dict[str, str], answer: str
) -> None:
    (tmp_path / "typed.toml").write_text(TYPED, encoding="utf-8")
    app = lesson(lesson="typed", stop=stop)

    def write(text: str) -> None:
        next(one for one in app.text_input if str(one.key).startswith("hs-answer-")).set_value(text)

    assert not send(app).disabled
    for typed, says in mistakes.items():
        write(typed)
        send(app).click().run()
        assert says in messages(app, notes=True) and "hs-lesson-verdict" not in written(app)
    write(answer)
    send(app).click().run()  # no run between the field and the press
    assert "hs-lesson-verdict" in written(app) and not messages(app, notes=True)


def test_an_order_that_is_not_complete_is_said(lesson: Callable[..., AppTest], tmp_path: Path) -> None:
    (tmp_path / "typed.toml").write_text(TYPED, encoding="utf-8")
    app = lesson(lesson="typed", stop="3")
    app.multiselect[0].set_value(["scores", "mask"])
    send(app).click().run()
    assert "2 of 3 are chosen." in messages(app, notes=True)
    app.multiselect[0].set_value(["scores", "mask", "softmax"])
    send(app).click().run()
    assert "Right." in page_text(app)


def test_what_is_pressed_in_the_picture_is_an_answer(lesson: Callable[..., AppTest]) -> None:
    app = lesson(lesson="one", stop="3", source="abc", kind="cross", layer="1", head="2", cell="2,1")
    send(app).click().run()
    assert "Right." in page_text(app)
    assert "You answered 1 of 2 questions, 1 of them right." in page_text(app)
    assert page_text(app).count("layer 1, head 2") == 1 + 2 + 3  # asked; both answers; the same in the notes at the end


def test_a_stop_presses_the_cell_that_follows_from_the_sentence(lesson: Callable[..., AppTest]) -> None:
    app = lesson(lesson="one", stop="1")
    weights = transformer.load("reverse").trace("abc").cross.weights[1, 0, 1]
    assert address(app)["cell"] == f"2,{int(weights.argmax()) + 1}"
    assert not [one for one in app.button if one.key == "hs-lesson-return"]  # it is the stop's own view


def test_the_header_folds_on_the_run_that_opens_a_lesson(lesson: Callable[..., AppTest]) -> None:
    def folds(app: AppTest) -> bool:
        return any(f"@media (max-width: {PROJECTOR}px)" in one.proto.body for one in app.get("html"))

    app = lesson()
    assert not folds(app)
    kept(app, Session).move = Move(Link("", (("lesson", "one"), ("stop", "1"))), "stop")
    assert folds(app.run()) and address(app)["lesson"] == "one"


def test_who_wanders_off_is_offered_the_way_back(lesson: Callable[..., AppTest]) -> None:
    app = lesson(lesson="one", stop="1")
    assert not [one for one in app.button if one.key == "hs-lesson-return"]
    app.text_input(key="source").input("cab").run()
    assert address(app)["lesson"] == "one"
    press(app, "hs-lesson-return")
    assert address(app)["source"] == "abc" and not [one for one in app.button if one.key == "hs-lesson-return"]


def test_a_lesson_folds_and_ends(lesson: Callable[..., AppTest]) -> None:
    app = lesson(lesson="one", stop="1")
    press(app, "hs-lesson-fold")
    assert "Every row adds up" not in page_text(app) and app.button(key="hs-lesson-next")
    press(app, "hs-lesson-fold")
    press(app, "hs-lesson-leave")
    assert "lesson" not in address(app) and not [one for one in app.button if one.key == "hs-lesson-next"]
    assert app.button(key="hs-lesson-start-one").label == "Start"  # nothing was answered


def test_the_end_has_every_question_with_both_answers_and_why_until_the_lesson_starts_again(
    lesson: Callable[..., AppTest], tmp_path: Path
) -> None:
    (tmp_path / "typed.toml").write_text(TYPED, encoding="utf-8")
    app = lesson(lesson="typed", stop="1")
    app.text_input(key=next(one.key for one in app.text_input if str(one.key).startswith("hs-answer"))).set_value("7")
    send(app).click().run()
    press(app, "hs-lesson-next")
    press(app, "hs-lesson-next")
    assert not [one for one in app.button if one.key == "hs-lesson-next"]
    for _at in range(2):
        text = page_text(app)
        assert "You answered 1 of 3 questions, 0 of them right." in text
        assert "✗ 1. A number How many? Your answer: 7 Right answer: 4 Because." in text
        if not _at:
            press(app, "hs-lesson-end")  # to the page of lessons, which keeps them
    assert "lesson" not in address(app)
    assert app.button(key="hs-lesson-start-typed").label == "Start again"
    press(app, "hs-lesson-start-typed")
    assert "hs-lesson-verdict" not in written(app) and address(app)["stop"] == "1"


def test_the_head_that_would_have_been_right_is_shown(lesson: Callable[..., AppTest]) -> None:
    app = lesson(lesson="one", stop="3", source="abc", kind="cross", layer="1", head="1", cell="2,1")
    send(app).click().run()
    assert "Not this time." in page_text(app)
    assert (address(app)["layer"], address(app)["head"]) == ("1", "2")


def test_a_hidden_lesson_keeps_the_view_covered_until_its_question_is_answered(
    lesson: Callable[..., AppTest],
) -> None:
    app = lesson(lesson="one", stop="2", source="abc", kind="cross", layer="1", head="2")
    press(app, "hs-lesson-fold")
    assert "Predict first" in page_text(app) and covers(app) and app.radio  # the question stands where the view will be
    assert app.button(key="hs-lesson-fold").label == "Show the lesson"
    press(app, "hs-lesson-fold")
    app.radio[0].set_value(app.radio[0].options[0])
    next(one for one in app.button if str(one.key).endswith("-send")).click().run()
    press(app, "hs-lesson-fold")
    assert "Predict first" not in page_text(app) and not covers(app)
    assert app.button(key="hs-lesson-fold").label == "Show the lesson"
    switch_page(app, "lessons").run()
    press(app, "hs-lesson-start-one")
    assert "Every row adds up" in page_text(switch_page(app, "heads").run())  # a lesson that starts is shown


@pytest.mark.parametrize("params", [{"lesson": "none"}, {"lesson": "broken"}, {"lesson": "../one"}])
def test_a_lesson_that_is_not_there_is_said(lesson: Callable[..., AppTest], params: dict[str, str]) -> None:
    app = lesson(**params)
    assert not app.exception and "no lesson" in messages(app) and "lesson" not in address(app)


def test_a_stop_beyond_the_end_is_the_last(lesson: Callable[..., AppTest]) -> None:
    assert address(lesson(lesson="one", stop="99"))["stop"] == "3"


def test_the_page_of_lessons_starts_one_and_names_a_broken_file(lesson: Callable[..., AppTest]) -> None:
    app = lesson("lessons")
    text = page_text(app)
    assert "5 minutes, 3 stops, 2 questions" in text
    assert "The lesson broken cannot be read: line 2: view of stop 1: it is missing" in text
    assert app.button(key="hs-lesson-start-one")
