"""The operator's statistics, from an accountant, queues and trainings made by hand."""

import re

import pytest

from pages.runtime import cache, operator
from pages.runtime.memory import Accountant
from pages.runtime.operator import Stats, metrics, stats
from pages.runtime.queue import Rate, TurnQueue
from pages.runtime.shared import SharedCache, clear_caches
from tests.pages.runtime.test_queue import nobody_left, queue_up
from tests.support.build import tiny_pretrained
from tests.support.training_queues import LONG, training_queues, watched
from transformer.operator_key import LEAST, VARIABLE, opens, operator_key


def test_a_rate_is_the_mean_of_the_last_minute() -> None:
    now = 1000.25
    rate = Rate(lambda: now)
    assert (rate.total, rate.per_second()) == (0, 0)
    for _ in range(6):
        rate.add()
    now = 1059.5  # 59 whole seconds later: still of this minute
    rate.add()
    assert (rate.total, rate.per_second()) == (7, 7 / 60)
    now = 1060.0
    assert rate.per_second() == 1 / 60
    now = 2000.0
    assert (rate.total, rate.per_second()) == (7, 0)
    for second in range(2000, 5000):  # keeps a minute, however long it runs
        now = second
        rate.add()
    assert (rate.total, rate.per_second(), len(rate._seconds)) == (3007, 1, 60)


def test_statistics_are_those_of_memory_queue_and_trainings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operator, "viewers", lambda: 5)
    monkeypatch.setattr(operator, "resident", lambda: 3_500)
    memory = Accountant(10_000, lambda: 3_000 + memory.used)  # 3,000 beside its caches
    first: SharedCache[int] = SharedCache("first", accountant=memory, weigh=lambda size: size)
    second: SharedCache[int] = SharedCache("second", accountant=memory, weigh=lambda size: size)
    for key in "ab":
        first.store(key, 100)
    second.store("c", 1_000)
    queue, sentences = TurnQueue(1), Rate()
    sentences.add()
    with training_queues() as make:
        trainings = make(most=1)
        for _ in range(3):
            trainings.submit(LONG, watched)
        with queue.turn(nobody_left), queue.turn(nobody_left):  # the inner one is part of the same pass
            threads = queue_up(queue, "xy", lambda _: None, {})
            now = stats(memory, queue, sentences, trainings)
        for thread in threads:
            thread.join(20)
    assert (now.resident, now.budget, now.in_caches, now.cache_limit) == (3_500, 10_000, memory.used, 7_000)
    assert {name: number for name, (number, _) in now.caches.items()} == {"first": 2, "second": 1}
    assert sum(size for _, size in now.caches.values()) == now.in_caches
    assert now.caches["second"][1] - now.caches["first"][1] // 2 == 900
    assert (now.viewers, now.running, now.waiting, now.at_once) == (5, 1, 2, 1)
    assert (now.passes, now.passes_per_second) == (1, 1 / 60)
    assert (now.sentences, now.sentences_per_second) == (1, 1 / 60)
    assert (now.trainings, now.trainings_waiting, now.most_trainings) == (1, 2, 1)
    after = stats(memory, queue, sentences, trainings)
    assert (after.passes, after.running, after.waiting) == (3, 0, 0) and after.uptime > now.uptime > 0


def test_a_sentence_counts_when_it_is_new_and_has_a_pass() -> None:
    clear_caches()
    model = tiny_pretrained()
    before = stats()
    for target in ("", "zen pol"):
        for _ in range(3):
            cache.trace(model, "operator", "ka lo minu", target, 40)
    after = stats()
    assert (after.sentences - before.sentences, after.passes - before.passes) == (2, 2)
    assert after.caches["traces"][0] == 2


NOW = Stats(
    resident=None, budget=1_200_000_000, in_caches=30_700_000, cache_limit=900_000_000,
    caches={'a"b': (1, 10_700_000), "traces": (2, 20_000_000)}, viewers=5, running=1,
    waiting=2, at_once=4, passes=70, passes_per_second=0.5, sentences=60, sentences_per_second=0.25, trainings=3,
    trainings_waiting=6, most_trainings=8, uptime=61.5,
)  # fmt: skip


def test_metrics_have_the_same_numbers_in_the_form_of_prometheus() -> None:
    found = metrics(NOW)
    assert all(f"# TYPE {name} " in lines for name, lines in found.items())
    text = "".join(found.values())
    for line in text.splitlines():
        assert re.fullmatch(r'# (TYPE|HELP|UNIT) .*|\w+(\{\w+="(\\.|[^"\\])*"\})? \d+', line), line
    for line in (
        'headscope_memory_bytes{kind="budget"} 1200000000', 'headscope_cache_bytes{cache="traces"} 20000000',
        "headscope_viewers 5", 'headscope_cache_values{cache="a\\"b"} 1', 'headscope_queue{state="waiting"} 2',
        "headscope_uptime_seconds 61", 'headscope_trainings{state="most"} 8', "headscope_passes_total 70",
        "headscope_sentences_total 60",
        "# TYPE headscope_passes counter", "# UNIT headscope_cache_bytes bytes",
    ):  # fmt: skip
        assert line in text.splitlines()
    assert "resident" not in text  # where the system does not say
    assert metrics().keys() <= found.keys()


@pytest.mark.parametrize("key", ["", "k" * (LEAST - 1)])
def test_without_a_long_key_nothing_opens(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, key)
    assert operator_key() == "" and not opens(key) and not opens("")
    monkeypatch.delenv(VARIABLE)
    assert operator_key() == "" and not opens("")


def test_the_key_alone_opens(monkeypatch: pytest.MonkeyPatch) -> None:
    key = "ü" * LEAST
    monkeypatch.setenv(VARIABLE, key)
    assert opens(key)
    assert not any(opens(other) for other in ("", key[1:], key + "ü", key.upper(), "\ud800", "?" * LEAST))
