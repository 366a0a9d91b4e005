"""One layer of each kind timed over n on demand: in a thread, one measurement at a time for all viewers."""

from collections.abc import Sequence
from functools import partial

import streamlit as st
import torch

from pages.anatomy.complexity_texts import busy, crossing, growth, left_out, medians, names, nearest, overhead, rates
from pages.components import figure
from pages.components.sentences import paragraph
from pages.components.task import draw_progress
from pages.frame.messages import message
from pages.runtime.job import BackgroundJob, follow, start
from pages.runtime.shared import SharedCache
from transformer.cost.complexity import Sizes
from transformer.cost.layer_timing import BUDGET, KINDS, LENGTHS, ROUNDS, Timing, fits, layers, measure
from transformer.figures import complexity as figures
from transformer.texts import _

PATIENCE = 10.0  # seconds after the viewer left the page until the measurement ends
SHORTEST = 5  # seconds of a measurement with d = 64 on an idle machine; with d = 256 it took 8
POINTS = len(KINDS) * len(LENGTHS)

Key = tuple[int, int, int | None, int | None, int, int]
Jobs = SharedCache[tuple[Timing, ...]]


def key_of(sizes: Sizes) -> Key:
    """The settings of a measurement: everything but n, which it varies."""
    return sizes.d, sizes.heads, sizes.d_k, sizes.d_v, sizes.kernel, sizes.window


class Measurement(BackgroundJob):
    """One measurement of layers.

    found: the points so far, also after it was stopped; done: timings made, of POINTS in each of ROUNDS. PyTorch's
    number of threads is shared by all viewers, so it is not changed.
    """

    def __init__(self, jobs: Jobs, sizes: Sizes) -> None:
        super().__init__(jobs, "headscope-layers", PATIENCE)
        self.key, self.sizes = key_of(sizes), sizes
        self.found: tuple[Timing, ...] = ()
        self.done = 0
        self.start()

    def _work(self) -> None:
        self._jobs.get(self.key, self._measured)

    def _measured(self) -> tuple[Timing, ...]:
        points: dict[tuple[str, int], Timing] = {}
        for timing in measure(layers(self.sizes), self.sizes, wanted=self._wanted):
            points[timing.kind, timing.n] = timing
            self.found = tuple(points.values())
            self.done += 1
        return self.found


JOBS: Jobs = Jobs("layer times")


def _progress(measurement: Measurement) -> None:
    done, sizes = min(measurement.done, ROUNDS * POINTS - 1), measurement.sizes
    text = _(
        "Round {round} of {rounds}, n = {n}; d = {d}, k = {kernel}, r = {window}",
        round=done // POINTS + 1,
        rounds=ROUNDS,
        n=f"{LENGTHS[done % POINTS // len(KINDS)]:,}",
        d=f"{sizes.d:,}",
        kernel=sizes.kernel,
        window=sizes.window,
    )
    waits = _("Another measurement is running. This one starts when it ends.")
    draw_progress(measurement, measurement.done / (ROUNDS * POINTS), text, waits, "hs-layers-stop")


def _picture(timings: Sequence[Timing], sizes: Sizes) -> None:
    """The points measured so far."""
    points: dict[str, list[tuple[int, float, float, float]]] = {}
    for timing in timings:
        if not timing.unmeasured:
            points.setdefault(timing.kind, []).append((timing.n, timing.median, timing.fastest, timing.high))
    if points:
        values = {"n": sizes.n, "d": sizes.d}
        drawn = figure.built(figures.timings, points, LENGTHS, names(), values)
        figure.draw(drawn, "anatomy-timing", "anatomy-timing")


def _conclusions(timings: Sequence[Timing], sizes: Sizes) -> None:
    """Conclusions from the times."""
    times = medians(timings)
    if times:
        paragraph(nearest(times, sizes.n), crossing(times, sizes))
        paragraph(rates(times, sizes), growth(times, sizes))
        paragraph(overhead(times), busy(timings), left_out(timings), quiet=True)


def _ended_message(measurement: Measurement) -> None:
    """A message about a measurement that did not complete."""
    if measurement.stage == "failed":
        message(_("The measurement failed: {error}.", error=measurement.error), "error")
    elif measurement.stage == "stopped":
        sentence = (
            _("Stopped after {done}% of the passes. The results so far are kept.")
            if measurement.stopping
            else _("You left this part of the page, so the measurement ended after {done}% of the passes.")
        )
        message(sentence.format(done=100 * measurement.done // (ROUNDS * POINTS)), "note")


def _body(sizes: Sizes, measurement: Measurement | None, running: bool) -> None:
    mine = measurement if measurement is not None and measurement.key == key_of(sizes) else None
    finished = JOBS.find(key_of(sizes)) or ()
    timings = mine.found if mine is not None and (mine.running or not finished) else finished
    if measurement is not None and running:
        _progress(measurement)
    else:
        st.button(
            _("Measure again") if finished else _("Measure on this machine"),
            key="hs-layers-start",
            on_click=start,
            args=(Measurement, JOBS, sizes),
        )
        if mine is not None:
            _ended_message(mine)
    _picture(timings, sizes)
    if mine is None or not mine.running:
        _conclusions(timings, sizes)


def draw(sizes: Sizes) -> None:
    """A description of the measurement, a button, and the results. Times are shown only with the d, h, k and r they
    were measured for."""
    st.subheader(_("Measured time"), anchor=False)
    if not fits(sizes):
        message(
            _("One layer of each kind with d = {d} needs more memory than this page allows.", d=f"{sizes.d:,}"),
            "note",
        )
        return
    sentence = _(
        "One pass of one layer of each kind with this d, over n from {low} to {high}: batch 1, inference, PyTorch with "
        "{threads} thread. It takes {least} to {most} seconds."
    )
    threads = torch.get_num_threads()
    if threads != 1:
        sentence = _(
            "One pass of one layer of each kind with this d, over n from {low} to {high}: batch 1, inference, PyTorch "
            "with {threads} threads. It takes {least} to {most} seconds."
        )
    paragraph(
        sentence.format(
            low=LENGTHS[0], high=f"{LENGTHS[-1]:,}", threads=threads, least=SHORTEST, most=round(BUDGET) + 5
        )
    )
    follow(Measurement, partial(_body, sizes))
