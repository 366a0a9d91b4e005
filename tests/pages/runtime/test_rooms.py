"""Which sessions are told of news in a room, and who counts as there."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from pages.runtime import rooms as runtime_rooms
from pages.runtime.rooms import FREE_GUESSES, MINUTES, REFUSAL_DELAY, Guesses, Watch
from transformer.rooms import Member, Rooms, SqliteRooms, StoreError
from transformer.rooms.store import AWAY

WAIT = 60  # seconds, of which a good run needs few


@pytest.fixture
def now() -> list[float]:
    return [1_000.0]


@pytest.fixture
def rooms(now: list[float]) -> Iterator[Rooms]:
    opened = SqliteRooms(now=lambda: now[0])
    yield opened
    opened.close()


class Told(list[list[str]]):
    def __call__(self, sessions: object) -> None:
        self.append(sorted(sessions))  # type: ignore[call-overload]


def gone_store(code: str) -> list[Member]:
    raise StoreError("the store is gone")


def test_who_follows_is_told_once_of_every_step(
    rooms: Rooms, now: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Watch, "_watch", lambda self: None)
    code, secret = rooms.open()
    other, _ = rooms.open()
    members = {session: rooms.join(code).id for session in ("a", "b", "c")} | {"d": rooms.join(other).id}
    told, gone = Told(), set[str]()
    watch = Watch(lambda: rooms, told, lambda session: session not in gone)
    for session, member in members.items():
        watch.sit(session, other if session == "d" else code, member, 0)
    watch.look()
    assert told == []
    rooms.follow(code, members["b"], False)
    rooms.show(code, secret, "lab", {})
    with monkeypatch.context() as patch, pytest.raises(StoreError):
        patch.setattr(rooms, "here", gone_store)
        watch.look()
    assert told == []  # the next look tells it
    watch.look()
    watch.look()
    assert told == [["a", "c"]]
    rooms.call_back(code, secret)
    watch.look()
    assert told[1:] == [["a", "b", "c"]]
    gone.add("a")
    now[0] += AWAY
    watch.note_presence()
    now[0] += 1
    assert {one.id for one in rooms.here(code)} == {members["b"], members["c"]}
    watch.rise("b")
    rooms.end(code, secret)
    watch.look()
    assert told[2:] == [["c"]]  # the room has ended: whoever is left is told


@pytest.fixture
def code(rooms: Rooms, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    """A room and its secret; no thread looks for news but when a test says so."""
    monkeypatch.setattr(Watch, "_watch", lambda self: None)
    return rooms.open()


def test_who_read_the_room_before_the_last_look_is_told_too(rooms: Rooms, code: tuple[str, str]) -> None:
    room, secret = code
    told, members = Told(), [rooms.join(room).id for _ in range(2)]
    watch = Watch(lambda: rooms, told, lambda session: True)
    watch.sit("a", room, members[0], 0)
    rooms.show(room, secret, "lab", {})
    watch.look()
    watch.sit("b", room, members[1], 0)  # its run began before that, and has only now come so far
    watch.look()
    watch.look()
    assert told == [["a"], ["b"]]


def test_who_was_away_for_long_is_told_of_the_next_step(rooms: Rooms, code: tuple[str, str], now: list[float]) -> None:
    room, secret = code
    told, member = Told(), rooms.join(room).id
    watch = Watch(lambda: rooms, told, lambda session: True)
    watch.sit("other", room, rooms.join(room).id, 0)
    watch.attend()
    now[0] += AWAY + 1
    assert rooms.here(room) == []
    watch.sit("a", room, member, 0)  # its device has a network again
    rooms.show(room, secret, "lab", {})
    watch.attend()
    assert told == [["a", "other"]]


def test_who_comes_back_while_presence_is_noted_stays(rooms: Rooms, code: tuple[str, str]) -> None:
    room, secret = code
    told, member = Told(), rooms.join(room).id

    def connected(session: str) -> bool:
        watch.sit("a", room, member, 0)  # just after the question
        return False

    watch = Watch(lambda: rooms, told, connected)
    watch.sit("a", room, member, 0)
    watch.note_presence()
    rooms.show(room, secret, "lab", {})
    watch.look()
    assert told == [["a"]]


def test_an_error_of_one_look_does_not_end_the_watch(rooms: Rooms, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime_rooms, "LOOK_EVERY", 0.001)
    monkeypatch.setattr(runtime_rooms, "NOTE_EVERY", 0.001)
    room, secret = rooms.open()
    told, failed = threading.Event(), threading.Event()

    def fails_once() -> Rooms:
        if not failed.is_set():
            failed.set()
            raise ValueError("not an error of the store")
        return rooms

    watch = Watch(fails_once, lambda sessions: told.set(), lambda session: True)
    watch.sit("a", room, rooms.join(room).id, 0)
    assert failed.wait(WAIT)
    rooms.show(room, secret, "lab", {})
    assert told.wait(WAIT)
    watch.rise("a")  # ends the thread


def test_wrong_codes_count_by_network_and_are_forgotten() -> None:
    now = [0.0]
    guesses = Guesses(lambda: now[0])
    assert [guesses.count("a") for _ in range(FREE_GUESSES + 1)] == [0.0] * FREE_GUESSES + [REFUSAL_DELAY]
    assert guesses.count("b") == 0
    now[0] = MINUTES * 60 + 1
    assert guesses.count("a") == 0 and "b" not in guesses._wrong


def test_an_address_is_no_file_and_one_that_does_not_answer_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADSCOPE_ROOMS", "redis://:word@127.0.0.1:1/0")
    runtime_rooms.rooms.cache_clear()
    for _ in range(2):
        with pytest.raises(StoreError, match="the Redis server 127.0.0.1:1, which holds the rooms, cannot be used"):
            runtime_rooms.rooms()


def test_without_a_folder_to_write_in_rooms_are_of_this_process(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("HEADSCOPE_ROOMS", str(tmp_path / "file" / "rooms.sqlite"))
    runtime_rooms.rooms.cache_clear()
    code, _ = runtime_rooms.rooms().open()
    assert runtime_rooms.rooms().find(code) is not None
    runtime_rooms.rooms().close()
    runtime_rooms.rooms.cache_clear()
    monkeypatch.delenv("HEADSCOPE_ROOMS")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert runtime_rooms.rooms_file() == tmp_path / "headscope" / "rooms.sqlite"
