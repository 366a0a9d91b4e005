"""A whole probe set before and after the switches: measured in a thread while the person goes on in the lab."""

from collections.abc import Callable, Sequence
from functools import partial

import streamlit as st

from pages.components.comparison import Compared
from pages.components.descriptions import in_words
from pages.components.probe_results import results
from pages.components.task import draw_progress
from pages.frame.messages import message
from pages.runtime.followers import keep_own
from pages.runtime.job import BackgroundJob, follow, start, started
from pages.runtime.shared import SharedCache, identity, shared
from transformer.inference.pretrained import InputError, Pretrained
from transformer.interventions.sets import NONE, InterventionError, Interventions
from transformer.probing.probes import ProbeScores, probe, probe_pairs
from transformer.texts import _
from transformer.training.data import Pair

PATIENCE = 60.0  # seconds after the viewer left the lab until the measurement ends
STAY = 15.0  # seconds between two signs that the viewer is still in the lab

Key = tuple[str, str, str]
Jobs = SharedCache[ProbeScores]


def key_of(model: Pretrained, interventions: Interventions) -> Key:
    """The key of a result: model and switches."""
    return model.name, identity(model), str(interventions)


class Measurement(BackgroundJob):
    """One evaluation.

    done, total: sentences; now: the switches being measured; switches: the chosen switches in words; scores: results by
    key.
    """

    known = (InterventionError, InputError)

    def __init__(self, jobs: Jobs, model: Pretrained, pairs: Sequence[Pair], interventions: Interventions) -> None:
        super().__init__(jobs, "headscope-probe", PATIENCE)
        self.key, self.switches = key_of(model, interventions), in_words(interventions, model.config)
        self.now, self.done, self.total = NONE, 0, len(pairs)
        self.scores: dict[Key, ProbeScores] = {}
        self._model, self._pairs, self._interventions = model, pairs, interventions
        self.start()

    def _work(self) -> None:
        """First no switches, then the switches; cached results are not measured again."""
        open_ = []
        for switches in dict.fromkeys((NONE, self._interventions)):
            key = key_of(self._model, switches)
            scores = self._jobs.find(key)
            if scores is None:
                open_.append((key, switches))
            else:
                self.scores[key] = scores
        self.total = len(open_) * len(self._pairs)
        for index, (key, switches) in enumerate(open_):
            self.now = switches
            watch = self._watch(index * len(self._pairs))
            self.scores[key] = self._jobs.get(key, partial(probe, self._model, self._pairs, switches, watch))

    def _watch(self, before: int) -> Callable[[int, int], bool]:
        def progress(done: int, total: int) -> bool:
            self.done = before + done
            return self._wanted()

        return progress


JOBS: Jobs = Jobs("measured switches")


@shared()
def pairs_of(model: Pretrained) -> tuple[Pair, ...]:
    """The probe set of a model; empty if there is none for its languages."""
    return tuple(probe_pairs(model) or ())


def _progress(measurement: Measurement) -> None:
    share = measurement.done / measurement.total if measurement.total else 1.0
    text = (
        _("{done} of {total} sentences, now with: {switches}")
        if measurement.now
        else _("{done} of {total} sentences, now without switches")
    )
    text = text.format(done=measurement.done, total=measurement.total, switches=measurement.switches)
    waits = _("Another evaluation is running. This one starts when it ends.")
    draw_progress(measurement, share, text, waits, "hs-probe-stop")


def _stopped_sentences(measurement: Measurement, has_baseline: bool) -> str:
    """How far a stopped measurement came, and what is left of it."""
    if not measurement.done:
        ended = (
            _("The evaluation was stopped before its first sentences were done.")
            if measurement.stopping
            else _("You left the lab for a minute, so the evaluation ended before its first sentences were done.")
        )
    else:
        ended = (
            _("The evaluation was stopped after {done} of {total} sentences.")
            if measurement.stopping
            else _("You left the lab for a minute, so the evaluation ended after {done} of {total} sentences.")
        ).format(done=measurement.done, total=measurement.total)
    left = (
        _("The numbers without switches are complete and saved. The next evaluation measures only the switches.")
        if has_baseline
        else _("That is not enough for a result.")
    )
    return f"{ended} {left}"


def _ended_message(measurement: Measurement, mine: bool, has_baseline: bool) -> None:
    """A message about the last measurement where it has no scores for the current switches.

    has_baseline: whether there are scores without switches.
    """
    if measurement.stage == "failed" and mine:
        message(_("The evaluation failed: {error}.", error=measurement.error), "error")
    elif measurement.stage == "stopped" and mine:
        message(_stopped_sentences(measurement, has_baseline), "note")
    elif measurement.stage == "done" and not mine:
        sentence = _("The last evaluation was for these switches: {switches}. Set them again to see its numbers.")
        message(sentence.format(switches=measurement.switches), "note")


def _body(compared: Compared, pairs: Sequence[Pair], measurement: Measurement | None, running: bool) -> None:
    keys = [key_of(compared.model, switches) for switches in dict.fromkeys((NONE, compared.interventions))]
    measured = measurement.scores if measurement is not None else {}
    scores = [score for key in keys if (score := measured.get(key) or JOBS.find(key)) is not None]
    mine = measurement is not None and measurement.key == keys[-1]
    ended = mine and not running  # the half that was measured is shown
    baseline = measured.get(keys[0]) or JOBS.find(keys[0])
    if len(scores) == len(keys):
        results(compared, scores)
    elif ended and baseline is not None:
        results(compared, [baseline])
    if measurement is not None and running:
        _progress(measurement)
    elif len(scores) < len(keys):
        st.button(
            _("Measure on {count} sentences", count=len(pairs)),
            key="hs-probe-start",
            on_click=start,
            args=(Measurement, JOBS, compared.model, pairs, compared.interventions),
        )
        if measurement is not None:
            _ended_message(measurement, mine, baseline is not None)


def _report_viewer() -> None:
    measurement = started(Measurement)
    if measurement is not None and measurement.running:
        measurement.look()


def look() -> None:
    """Call in every run of the lab: a measurement of this session goes on while the page is open, because a fragment
    reports the viewer. It ends PATIENCE seconds after the viewer left the page."""
    measurement = started(Measurement)
    if measurement is not None and measurement.running:
        st.fragment(_report_viewer, run_every=STAY)()


def draw(compared: Compared) -> None:
    """A button, and its results. Numbers are shown only with the switches they were measured with."""
    model = compared.model
    pairs = pairs_of(model)
    if not pairs:
        sentence = _(
            "There is no probe set from {source} to {target}. The command evaluate measures any sentence pairs, with "
            "the same switches as --switch."
        )
        message(sentence.format(source=model.languages[0], target=model.languages[1]), "note")
        return
    if started(Measurement) is not None:
        keep_own()
    follow(Measurement, partial(_body, compared, pairs))
