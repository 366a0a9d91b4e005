"""The rooms of this server, and the thread that tells the sessions of members when there is something new to see."""

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
LOOK_EVERY = 0.1  # seconds between two looks for news
NOTE_EVERY = 5.0  # seconds between two notes of who is there
_LOG = logging.getLogger("headscope")
# Of one network, so many wrong codes in so many minutes are refused at once: a class behind one address mistypes, too.
FREE_GUESSES, MINUTES = 20, 5
REFUSAL_DELAY = 2.0  # seconds until a further wrong code is refused


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
    """Knows which sessions of this process are members of which rooms, and asks for a run of those that have something
    new to see. rerun: asks for runs of sessions; connected: whether a session's browser is there."""

    def __init__(
        self,
        rooms: Callable[[], Rooms],
        rerun: Callable[[Iterable[str]], None] = FOLLOWERS.rerun,
        connected: Callable[[str], bool] = is_connected,
    ) -> None:
        self._rooms, self._rerun, self._connected = rooms, rerun, connected
        self._seats: dict[str, tuple[str, str]] = {}  # session -> code, member
        # Session -> the step of the room that it has seen, or was asked to run for; None: the room has ended.
        self._known_steps: dict[str, int | None] = {}
        self._noted = -NOTE_EVERY  # when it was noted last who is there
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def sit(self, session: str, code: str, member: str, step: int) -> None:
        """Call in a run of a member's session, which sees this step of the room. Starts the thread if none runs."""
        with self._lock:
            if session not in self._seats:
                self._noted = -NOTE_EVERY  # a member who was away for a while counts as present at once
            self._seats[session], self._known_steps[session] = (code, member), step
            if self._thread is None:
                self._thread = threading.Thread(target=self._watch, name="rooms", daemon=True)
                self._thread.start()

    def rise(self, session: str) -> None:
        """The session's member has left the room."""
        with self._lock:
            self._forget(session)

    def _forget(self, session: str) -> None:
        self._seats.pop(session, None)
        self._known_steps.pop(session, None)
        FOLLOWERS.forget(session)

    def attend(self) -> None:
        """Note who is there, if it is time; then look for news."""
        now = time.monotonic()
        with self._lock:
            due = now - self._noted >= NOTE_EVERY
        if due:
            self.note_presence()
            with self._lock:
                self._noted = now
        self.look()

    def look(self) -> None:
        """Ask for a run of every session whose member follows and has something new to see."""
        with self._lock:
            seats, known = dict(self._seats), dict(self._known_steps)
        steps = self._rooms().steps({code for code, _ in seats.values()})
        behind = {session: seat for session, seat in seats.items() if steps.get(seat[0]) != known[session]}
        if not behind:
            return
        codes = {code for code, _ in behind.values()}
        following = {(code, member.id) for code in codes for member in self._rooms().here(code) if member.follows}
        with self._lock:  # after all calls of the store: if one fails, the next look finds the same news
            for session, (code, _) in behind.items():
                if self._known_steps.get(session) == known[session]:  # else it has run meanwhile
                    self._known_steps[session] = steps.get(code)
        ended = codes - steps.keys()
        self._rerun([session for session, seat in behind.items() if seat in following or seat[0] in ended])

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
            time.sleep(LOOK_EVERY)
            try:
                self.attend()
            except StoreError:
                pass  # the pages report it
            except Exception:  # the class follows on after the next look
                _LOG.exception("A look for news in the rooms failed")
                time.sleep(NOTE_EVERY)
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
        """Count a wrong code of a network. Returns in how many seconds to refuse it."""
        with self._lock:
            oldest = self._clock() - MINUTES * 60
            self._wrong = {
                name: times for name, old in self._wrong.items() if (times := [time for time in old if time > oldest])
            }
            times = self._wrong.setdefault(network, [])
            times.append(self._clock())
            del times[: -FREE_GUESSES - 1]
            return REFUSAL_DELAY if len(times) > FREE_GUESSES else 0.0


GUESSED = Guesses()
