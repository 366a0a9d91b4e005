"""The Lab's sections as scripts: translation, leak, probe set."""

from __future__ import annotations

import dataclasses
import html
import logging
import re
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from pages.shared import leak, probing, translation
from pages.shared.compared import Compared
from pages.shared.leak import badge, runner_up, sides, verdict
from pages.shared.probing import Desk, Measurement, key_of, rows_of
from pages.shared.translation import number, short, words_row
from tests.build import tiny_pretrained
from transformer.analysis.translation import Word, perplexity
from transformer.interventions import NONE, Interventions
from transformer.pretrained import Pretrained, load
from transformer.probing import ProbeScores, probe, probe_pairs

MODELS: dict[str, Pretrained] = {}  # what the scripts draw with: AppTest runs their text, not this module


def script(section: str, model: str, source: str, target: str, switches: str, limit: int) -> None:
    import streamlit as st

    from pages.shared import cache, leak, probing, translation
    from pages.shared.compared import Compared
    from tests.test_lab_sections import MODELS
    from transformer.interventions import Interventions, Pad

    found = MODELS[model]
    on = Interventions.parse(st.session_state.get("switches", switches))
    pads = Interventions(tuple(one for one in on.switches if isinstance(one, Pad)))
    trace = cache.trace(found, found.name, source, target, limit)
    before = cache.retrace(found, trace, pads, limit)
    compared = Compared(found, before, cache.retrace(found, before, on, limit), on, limit)
    if section == "translation":
        translation.draw(compared, bool(target))
    elif section == "leak":
        leak.draw(compared)
    else:
        probing.draw(compared)


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    st.cache_resource.clear()
    MODELS.update(tiny=tiny_pretrained(), sort=load("sort"))
    yield
    st.cache_resource.clear()


@pytest.fixture
def section() -> Callable[..., AppTest]:
    def start(
        name: str, switches: str = "", source: str = "ka lo mi", target: str = "", model: str = "tiny", limit: int = 40
    ) -> AppTest:
        given = {"section": name, "model": model, "source": source, "target": target, "limit": limit}
        return AppTest.from_function(script, default_timeout=30, kwargs={**given, "switches": switches}).run()

    return start


def raw(app: AppTest) -> str:
    assert not app.exception, app.exception
    return "\n".join(element.proto.body for element in app.get("html"))


def plain(app: AppTest) -> str:
    """What a person reads."""
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", raw(app))).split())


def cells(text: str) -> list[list[str]]:
    """The rows of the HTML's tables."""
    rows = re.findall(r"<tr.*?</tr>", text)
    return [
        [html.unescape(re.sub(r"<[^>]*>", "", cell)) for cell in re.findall(r"<t[hd].*?</t[hd]>", row)] for row in rows
    ]


# -- translation ------------------------------------------------------------------------------------------------------


def test_words_stand_over_their_probabilities_and_what_differs_is_marked(section: Callable[..., AppTest]) -> None:
    app = section("translation", "zero=cross", "3142", model="sort")
    model, on = load("sort"), Interventions.parse("zero=cross")
    before, after = model.translate("3142"), model.translate("3142", interventions=on)
    first, second = re.findall(r'<p class="hs-tr-words">.*?</p>', raw(app))
    for found, wanted in ((first, before), (second, after)):
        assert re.findall(r"<span>(.*?)</span>", found) == [html.escape(token) for token in wanted.tokens]
        assert re.findall(r"<small>(.*?)</small>", found) == [html.escape(short(p)) for p in wanted.probabilities]
    marked = [len(re.findall("hs-tr-differs", found)) for found in (first, second)]
    assert (before.text, after.text) == ("1234", "0123446789") and marked == [0, 6]
    assert "Before: nothing switched" in plain(app) and "After: zero=cross" in plain(app)
    assert "Framed and bold: the words that differ." in plain(app)
    trace = model.trace("3142")
    rows = dict((row[0], row[1:]) for row in cells(raw(app)))
    numbers = [number(perplexity(one)) for one in (trace, model.retrace(trace, on))]
    assert rows["Perplexity of the model's first translation"] == numbers


def test_the_given_target_is_named_and_pads_alone_are_nothing(section: Callable[..., AppTest]) -> None:
    app = section("translation", "pad=3", "3142", "1234", "sort")
    text = plain(app)
    assert "Perplexity of the given target" in text and "No word differs." in text and "hs-tr-differs" not in raw(app)
    assert "Nothing is switched, so both are one translation." in plain(section("translation", "", "3142", "", "sort"))


def test_before_has_no_padding_even_where_padding_would_be_seen(section: Callable[..., AppTest]) -> None:
    app = section("translation", "padding=off pad=9", "3142", model="sort")
    first = re.findall(r'<p class="hs-tr-words">.*?</p>', raw(app))[0]
    assert re.findall(r"<span>(.*?)</span>", first)[:-1] == list("1234")


def test_a_translation_that_was_cut_off_says_so(section: Callable[..., AppTest]) -> None:
    text = plain(section("translation", "scaling=off", limit=12))
    assert "The translation under these switches had not ended after 12 tokens and was cut off." in text
    assert "The translation with nothing switched had not ended after 12 tokens and was cut off." in text
    assert "had not ended" not in plain(section("translation", "zero=cross.1.1", "3142", model="sort"))


MARKUP = "<script>alert(1)</script> <b>ka</b>"


@pytest.mark.parametrize("name", ["translation", "leak"])
@pytest.mark.parametrize("side", ["source", "target"])
def test_markup_stays_text(section: Callable[..., AppTest], name: str, side: str) -> None:
    body = raw(section(name, "causal=off", **{side: MARKUP}))
    assert "<script>" not in body and "<b>ka" not in body and 'title="<' not in body
    if (name, side) == ("leak", "target"):
        assert "&lt;" in body


def test_words_are_escaped() -> None:
    body = words_row([Word('<i>"', ('▁<i>"',), (0.5,))], [True])
    assert "&lt;i&gt;&quot;" in body and "<i>" not in body and "hs-tr-differs" in body and "--p:50.0%" in body


def test_switches_that_blind_a_first_step_are_one_sentence(section: Callable[..., AppTest]) -> None:
    """With the future in sight the hidden <s> leaves other keys; the first step of decoding has none."""
    for name in ("translation", "leak"):
        text = plain(section(name, "hide=target.1@decoder_self causal=off", target="mi nu re"))
        assert "nothing to attend to" in text and text.endswith(".")


def test_numbers_as_people_read_them() -> None:
    found = [number(value) for value in (0.0, 1e-7, 0.25, 123.456, 12345.6, 3e9, float("inf"), float("nan"))]
    assert found == ["0", "1.0e-07", "0.25", "123.46", "12,346", "3.0e+09", "∞", "∞"]
    assert [short(p) for p in (0.0, 1e-6, 0.006, 0.999)] == ["0.00", "<.01", "0.01", "1.00"]


# -- the leak ---------------------------------------------------------------------------------------------------------


def test_sides_put_the_mask_on_and_off() -> None:
    rest = Interventions.parse("scaling=off padding=off pad=2")
    assert sides(rest) == (rest, rest + Interventions.parse("causal=off"))
    own = Interventions.parse("causal=off@decoder_self.1 scaling=off")
    assert sides(own) == (Interventions.parse("scaling=off"), own)
    assert sides(NONE) == (NONE, Interventions.parse("causal=off"))


def test_the_runner_up_is_the_best_token_that_is_not_there() -> None:
    trace = tiny_pretrained().trace("ka lo", "mi nu re")
    order = trace.logits[1].argsort(descending=True).tolist()
    wanted = next(one for one in order if one > 3 and one != trace.target_in_ids[2])
    token, probability = runner_up(trace, 2, (0, 1, 2, 3))
    assert token == wanted and probability == pytest.approx(float(trace.logits[1].softmax(-1)[wanted]))


@pytest.mark.parametrize("switches", ["", "scaling=off", "causal=off", "causal=off@decoder_self.2 zero=cross.1"])
def test_the_past_is_exactly_0_with_the_mask_and_moves_without(section: Callable, switches: str) -> None:
    app = section("leak", switches, target="mi nu re sta ti")
    app.selectbox[0].select(4).run()
    text = plain(app)
    assert "✓ Exactly 0 with the mask, at all 4 positions before it." in text and "hs-leak-good" in raw(app)
    rows = [row for row in cells(raw(app)) if len(row) == 5 and row[0].isdigit()]
    assert [row[3] for row in rows[:4]] == ["0"] * 4 and all(row[4] != "0" for row in rows)
    assert all(row[3] != "0" for row in rows[4:]) and "→" in rows[4][1] and "ti" not in rows[3][1]
    assert len(re.findall("hs-leak-changed", raw(app))) == 1 and "From position 5 on" in text
    without = switches if "causal" in switches else f"{switches} causal=off".strip()
    assert f"Without: {Interventions.parse(without)}." in text
    most = max(float(row[4]) for row in rows[:4])
    assert f"predictions in the past move by up to {most:.2f}." in text
    app.selectbox[0].select(1).run()
    assert "✓ Exactly 0 with the mask, at the one position before it." in plain(app)


def test_what_is_fed_is_said(section: Callable[..., AppTest]) -> None:
    app = section("leak", target="mi nu re sta")
    app.selectbox[0].select(3).run()
    assert app.selectbox[0].options[2] == "4 · re"
    assert "At position 4 “" in plain(app) and "the likeliest other token of the model there, p = " in plain(app)
    app.text_input[0].input("!").run()
    assert "At position 4 “!” is fed in place of “re”, as typed." in plain(app)
    app.text_input[0].input("! <b>").run()
    assert re.search("At position 4 “!” is fed in place of “re”: the first of the [3-9] pieces typed.", plain(app))
    app.text_input[0].input("re").run()
    assert "“re” is fed already; type another token." in plain(app) and "hs-leak-badge" not in raw(app)
    app.text_input[0].input("\x00 \u0007").run()
    assert "has no character that can be read" in plain(app) and "hs-leak-good" in raw(app)


def test_the_sentence_is_computed(section: Callable[..., AppTest]) -> None:
    app = section("leak", "scaling=off", "3142", "1234", "sort")
    model, switches = load("sort"), sides(Interventions.parse("scaling=off"))
    trace = model.trace("3142", "1234")
    numbers = [perplexity(model.retrace(trace, one)) for one in switches]
    tokens = [model.translate("3142", interventions=one).tokens for one in switches]
    assert verdict(*numbers, *tokens) in plain(app)
    assert number(numbers[0]) in verdict(*numbers, *tokens) and number(numbers[1]) in verdict(*numbers, *tokens)


@pytest.mark.parametrize(
    ("numbers", "tokens", "expected"),
    [
        ((4, 2), "ab ab", ["helps", "4.00 with the mask and 2.00 without", "and its", "stays the same."]),
        ((4, 2), "abc axc", ["helps", "yet its", "differs from token 2 on."]),
        ((2, 9), "ab ab", ["confuses", "4.5 times as much", "yet its", "stays the same."]),
        ((2, 9), "ab abc", ["confuses", "and its", "differs from token 3 on."]),
        ((2, 2.01), "ab ab", ["hardly matters", "and the", "stays the same."]),
        ((2, 2.01), "b a", ["hardly matters", "yet the", "differs from token 1 on."]),
    ],
)
def test_every_case_of_the_sentence(numbers: tuple[float, float], tokens: str, expected: list[str]) -> None:
    before, after = tokens.split()
    sentence = verdict(*numbers, tuple(before), tuple(after))
    assert all(part in sentence for part in expected) and "{" not in sentence and sentence.count(". ") == 0


def test_the_badge_turns_red() -> None:
    assert "hs-leak-bad" in badge(1e-7, 3) and "moved by 1e-07; it must be exactly 0" in badge(1e-7, 3)


def test_a_target_of_one_token_has_nothing_to_exchange() -> None:
    def only_start() -> None:
        import dataclasses

        from pages.shared import leak
        from pages.shared.compared import Compared
        from tests.build import tiny_pretrained
        from transformer.interventions import NONE

        trace = dataclasses.replace(tiny_pretrained().trace("ka"), target_in=("<s>",))
        leak.draw(Compared(tiny_pretrained(), trace, trace, NONE, 40))

    app = AppTest.from_function(only_start).run()
    assert "Nothing but <s> is fed to the decoder here, so there is no later token to exchange." in plain(app)
    assert not app.selectbox


def test_a_free_run_that_was_cut_off_says_so_in_the_table(section: Callable[..., AppTest]) -> None:
    assert "… (cut off after 12 tokens)" in plain(section("leak", limit=12))


# -- the probe set ----------------------------------------------------------------------------------------------------


def finished(app: AppTest) -> AppTest:
    """The page once its measurement has ended."""
    app.session_state[probing.KEY].thread.join(60)
    return app.run()


def labels(app: AppTest) -> list[str]:
    return [button.label for button in app.button]


def test_before_and_after_are_measured(section: Callable[..., AppTest]) -> None:
    app = section("probing", "zero=cross.1", "3142", model="sort")
    assert labels(app) == ["Measure on 120 sentences"] and not cells(raw(app))
    finished(app.button(key="hs-probe-start").click().run())
    model = load("sort")
    pairs = probe_pairs(model)
    assert pairs
    wanted = [probe(model, pairs, one) for one in (NONE, Interventions.parse("zero=cross.1"))]
    head, *rows = cells(raw(app))
    assert head == ["120 sentences", "nothing switched", "zero=cross.1"]
    assert rows == [list(row) for row in rows_of(wanted, toy=True)] and "BLEU" not in [row[0] for row in rows]
    assert labels(app) == [] and wanted[0] != wanted[1]
    # Numbers never stand under other switches, and come back with their own.
    app.session_state["switches"] = "scaling=off"
    app.run()
    assert not cells(raw(app)) and labels(app) == ["Measure on 120 sentences"]
    assert "The last evaluation was of zero=cross.1; its numbers come back with those switches." in plain(app)
    app.session_state["switches"] = ""
    assert cells(raw(app.run()))[0] == ["120 sentences", "nothing switched"]
    app.session_state["switches"] = "zero=cross.1"
    assert cells(raw(app.run()))[0][2] == "zero=cross.1"


def test_rows_have_bleu_where_words_are_words() -> None:
    scores = ProbeScores(120, 43.21, 3.456, 0.125, 0.5, 0.01)
    assert rows_of([scores, scores], toy=False)[0] == ("BLEU", "43.2", "43.2")
    assert [row[1] for row in rows_of([scores], toy=True)] == ["3.46", "12.5 %", "50.0 %", "1.0 %"]


class Slow:
    """Stands in for `probe`: goes on when told, and counts how often it was asked."""

    def __init__(self, error: Exception | None = None) -> None:
        self.go, self.there = threading.Event(), threading.Event()
        self.asked: list[Interventions] = []
        self.error = error

    def __call__(self, model: Any, pairs: Any, interventions: Interventions, progress: Any) -> ProbeScores:
        self.asked.append(interventions)
        going = progress(3, len(pairs))
        self.there.set()
        while going and not self.go.wait(0.01):
            going = progress(3, len(pairs))
        if not going:
            raise probing.Stopped
        if self.error:
            raise self.error
        return ProbeScores(len(pairs), 1.0, 2.0, 0.0, 0.0, 0.0)


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Iterator[Slow]:
    made = Slow()
    monkeypatch.setattr(probing, "probe", made)
    yield made
    made.go.set()


def test_progress_and_stop(section: Callable[..., AppTest], slow: Slow) -> None:
    app = section("probing", "scaling=off", "3142", model="sort")
    app.button(key="hs-probe-start").click().run()
    assert slow.there.wait(30)
    app.run()
    assert labels(app) == ["Stop"]
    (bar,) = app.get("progress")
    assert bar.proto.value == 100 * 3 // 240 and bar.proto.text == "3 of 240 sentences, now with nothing switched"
    # The switches may be changed meanwhile; what runs is still shown, and can be stopped.
    app.session_state["switches"] = "causal=off"
    app.run().button(key="hs-probe-stop").click().run()
    finished(app)
    assert labels(app) == ["Measure on 120 sentences"] and not app.get("progress") and not cells(raw(app))
    app.session_state["switches"] = "scaling=off"
    assert "The evaluation was stopped before its end; there are no numbers." in plain(app.run())
    # Stopped is not forbidden.
    slow.go.set()
    finished(app.button(key="hs-probe-start").click().run())
    assert cells(raw(app))[0][2] == "scaling=off"


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (RuntimeError("no <b>memory"), "The evaluation failed: RuntimeError: no <b>memory."),
        (probing.InterventionError("hiding leaves nothing"), "The evaluation failed: hiding leaves nothing."),
    ],
)
def test_an_error_in_the_thread_is_one_sentence(
    section: Callable[..., AppTest], slow: Slow, error: Exception, sentence: str, caplog: pytest.LogCaptureFixture
) -> None:
    slow.error = error
    slow.go.set()
    app = section("probing", "scaling=off", "3142", model="sort")
    with caplog.at_level(logging.ERROR):
        finished(app.button(key="hs-probe-start").click().run())
    assert sentence in plain(app) and "<b>memory" not in raw(app) and labels(app) == ["Measure on 120 sentences"]
    assert ("Traceback" in caplog.text) == isinstance(error, RuntimeError)  # the log gets what is ours to mend


def test_a_model_without_probes_says_so(section: Callable[..., AppTest]) -> None:
    app = section("probing")
    assert "There is no probe set from Invented to Imagined; the command evaluate" in plain(app) and not labels(app)


PAIRS = (("31", "13"), ("210", "012"))


def test_one_measurement_at_a_time(slow: Slow) -> None:
    desk, model = Desk(), load("sort")
    first = Measurement(desk, model, PAIRS, NONE)
    assert slow.there.wait(30)
    second = Measurement(desk, model, PAIRS, Interventions.parse("scaling=off"))
    assert (first.stage, second.stage) == ("measuring", "waiting") and len(slow.asked) == 1
    third = Measurement(desk, model, PAIRS, NONE)
    third.stop()
    third.thread.join(30)
    assert third.stage == "stopped" and first.running  # who waits can leave
    slow.go.set()
    for one in (first, second):
        one.thread.join(30)
    assert (first.stage, second.stage) == ("done", "done")
    # Nothing switched was measured once, for both.
    assert slow.asked == [NONE, Interventions.parse("scaling=off")]
    assert set(second.scores) == {key_of(model, one) for one in slow.asked} and second.total == len(PAIRS)


def test_who_does_not_look_any_more_is_not_worked_for(slow: Slow, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(probing.time, "monotonic", lambda: now[0])
    one = Measurement(Desk(), load("sort"), PAIRS, NONE)
    assert slow.there.wait(30)
    now[0] = probing.PATIENCE - 1
    one.look()
    now[0] += probing.PATIENCE - 1
    assert one.running
    now[0] += 2
    one.thread.join(30)
    assert one.stage == "stopped" and not one.stopping


def test_the_desk_keeps_what_was_used_last() -> None:
    desk = Desk(room=2)
    one = ProbeScores(1, 1.0, 1.0, 0.0, 0.0, 0.0)
    other = dataclasses.replace(one, bleu=2.0)
    desk.keep(("m", "p", "a"), one)
    desk.keep(("m", "p", "b"), other)
    assert desk.get(("m", "p", "a")) == one
    desk.keep(("m", "p", "c"), one)
    assert desk.get(("m", "p", "b")) is None and desk.get(("m", "p", "a")) == one
    assert key_of(load("sort"), NONE) != key_of(dataclasses.replace(load("sort"), path=Path("other")), NONE)


def test_sections_take_what_the_page_has() -> None:
    names = {field.name for field in dataclasses.fields(Compared)}
    assert names == {"model", "before", "after", "interventions", "limit"}
    assert all(callable(one.draw) for one in (translation, leak, probing))
