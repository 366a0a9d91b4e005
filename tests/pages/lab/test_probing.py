"""The lab's probe set: measured in a thread, before and after, and conclusions from its numbers."""

import random
import threading
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from sacrebleu.metrics import BLEU
from streamlit.testing.v1 import AppTest

from pages.components import probe_results, probing
from pages.components.probe_results import chance, moved, rows_of
from pages.components.translation import relative
from pages.runtime import job
from pages.runtime.job import Started
from tests.support.app import kept
from tests.support.sections import cells, plain, prepared, raw, start
from transformer.cancellation import Stopped
from transformer.inference.pretrained import load
from transformer.interventions.sets import NONE, Interventions
from transformer.probing.probes import ProbeScores, bleu_interval, probe, probe_pairs

pytestmark = pytest.mark.slow  # many cold pages


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    with prepared():
        yield


def finished(app: AppTest) -> AppTest:
    """The page after its measurement has ended."""
    kept(app, Started).jobs[probing.Measurement].thread.join(60)
    return app.run()


def labels(app: AppTest) -> list[str]:
    return [button.label for button in app.button]


def test_before_and_after_are_measured() -> None:
    app = start("probing", "zero=cross.1", "3142", model="sort")
    assert labels(app) == ["Measure on 120 sentences"] and not cells(raw(app))
    finished(app.button(key="hs-probe-start").click().run())
    model = load("sort")
    pairs = probe_pairs(model)
    assert pairs
    before, after = wanted = [probe(model, pairs, switches) for switches in (NONE, Interventions.parse("zero=cross.1"))]
    head, *rows = cells(raw(app))
    assert head == ["120 sentences", "no switches", "4 heads knocked out in cross-attention, layer 1"]
    assert rows == [list(row) for row in rows_of(wanted, toy=True)] and "BLEU" not in [row[0] for row in rows]
    assert labels(app) == [] and wanted[0] != wanted[1]
    on = Interventions.parse("zero=cross.1")
    changed = sum(model.translate(pair[0]).text != model.translate(pair[0], interventions=on).text for pair in pairs)
    assert changed and f"{changed} of 120 translations changed." in plain(app)
    exact = round(100 * after.exact, 1) - round(100 * before.exact, 1)
    expected = f"Exact matches changed by {exact:+.1f} percentage points and perplexity by "
    assert expected + relative(before.perplexity, after.perplexity) in plain(app) and "bootstrap" not in plain(app)
    # Numbers never stand under other switches, and come back with their own.
    app.session_state["switches"] = "scaling=off"
    app.run()
    assert not cells(raw(app)) and labels(app) == ["Measure on 120 sentences"]
    expected = "The last evaluation was for these switches: 4 heads knocked out in cross-attention, layer 1. Set them"
    assert expected in plain(app)
    app.session_state["switches"] = ""
    assert cells(raw(app.run()))[0] == ["120 sentences", "no switches"]
    app.session_state["switches"] = "zero=cross.1"
    assert cells(raw(app.run()))[0][2] == "4 heads knocked out in cross-attention, layer 1"


class Slow:
    """Stands in for `probe`: waits until it may go on, and records its calls."""

    def __init__(self, error: Exception | None = None) -> None:
        self.go, self.there, self.second = threading.Event(), threading.Event(), threading.Event()
        self.only: Interventions | None = None  # goes on with these alone
        self.asked: list[Interventions] = []
        self.error = error

    def __call__(self, model: Any, pairs: Any, interventions: Interventions, progress: Any) -> ProbeScores:
        self.asked.append(interventions)
        going = progress(3, len(pairs))
        self.there.set()
        if interventions:
            self.second.set()
        while going and not (self.go.wait(0.01) and self.only in (None, interventions)):
            time.sleep(0.005)
            going = progress(3, len(pairs))
        if not going:
            raise Stopped
        if self.error:
            raise self.error
        texts = ("after" if interventions else "before",) * len(pairs)
        return ProbeScores(len(pairs), 1.0, 2.0, 0.0, 0.0, 0.0, texts, texts)


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Iterator[Slow]:
    made = Slow()
    monkeypatch.setattr(probing, "probe", made)
    yield made
    made.go.set()


def test_progress_and_stop(slow: Slow) -> None:
    app = start("probing", "scaling=off", "3142", model="sort")
    app.button(key="hs-probe-start").click().run()
    assert slow.there.wait(30)
    app.run()
    assert labels(app) == ["Stop"]
    (bar,) = app.get("progress")
    assert bar.proto.value == 100 * 3 // 240 and bar.proto.text == "3 of 240 sentences, now without switches"
    # The switches may be changed meanwhile; what runs is still shown, and can be stopped.
    app.session_state["switches"] = "causal=off"
    app.run().button(key="hs-probe-stop").click().run()
    finished(app)
    assert labels(app) == ["Measure on 120 sentences"] and not app.get("progress") and not cells(raw(app))
    app.session_state["switches"] = "scaling=off"
    expected = "The evaluation was stopped after 3 of 240 sentences. That is not enough for a result."
    assert expected in plain(app.run())
    # Stopped is not forbidden.
    slow.go.set()
    finished(app.button(key="hs-probe-start").click().run())
    assert cells(raw(app))[0][2] == "scaling off"
    assert "120 of 120 translations changed." in plain(app) and "section 3.2.1" in plain(app)


def stopped_in_the_second_half(slow: Slow, app: AppTest) -> None:
    """Measures the model without switches, and returns while it measures with them."""
    slow.only = NONE
    slow.go.set()
    app.button(key="hs-probe-start").click().run()
    assert slow.second.wait(30)


def test_completed_results_are_kept_and_shown(slow: Slow) -> None:
    app = start("probing", "scaling=off", "3142", model="sort")
    stopped_in_the_second_half(slow, app)
    app.run()
    (bar,) = app.get("progress")
    assert bar.proto.text == "123 of 240 sentences, now with: scaling off"
    app.button(key="hs-probe-stop").click().run()
    finished(app)
    assert "The evaluation was stopped after 123 of 240 sentences. The numbers without switches are" in plain(app)
    assert cells(raw(app))[0] == ["120 sentences", "no switches"] and "changed by" not in plain(app)
    # The next one measures the other half only.
    slow.only = None
    finished(app.button(key="hs-probe-start").click().run())
    assert cells(raw(app))[0][2] == "scaling off" and [bool(switches) for switches in slow.asked] == [False, True, True]
    assert kept(app, Started).jobs[probing.Measurement].total == 120


def test_a_measurement_goes_on_in_any_part_of_the_lab(slow: Slow, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    app = start("probing", "scaling=off", "3142", model="sort")
    monkeypatch.setattr(job, "time", SimpleNamespace(monotonic=lambda: now[0]))
    app.button(key="hs-probe-start").click().run()
    assert slow.there.wait(30)
    measurement = kept(app, Started).jobs[probing.Measurement]
    app.session_state["section"] = "leak"
    for _visit in range(3):
        now[0] += probing.PATIENCE - 1
        app.run()
        assert measurement.running and measurement._looked == now[0] and not app.get("progress")
    now[0] += probing.PATIENCE + 1
    measurement.thread.join(30)
    app.session_state["section"] = "probing"
    expected = "You left the lab for a minute, so the evaluation ended after 3 of 240 sentences."
    assert measurement.stage == "stopped" and expected in plain(app.run())
    assert probing.STAY < probing.PATIENCE / 2  # who only reads is seen too


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (RuntimeError("no <b>memory"), "The evaluation failed: RuntimeError: no <b>memory."),
        (probing.InterventionError("hiding leaves nothing"), "The evaluation failed: hiding leaves nothing."),
    ],
)
def test_an_error_in_the_thread_gives_one_sentence(slow: Slow, error: Exception, sentence: str) -> None:
    slow.error = error
    slow.go.set()
    app = start("probing", "scaling=off", "3142", model="sort")
    finished(app.button(key="hs-probe-start").click().run())
    assert sentence in plain(app) and "<b>memory" not in raw(app) and labels(app) == ["Measure on 120 sentences"]


def test_sentences_about_what_is_missing() -> None:
    assert "There is no probe set from Invented to Imagined. The command evaluate" in plain(start("probing"))
    stopped = "The evaluation was stopped before its first sentences were done."
    measurement = SimpleNamespace(done=0, total=240, stopping=True)
    assert probing._stopped_sentences(measurement, False).startswith(stopped)  # type: ignore[arg-type]
    measurement.stopping = False
    assert "You left the lab for a minute" in probing._stopped_sentences(measurement, True)  # type: ignore[arg-type]
    easy = probe_results._easy_sentences_note
    assert "do not compare this BLEU with the model card's " in easy(load("en-de"), 120)
    assert easy(load("sort"), 9).startswith("These 9 sentences are Headscope's own, short and easy")


def test_rows_have_bleu_where_words_are_words() -> None:
    scores = ProbeScores(120, 43.21, 3.456, 0.125, 0.5, 0.01)
    assert rows_of([scores, scores], toy=False)[0] == ("BLEU", "43.2", "43.2")
    assert [row[1] for row in rows_of([scores], toy=True)] == ["3.46", "12.5%", "50.0%", "1.0%"]


def test_the_change_of_bleu_is_said_with_its_interval() -> None:
    model = load("en-de")
    pairs = (probe_pairs(model) or [])[:24]
    before, after = (probe(model, pairs, switches) for switches in (NONE, Interventions.parse("zero=cross.4")))
    changed = sum(old != new for old, new in zip(before.texts, after.texts, strict=True))
    shown = [float(cell_text) for cell_text in rows_of([before, after], toy=False)[0][1:]]
    sentence = moved(before, after, toy=False)
    assert sentence.startswith(f"BLEU changed by {shown[1] - shown[0]:+.1f} and perplexity by ")
    assert sentence.endswith(f"; {changed} of 24 translations changed.") and changed > 0
    low, high = bleu_interval(before.texts, after.texts, before.references)
    assert low < after.bleu - before.bleu < high
    assert bleu_interval(before.texts, before.texts, before.references) == (0, 0)
    # As plain resampling with sacreBLEU's own corpus score has it.
    draws, rows = random.Random(1), range(len(before.texts))
    plainly = []
    for _draw in range(200):
        drawn = draws.choices(rows, k=len(rows))
        references = [[before.references[row] for row in drawn]]
        old, new = (
            BLEU().corpus_score([scores.texts[row] for row in drawn], references).score for scores in (before, after)
        )
        plainly.append(new - old)
    plainly.sort()
    width = high - low
    assert abs(plainly[5] - low) < width / 4 and abs(plainly[-6] - high) < width / 4
    says = chance(before, after)
    assert f"BLEU changes by {low:+.1f} to {high:+.1f} (95%" in says and ("includes 0" in says) == (low <= 0 <= high)
    assert "includes 0" in chance(before, before)
