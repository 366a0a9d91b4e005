"""The parts of the picture of runs that need no server, in an empty page: what is kept, when it is shown, what is asked
for."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import pytest

from tests.browser.training_runs import MadeUp, Sizes, a_run
from transformer.view.learning_pack import learning_pack

pytest.importorskip("playwright")
from playwright.sync_api import Browser

from tests.browser.modules import open_modules

SMALL = Sizes(layers=2, heads=3, tokens=4, steps=60)
PARTS = (
    "core/pack.js", "training/store.js", "training/player.js", "training/poll.js", "training/words.js",
    "training/curves.js", "core/texts.js", "training/texts.js",
)  # fmt: skip
Run = Callable[..., Any]


@pytest.fixture(scope="module")
def run(browser: Browser) -> Iterator[Run]:
    """Runs the body of a function of JavaScript behind the picture's own code, with `given` beside it."""
    code = """
    const unpack = (text) => readPack(Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)));
    const t = makeTexts({}, TRAINING_TEXTS);
    """
    page = browser.new_page()
    open_modules(page, *PARTS)
    yield lambda body, given=None: page.evaluate(f"async (given) => {{ {code}\n{body} }}", given)
    page.close()


def packed(*runs: MadeUp, have: dict[str, int] | None = None, number: int = 0) -> str:
    return base64.b64encode(learning_pack(runs, have, {}, number)).decode()


def until(run: MadeUp, frames: int) -> MadeUp:
    run.stopped = run.opening.recorded[frames - 1]
    return run


def test_frames_join_those_that_are_here_and_no_others(run: Run) -> None:
    one = a_run(0, SMALL)
    name = one.id
    packs = [
        packed(until(one, 5), have={}),
        packed(until(one, 9), have={name: 5}),
        packed(until(one, 12), have={name: 3}),  # of an older ask: it begins with what is here
        packed(until(one, 20), have={name: 15}),  # a gap
        packed(until(one, 20), have={name: 12}),
        packed(until(one, 20), have=None),
    ]
    body = """
    const store = new RunStore();
    const seen = given.map((text) => {
      const { grown } = store.take(unpack(text), 0);
      return [grown.length, store.runs[0].frames.length, store.lacks];
    });
    const { frames, weights } = store.runs[0];
    return { seen, steps: frames.map((frame) => frame.step), bytes: weights.map((one) => [...one]) };
    """
    found = run(body, packs)
    assert found["seen"] == [
        [1, 5, False], [1, 9, False], [1, 12, False], [0, 12, True], [1, 20, False], [0, 20, False]
    ]  # fmt: skip
    assert found["steps"] == [frame.step for frame in one.every[:20]]
    assert [bytes(row) for row in found["bytes"]] == [frame.weights for frame in one.every[:20]]


def test_a_matrix_is_the_recorded_one(run: Run) -> None:
    one = a_run(1, SMALL)
    body = """
    const store = new RunStore();
    store.take(unpack(given), 0);
    const [run] = store.runs;
    const found = {};
    for (const kind of Object.keys(run.kinds))
      for (const layer of [0, 1]) for (const head of [0, 1, 2])
        found[kind + layer + head] = [...run.matrix(7, kind, layer, head)];
    return found;
    """
    found = run(body, packed(one, have={}))
    for kind, matrices in one.every[7].attention(one.opening).items():
        for layer in range(2):
            for head in range(3):
                assert found[f"{kind}{layer}{head}"] == matrices[layer, head].ravel().tolist()


def test_the_mask_is_that_of_the_run(run: Run) -> None:
    body = "const store = new RunStore(); store.take(unpack(given), 0);"
    body += "const mask = (run) => (kind) => run.mask(kind) && [...run.mask(kind)];"
    body += "return store.runs.map((run) => ['cross', 'decoder_self'].map(mask(run)));"
    masked, opened = run(body, packed(a_run(0, SMALL), a_run(1, SMALL), have={}))
    assert masked == [None, [int(key > query) for query in range(5) for key in range(5)]]
    assert opened == [None, None]


def test_looks_stay_when_others_are_removed(run: Run) -> None:
    runs = [a_run(number, SMALL) for number in range(4)]
    packs = [packed(*runs), packed(runs[0], runs[2], runs[3]), packed(runs[0], runs[2], runs[3], a_run(5, SMALL))]
    body = "const store = new RunStore();"
    body += "return given.map((text) => { store.take(unpack(text), 0); return store.runs.map((run) => run.slot); });"
    assert run(body, packs) == [[0, 1, 2, 3], [0, 2, 3], [0, 2, 3, 1]]


def test_the_frame_of_a_step_is_the_last_that_is_not_later(run: Run) -> None:
    one = a_run(0, SMALL)
    steps = [*range(0, 61), 1000]
    body = "const store = new RunStore(); store.take(unpack(given.pack), 0);"
    body += "return given.steps.map((step) => store.runs[0].frameAt(step));"
    recorded = one.opening.recorded
    wanted = [max(i for i, at in enumerate(recorded) if at <= step) for step in steps]
    assert run(body, {"pack": packed(one, have={}), "steps": steps}) == wanted


def test_a_handful_is_played_out_evenly(run: Run) -> None:
    """20 frames in a handful that took 400 ms: one every 20 ms, none left out, and the next handful joins."""
    body = """
    const player = new Player(() => false);
    player.arrived(20, 1000);
    const first = [], second = [];
    let shown = 0;
    for (let now = 1000; now <= 1400; now += 5) first.push((shown = player.at(now, shown)));
    const rests = player.moving(shown);
    player.arrived(40, 1400);
    for (let now = 1400; now <= 2000; now += 5) second.push((shown = player.at(now, shown)));
    return { first, second, rests };
    """
    found = run(body)
    assert sorted(set(found["first"])) == list(range(21)) and found["first"] == sorted(found["first"])
    held = [found["first"].count(i) for i in range(20)]
    assert max(held) - min(held) <= 1
    assert found["rests"] is False
    assert sorted(set(found["second"])) == list(range(20, 41))


def test_whoever_wants_less_motion_sees_the_newest_once_a_second(run: Run) -> None:
    body = """
    const player = new Player(() => true);
    const seen = [];
    let shown = 0;
    for (let now = 5000; now < 9000; now += 50) {
      player.arrived((now - 5000) / 50, now);
      const next = player.at(now, shown);
      if (next !== shown) seen.push([now, next]);
      shown = next;
    }
    return seen;
    """
    found = run(body)
    assert 3 <= len(found) <= 5
    assert all(later - earlier >= 1000 for (earlier, _), (later, _) in pairwise(found))


def test_held_is_held_and_live_is_the_newest(run: Run) -> None:
    body = """
    const player = new Player(() => false);
    player.arrived(10, 0);
    player.hold();
    player.arrived(30, 100);
    const held = player.at(5000, 4);
    player.goLive(6000);
    const live = player.at(6000, 4);
    player.play(7000, 0);
    const played = [6990, 7000, 7080, 7800].map((now) => player.at(now, 0));
    return [held, live, ...played, player.at(60000, 0), player.mode];
    """
    assert run(body) == [4, 30, 0, 0, 1, 10, 30, "live"]


ASKER = """
const sent = [];
const clock = { now: 0, timers: [] };
const [later, never] = [window.setTimeout, window.clearTimeout];
window.setTimeout = (act, wait) => clock.timers.push({ act, at: clock.now + wait }) && clock.timers.at(-1);
window.clearTimeout = (timer) => { clock.timers = clock.timers.filter((one) => one !== timer); };
const pass = (wait) => {
  clock.now += wait;
  for (const timer of clock.timers.filter((one) => one.at <= clock.now)) {
    window.clearTimeout(timer);
    timer.act();
  }
};
let wanted = true;
const send = (name, value) => sent.push([name, value]);
const asker = new Poller({ send, wanted: () => wanted, have: () => ({}) });
const last = () => sent.at(-1)[1].n;
const names = () => sent.map(([name, value]) => (name === "ask" ? "ask" : value.do));
const end = (value) => { Object.assign(window, { setTimeout: later, clearTimeout: never }); return value; };
"""


def test_one_ask_at_a_time_and_again_when_none_answers(run: Run) -> None:
    body = """
    asker.answered(0, false);
    pass(199); const before = sent.length;
    pass(1); const first = sent.length;
    pass(2999); const waiting = sent.length;
    pass(1); const again = sent.length;
    asker.answered(last() - 1, false); pass(250); const old = sent.length;
    asker.answered(last(), true); const atOnce = sent.length;
    wanted = false; asker.answered(last(), true); pass(9000);
    return end([before, first, waiting, again, old, atOnce, sent.length]);
    """
    assert run(ASKER + body) == [0, 1, 1, 2, 2, 3, 3]


def test_no_ask_passes_a_command(run: Run) -> None:
    """A newer message takes the place of one that the server has not seen: behind a command nothing may be sent."""
    body = """
    asker.answered(0, true);
    const asked = last();
    asker.command("a", "pause");
    const paused = last();
    asker.command("b", "stop");
    asker.answered(asked, true); pass(1000);
    const before = names();
    asker.answered(paused, true);
    const after = names();
    asker.answered(last(), true);
    return end([before, after, names(), new Set(sent.map(([, value]) => value.n)).size === sent.length]);
    """
    before, after, at_last, numbered = run(ASKER + body)
    assert before == ["ask", "pause"] and after == ["ask", "pause", "stop"]
    assert at_last == ["ask", "pause", "stop", "ask"] and numbered


def test_nothing_is_sent_by_what_was_taken_down(run: Run) -> None:
    body = "asker.answered(0, false); asker.stop(); pass(9000); asker.answered(0, true); return end(sent.length);"
    assert run(ASKER + body) == 0


@pytest.mark.parametrize(
    ("written", "right", "states"),
    [
        ("abc", "abc", "rrr"), ("abd", "abc", "rrw"), ("ab", "abc", "rrm"), ("abcd", "abc", "rrrw"), ("", "ab", "mm"),
        ("ba", "ab", "ww"), ("😀b", "😀c", "rw"),
    ],
)  # fmt: skip
def test_letters_are_right_wrong_or_missing(run: Run, written: str, right: str, states: str) -> None:
    found = run("return lettersOf(given[0], given[1]).map((one) => one.state[0]).join('');", [written, right])
    assert found == states


def test_numbers_are_said_as_they_are(run: Run) -> None:
    shares = run("return [0, 1, 0.996, 0.005, 0.35, null].map((one) => percentText(t, one));")
    assert shares == ["0 %", "100 %", "99.6 %", "0.5 %", "35 %", "–"]
    losses = run("return [3.3, 0.0042, 0.5, 12, null].map((one) => lossText(t, one));")
    assert losses == ["3.300", "0.0042", "0.500", "12.0", "–"]


STAGES = [
    ({"stage": "waiting", "place": 1}, 1, "next in the line"),
    ({"stage": "waiting", "place": 2}, 3, "2nd of 3 waiting"),
    ({"stage": "waiting", "place": 4}, 9, "4th of 9 waiting"),
    ({"stage": "waiting", "place": 3}, None, "3rd in the line"),
    ({"stage": "training"}, 0, "step 120 of 4,000"),
    ({"stage": "done", "reason": "time"}, 0, "ended at step 120 of 4,000 by the limit of 90 s"),
    ({"stage": "done", "reason": "odd"}, 0, "ended at step 120 of 4,000"),
    ({"stage": "failed", "error": "the loss is not finite."}, 0, "failed at step 120: the loss is not finite."),
]


@pytest.mark.parametrize(("about", "waiting", "said"), STAGES)
def test_every_stage_has_its_words(run: Run, about: dict[str, Any], waiting: int | None, said: str) -> None:
    given = {"step": 120, "steps": 4000, "limit": 90, "reason": "", "place": 0, "error": "", "seconds": 2, **about}
    body = "return stageText(t, { about: given[0], frames: [], speed: null }, given[1]);"
    assert run(body, [given, waiting]) == said


def test_the_speed_is_that_of_the_last_seconds(run: Run) -> None:
    body = """
    const run = new Run("a");
    const about = { stage: "training", steps: 400, limit: 120, seconds: 0 };
    for (let i = 0; i <= 70; i++) run.follow((run.about = { ...about, step: i < 20 ? i : 20 + (i - 20) * 5 }), i * 200);
    const { speed, left } = run;
    run.about = { ...run.about, limit: 15 }; // 14 seconds of them are over
    const limited = run.left;
    run.follow({ ...about, stage: "paused", step: 270 }, 15000);
    return [speed, left, limited, run.speed, run.trained];
    """
    speed, left, limited, paused, trained = run(body)
    assert speed == pytest.approx(25, rel=0.01) and left == pytest.approx((400 - 270) / 25, rel=0.01)
    assert limited == pytest.approx(1) and paused is None and trained == 14000


def test_the_axis_of_a_loss_holds_its_top(run: Run) -> None:
    body = "const found = (top, axis) => [axis.ticks, axis.share(top)];"
    body += "return given.map(([top, log]) => found(top, lossAxis(top, log)));"
    tops = [[3.4, False], [0.07, False], [45, False], [0, False], [3.4, True], [0.5, True]]
    for (top, log), (ticks, share) in zip(tops, run(body, tops), strict=True):
        assert ticks == sorted(ticks) and ticks[-1] >= top and 0 <= share <= 1
        assert 2 <= len(ticks) <= 7
        assert ticks[0] == (pytest.approx(1e-4) if log else 0)
