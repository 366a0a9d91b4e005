"""The rooms of this server, and the thread that tells the sessions of members when there is something new to see."""

from __future__ import annotations

import contextlib
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
GUESSES, MINUTES = 20, 5  # wrong codes that one network may try in so many minutes


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
        self._steps: dict[str, int] = {}  # of each code, at the last look
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def sit(self, session: str, code: str, member: str, step: int) -> None:
        """A member's session runs; it has seen this step. Starts the thread if none runs."""
        with self._lock:
            self._seats[session] = (code, member)
            self._steps.setdefault(code, step)
            if self._thread is None:
                self._thread = threading.Thread(target=self._watch, name="rooms", daemon=True)
                self._thread.start()

    def rise(self, session: str) -> None:
        """The session's member has left the room."""
        with self._lock:
            self._seats.pop(session, None)
        FOLLOWERS.forget(session)

    def look(self) -> None:
        """Ask for a run of every session whose member follows and has something new to see."""
        with self._lock:
            seats = dict(self._seats)
            before = dict(self._steps)
        codes = {code for code, _ in seats.values()}
        steps = self._rooms().steps(codes)
        changed = {code for code in codes if steps.get(code) != before.get(code)}
        following = {(code, one.id) for code in changed for one in self._rooms().here(code) if one.follows}
        with self._lock:  # after the last question to the store: where it does not answer, the next look tells the news
            self._steps = {code: step for code, step in steps.items() if code in codes}
        if changed:
            self._rerun(
                [
                    session
                    for session, seat in seats.items()
                    if seat in following or (seat[0] in changed and seat[0] not in steps)  # the room has ended
                ]
            )

    def note_presence(self) -> None:
        """Note in the rooms who is there; forget the sessions whose browser is gone."""
        with self._lock:
            seats = dict(self._seats)
        there = {session: seat for session, seat in seats.items() if self._connected(session)}
        with self._lock:
            for session in seats.keys() - there.keys():
                self._seats.pop(session, None)
                FOLLOWERS.forget(session)
        if there:
            self._rooms().see(there.values())

    def _watch(self) -> None:
        noted = 0.0
        while True:
            time.sleep(LOOK)
            with contextlib.suppress(StoreError):  # the pages say it
                self.look()
                if time.monotonic() - noted >= PRESENCE:
                    self.note_presence()
                    noted = time.monotonic()
            with self._lock:
                if not self._seats:
                    self._thread = None
                    return


WATCH = Watch(rooms)


class Guesses:
    """Wrong codes by network, so that nobody finds a room by trying."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._wrong: dict[str, list[float]] = {}
        self._lock = threading.Lock()

    def too_many(self, network: str) -> bool:
        with self._lock:
            oldest = self._clock() - MINUTES * 60
            self._wrong = {
                name: times for name, old in self._wrong.items() if (times := [time for time in old if time > oldest])
            }
            return len(self._wrong.get(network, ())) >= GUESSES

    def count(self, network: str) -> None:
        with self._lock:
            self._wrong.setdefault(network, []).append(self._clock())


GUESSED = Guesses()
