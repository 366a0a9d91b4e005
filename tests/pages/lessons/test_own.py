"""My lesson: views that are added, what is edited, what is saved and what is loaded."""

import base64
from pathlib import Path
from types import SimpleNamespace

import pytest
from streamlit.testing.v1 import AppTest

from pages.frame import draft
from pages.frame.draft import Draft, DraftStop
from pages.frame.lesson import files
from pages.lessons import own as own_page
from pages.lessons.own import COMPUTED, FILE, as_typed, file_name, from_view, functions_for
from pages.registry import pages
from pages.runtime import session
from pages.runtime.session import KEY
from tests.support.app import address, kept, messages, open_page, page_text, switch_page
from transformer.lessons import Computed, Lesson, LessonError, Link, Question, Stop, parse_lesson, to_toml
from transformer.lessons.answers import FUNCTIONS
from transformer.lessons.lesson import MOST_STOPS
from transformer.lessons.questions import KINDS

PATHS = tuple(page.path for page in pages())
FOLDER = Path(__file__).resolve().parents[3] / "lessons"


def own(app: AppTest) -> Draft:
    found = kept(app, draft.Drafts).current
    assert found is not None
    return found


def to_editor(app: AppTest) -> AppTest:
    app.query_params["part"] = "own"
    app = switch_page(app, "lessons").run()
    assert not app.exception
    return app


def added(**params: str) -> AppTest:
    """A session that added a view of the heads, in the editor."""
    app = open_page(kind="cross", layer="2", head="1", cell="2,3", **params)
    app.session_state["hs-link"] = True
    app.run().button(key="hs-add-to-lesson").click().run()
    assert "This view is stop 1 of your lesson." in page_text(app)
    return to_editor(app)


def press(app: AppTest, what: str, stop: int = 0) -> AppTest:
    app.button(key=f"hs-own-{own(app).stops[stop].id}-{what}").click().run()
    assert not app.exception
    return app


def choose(app: AppTest, what: str, value: str) -> None:
    app.selectbox(key=f"hs-own-{own(app).chosen}-{what}").set_value(value).run()
    assert not app.exception


def write(app: AppTest, what: str, text: str) -> None:
    key = f"hs-own-{own(app).chosen}-{what}"
    fields = [one for one in [*app.text_input, *app.text_area] if one.key == key]
    fields[0].set_value(text).run()
    assert not app.exception


def test_a_view_becomes_a_stop_with_a_computed_question() -> None:
    app = added()
    assert address(app)["part"] == "own"
    write(app, "title", "Look <b>here</b>")
    write(app, "text", "The **second** row.")
    write(app, "section", "3.2.1")
    choose(app, "lit", "picture")
    choose(app, "kind", "choose")
    assert "options of the question of stop 1: this kind of question needs two" in messages(app, notes=True)
    assert app.button(key="hs-own-try").disabled
    write(app, "ask", "Which token?")
    choose(app, "options-how", "source_tokens")
    choose(app, "answer-how", "largest_key")
    app.checkbox[0].check().run()
    (stop,) = own(app).lesson(PATHS).stops
    told = ("Look <b>here</b>", "The **second** row.", "3.2.1", "picture")
    assert (stop.title, stop.text, stop.section, stop.lit) == told
    assert stop.view.page == "" and dict(stop.view.params)["cell"] == "2,3" and "lesson" not in dict(stop.view.params)
    here = {"kind": "cross", "layer": 2, "head": 1, "row": 2, "reading": "predicted"}  # from the view
    assert stop.question == Question(
        "choose", "Which token?", Computed("largest_key", here), Computed("source_tokens"), cover=True
    )
    assert not app.button(key="hs-own-try").disabled and not messages(app, notes=True)


def test_the_cell_that_is_pressed_on_arrival_is_computed_and_edited() -> None:
    app = added()
    cell = lambda: own(app).lesson(PATHS).stops[0].cell  # noqa: E731
    assert cell() is None
    choose(app, "cell-how", "largest_cell")
    here = {"kind": "cross", "layer": 2, "head": 1, "row": 2, "reading": "predicted"}  # from the view
    assert cell() == Computed("largest_cell", here)
    write(app, "cell-row", "1")
    assert cell() == Computed("largest_cell", here | {"row": 1})
    write(app, "cell-layer", "")
    assert "layer" in messages(app, notes=True) and app.button(key="hs-own-try").disabled
    write(app, "cell-layer", "2")
    app.button(key="hs-own-try").click().run()
    switch_page(app, "heads").run()
    row, _column = address(app)["cell"].split(",")
    assert row == "1"  # it was added with a cell of row 2
    app = to_editor(app)
    choose(app, "cell-how", "")
    assert cell() is None and "cell" not in own(app).stops[0].table()


def test_stops_move_and_one_that_was_removed_comes_back() -> None:
    app = added()
    for title in ("B", "C"):
        own(app).stops.append(DraftStop({"title": title, "view": "paper", "text": "x"}))
    app.run()
    write(app, "title", "A")
    order = lambda: "".join(stop.values["title"] for stop in own(app).stops)  # noqa: E731
    press(app, "down", 0)
    assert order() == "BAC"
    press(app, "up", 2)
    assert order() == "BCA"
    press(app, "remove", 1)
    assert order() == "BA"
    app.button(key="hs-own-undo").click().run()
    assert order() == "BCA"
    app.button(key="hs-own-new").click().run()
    assert kept(app, draft.Drafts).current is None
    app.button(key="hs-own-undo").click().run()
    assert order() == "BCA"


def bring(app: AppTest, data: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Load a file as the component of the browser reports it."""
    reported = {"file": {"name": "a.toml", "data": base64.b64encode(data).decode()}}
    state = {KEY: app.session_state[KEY], FILE: reported}
    fake = SimpleNamespace(session_state=state)
    with monkeypatch.context() as patch:
        patch.setattr(own_page, "st", fake)
        patch.setattr(session, "st", fake)
        own_page._load(PATHS)
    app.run()
    assert not app.exception


def test_a_file_is_loaded_and_a_bad_one_refused_with_line_field_and_what_is_allowed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    app = added()
    write(app, "title", "Mine")
    file = (FOLDER / "reading-heads.toml").read_text(encoding="utf-8")
    bring(app, file.replace('lit = "picture"', 'lit = "pictures"', 1).encode(), monkeypatch)
    assert "line 8: lit of stop 1: it is &#x27;pictures&#x27;; choose picture, sentence or parts" in messages(app)
    assert own(app).stops[0].values["title"] == "Mine"
    bring(app, b"\xff\xfe", monkeypatch)
    assert "not a text in UTF-8" in messages(app)
    bring(app, b"#" * 200_001, monkeypatch)
    assert "at most 200,000 bytes" in messages(app)
    bring(app, file.encode(), monkeypatch)
    assert not messages(app) and len(own(app).stops) == 7
    app.button(key="hs-own-undo").click().run()
    assert own(app).stops[0].values["title"] == "Mine"


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.toml")), ids=lambda path: path.stem)
def test_a_shipped_lesson_passes_through_the_editor(path: Path) -> None:
    lesson = parse_lesson(path.read_text(encoding="utf-8"), draft.NAME, PATHS)
    assert draft.read(path.read_text(encoding="utf-8"), PATHS).lesson(PATHS) == lesson


def test_every_kind_of_question_passes_through_the_editor() -> None:
    typed = {"choose": "a", "head": "2.5", "cell": "3,2", "row": "3", "token": "2", "number": 2.5, "text": "because"}
    for kind in KINDS:
        options = ("a", "b") if kind in ("choose", "order") else ()
        answer = {"shape": Computed("shape", {"tensor": "cross.values"}), "order": options, **typed}[kind]
        asked = Question(kind, "?", answer, options, 0.25 if kind == "number" else 0.0, "So.", True)
        lesson = Lesson(draft.NAME, "One", "", 5, (Stop("A", Link("paper"), "B", question=asked),))
        assert draft.read(to_toml(lesson), PATHS).lesson(PATHS) == lesson


def test_numbers_are_typed_with_a_point_or_a_comma_and_others_are_named() -> None:
    stop = DraftStop({"title": "A", "view": "paper", "text": "B"}, {"kind": "number", "ask": "?", "answer": " 0,5 "})
    assert stop.table()["question"]["answer"] == 0.5
    stop.question["answer"] = "half"
    with pytest.raises(LessonError, match="answer of the question of stop 1: it is 'half'; it must be a number"):
        Draft({"title": "One"}, [stop]).lesson(PATHS)
    other = DraftStop(stop.values, {"kind": "text", "ask": "?", "options": "a\nb", "answer": "a", "tolerance": "0.1"})
    assert other.table()["question"] == {"kind": "text", "ask": "?", "answer": "a"}  # without those of other kinds
    other.question["kind"] = "choose"
    assert other.table()["question"]["options"] == ["a", "b"]
    assert as_typed("2", (int, str)) == 2 and as_typed("▁ka", (int, str)) == "▁ka" and as_typed("0,5", (float,)) == 0.5


def test_every_function_is_offered_where_its_answer_fits() -> None:
    offered = {name for kind in KINDS for name in functions_for(kind)} | {"source_tokens", "target_tokens"}
    assert offered == set(FUNCTIONS) == set(COMPUTED) - {""}
    stop = DraftStop({"title": "A", "view": "?kind=cross&layer=3&head=2&cell=4,1&rows=fed", "text": "B"})
    named = {"kind": "cross", "layer": 3, "head": 2, "row": 4, "column": 1, "reading": "fed"}
    assert from_view(stop, "weight") == named
    assert from_view(stop, "translation") == {}  # may be left out


def test_a_lesson_has_at_most_so_many_stops() -> None:
    app = added()
    for _ in range(MOST_STOPS - 1):
        own(app).stops.append(DraftStop({"title": "B", "view": "paper", "text": "x"}))
    app = switch_page(app, "heads").run()
    app.session_state["hs-link"] = True
    app.run().button(key="hs-add-to-lesson").click().run()
    assert "Your lesson is full: it has 60 stops." in page_text(app) and len(own(app).stops) == MOST_STOPS


def test_its_link_is_given_once_the_server_has_the_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HEADSCOPE_LESSONS", str(tmp_path / "lessons"))
    app = added()
    assert "HEADSCOPE_LESSONS" in page_text(app)
    (tmp_path / "lessons").mkdir()
    (tmp_path / "lessons" / "my-lesson.toml").write_text(own(app).text(), encoding="utf-8")
    app.run()
    assert "This server has the lesson." in page_text(app)
    assert any(one.value.endswith("/?lesson=my-lesson") for one in app.code)
    assert isinstance(files(PATHS)["my-lesson"], Lesson)
    write(app, "text", "Another text.")
    assert "The server has another lesson in my-lesson.toml" in page_text(app)


@pytest.mark.parametrize(
    "title, name", [("One Head!", "one-head"), ("주의 집중", "주의-집중"), ("../..", "lesson"), ("", "lesson")]
)
def test_a_title_gives_a_file_name(title: str, name: str) -> None:
    assert file_name(title) == name
