"""Something long, on demand: a button, then progress with a stop button, then the result, for all viewers."""

import time
from collections.abc import Callable, Hashable
from functools import partial
from typing import Any, Generic, TypeVar

import streamlit as st

from pages.frame.messages import capital, message
from pages.runtime.job import BackgroundJob, follow, start, started
from pages.runtime.shared import SharedCache, owner_of
from transformer.inference.pretrained import Pretrained
from transformer.texts import UserError, _

Value = TypeVar("Value")
Progress = Callable[[int, int], bool]
PATIENCE = 30.0  # seconds after the viewer left until the work ends
LONG = 1e11  # products of `is_long`: 0.8 s of one free core, 2 s of a busy one
WAIT = 2.5  # seconds for which a page waits for work that starts by itself, before it shows progress


class Task(BackgroundJob, Generic[Value]):
    """One piece of work. key: of its result; done, total: parts of it."""

    known = (UserError,)

    def __init__(self, jobs: SharedCache[Value], key: Hashable, work: Callable[[Progress], Value]) -> None:
        super().__init__(jobs, "headscope-task", PATIENCE)
        self.jobs, self.key, self.done, self.total, self.began = jobs, key, 0, 0, 0.0
        self._compute = work
        self.start()

    def _work(self) -> None:
        self._jobs.get(self.key, self._made)  # another viewer's task may have made it

    def _made(self) -> Value:
        self.began = time.monotonic()
        return self._compute(self._progress)

    def _progress(self, done: int, total: int) -> bool:
        self.done, self.total = done, total
        return self._wanted()

    @property
    def seconds_left(self) -> float | None:
        """By the parts done so far; None as long as nothing is done."""
        if not (self.done and self.began):
            return None
        return (time.monotonic() - self.began) / self.done * (self.total - self.done)


def draw_progress(job: BackgroundJob, share: float, text: str, waits: str, key: str) -> None:
    """How far a job is, and a button that stops it. share: of the work; text, waits: what it does while it runs, and
    while it waits; key: of the button."""
    if job.stopping:
        text = _("Stopping …")
    elif job.stage == "waiting":
        text = waits
    st.progress(min(share, 1.0), text=text)
    st.button(_("Stop"), key=key, on_click=job.stop, disabled=job.stopping)


def _shown_progress(task: Task[Any]) -> None:
    left = task.seconds_left
    if left is None:
        text = _("Computing …")
    else:
        text = _("{done} of {total}, about {seconds} s left", done=task.done, total=task.total, seconds=f"{left:.0f}")
    waits = _("Another computation is running. This one starts when it ends.")
    draw_progress(task, task.done / task.total if task.total else 0.0, text, waits, "hs-task-stop")


def _body(
    jobs: SharedCache[Value],
    key: Hashable,
    label: str,
    work: Callable[[Progress], Value],
    task: Task[Any] | None,
    running: bool,
) -> None:
    if jobs.find(key) is not None:
        st.rerun()
    if task is not None and running:
        _shown_progress(task)
        return
    st.button(label, key="hs-task-start", on_click=start, args=(Task, jobs, key, work))
    if task is not None and task.key == key:
        if task.stage == "failed":
            message(capital(task.error) + ".", "error")
        elif task.stage == "stopped":
            message(_("Stopped at {done} of {total}.", done=task.done, total=task.total), "note")


def result(
    jobs: SharedCache[Value], key: Hashable, label: str, work: Callable[[Progress], Value], at_once: bool = False
) -> Value | None:
    """The result if it is there; else a button that starts the work, or its progress.

    work: called in a thread with a function for (parts done, all); it raises Stopped when that returns False. at_once:
    start without the button, the first time that this viewer needs it, in place of work of the same kind, and wait for
    what takes less than WAIT.
    """
    found = jobs.find(key)
    if found is not None:
        return found
    last = started(Task)
    if at_once and (last is None or (last.key != key and (not last.running or last.jobs is jobs))):
        Task(jobs, key, work).thread.join(WAIT)
        if (found := jobs.find(key)) is not None:
            return found
    follow(Task, partial(_body, jobs, key, label, work))
    return None


def is_long(model: Pretrained, tokens: int) -> bool:
    """Whether passes of the model over so many tokens, in all, are too long for a click. Every token passes through
    about one of the two stacks, with a product for every weight."""
    network = model.model
    weights = sum(one.numel() for stack in (network.encoder, network.decoder) for one in stack.parameters())
    return tokens * weights > LONG


def sized_result(
    jobs: SharedCache[Value],
    key: Hashable,
    label: str,
    work: Callable[[Progress], Value],
    model: Pretrained,
    tokens: int,
) -> Value | None:
    """What is short is made within the run, as any pass of the model, so that a page appears as a whole; what `is_long`
    starts by itself as in `result`."""
    if is_long(model, tokens):
        return result(jobs, key, label, work, at_once=True)
    return jobs.get(key, lambda: work(lambda done, total: True), True, owner_of(model))
