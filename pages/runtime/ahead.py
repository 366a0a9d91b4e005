"""Work done before anybody asks for it: what the next click of a viewer probably needs, computed while no pass waits
and few viewers are there."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Sequence

from pages.runtime.queue import MODEL_QUEUE, MOST_DELAY, TurnQueue
from pages.runtime.streamlit import is_connected, viewers

Work = Callable[[], object]
MOST_VIEWERS = 8  # with more of them the cores are needed for what they have asked for


class NotNeeded(Exception):
    """The viewer is gone, or has asked for something else, so the work is left out."""


class Ahead:
    """Does the work that viewers will probably ask for, one piece after the other, and each in a turn of the queue that
    everybody else may take first. The results are kept by the caches that the work itself uses.

    connected: whether a viewer is still there; viewers: how many there are.
    """

    def __init__(
        self,
        queue: TurnQueue = MODEL_QUEUE,
        connected: Callable[[str], bool] = is_connected,
        viewers: Callable[[], int] = viewers,
    ) -> None:
        self._queue, self._connected, self._viewers = queue, connected, viewers
        self._expected: dict[str, list[Work]] = {}  # viewer -> what is left to do, most probable first
        self._lock = threading.Lock()
        self._running = False

    def expect(self, viewer: str, works: Sequence[Work]) -> None:
        """What this viewer will probably ask for, most probable first; replaces what is left of the last call."""
        if not 0 < self._viewers() <= MOST_VIEWERS:  # none: a test runs the script
            return
        with self._lock:
            self._expected[viewer] = list(works)
            if self._running:
                return
            self._running = True
        threading.Thread(target=self._run, name="ahead", daemon=True).start()

    def _next(self) -> tuple[str, list[Work]] | None:
        """Whose turn it is, with a list of which the first piece is to be done; None if nothing is left."""
        with self._lock:
            for viewer in [viewer for viewer, works in self._expected.items() if not works]:
                del self._expected[viewer]
            for viewer, works in self._expected.items():
                self._expected[viewer] = self._expected.pop(viewer)  # the others first, the next time
                return viewer, works
            self._running = False
            return None

    def _run(self) -> None:
        while (found := self._next()) is not None:
            viewer, works = found
            work = works.pop(0)

            def check(viewer: str = viewer, works: list[Work] = works) -> None:
                if self._expected.get(viewer) is not works or not self._connected(viewer):
                    works.clear()
                    raise NotNeeded

            # The click itself will report an error.
            with contextlib.suppress(Exception), self._queue.turn(check, delay=MOST_DELAY):
                work()


AHEAD = Ahead()
