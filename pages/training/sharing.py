"""Live runs that the people in a room share: one for each experiment, started by the first who trains it."""

import threading
from collections.abc import Callable
from weakref import WeakValueDictionary

from pages.runtime.memory import Owner
from pages.runtime.streamlit import is_connected
from transformer.live_training.experiment import Experiment
from transformer.live_training.live_run import LiveRun


class Audience:
    """The sessions that watch a run, in the order in which they came; the first that is still there steers it.

    room: the code of the room that shares the run, "" for none; teacher_watches: whether its teacher is among them;
    owner: of what the run recorded; counted: number of frames when they were weighed last, and whether the run had
    ended.
    """

    run: LiveRun

    def __init__(self, room: str) -> None:
        self.room, self.teacher_watches = room, False
        self.owner = Owner()
        self.counted: tuple[int, bool] | None = None
        self._watchers: tuple[str, ...] = ()

    def connected(self) -> list[str]:
        """The watchers whose browser is there."""
        return [session for session in self._watchers if is_connected(session)]

    def is_watched(self) -> bool:
        return bool(self.connected())

    def steers(self, session: str) -> bool:
        return self.connected()[:1] == [session]

    def join(self, session: str, teaches: bool) -> None:
        with _LOCK:
            self._watchers = (*(one for one in self._watchers if one != session), session)
            self.teacher_watches |= teaches

    def leave(self, session: str, teaches: bool) -> None:
        """The run ends if nobody watches it any more."""
        with _LOCK:
            self._watchers = tuple(one for one in self._watchers if one != session)
            self.teacher_watches &= not teaches
            if not self.is_watched():
                self.run.stop()

    @property
    def worth_watching(self) -> bool:
        """Whether a new run of the experiment would show nothing else: it trains, or has made all its steps."""
        return not self.run.ended or (self.run.reason == "steps" and bool(self.run.frames))


_LOCK = threading.RLock()
_SHARED: WeakValueDictionary[tuple[str, Experiment], Audience] = WeakValueDictionary()  # as long as somebody watches


def start_or_join(
    room: str, experiment: Experiment, session: str, teaches: bool, start: Callable[[Callable[[], bool]], LiveRun]
) -> tuple[Audience, bool]:
    """The run of this experiment in the room, and whether it was there. start: starts one, and may raise; it gets a
    function that says whether anybody is there."""
    with _LOCK:
        found = _SHARED.get((room, experiment)) if room else None
        if found is not None and found.worth_watching:
            found.join(session, teaches)
            return found, True
        audience = Audience(room)
        audience.join(session, teaches)
        audience.run = start(audience.is_watched)
        if room:
            _SHARED[room, experiment] = audience
        return audience, False


def watched_by_teacher(room: str) -> list[Audience]:
    """The runs that the teacher of a room watches, oldest first; none with pairs of his own, which nobody else sees."""
    with _LOCK:
        found = [one for one in _SHARED.values() if one.room == room and one.teacher_watches and one.worth_watching]
    return [one for one in found if not one.run.experiment.pairs]
