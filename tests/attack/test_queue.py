"""Attacks on the queue of trainings and on the caches, by visitors who speak Streamlit's protocol."""

import asyncio
import re
import time
from collections.abc import Iterator
from typing import Any

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from tests.attack.client import Attacker, run
from tests.support.payloads import unpack
from tests.support.processes import PATIENCE, children, gone
from tests.support.server import free_port, start, stop
from transformer.live_training.training_queue import MOST_PER_VIEWER, MOST_WAITING

pytestmark = pytest.mark.slow  # starts a server

VIEWERS = 26
COST = re.compile(r"(\d+) of 1 trainings run now[^<]*")


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server that trains one model at a time, behind a proxy on the same machine."""
    port = free_port()
    settings = {"HEADSCOPE_TRAININGS": "1", "STREAMLIT_SERVER_ADDRESS": "127.0.0.1"}
    process, _ = start(tmp_path_factory.mktemp("queue") / "log.txt", port, **settings)
    yield f"127.0.0.1:{port}"
    workers = children(process.pid)
    stop(process)
    assert gone(set(workers))


class Visitor(Attacker):
    """A visitor of the Training page, as a proxy passes it on. cost: the line below the form; trainings: the live runs
    of this session with stage, place and wait, as the picture got them last."""

    def __init__(self, host: str, address: str) -> None:
        super().__init__(host, "training")
        self.settings["additional_headers"] = {"X-Forwarded-For": address}
        self.cost = ""

    async def train(self, seed: int) -> None:
        """Press Train, with a seed."""
        self.states["training_seed"] = {"int_value": seed}
        await self.press("training_train")

    @property
    def trainings(self) -> list[dict[str, Any]]:
        return [run for run in unpack(self.feeds["headscope.training_feed"])[0]["runs"] if not run["recording"]]

    def _take(self, message: ForwardMsg) -> bool:
        if message.WhichOneof("type") == "delta":
            for found in COST.finditer(message.delta.new_element.html.body):
                self.cost = found[0]
        return super()._take(message)


def test_many_viewers_of_one_address_leave_places_for_the_others(host: str) -> None:
    """They get half of the queue at most, and a sentence; a visitor of another address is the next to train: when the
    tab of the one who trains is closed, its run ends."""

    async def attack() -> None:
        gang = [Visitor(host, "192.0.2.1") for _ in range(VIEWERS)]
        others = [Visitor(host, f"198.51.100.{number}") for number in range(2)]
        try:
            for attacker in gang:
                await attacker.open()
                for seed in range(MOST_PER_VIEWER):
                    await attacker.train(seed)
            said = re.search(r"(\d+) runs from your network address are waiting already", gang[-1].said)
            assert said and int(said[1]) <= MOST_WAITING // 2
            for place, visitor in enumerate(others, 1):
                await visitor.open()
                assert f"1 of 1 trainings run now, {int(said[1]) + place - 1} wait" in visitor.cost
                await visitor.train(1)
                assert not visitor.boxes and [(run["stage"], run["place"]) for run in visitor.trainings] == [
                    ("waiting", place)
                ]
                await visitor.train(1)  # the same again
                assert "This run waits or trains already, with seed 1." in visitor.said and len(visitor.trainings) == 1
            await asyncio.gather(*(visitor.vanish() for visitor in gang))
            until = time.monotonic() + PATIENCE
            while others[0].trainings[0]["stage"] not in ("starting", "training"):
                assert time.monotonic() < until
                await asyncio.sleep(0.5)
                await others[0].refresh()
        finally:
            await asyncio.gather(*(visitor.vanish() for visitor in [*gang, *others]))

    run(attack())


def test_a_visitor_who_empties_the_caches_changes_nothing(host: str) -> None:
    """Streamlit would empty those of the process, and the session of the visitor with all its runs."""

    async def attack() -> None:
        async with Visitor(host, "192.0.2.3") as visitor:
            await visitor.open()
            await visitor.train(1)
            before = [run["id"] for run in visitor.trainings]
            for _ in range(10):
                await visitor.send(BackMsg(clear_cache=True))
            await visitor.refresh()
            assert before and [run["id"] for run in visitor.trainings] == before and not visitor.errors

    run(attack())
