"""Tells a worker that hangs from one that waits for a core, by looks at its process."""

from __future__ import annotations

import math
from dataclasses import dataclass

BUSY = "RD"  # states of a thread that runs or waits for a core (R), or waits for a disk (D)
STOPPED = "Tt"  # states of a thread that a signal or a debugger holds
GAP = 1.0  # most seconds that one look counts: after a sleep of the server itself, the worker has slept too
BUSY_SHARE = 0.2  # of a core: a process that uses so much is busy, whatever its main thread is doing at the looks


@dataclass(frozen=True)
class Activity:
    """What a process does. state: the letter of its main thread; seconds: of a core that it has used so far."""

    state: str
    seconds: float


class Idle:
    """For how long a worker has done nothing, and how much it has computed since its last message.

    asleep: seconds for which its main thread has neither run nor waited for a core or a disk; computed: seconds of a
    core since its last message.
    """

    def __init__(self) -> None:
        self.asleep = self.computed = 0.0
        self._at: float | None = None
        self._seconds = self._heard_seconds = 0.0
        self._progress: object = None
        self._heard = -1.0

    def look(self, now: float, activity: Activity, progress: object, heard: float, may_sleep: bool) -> None:
        """Note what the worker does now. now: seconds of a clock; progress: another value whenever the worker has got
        something done; heard: when its last message came; may_sleep: it is paused."""
        passed = math.inf if self._at is None else now - self._at
        used = activity.seconds - self._seconds
        busy = activity.state in BUSY or used >= BUSY_SHARE * passed or (may_sleep and activity.state not in STOPPED)
        if self._at is None or busy or progress != self._progress:
            self.asleep = 0.0
        else:
            self.asleep += min(passed, GAP)
        if passed > GAP or heard != self._heard:  # after a gap, messages may lie unread
            self._heard, self._heard_seconds = heard, activity.seconds
        self._at, self._seconds, self._progress = now, activity.seconds, progress
        self.computed = activity.seconds - self._heard_seconds
