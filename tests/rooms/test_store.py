"""Rooms in a file and in a Redis server: codes and secrets, following, answers, finds, limits, several processes."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.support.redis import PASSWORD, running_redis
from tests.support.server import free_port
from transformer.rooms import RedisRooms, SqliteRooms, StoreError, open_rooms, store
from transformer.rooms.store import Find, Member, MemberAnswer, RoomError, Rooms, read_code


class Clock:
    time = 1_000_000.0

    def __call__(self) -> float:
        return self.time


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=["sqlite", "redis"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A file, or the address of a server without rooms."""
    if request.param == "sqlite":
        return str(tmp_path / "folder" / "rooms.sqlite")
    url: str = request.getfixturevalue("redis_url")
    with emptied(url):
        return url


@contextlib.contextmanager
def emptied(url: str) -> Iterator[RedisRooms]:
    rooms = RedisRooms(url)
    rooms._client.flushall()
    yield rooms
    rooms.close()


@pytest.fixture
def rooms(place: str, clock: Clock) -> Iterator[Rooms]:
    opened = open_rooms(place, clock)
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
    rooms.reveal(code, secret, "q1", "b", "Wir 1")
    rooms.reveal(code, secret, "q1", "c", "Wir 2")  # what was right for those who have answered stays
    room = rooms.find(code)
    assert room is not None and room.step == 5 and room.revealed == {"q1": ("b", "Wir 1"), "q2": ("", "")}


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
    clock.time += store.AWAY
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
    asked = [MemberAnswer(one.id, "Kim", "l:2", "a head", True), MemberAnswer(two.id, "", "l:2", "0.5", False)]
    assert rooms.answers(code, "l:2") == asked
    assert rooms.answers(code) == [*asked, MemberAnswer(one.id, "Kim", "l:3", "x" * store.LONGEST_TEXT, None)]
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
        assert (rooms.answers(code), rooms.finds(code)) == ([], []) or code == late[0]
    rooms.open()
    if isinstance(rooms, SqliteRooms):  # deletes what is too old when a room is opened
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
    rooms.remove_answer(code, secret, member.id, "q")
    rooms.answer(code, member.id, "r", "a", None)  # a removed one does not count
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
    one, two = SqliteRooms(), SqliteRooms()
    code, _ = one.open()
    assert one.find(code) is not None and two.find(code) is None
    one.close(), two.close()


def test_a_file_that_cannot_be_used_is_said(tmp_path: Path) -> None:
    (tmp_path / "rooms.sqlite").write_text("no database, but long enough to be taken for one " * 40)
    with pytest.raises(OSError, match="not a database"):
        SqliteRooms(tmp_path / "rooms.sqlite")
    (tmp_path / "file").touch()
    with pytest.raises(OSError):
        SqliteRooms(tmp_path / "file" / "rooms.sqlite")
    rooms = SqliteRooms(tmp_path / "other.sqlite")
    rooms._connection.execute("DROP TABLE finds")
    with pytest.raises(StoreError, match=r"the file of the rooms cannot be read or written \(no such table: finds\)"):
        rooms.finds("XXXX")
    rooms.close()


def test_no_answer_of_many_threads_is_lost(rooms: Rooms) -> None:
    code, _ = rooms.open()

    def take_part(number: int) -> None:
        member = rooms.join(code, name=str(number))
        rooms.answer(code, member.id, "q", str(number), None)

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(take_part, range(200)))
    assert sorted(int(given.answer) for given in rooms.answers(code, "q")) == list(range(200))


def rush(rooms: Rooms, code: str, member: str, name: str) -> None:
    """What two processes do at the same time, each more than half of what the limits allow."""
    for number in range(200):
        for ask in (
            lambda number=number: number < 40 and rooms.open(),
            lambda number=number: rooms.join(code, name=name),
            lambda number=number: rooms.answer(
                code, member, f"{number}" if number < 40 else f"{name} {number}", name, None
            ),
            lambda number=number: rooms.send(code, member, "lab", {}, f"{name} {number}"),
        ):
            with contextlib.suppress(RoomError):
                ask()


OTHER = """
import os, signal, sys
from tests.rooms.test_store import rush
from transformer.rooms import open_rooms
place, now, code, one, two = sys.argv[1:]
rooms = open_rooms(place, lambda: float(now))
print("ready", flush=True)
sys.stdin.readline()
rush(rooms, code, one, "other")
rooms.answer(code, two, "last", "x", True)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="SIGKILL")
def test_limits_hold_for_two_processes_and_a_killed_one_loses_nothing(rooms: Rooms, place: str) -> None:
    code, secret = rooms.open()
    one, two = rooms.join(code, name="one"), rooms.join(code, name="two")
    command = [sys.executable, "-c", OTHER, place, str(rooms.now()), code, one.id, two.id]
    root = Path(__file__).parents[2]
    with subprocess.Popen(command, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdin is not None and other.stdout is not None and other.stdout.readline() == "ready\n"
        other.stdin.write("go\n")
        other.stdin.flush()
        rush(rooms, code, one.id, "here")
        other.communicate(timeout=60)
    assert other.returncode == -signal.SIGKILL
    with pytest.raises(RoomError, match=f"this server has {store.MOST_ROOMS} open rooms"):
        rooms.open()
    names = Counter(member.name for member in rooms.here(code))
    assert names.total() == store.MOST_MEMBERS and min(names["here"], names["other"]) > 0
    by_member = Counter(given.member for given in rooms.answers(code))
    assert by_member == {one.id: store.MOST_ANSWERS, two.id: 1}
    for number in range(40):  # the first answer counts, whoever brought it
        assert len(rooms.answers(code, str(number))) == 1
    assert len(rooms.finds(code)) == store.MOST_FINDS
    assert rooms.answers(code, "last") == [MemberAnswer(two.id, "two", "last", "x", True)]
    assert rooms.steers(code, secret) and rooms.find(code) is not None


# -- a Redis server ---------------------------------------------------------------------------------------------------


def test_the_server_itself_deletes_a_room_after_twelve_hours(redis_url: str) -> None:
    with emptied(redis_url) as rooms:
        code, _ = rooms.open()
        member = rooms.join(code)
        rooms.answer(code, member.id, "q", "a", None)
        rooms.send(code, member.id, "", {}, "")
        client = rooms._client
        names = [f"headscope:{kind}:{code}" for kind in ("room", "members", "answers", "finds")]
        assert sorted(client.keys()) == sorted(["headscope:rooms", *names])
        client.expire(names[0], 100)  # what comes later ends no later than its room
        rooms.answer(code, member.id, "r", "a", None)
        rooms.send(code, member.id, "", {}, "")
        ends = [client.pttl(name) for name in names]
        assert all(0 < end <= 100_000 for end in ends)
        assert 0 < client.ttl("headscope:rooms") <= store.HOURS * 3600
        client.delete(*names)
        rooms.answer(code, member.id, "q", "a", None)
        rooms.send(code, member.id, "", {}, "")
        rooms.follow(code, member.id, False)
        rooms.see([(code, member.id)])
        assert client.keys() == ["headscope:rooms"]  # nothing is written for a room that has ended


def test_the_clock_of_the_server_counts(redis_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with emptied(redis_url) as right:
        code, _ = right.open()
        monkeypatch.setattr(time, "time", lambda: 0.0)  # of another machine
        wrong = RedisRooms(redis_url)
        member = wrong.join(code)
        assert right.here(code) == wrong.here(code) == [member]
        wrong.close()


def test_a_server_that_is_gone_is_said_and_comes_back_with_its_rooms(tmp_path: Path) -> None:
    port = free_port()
    keeps = ("--appendonly", "yes", "--appendfsync", "always")
    with running_redis(tmp_path, port, *keeps) as url:
        rooms = RedisRooms(url)
        code, secret = rooms.open()
        member = rooms.join(code, name="Kim")
        rooms.answer(code, member.id, "q", "a", True)
    for ask in (lambda: rooms.find(code), lambda: rooms.steps([code]), rooms.open, lambda: RedisRooms(url)):
        with pytest.raises(StoreError) as error:
            ask()
        assert str(error.value) == (
            f"the Redis server 127.0.0.1:{port}, which holds the rooms, cannot be used (ConnectionError); check that "
            "it runs, and the address, user and password"
        )
    with running_redis(tmp_path, port, *keeps):
        assert rooms.steers(code, secret)
        assert rooms.answers(code) == [MemberAnswer(member.id, "Kim", "q", "a", True)]
        rooms.close()


@pytest.mark.parametrize(
    "address, says",
    [
        ("http://127.0.0.1:6379", "is not that of a Redis server, redis://"),
        ("redis://:se/cret@127.0.0.1:6379", "write / as %2F"),
        ("redis://:se#cret@127.0.0.1:6379", "write / as %2F"),
        ("redis://:12/secret@127.0.0.1", "write / as %2F"),
        ("redis://user:secret@:6379/0", "is not that of a Redis server"),
        ("redis://127.0.0.1:6379/0?password=secret", "is not that of a Redis server"),
        ("redis://:secret@127.0.0.1:1/0", "127.0.0.1:1, which holds the rooms, cannot be used (ConnectionError)"),
        ("redis://:secret@127.0.0.1:PORT/0", "cannot be used (AuthenticationError)"),
        ("redis://127.0.0.1:PORT/0", "cannot be used (AuthenticationError)"),
    ],
)
def test_an_address_that_cannot_be_used_is_said_without_its_password(redis_url: str, address: str, says: str) -> None:
    with pytest.raises(StoreError) as error:
        open_rooms(address.replace("PORT", redis_url.rpartition(":")[2].partition("/")[0]))
    assert says in str(error.value) and "cret" not in str(error.value)
    assert error.value.__suppress_context__ or error.value.__context__ is None  # nor does a traceback have it


def test_the_password_is_in_nothing_that_is_shown(redis_url: str) -> None:
    with emptied(redis_url) as rooms:
        rooms._client.set("headscope:room:XXXX", "no hash")
        with pytest.raises(StoreError, match=r"cannot be used \(ResponseError\)") as error:
            rooms.find("XXXX")
        assert PASSWORD in redis_url and PASSWORD not in f"{error.value} {rooms!r}"


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "redis", None)
    with pytest.raises(
        StoreError, match=r"need the Python package redis; install it with pip install 'headscope\[redis\]'"
    ):
        RedisRooms("redis://127.0.0.1:6379/0")


def test_a_change_that_a_file_refuses_at_its_end_leaves_the_file_usable(tmp_path: Path) -> None:
    rooms = SqliteRooms(tmp_path / "rooms.sqlite")
    with pytest.raises(StoreError, match="cannot be read or written"), rooms._change() as connection:
        connection.execute("PRAGMA defer_foreign_keys = ON")
        connection.execute("INSERT INTO finds VALUES (NULL, 'BCDF', 'nobody', '', '{}', '', 0)")
    code, secret = rooms.open()
    rooms.show(code, secret, "lab", {})
    assert rooms.steps([code]) == {code: 1}
    rooms.close()


def test_a_damaged_file_is_told_as_one_that_cannot_be_read(tmp_path: Path) -> None:
    file = tmp_path / "rooms.sqlite"
    rooms = SqliteRooms(file)
    code, _ = rooms.open()
    rooms._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    rooms._connection.execute("PRAGMA cache_size = 0")
    with file.open("r+b") as opened:
        size = file.stat().st_size
        opened.seek(100)
        opened.write(b"\xff" * (size - 100))
    with pytest.raises(StoreError, match="cannot be read or written"):
        for _ in range(100):
            rooms.join(code)
            rooms.find(code)
    rooms.close()


def test_closing_waits_until_nobody_uses_the_file(tmp_path: Path) -> None:
    """SQLite ends the process where a connection is closed while another thread uses it."""
    rooms = SqliteRooms(tmp_path / "rooms.sqlite")
    code, _ = rooms.open()
    with ThreadPoolExecutor(1) as thread:
        with rooms._change() as connection:
            closed = thread.submit(rooms.close)
            time.sleep(0.2)
            assert not closed.done() and connection.execute("SELECT code FROM rooms").fetchall() == [(code,)]
        closed.result(30)
    with pytest.raises(StoreError):
        rooms.steps([code])
