"""The rooms of this server, and the thread that tells the sessions of members when there is something new to see."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

from pages.runtime.followers import FOLLOWERS
from pages.runtime.streamlit import is_connected
from transformer.rooms import Rooms, SqliteRooms, StoreError, is_url, open_rooms

VARIABLE = "HEADSCOPE_ROOMS"  # `headscope --rooms`
LOOK = 0.1  # seconds between two looks for news
PRESENCE = 5.0  # seconds between two notes of who is there
_LOG = logging.getLogger("headscope")
GUESSES, MINUTES = 20, 5  # wrong codes of one network in so many minutes that are told at once
SLOW = 2.0  # seconds until a further one is told: a class behind one address mistypes, too


def rooms_file() -> Path:
    """HEADSCOPE_ROOMS, or a file in the user's cache folder."""
    given = os.environ.get(VARIABLE)
    cache_folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(given) if given else cache_folder / "headscope" / "rooms.sqlite"


@cache
def rooms() -> Rooms:
    """In the Redis server that HEADSCOPE_ROOMS names, or in a file; of this process alone where no file can be written.
    Raises StoreError while the server does not answer."""
    if is_url(given := os.environ.get(VARIABLE, "")):
        return open_rooms(given)
    try:
        return SqliteRooms(rooms_file())
    except (OSError, RuntimeError):  # the second: the user has no home folder
        return SqliteRooms()


class Watch:
    """Who of this process's sessions is in which room."""

    def __init__(
        self,
        rooms: Callable[[], Rooms],
        rerun: Callable[[Iterable[str]], None] = FOLLOWERS.rerun,
        connected: Callable[[str], bool] = is_connected,
    ) -> None:
        self._rooms, self._rerun, self._connected = rooms, rerun, connected
        self._seats: dict[str, tuple[str, str]] = {}  # session -> code, member
        self._told: dict[str, int | None] = {}  # session -> step that it has seen or was told of; None: no such room
        self._noted = -PRESENCE  # when it was noted last who is there
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def sit(self, session: str, code: str, member: str, step: int) -> None:
        """A member's session runs; it has seen this step. Starts the thread if none runs."""
        with self._lock:
            if session not in self._seats:
                self._noted = -PRESENCE  # somebody who was away for a while follows from now on
            self._seats[session], self._told[session] = (code, member), step
            if self._thread is None:
                self._thread = threading.Thread(target=self._watch, name="rooms", daemon=True)
                self._thread.start()

    def rise(self, session: str) -> None:
        """The session's member has left the room."""
        with self._lock:
            self._forget(session)

    def _forget(self, session: str) -> None:
        self._seats.pop(session, None)
        self._told.pop(session, None)
        FOLLOWERS.forget(session)

    def attend(self) -> None:
        """Note who is there, if it is time; then look for news, of which only those are told who are there."""
        now = time.monotonic()
        with self._lock:
            due = now - self._noted >= PRESENCE
        if due:
            self.note_presence()
            with self._lock:
                self._noted = now
        self.look()

    def look(self) -> None:
        """Ask for a run of every session whose member follows and has something new to see."""
        with self._lock:
            seats, told = dict(self._seats), dict(self._told)
        steps = self._rooms().steps({code for code, _ in seats.values()})
        late = {session: seat for session, seat in seats.items() if steps.get(seat[0]) != told[session]}
        if not late:
            return
        codes = {code for code, _ in late.values()}
        following = {(code, one.id) for code in codes for one in self._rooms().here(code) if one.follows}
        with self._lock:  # after the last question to the store: where it does not answer, the next look tells the news
            for session, (code, _) in late.items():
                if self._told.get(session) == told[session]:  # else it has run meanwhile
                    self._told[session] = steps.get(code)
        ended = codes - steps.keys()
        self._rerun([session for session, seat in late.items() if seat in following or seat[0] in ended])

    def note_presence(self) -> None:
        """Note in the rooms who is there; forget the sessions whose browser is gone."""
        with self._lock:
            seats = dict(self._seats)
        there = {session: seat for session, seat in seats.items() if self._connected(session)}
        with self._lock:
            for session in seats.keys() - there.keys():
                if self._seats.get(session) is seats[session]:  # else it has come back meanwhile
                    self._forget(session)
        if there:
            self._rooms().see(there.values())

    def _watch(self) -> None:
        while True:
            time.sleep(LOOK)
            try:
                self.attend()
            except StoreError:
                pass  # the pages say it
            except Exception:  # the class follows on after the next look
                _LOG.exception("A look for news in the rooms failed")
                time.sleep(PRESENCE)
            with self._lock:
                if not self._seats:
                    self._thread = None
                    return


WATCH = Watch(rooms)


class Guesses:
    """Wrong codes by network, so that nobody finds a room by trying at speed."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._wrong: dict[str, list[float]] = {}
        self._lock = threading.Lock()

    def count(self, network: str) -> float:
        """Count one; in how many seconds to tell it."""
        with self._lock:
            oldest = self._clock() - MINUTES * 60
            self._wrong = {
                name: times for name, old in self._wrong.items() if (times := [time for time in old if time > oldest])
            }
            times = self._wrong.setdefault(network, [])
            times.append(self._clock())
            del times[: -GUESSES - 1]
            return SLOW if len(times) > GUESSES else 0.0


GUESSED = Guesses()
