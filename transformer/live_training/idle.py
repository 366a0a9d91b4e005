"""Tells a worker that hangs from one that waits for a core, by looks at its process."""

from __future__ import annotations

import math
from dataclasses import dataclass

BUSY = "RD"  # states of a thread that runs, waits for a core, or waits for a disk
STOPPED = "Tt"  # by a signal or a debugger
GAP = 1.0  # most seconds that one look counts: after a sleep of the server itself, the worker has slept too
USED = 0.2  # share of a core from which a process is busy, whatever its main thread is doing at the looks


@dataclass(frozen=True)
class Activity:
    """What a process does. state: the letter of its main thread; seconds: of a core that it has used so far."""

    state: str
    seconds: float


class Idle:
    """For how long a worker has done nothing, and how much it has computed without a word.

    asleep: seconds in which its main thread never ran, nor waited for a core or a disk; computed: seconds of a core
    since its last message.
    """

    def __init__(self) -> None:
        self.asleep = self.computed = 0.0
        self._at: float | None = None
        self._seconds = self._heard_seconds = 0.0
        self._progress: object = None
        self._heard = -1.0

    def look(self, now: float, activity: Activity, progress: object, heard: float, may_sleep: bool) -> None:
        """now: seconds of a clock; progress: changes with everything the worker gets done; heard: when its last message
        came; may_sleep: it was told to wait."""
        passed = math.inf if self._at is None else now - self._at
        used = activity.seconds - self._seconds
        busy = activity.state in BUSY or used >= USED * passed or (may_sleep and activity.state not in STOPPED)
        if self._at is None or busy or progress != self._progress:
            self.asleep = 0.0
        else:
            self.asleep += min(passed, GAP)
        if passed > GAP or heard != self._heard:  # after a gap, messages may lie unread
            self._heard, self._heard_seconds = heard, activity.seconds
        self._at, self._seconds, self._progress = now, activity.seconds, progress
        self.computed = activity.seconds - self._heard_seconds
