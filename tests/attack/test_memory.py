"""What attacks on the memory leave, on a real server."""

import sys
import time
from collections.abc import Iterator

import pytest

import transformer
from tests.attack.client import Attacker, run
from tests.attack.memory import large_zip, padded_zip, type_texts, unknown_text, upload
from tests.support.processes import sample
from tests.support.server import App, running

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc"),
]
NOISE = 100_000_000  # bytes by which a process of this size goes up and down


@pytest.fixture
def app() -> Iterator[App]:
    with running(transformer.load("en-de").path, "--trainings", "0") as found:
        yield found


def test_uploads_leave_the_memory_flat(app: App) -> None:
    """Twenty zips of 500 kB with a file of 28 MB each, which would be 560 MB; a session keeps eight models."""
    memory: list[int] = []

    def after(attacker: Attacker) -> None:
        assert not attacker.errors and "It is open now on every page" in attacker.said, (attacker.errors, attacker.said)
        memory.append(sample(app.pid).memory)

    run(upload(app, map(padded_zip, range(20)), after))
    # The smallest, because `Pretrained.prepare_draft` takes 120 MB for a moment, two seconds after the first visit.
    assert len(memory) == 20 and min(memory[15:]) < max(memory[:10]) + NOISE, [one // 10**6 for one in memory]


@pytest.mark.long
def test_loaded_models_leave_with_their_sessions(app: App) -> None:
    """Six visitors load two large models each; two minutes after they have left, their memory is free."""

    async def load() -> None:
        for visitor in range(6):
            await upload(app, (large_zip(2 * visitor + number) for number in range(2)))

    run(upload(app, [large_zip(12)]))  # what such a visit loads once takes 95 MB and stays
    before = sample(app.pid).memory
    run(load())
    full = sample(app.pid).memory
    assert full > before + NOISE, (before, full)
    until = time.monotonic() + 180
    while sample(app.pid).memory > before + NOISE // 2:
        assert time.monotonic() < until, [one // 10**6 for one in (before, full, sample(app.pid).memory)]
        time.sleep(5)


def test_long_unknown_texts_leave_the_memory_flat(app: App) -> None:
    """140 texts of 99,990 unknown characters, 100 of them 190 MB; each is one token. No answer repeats one."""
    memory: list[int] = []
    received: list[int] = []

    def after(attacker: Attacker, answer: int) -> None:
        assert not attacker.errors and "At most 4,096 are allowed; shorten it" in attacker.said, attacker.said
        memory.append(sample(app.pid).memory)
        received.append(answer)

    run(type_texts(app, map(unknown_text, range(140)), after))
    # The smallest, because `prepare_draft` runs meanwhile.
    assert len(memory) == 140 and min(memory[120:]) < min(memory[:20]) + NOISE, [one // 10**6 for one in memory]
    assert max(received) < 100_000


@pytest.mark.long
def test_texts_at_the_limit_stay_within_the_budget() -> None:
    """Texts of 4,000 unknown characters are traced; with the smallest budget, they make room for one another."""
    memory: list[int] = []

    def after(attacker: Attacker, _: int) -> None:
        assert not attacker.errors and "read as <unk>" in attacker.said, attacker.said
        memory.append(sample(app.pid).memory)

    with running(transformer.load("en-de").path, "--trainings", "0", "--memory", "600M") as app:
        run(type_texts(app, (unknown_text(number, 4_000) for number in range(200)), after))
    assert max(memory) < 600_000_000 + NOISE, [one // 10**6 for one in memory]
    assert max(memory[150:]) < max(memory[:150]) + NOISE // 4, [one // 10**6 for one in memory]
