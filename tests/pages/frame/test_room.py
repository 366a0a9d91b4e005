"""A class: what the teacher shows reaches the members, and what they send reaches the teacher."""

import re
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from streamlit.testing.v1 import AppTest

import transformer
from pages.frame import draft, room
from pages.frame.room import as_csv, bins
from pages.frame.state import Move, Session
from pages.runtime import cookies
from pages.runtime import rooms as runtime_rooms
from tests.pages.frame.test_lesson import LESSON, covers, press
from tests.support.app import ROOT, address, app_test, kept, messages, page_text, state_of, switch_page, written
from transformer.lessons import Link
from transformer.rooms import Rooms, StoreError
from transformer.rooms.store import MemberAnswer


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Rooms]:
    (tmp_path / "one.toml").write_text(LESSON, encoding="utf-8")
    monkeypatch.setenv("HEADSCOPE_LESSONS", str(tmp_path))
    monkeypatch.setenv("HEADSCOPE_CHECKPOINTS", str(ROOT / "checkpoints"))
    monkeypatch.setenv("HEADSCOPE_CHECKPOINT", "reverse")
    monkeypatch.setenv("HEADSCOPE_ROOMS", str(tmp_path / "rooms.sqlite"))
    monkeypatch.setattr(room.WATCH, "sit", lambda *_: None)  # no server runs that could be told
    runtime_rooms.rooms.cache_clear()
    yield runtime_rooms.rooms()
    runtime_rooms.rooms().close()
    runtime_rooms.rooms.cache_clear()


Opened = tuple[AppTest, str]


@pytest.fixture
def teacher(store: Rooms) -> Opened:
    app = press(app_test("lessons").run(), "hs-room-open")
    assert not app.exception and not messages(app)
    return app, address(app)["room"]


def cards(app: AppTest, kind: str) -> list[str]:
    """The texts of the cards of a question that are right, or one's own."""
    return re.findall(rf'<li class="[^"]*{kind}[^"]*"[^>]*><span>(.*?)</span>', written(app))


def student(code: str) -> AppTest:
    app = app_test(room=code).run()
    assert not app.exception
    return app


def keys(app: AppTest) -> list[str]:
    return [str(one.key) for one in (*app.button, *app.text_input, *app.radio)]


def opened_menu(app: AppTest, name: str) -> AppTest:
    """The page after a menu of the room has been opened, or something in it."""
    app.session_state[f"hs-room-{name}"] = True
    return app.run()


def follow(app: AppTest, follows: bool) -> None:
    app.toggle(key="hs-room-follow").set_value(follows).run()


def type_source(app: AppTest, text: str) -> None:
    app.text_input(key="source").set_value(text).run()


def answer(app: AppTest, text: str) -> None:
    """The member answers the question of the second stop."""
    next(one for one in app.radio if str(one.key).startswith("hs-answer-one-2")).set_value(text)
    next(one for one in app.button if str(one.key).startswith("hs-answer") and one.key.endswith("-send")).click().run()


@pytest.fixture
def at_heads(teacher: Opened) -> Opened:
    """The teacher shows the page of heads."""
    switch_page(teacher[0], "heads").run()
    return teacher


@pytest.fixture
def at_lesson(teacher: Opened) -> Opened:
    """The teacher shows the first stop of a lesson."""
    press(teacher[0], "hs-lesson-start-one")
    switch_page(teacher[0], "heads").run()
    return teacher


@pytest.fixture
def at_question(at_lesson: Opened) -> Opened:
    """The teacher shows the question of the lesson's second stop."""
    press(at_lesson[0], "hs-lesson-next")
    return at_lesson


def test_the_teachers_view_is_the_view_of_the_room(at_heads: Opened, store: Rooms) -> None:
    app, code = at_heads
    type_source(app, "cab")
    found = store.find(code)
    assert found is not None and found.path == "" and found.params["source"] == "cab"
    assert "room" not in found.params
    step = found.step
    press(app, "hs-big")  # the size of text is each person's own
    assert (again := store.find(code)) is not None and again.step == step


def test_the_page_of_lessons_does_not_move_a_class_that_has_seen_another(teacher: Opened, store: Rooms) -> None:
    app, code = teacher
    assert (found := store.find(code)) is not None and found.path == "lessons"
    press(app, "hs-lesson-start-one")
    switch_page(app, "heads").run()
    before = store.find(code)
    assert before is not None and before.params["lesson"] == "one"
    switch_page(app, "lessons").run()
    assert "The class does not see this page." in messages(app, notes=True) and store.find(code) == before
    app.session_state["hs-lesson-print-one"] = True
    assert "Each button saves a file (HTML)." in page_text(app.run()) and "The QR codes lead to" in page_text(app)
    assert store.find(code) == before


def test_a_lesson_that_the_teacher_writes_stays_with_the_teacher(at_heads: Opened, store: Rooms) -> None:
    app, code = at_heads
    app.session_state["hs-link"] = True
    app.run().button(key="hs-add-to-lesson").click().run()
    view = kept(app, draft.Drafts).current.stops[0].values["view"]
    assert "source=" in view and "room=" not in view
    kept(app, Session).move = Move(Link("", (("lesson", draft.NAME), ("stop", "1"))), "stop")
    app.run()
    assert address(app)["lesson"] == draft.NAME
    found = store.find(code)
    assert found is not None and not {"lesson", "stop"} & found.params.keys() and "source" in found.params


def test_a_member_sees_it_follows_looks_around_and_comes_back(at_heads: Opened, store: Rooms) -> None:
    app, code = at_heads
    type_source(app, "cab")
    member = student(code)
    assert (address(member)["source"], address(member)["room"]) == ("cab", code)
    type_source(app, "bca")
    member.button(key="hs-big").click().run()  # any run; a server asks for one
    assert address(member)["source"] == "bca"
    follow(member, False)
    type_source(member, "mine")
    type_source(app, "abc")
    member.run()
    assert address(member)["source"] == "mine" and [one.follows for one in store.here(code)] == [False]
    follow(member, True)
    assert address(member)["source"] == "abc" and state_of(member).view.big
    follow(member, False)
    type_source(member, "mine")
    press(app, "hs-room-call")
    member.run()
    assert address(member)["source"] == "abc" and member.toggle(key="hs-room-follow").value
    type_source(member, "mine")  # on the same page: the teacher's next step comes
    assert [one.follows for one in store.here(code)] == [True]
    switch_page(member, "positions").run()  # who goes to another page follows no longer
    assert not member.toggle(key="hs-room-follow").value and [one.follows for one in store.here(code)] == [False]
    assert address(member)["source"] == "mine"


def test_a_question_is_asked_answered_and_revealed(at_question: Opened, store: Rooms) -> None:
    app, code = at_question
    member = student(code)
    assert address(member)["stop"] == "2"
    assert "The class predicts first" in page_text(app) and "when the answer is revealed" in page_text(member)
    answer(member, "b")
    assert "hs-lesson-next" not in keys(member)  # the teacher moves on
    assert cards(member, "hs-mine") == ["b"] and not cards(member, "hs-right")
    assert "Your teacher will reveal what is right." in page_text(member)
    assert "1 of 1 have answered" in page_text(member)
    [given] = store.answers(code, "one 2")
    assert given.answer == "b"
    app.run()
    assert app.button(key="hs-lesson-stop-2").label == "2. One row"
    options = "<span>a</span></li>"
    assert "1 of 1 have answered" in page_text(app) and options in written(app)
    app.toggle(key="hs-room-live").set_value(True).run()
    assert "<span>b</span><b>1</b>" in written(app) and "<span>a</span><b>0</b>" in written(app)
    press(app, "hs-room-reveal")
    assert "The class predicts first" not in page_text(app) and "It is the darkest cell." in page_text(app)
    member.run()
    assert "when the answer is revealed" not in page_text(member) and "It is the darkest cell." in page_text(member)
    for one in (app, member):  # the teacher's list, too
        assert len(cards(one, "hs-right")) == 1 and "<span>c</span><b>0</b>" in written(one)  # that nobody chose
        assert one.button(key="hs-lesson-stop-2").label == "2. One row ✓ revealed"
    verdict = "Right." if given.verdict else "Not this time."
    assert verdict in page_text(member) and verdict not in page_text(app)


def test_the_right_answer_stays_that_of_the_sentence_that_was_asked_about(at_question: Opened) -> None:
    app, code = at_question
    member, silent = student(code), student(code)
    answer(member, "b")
    press(app.run(), "hs-room-reveal")
    model = transformer.load("reverse")

    def right(sentence: str) -> str:
        trace = model.trace(sentence)
        return trace.source_labels[int(trace.cross.weights[0, 1, 1].argmax())]

    assert (asked := right("abc")) != right("dce")
    screens = (app, member, silent)
    for one in screens:
        assert cards(one.run(), "hs-right") == [asked] and "The sentence abc" not in page_text(one)
    type_source(app, "dce")  # the others follow
    for one in screens:
        text = page_text(one.run())
        assert address(one)["source"] == "dce"
        assert cards(one, "hs-right") == [asked] and "The sentence abc" in text and not one.exception
    type_source(app, "")  # there is no second row
    for one in screens:
        assert cards(one.run(), "hs-right") == [asked]
    assert cards(member, "hs-mine") == ["b"] and "<span>b</span><b>1</b>" in written(app)


def test_a_member_who_hides_the_lesson_sees_its_question_when_called_back(at_lesson: Opened, store: Rooms) -> None:
    app, code = at_lesson
    member = student(code)
    press(member, "hs-lesson-fold")
    type_source(app, "cab")
    assert "Every row adds up" not in page_text(member.run())  # another sentence is no news of the panel
    press(app, "hs-lesson-next")
    assert "Which token has the largest weight" in page_text(member.run())
    press(member, "hs-lesson-fold")
    assert "when the answer is revealed" in page_text(member) and covers(member)
    follow(member, False)
    assert "Predict it." not in page_text(member)
    press(app, "hs-room-call")
    member.run()
    assert "Predict it." in page_text(member) and "Which token has the largest weight" in page_text(member)
    assert "Your teacher has called you back." in messages(member)
    follow(member, False)  # sent by a browser that has not drawn the call yet
    assert member.toggle(key="hs-room-follow").value and [one.follows for one in store.here(code)] == [True]
    press(member, "hs-lesson-fold")
    press(app, "hs-lesson-fold")
    assert "The class predicts first" in page_text(app)
    press(press(app, "hs-lesson-fold"), "hs-room-reveal")
    assert "It is the darkest cell." in page_text(member.run()) and "called you back" not in messages(member)


def test_names_views_and_answers_reach_the_teacher_as_text(at_heads: Opened, store: Rooms) -> None:
    app, code = at_heads
    member = student(code)
    member.text_input(key="hs-room-first-name").set_value("Lee").run()  # who came by a link is asked, once
    assert "hs-room-first-name" not in keys(member)
    member.session_state["hs-room-menu"] = True
    assert member.run().text_input(key="hs-room-name").value == "Lee"
    assert (
        member.text_input(key="hs-room-name").set_value("<i>Kim</i>").run().text_input(key="hs-room-name").value
        == "<i>Kim</i>"
    )
    member.session_state["hs-room-menu"] = False
    opened_menu(member, "view")
    follow(member, False)
    type_source(member, "found")
    member.text_area(key="hs-room-note").set_value("<b>look</b>").run()
    press(member, "hs-room-send")
    assert [one.value for one in member.toast] == ["Your view was sent to the teacher."]
    [find] = store.finds(code)
    assert (find.name, find.text, find.params["source"]) == ("<i>Kim</i>", "<b>look</b>", "found")
    assert "Kim" not in written(app.run())  # the class may see this screen
    press(app, "hs-room-put-away")
    assert not [one for one in app.run().button if one.key == "hs-room-finds"]
    store.send(code, store.here(code)[0].id, "", {"source": "more"}, "")
    assert [one.label for one in app.run().button if one.key == "hs-room-finds"] == ["Views: 1"]  # the new one
    press(app, "hs-room-finds")
    app.run()  # AppTest reruns no page from a fragment
    assert ">&lt;b&gt;look" in written(app)
    app.toggle(key="hs-room-names").set_value(True).run()
    assert ">&lt;i&gt;Kim&lt;/i&gt;: &lt;b&gt;look" in written(app)
    assert "&lt;i&gt;Kim&lt;/i&gt; (looks around)" in written(app) and "&lt;b&gt;look&lt;/b&gt;" in written(app)
    press(app, f"hs-room-project-{find.number}")
    note = "A student&#x27;s view: “&lt;b&gt;look&lt;/b&gt;”"
    assert address(app)["source"] == "found" and note in written(app)
    assert (shown := store.find(code)) is not None and shown.params["source"] == "found"
    assert shown.params["find"] == str(find.number) and "find" not in address(app)
    [one] = store.here(code)
    opened_menu(app, "class")
    press(app, f"hs-room-unname-{one.id}")
    assert store.here(code)[0].name == ""
    press(app, f"hs-room-unfind-{find.number}")
    assert [find.params["source"] for find in store.finds(code)] == ["more"]
    press(app, f"hs-room-remove-{one.id}")
    member.run()
    assert "The teacher has removed you from the room" in messages(member) and "room" not in address(member)


def test_a_students_view_keeps_the_teachers_place_in_the_lesson_and_shows_its_note(
    at_lesson: Opened, store: Rooms
) -> None:
    app, code = at_lesson
    member = student(code)
    type_source(member, "cab")
    opened_menu(member, "view")
    member.text_area(key="hs-room-note").set_value("look").run()
    press(member, "hs-room-send")
    press(app, "hs-lesson-next")
    assert covers(app)
    [find] = store.finds(code)
    assert find.params["stop"] == "1"
    press(app, "hs-room-finds")
    app.run()
    press(app, f"hs-room-project-{find.number}")
    note = "A student&#x27;s view: “look”"
    for screen in (app, member.run()):
        assert (address(screen)["stop"], address(screen)["source"]) == ("2", "cab")
        assert note in written(screen) and not covers(screen)
    press(app, "hs-lesson-return")
    assert address(app)["stop"] == "2"
    for screen in (app, member.run()):
        assert note not in written(screen) and covers(screen)


def test_a_member_who_changed_the_view_has_a_way_back_to_the_teachers(at_question: Opened) -> None:
    app, code = at_question
    member = student(code)
    shown = address(member)["source"]
    back = "hs-room-back"
    assert covers(member) and back not in keys(member)
    type_source(member, "cab")
    press(member, back)
    assert address(member)["source"] == shown and back not in keys(member)
    switch_page(member, "positions").run()  # which gives nothing away
    assert not covers(member) and back in keys(member)
    press(member, back)
    assert covers(member) and member.toggle(key="hs-room-follow").value
    follow(member, False)
    press(app, "hs-lesson-back")
    assert address(member.run())["stop"] == "2"  # the teacher's view of before: the same as the member's own
    press(member, back)
    assert address(member)["stop"] == "1" and back not in keys(member)


def test_the_list_by_name_is_a_table_without_names_until_they_are_asked_for(at_lesson: Opened, store: Rooms) -> None:
    app, code = at_lesson
    first, second = (store.join(code, name=name).id for name in ("<i>Kim</i>", ""))
    store.answer(code, first, "one 2", "b", True)
    store.answer(code, second, "one 2", "a", False)
    opened_menu(app, "class")
    assert "<tr><th>Person 1</th><td>b</td></tr><tr><th>Person 2</th><td>a</td></tr>" in written(app)
    store.reveal(code, kept(app, Session).seat.secret, "one 2")
    app.run()
    assert "<tr><th>Person 1</th><td>✓ b</td></tr><tr><th>Person 2</th><td>✗ a</td></tr>" in written(app)
    app.toggle(key="hs-room-answer-names").set_value(True).run()
    assert "<tr><th>&lt;i&gt;Kim&lt;/i&gt;</th><td>✓ b</td></tr>" in written(app)
    app.selectbox(key="hs-room-unanswer").select_index(0).run()
    press(app, "hs-room-unanswer-now")
    assert [given.answer for given in store.answers(code)] == ["a"]


def test_what_the_room_kept_over_a_reload_is_shown_at_every_stop(at_question: Opened, store: Rooms) -> None:
    app, code = at_question
    member = student(code)
    [one] = store.here(code)
    store.answer(code, one.id, "one 2", "b", False)
    press(app, "hs-room-reveal")
    press(app, "hs-lesson-back")
    kept(member, Session).answers = None  # as a new session, which recalls them at stop 1
    assert address(member.run())["stop"] == "1"
    press(app, "hs-lesson-next")
    assert cards(member.run(), "hs-mine") == ["b"]


def test_leaving_and_the_end_are_said(teacher: Opened, store: Rooms) -> None:
    app, code = teacher
    leaves, stays = student(code), student(code)
    leaves.session_state["hs-room-menu"] = True
    press(leaves.run(), "hs-room-leave")
    assert "room" not in address(leaves) and not messages(leaves) and len(store.here(code)) == 1
    app.session_state["hs-room-class"] = True
    press(app.run(), "hs-room-end")
    assert "End the room? Nobody has answered a question in it." in messages(app, notes=True)
    assert store.find(code) is not None
    press(app, "hs-room-keep")
    assert "End the room?" not in messages(app, notes=True)
    press(press(app, "hs-room-end"), "hs-room-end-now")
    assert f"The room {code} has ended; its answers are deleted." in messages(app) and "room" not in address(app)
    stays.run()
    assert f"The room {code} has ended." in messages(stays) and "room" not in address(stays)
    assert "source" in address(stays)  # the view stays


def test_before_the_start_a_member_sees_the_code_and_no_lessons(teacher: Opened) -> None:
    app, code = teacher
    member = student(code)
    assert f"<b>Room {code}</b>" in written(member) and "Your teacher's view will appear here." in page_text(member)
    assert not [one for one in member.button if one.key and one.key.startswith("hs-lesson-start")]
    press(app, "hs-lesson-start-one")
    switch_page(app, "heads").run()
    member.run()
    assert "hs-room-waits" not in written(switch_page(member, "heads").run()) and address(member)["lesson"] == "one"


def test_what_a_room_has_revealed_stays_revealed_when_it_has_ended(
    at_question: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    app, code = at_question
    member = student(code)
    assert covers(member) and covers(app)
    press(app, "hs-room-reveal")
    member.run()
    assert "2. One row ✓ revealed" in [one.label for one in app.button]
    app.session_state["hs-room-class"] = True
    press(press(app.run(), "hs-room-end"), "hs-room-end-now")
    for one in (app, member.run()):
        assert "room" not in address(one) and address(one)["stop"] == "2"
        assert not covers(one) and "Right answer" in page_text(one)
        assert not [button for button in one.button if button.key == "hs-lesson-return"]  # it is the stop's own view
    sent = {cookies.REVEALED: kept(member, cookies.Changes).values[cookies.REVEALED]}
    right = cards(member, "hs-right")
    monkeypatch.setattr(type(room.st.context), "cookies", sent)
    reloaded = app_test(**address(member)).run()  # of a student who had not answered
    assert not covers(reloaded) and cards(reloaded, "hs-right") == right
    lesson_start = press(switch_page(app, "lessons").run(), "hs-lesson-start-one")
    assert covers(press(switch_page(lesson_start, "heads"), "hs-lesson-next"))  # asked again


def test_while_the_store_does_not_answer_the_page_works_and_the_seat_stays(
    at_heads: Opened, store: Rooms, monkeypatch: pytest.MonkeyPatch
) -> None:
    app, code = at_heads
    member = student(code)
    app.session_state["hs-room-class"] = True

    def gone(*_: object) -> Rooms:
        raise StoreError("the store is gone")

    with monkeypatch.context() as patch:
        for module in (room, runtime_rooms):
            patch.setattr(module, "rooms", gone)
        type_source(app, "cab")
        press(app, "hs-room-call")
        follow(member, False)
        fresh = app_test(room=code).run()
        for one in (app, member, fresh):
            assert not one.exception and "The store is gone." in messages(one)
        assert (address(app)["source"], address(app)["room"], address(member)["room"]) == ("cab", code, code)
        assert not room.GUESSED._wrong
    assert not app.run().exception and not messages(app)
    assert (found := store.find(code)) is not None and found.params["source"] == "cab"
    member.run()
    assert address(member)["source"] == "cab"


def test_wrong_codes_of_a_class_behind_one_address_slow_down_only_wrong_codes(
    store: Rooms, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited = list[float]()
    guessed = runtime_rooms.Guesses()
    monkeypatch.setattr(room, "GUESSED", guessed)
    monkeypatch.setattr(room, "time", SimpleNamespace(sleep=waited.append, monotonic=time.monotonic))
    app = app_test("lessons").run()
    for _ in range(2):  # again and again the same sentence
        app.text_input(key="hs-room-code").set_value("no")
        press(app, "hs-room-join")
        assert "There is no open room &#x27;NO&#x27;; ask your teacher for the code." in messages(app)
    for _ in range(40):
        guessed.count("")  # of this machine, as all are here
    press(app, "hs-room-join")
    assert waited == [0, 0, runtime_rooms.REFUSAL_DELAY]
    code, secret = store.open()
    member = store.join(code, name="Lee").id
    app.text_input(key="hs-room-code").set_value(code.lower())
    press(app, "hs-room-join")
    assert address(app)["room"] == code and not messages(app)
    app.text_input(key="hs-room-first-name").set_value("Kim").run()
    assert [one.name for one in store.here(code)] == ["Lee", "Kim"]
    for seat in (f"t.{secret}", f"m.{member}"):  # the teacher and a member, who reload
        sent = {cookies.SEAT: f"{code}.{seat}"}
        monkeypatch.setattr(type(room.st.context), "cookies", sent)
        again = student(code)
        assert not messages(again) and kept(again, Session).seat.teaches == seat.startswith("t")
    assert len(waited) == 3 and len(store.here(code)) == 2


@pytest.mark.parametrize(
    "answers, bars",
    [
        ([], []),
        (["b", "a", "b"], [("b", 2), ("a", 1)]),
        (["2", "1,000", "2"], [("2", 2), ("1,000", 1)]),
        ([str(n) for n in (0, 1, 2, 3, 4, 5, 6, 7, 8, 16)],
         [("0 – 2", 2), ("2 – 4", 2), ("4 – 6", 2), ("6 – 8", 2), ("8 – 10", 1), ("10 – 12", 0), ("12 – 14", 0),
          ("14 – 16", 1)]),
    ],
)  # fmt: skip
def test_answers_are_counted_and_many_numbers_become_a_histogram(
    answers: list[str], bars: list[tuple[str, int]]
) -> None:
    assert bins(answers) == bars


def test_a_spreadsheet_takes_no_answer_for_a_formula() -> None:
    rows = [MemberAnswer("m", "=1+1", "one 2", "a, b", True), MemberAnswer("m", "", "one 3", "-1", None)]
    written = as_csv(rows, lambda question, answer: (question, answer)).decode("utf-8-sig")
    assert written.splitlines() == [
        "question,name,answer,right", "one 2,'=1+1,\"a, b\",yes", "one 3,,'-1,",
    ]  # fmt: skip
