"""Rooms: codes and secrets, following, answers, finds, limits; several processes share one file."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from transformer.rooms import store
from transformer.rooms.store import Find, Given, Member, RoomError, Rooms, read_code


class Clock:
    time = 1_000_000.0

    def __call__(self) -> float:
        return self.time


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def rooms(tmp_path: Path, clock: Clock) -> Iterator[Rooms]:
    opened = Rooms(tmp_path / "folder" / "rooms.sqlite", clock)
    yield opened
    opened.close()


def test_the_code_lets_in_and_only_the_secret_steers(rooms: Rooms) -> None:
    code, secret = rooms.open()
    assert len(code) == 4 and set(code) <= set(store.LETTERS) and code not in secret
    assert rooms.steers(code, secret) and not rooms.steers(code, secret[:-1]) and not rooms.steers("XXXX", secret)
    member = rooms.join(code, name="Kim")
    for steer in (
        lambda wrong: rooms.show(code, wrong, "lab", {}),
        lambda wrong: rooms.call_back(code, wrong),
        lambda wrong: rooms.reveal(code, wrong, "q"),
        lambda wrong: rooms.remove(code, wrong, member.id),
        lambda wrong: rooms.remove_name(code, wrong, member.id),
        lambda wrong: rooms.remove_answer(code, wrong, member.id, "q"),
        lambda wrong: rooms.remove_find(code, wrong, 1),
        lambda wrong: rooms.end(code, wrong),
    ):
        for wrong in ("", code, member.id):
            with pytest.raises(RoomError, match="only the teacher who opened the room"):
                steer(wrong)
    assert rooms.find(code) is not None and rooms.member(code, member.id) == Member(member.id, "Kim", True)


def test_a_step_is_counted_when_members_must_see_something_new(rooms: Rooms) -> None:
    code, secret = rooms.open()
    for count, params in enumerate(({"source": "Hi."}, {"source": "Hi.", "layer": "2"}), start=1):
        for _ in range(2):  # the same view again is nothing new
            rooms.show(code, secret, "lab", params)
        room = rooms.find(code)
        assert room is not None and (room.step, room.path, room.params) == (count, "lab", params)
    rooms.join(code)
    assert rooms.steps([code, "XXXX"]) == {code: 2}
    rooms.call_back(code, secret)
    rooms.reveal(code, secret, "q2")
    rooms.reveal(code, secret, "q1")
    room = rooms.find(code)
    assert room is not None and room.step == 5 and room.revealed == {"q1", "q2"}


def test_members_roam_and_are_called_back(rooms: Rooms) -> None:
    code, secret = rooms.open()
    one, two = rooms.join(code), rooms.join(code, name="  Ada \n Lovelace  ")
    assert (one.name, two.name) == ("", "Ada Lovelace") and one.id != two.id and one.follows
    rooms.follow(code, two.id, False)
    assert [member.follows for member in rooms.here(code)] == [True, False]
    assert rooms.join(code, two.id, "Another") == Member(two.id, "Ada Lovelace", False)  # the same one, after a reload
    rooms.call_back(code, secret)
    assert [member.follows for member in rooms.here(code)] == [True, True]
    rooms.rename(code, one.id, "x" * 500)
    rooms.remove_name(code, secret, two.id)
    assert [member.name for member in rooms.here(code)] == ["x" * store.LONGEST_NAME, ""]
    rooms.remove(code, secret, two.id)
    assert rooms.member(code, two.id) is None and len(rooms.here(code)) == 1


def test_who_was_not_seen_lately_is_not_counted(rooms: Rooms, clock: Clock) -> None:
    code, _ = rooms.open()
    one, two = rooms.join(code), rooms.join(code)
    clock.time += store.HERE
    assert rooms.here(code) == [one, two]
    rooms.see([(code, two.id)])
    clock.time += 1
    assert rooms.here(code) == [two]
    assert rooms.join(code, one.id) == one and rooms.here(code) == [one, two]


def test_the_first_answer_of_a_member_counts(rooms: Rooms) -> None:
    code, secret = rooms.open()
    one, two = rooms.join(code, name="Kim"), rooms.join(code)
    rooms.answer(code, one.id, "l:2", "a  head\n", True)
    rooms.answer(code, two.id, "l:2", "0.5", False)
    rooms.answer(code, one.id, "l:2", "another", False)
    rooms.answer(code, one.id, "l:3", "x" * 500, None)
    asked = [Given(one.id, "Kim", "l:2", "a head", True), Given(two.id, "", "l:2", "0.5", False)]
    assert rooms.answers(code, "l:2") == asked
    assert rooms.answers(code) == [*asked, Given(one.id, "Kim", "l:3", "x" * store.LONGEST_TEXT, None)]
    rooms.remove_answer(code, secret, one.id, "l:2")
    assert rooms.answers(code, "l:2") == asked[1:]
    rooms.answer(code, "nobody", "l:2", "x", None)
    assert rooms.answers(code, "l:2") == asked[1:]


def test_a_member_sends_a_view(rooms: Rooms) -> None:
    code, secret = rooms.open()
    member = rooms.join(code, name="Kim")
    rooms.send(code, member.id, "lab", {"source": "<b>ü"}, "look at this head")
    rooms.send(code, "nobody", "lab", {}, "")
    found = rooms.finds(code)
    assert found == [Find(found[0].number, "Kim", "lab", {"source": "<b>ü"}, "look at this head")]
    rooms.remove_find(code, secret, found[0].number)
    assert rooms.finds(code) == []


def test_a_room_ends_with_everything_in_it(rooms: Rooms, clock: Clock) -> None:
    ended, late = rooms.open(), rooms.open()
    for code, _ in (ended, late):
        member = rooms.join(code)
        rooms.answer(code, member.id, "q", "a", None)
        rooms.send(code, member.id, "", {}, "")
    rooms.end(*ended)
    clock.time += store.HOURS * 3600 + 1
    for code, _ in (ended, late):
        assert rooms.find(code) is None
        with pytest.raises(RoomError, match=f"there is no open room '{code}'; ask your teacher for the code"):
            rooms.join(code)
    rooms.open()  # deletes what is too old
    for table in ("members", "answers", "finds"):
        assert rooms._rows(f"SELECT * FROM {table}") == []


def test_limits_are_said(rooms: Rooms, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MOST_ROOMS", "MOST_MEMBERS", "MOST_ANSWERS", "MOST_FINDS"):
        monkeypatch.setattr(store, name, 1)
    code, secret = rooms.open()
    with pytest.raises(RoomError, match="this server has 1 open rooms and can hold no more"):
        rooms.open()
    member = rooms.join(code)
    with pytest.raises(RoomError, match=f"the room {code} is full: 1 people are in it"):
        rooms.join(code)
    rooms.answer(code, member.id, "q", "a", None)
    with pytest.raises(RoomError, match="at most 1 answers of one person"):
        rooms.answer(code, member.id, "r", "a", None)
    rooms.send(code, member.id, "", {}, "")
    with pytest.raises(RoomError, match="the list of the room has 1 views and is full"):
        rooms.send(code, member.id, "", {}, "")
    long = {"source": "x" * store.LONGEST_VIEW}
    with pytest.raises(RoomError, match="this view is too long to be shown to the room"):
        rooms.show(code, secret, "", long)
    with pytest.raises(RoomError, match="this view is too long to be sent"):
        rooms.send(code, member.id, "", long, "")


@pytest.mark.parametrize("typed, code", [("bcdf", "BCDF"), (" b c\nd f", "BCDF"), ("BCDFGHJ", "BCDFG"), ("", "")])
def test_codes_are_read_as_people_type_them(typed: str, code: str) -> None:
    assert read_code(typed) == code


def test_without_a_file_rooms_are_of_this_process() -> None:
    one, two = Rooms(), Rooms()
    code, _ = one.open()
    assert one.find(code) is not None and two.find(code) is None
    one.close(), two.close()


def test_a_file_that_cannot_be_opened_is_an_os_error(tmp_path: Path) -> None:
    (tmp_path / "rooms.sqlite").write_text("no database, but long enough to be taken for one " * 40)
    with pytest.raises(OSError, match="not a database"):
        Rooms(tmp_path / "rooms.sqlite")
    (tmp_path / "file").touch()
    with pytest.raises(OSError):
        Rooms(tmp_path / "file" / "rooms.sqlite")


def test_no_answer_of_many_threads_is_lost(rooms: Rooms) -> None:
    code, _ = rooms.open()

    def take_part(number: int) -> None:
        member = rooms.join(code, name=str(number))
        rooms.answer(code, member.id, "q", str(number), None)

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(take_part, range(200)))
    assert sorted(int(given.answer) for given in rooms.answers(code, "q")) == list(range(200))


def test_two_processes_share_a_room_and_a_killed_one_loses_no_answer(rooms: Rooms, tmp_path: Path) -> None:
    code, _ = rooms.open()
    script = f"""
import os, signal
from pathlib import Path
from transformer.rooms import Rooms
rooms = Rooms(Path({str(tmp_path / "folder" / "rooms.sqlite")!r}), lambda: {rooms.now()})
member = rooms.join({code!r}, name="other process")
rooms.answer({code!r}, member.id, "q", "a", True)
os.kill(os.getpid(), signal.SIGKILL)
"""
    ended = subprocess.run([sys.executable, "-c", script], cwd=Path(__file__).parents[2], check=False)
    assert ended.returncode != 0
    assert [(given.name, given.answer) for given in rooms.answers(code)] == [("other process", "a")]
