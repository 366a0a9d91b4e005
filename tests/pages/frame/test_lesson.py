"""The panel of a lesson: where it goes, what it covers, what it asks, and the way back."""

import html
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Button

import transformer
from pages.frame.state import Move, Session
from pages.frame.styles import PROJECTOR
from pages.runtime.texts import plain_markdown
from tests.support.app import address, kept, messages, open_link, page_text, switch_page, written
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


@pytest.fixture(autouse=True)
def lessons(bundled: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A folder with two lessons, and one that is broken."""
    for name, text in (("one", LESSON), ("typed", TYPED), ("broken", 'title = "Broken"\n[[stop]]\ntitle = 3\n')):
        (tmp_path / f"{name}.toml").write_text(text, encoding="utf-8")
    monkeypatch.setenv("HEADSCOPE_LESSONS", str(tmp_path))
    monkeypatch.setenv("HEADSCOPE_CHECKPOINT", "reverse")
    return tmp_path


def lesson(name: str = "one", stop: str = "1", **params: str) -> AppTest:
    return open_link("heads", lesson=name, stop=stop, **params)


def press(app: AppTest, key: str) -> AppTest:
    return app.button(key=key).click().run()


def send(app: AppTest) -> Button:
    return next(one for one in app.button if str(one.key).endswith("-send"))


def covers(app: AppTest) -> bool:
    """Whether the page's own blocks are not to be seen."""
    return any("visibility: hidden !important" in one.proto.body for one in app.get("html"))


def test_a_link_that_names_only_a_lesson_opens_the_view_of_its_stop() -> None:
    app = lesson()
    assert not messages(app)
    found = address(app)
    assert (found["kind"], found["layer"], found["head"], found["source"]) == ("cross", "2", "1", "abc")
    assert (found["lesson"], found["stop"]) == ("one", "1")
    assert "1 of 3" in page_text(app) and "Section 3.2.1 of the paper" in page_text(app)
    assert "One &lt;b&gt;head&lt;/b&gt;" in written(app)
    assert any("**1**. !\\[x]" in one.value and "![" not in one.value for one in app.markdown)  # fetches nothing
    assert app.button(key="hs-lesson-back").disabled and not app.button(key="hs-lesson-next").disabled


def test_a_link_of_a_worksheet_brings_the_sentence_that_its_stop_leaves_open() -> None:
    found = address(lesson("one", "2", source="cab"))
    assert (found["source"], found["layer"], found["head"], found["stop"]) == ("cab", "1", "2", "2")
    assert address(lesson("one", "2", source="cab", lang="ko")) == found  # the language is the viewer's own
    named = address(lesson("one", "1", source="cab"))  # its view names another
    assert (named["source"], named["layer"]) == ("abc", "2")


def test_a_stop_opens_with_its_own_sentence_or_with_the_one_typed_there(lessons: Path) -> None:
    other = 'view = "?kind=cross&layer=1&head=1&source=decade"\ntext = "Another sentence."\n'
    (lessons / "one.toml").write_text(f'{LESSON}\n[[stop]]\ntitle = "Other"\n{other}', encoding="utf-8")

    def at(app: AppTest, way: str) -> tuple[str, str, str]:
        found = address(press(app, f"hs-lesson-{way}"))
        return found["stop"], found["layer"], found["source"]

    app = lesson()
    assert at(app, "next") == ("2", "1", "abc")  # the second stop names no sentence
    app.text_input(key="source").input("cab").run()
    assert at(app, "back") == ("1", "2", "abc") and at(app, "stop-3") == ("3", "1", "cab")
    assert address(app)["cell"] == "2,1"
    assert at(app, "next") == ("4", "1", "decade") and at(app, "back") == ("3", "1", "cab")
    assert at(app, "back") == ("2", "1", "cab")  # typed there
    assert at(app, "return") == ("2", "1", "abc") and "hs-lesson-return" not in [one.key for one in app.button]
    assert at(app, "back") == ("1", "2", "abc") and at(app, "next") == ("2", "1", "abc")
    assert address(lesson("one", "3"))["source"] == "abc"  # a link that names none
    assert address(lesson("one", "99"))["stop"] == "4"  # beyond the end
    app = lesson()
    app.text_input(key="source").input("bad").run()
    assert at(app, "next") == ("2", "1", "abc") and at(app, "back") == ("1", "2", "bad")


def test_tokens_are_not_translated() -> None:
    app = lesson("one", "2", checkpoint="en-de", source="A new car.", lang="ko")
    assert "new (새로운)" in [plain_markdown(option) for option in app.radio[0].options]  # the app has a text "new"


def test_where_no_stop_names_a_sentence_the_readers_own_stays(lessons: Path) -> None:
    (lessons / "one.toml").write_text(LESSON.replace("&source=abc", ""), encoding="utf-8")
    app = lesson()
    app.text_input(key="source").input("cab").run()
    assert address(press(app, "hs-lesson-next"))["source"] == "cab"


def test_a_covered_view_opens_with_the_answer() -> None:
    app = lesson("one", "2", source="abc", kind="cross", layer="1", head="2")
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


def test_every_question_stands_before_its_view_and_only_there() -> None:
    for stop in ("2", "3"):  # a covered view, an open one
        app = lesson("one", stop)
        assert written(app).count('class="hs-lesson-ask hs-predicts"') == 1
        assert written(press(app, "hs-lesson-fold")).count("hs-lesson-ask") == 1  # the panel is hidden
        assert "hs-lesson-ask" not in written(switch_page(app, "embeddings").run())


@pytest.mark.parametrize(
    ("stop", "mistakes", "answer"),
    [
        ("1", {"": "The field is empty.", "four": "“four” is not a number. Answer with a number such as 4"}, "4,2"),
        ("2", {"  ": "The field is empty.", "big": "“big” has no numbers."}, "1, 1, 1, 1"),
        ("3", {("scores", "mask"): "2 of 3 are chosen."}, ("scores", "mask", "softmax")),
    ],
)
def test_an_answer_counts_by_one_press_and_what_is_none_is_said(
    stop: str, mistakes: dict[str, str], answer: str
) -> None:
    app = lesson("typed", stop)

    def give(value: str | tuple[str, ...]) -> None:
        """No run between the field and the press."""
        fields = (*app.text_input, *app.multiselect)
        next(one for one in fields if str(one.key).startswith("hs-answer-")).set_value(value)
        send(app).click().run()

    for typed, says in mistakes.items():
        give(typed)
        assert says in messages(app, notes=True) and "hs-lesson-verdict" not in written(app)
    give(answer)
    assert "hs-lesson-verdict" in written(app) and not messages(app, notes=True)


@pytest.mark.parametrize(
    ("head", "said"), [("2", "You answered 1 of 2 questions, 1 of them right."), ("1", "Not this time.")]
)
def test_what_is_pressed_in_the_picture_is_an_answer_and_the_right_head_is_shown(head: str, said: str) -> None:
    app = lesson("one", "3", source="abc", kind="cross", layer="1", head=head, cell="2,1")
    send(app).click().run()
    assert said in page_text(app) and ("Right." in page_text(app)) == (head == "2")
    assert (address(app)["layer"], address(app)["head"]) == ("1", "2")


def test_a_stop_presses_the_cell_that_follows_from_the_sentence() -> None:
    app = lesson()
    weights = transformer.load("reverse").trace("abc").cross.weights[1, 0, 1]
    assert address(app)["cell"] == f"2,{int(weights.argmax()) + 1}"
    assert not [one for one in app.button if one.key == "hs-lesson-return"]  # it is the stop's own view


def test_the_header_folds_on_the_run_that_opens_a_lesson() -> None:
    def folds(app: AppTest) -> bool:
        return any(f"@media (max-width: {PROJECTOR}px)" in one.proto.body for one in app.get("html"))

    app = open_link("heads")
    assert not folds(app)
    kept(app, Session).move = Move(Link("", (("lesson", "one"), ("stop", "1"))), "stop")
    assert folds(app.run()) and address(app)["lesson"] == "one"


def test_a_lesson_folds_and_ends() -> None:
    app = lesson()
    press(app, "hs-lesson-fold")
    assert "Every row adds up" not in page_text(app) and app.button(key="hs-lesson-next")
    press(app, "hs-lesson-fold")
    press(app, "hs-lesson-leave")
    assert "lesson" not in address(app) and not [one for one in app.button if one.key == "hs-lesson-next"]
    assert app.button(key="hs-lesson-start-one").label == "Start"  # nothing was answered


def test_the_end_has_every_question_with_both_answers_and_why_until_the_lesson_starts_again(lessons: Path) -> None:
    app = lesson("typed", "1")
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


def test_a_hidden_lesson_keeps_the_view_covered_until_its_question_is_answered() -> None:
    app = lesson("one", "2", source="abc", kind="cross", layer="1", head="2")
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


@pytest.mark.parametrize("name", ["none", "broken", "../one"])
def test_a_lesson_that_is_not_there_is_said(name: str) -> None:
    app = open_link("heads", lesson=name)
    assert "no lesson" in messages(app) and "lesson" not in address(app)


def test_the_page_of_lessons_starts_one_and_names_a_broken_file() -> None:
    app = open_link("lessons")
    text = page_text(app)
    assert "5 minutes, 3 stops, 2 questions" in text
    assert "The lesson broken cannot be read: line 2: view of stop 1: it is missing" in text
    assert app.button(key="hs-lesson-start-one")
