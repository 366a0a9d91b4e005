"""The server's end while visitors train: no word of it, and no process left, whatever moment it comes at."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.support.processes import children, gone
from tests.support.server import answers, ended_cleanly, free_port, started, until
from tests.support.trainer import Trainer

pytestmark = [pytest.mark.long, pytest.mark.skipif(os.name != "posix", reason="signals as POSIX has them")]
MOMENTS = {"ahead": 0, "starting": 1, "training": 1, "ended": 0}  # and how many are at work then, besides one ahead


@pytest.mark.parametrize("hits", [1, 3])
@pytest.mark.parametrize("moment", MOMENTS)
def test_ctrl_c_during_a_training_ends_cleanly(moment: str, hits: int, tmp_path: Path) -> None:
    log, port = tmp_path / "log.txt", free_port()
    process = started(log, "--port", str(port), "--trainings", "1")
    until(lambda: answers(port), process, log)

    async def visit() -> None:
        trainer = Trainer(f"127.0.0.1:{port}")
        await trainer.open()
        until(lambda: bool(children(process.pid)), process, log)  # one is started ahead while the page is open
        if moment != "ahead":
            await trainer.press("training_train")
        while moment in ("training", "ended") and (await trainer.ask())[0]["stage"] != "training":
            await asyncio.sleep(0.1)
        if moment == "ended":
            await trainer.tell("command", run=next(iter(trainer.held)), do="stop")
            while (await trainer.ask())[0]["stage"] != "done":
                await asyncio.sleep(0.1)
        found = set(children(process.pid))
        assert len(found) >= MOMENTS[moment]
        for _ in range(hits):
            process.send_signal(signal.SIGINT)
            time.sleep(0.02)
        await asyncio.to_thread(ended_cleanly, process, log)
        assert gone(found)

    with ThreadPoolExecutor(1) as thread:  # in this one Playwright, once used, has a loop of its own
        thread.submit(asyncio.run, visit()).result()
