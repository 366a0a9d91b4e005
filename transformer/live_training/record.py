"""Train the presets and write their recordings, with seed 1 and on one thread: the same numbers on every run.

python -m transformer.live_training.record              # all presets, about three minutes of a core
python -m transformer.live_training.record no-mask      # one of them
"""

import argparse
import sys
from collections.abc import Callable

import torch

from transformer.files import write_whole
from transformer.live_training.experiment import Experiment
from transformer.live_training.frames import Frame
from transformer.live_training.presets import PRESETS
from transformer.live_training.recordings import FOLDER, RecordedRun, recording_bytes
from transformer.live_training.session import Session

MOST = 64  # frames
EVERY = 2  # every second frame is measured on all unseen inputs


def record(experiment: Experiment, stop: Callable[[int], bool] = lambda step: False) -> RecordedRun:
    """Train an experiment with its seed. stop: whether to end after a step."""
    session, frames = Session(experiment, MOST, EVERY), list[Frame]()
    session.run(frames.append, lambda: stop(session.trainer.step))
    return RecordedRun(experiment, session.opening, tuple(frames))


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m transformer.live_training.record",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("presets", nargs="*", metavar="PRESET", help="one of: " + ", ".join(PRESETS))
    names = parser.parse_args(arguments).presets or list(PRESETS)
    if unknown := [name for name in names if name not in PRESETS]:
        parser.error(f"unknown preset {unknown[0]!r}; choose from {', '.join(PRESETS)}")
    torch.set_num_threads(1)
    for name in names:
        found = record(PRESETS[name])
        data = recording_bytes(found)
        write_whole(FOLDER / f"{name}.npz", data)
        last = found.frames[-1]
        print(f"{name}: seed {found.experiment.seed}, {len(found.frames)} frames, {len(data):,} bytes, "
              f"exact {last.exact}, forced {last.forced}, loss {last.validation_loss}", flush=True)  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())
