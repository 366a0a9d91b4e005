"""A worker that trains nothing: it sends the messages of the real one, and misbehaves as it is told.

`python fake_worker.py BEHAVIOUR`; "well" does all that is asked, as the real one does. Standard library only, so that
it starts at once.

The experiment it is sent may hold "steps", "pause" (seconds between frames) and "at" (the frame it misbehaves at).
"""

import json
import os
import queue
import signal
import struct
import sys
import threading
import time
from typing import Any

OUT: Any = None  # what the server reads
SOURCE, TARGET, LAYERS, HEADS = 3, 2, 2, 5
RECORDED = 100  # steps that have a frame
BYTES = LAYERS * HEADS * (SOURCE * SOURCE + TARGET * TARGET + TARGET * SOURCE)


def send(kind: str, body: bytes = b"", **values: Any) -> None:
    header = json.dumps({"kind": kind, **values}).encode()
    try:
        OUT.write(struct.pack("<II", len(header), len(body)) + header + body)
    except OSError:  # nobody reads any more
        os._exit(0)


def opening(steps: int) -> dict[str, Any]:
    return {
        "source": "ab", "target": "b", "source_tokens": ["a", "b", "</s>"], "target_in": ["<s>", "b"],
        "target_out": ["b", "</s>"], "layers": LAYERS, "heads": HEADS, "parameters": 1000, "unseen": 10,
        "recorded": list(range(min(steps, RECORDED) + 1)), "shown": [["ab", "b"], ["ba", "a"]],
    }  # fmt: skip


def frame(step: int) -> dict[str, Any]:
    return {
        "step": step, "seconds": step / 100, "rate": 0.003, "loss": 1.0 if step else None, "validation_loss": None,
        "forced": 0.5, "exact": None, "outputs": ["b", "x"], "predicted": ["b", "</s>"],
    }  # fmt: skip


def misbehave(what: str, step: int) -> None:
    """At a frame, or where it says when."""
    if what == "exit":
        os._exit(3)
    elif what == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif what == "hang":
        time.sleep(600)
    elif what == "mute":  # lives on, its output closed
        os.close(1)
        OUT.close()
        time.sleep(600)
    elif what == "garbage":
        OUT.write(b"Traceback (most recent call last):\n" * 99)
        time.sleep(600)
    elif what == "cut":
        OUT.write(struct.pack("<II", 100, 0) + b'{"kind":')
        os._exit(0)
    elif what == "twice":
        send("ready")
        time.sleep(600)
    elif what == "flood":
        while True:
            step += 1
            send("frame", b"\0" * BYTES, **frame(step))


def main(what: str) -> None:
    global OUT
    OUT = os.fdopen(os.dup(1), "wb", buffering=0)
    orders: queue.Queue[dict[str, Any]] = queue.Queue()
    if what == "early":
        os._exit(5)
    if what == "slow":
        time.sleep(0.3)
    send("ready")
    if what == "unread":
        time.sleep(600)
    first = sys.stdin.readline()
    if not first:
        os._exit(0)
    given = json.loads(first)

    def listen() -> None:
        for line in sys.stdin:
            orders.put(json.loads(line))
        os._exit(0)

    threading.Thread(target=listen, daemon=True).start()
    experiment, seconds = given["experiment"], given["seconds"]
    steps, at = experiment.get("steps", 5), experiment.get("at", 1)
    if what == "refuse":
        send("failed", error="the loss is not finite at step 0; choose a smaller learning rate")
        time.sleep(600)
    if what == "eats":
        try:
            bytes(4_000_000_000)
        except MemoryError:
            send("failed", error="no more memory")
        time.sleep(600)
    send("opening", **opening(steps))
    paused, step = False, -1
    while step < steps:
        while paused or not orders.empty():
            try:
                order = orders.get(timeout=0.05)["do"]
            except queue.Empty:
                continue
            paused = order == "pause" or (paused and order != "go")
            if order == "stop":
                send("done", b"zip", reason="stopped", step=max(step, 0))
                time.sleep(600)
        step += 1
        if step == at:
            misbehave(what, step)
        if step / 100 > seconds:
            send("done", b"zip", reason="time", step=step)
            time.sleep(600)
        if step <= RECORDED:
            send("frame", bytes([step % 256]) * BYTES, **frame(step))
        else:
            send("progress", step=step, seconds=step / 100)
        time.sleep(experiment.get("pause", 0.0))
    send("done", b"zip of " + str(steps).encode(), reason="steps", step=steps)
    time.sleep(600)


if __name__ == "__main__":
    main(sys.argv[1])
