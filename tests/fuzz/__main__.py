"""The long run: python -m tests.fuzz --seconds 1800 --seed 7

Every way in by turns, each case from its own seed. A failure is printed with the command that repeats it; at the end
the number of cases and failures of each way, and the largest memory of the process. Exit status 1 if anything failed.
"""

from __future__ import annotations

import argparse
import logging
import os
import resource
import signal
import sys
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from types import FrameType

os.environ.setdefault("OMP_NUM_THREADS", "1")

from tests.fuzz import archives, command_lines, folders, links, marian, pages, switches, texts
from transformer import OutsideWarning

WAYS: dict[str, tuple[Callable[[int], None], int]] = {  # name -> the case, and how many of it make a turn
    "texts": (texts.case, 60),
    "switches": (switches.case, 60),
    "links": (links.case, 60),
    "commands": (command_lines.case, 20),
    "folders": (folders.case, 20),
    "marian": (marian.case, 20),
    "archives": (archives.case, 20),
    "pages": (pages.case, 2),
    "damaged": (pages.damaged_case, 1),
}
STALLED = 120  # seconds after which a case counts as one that never ends


class Stalled(Exception):
    """A case that does not come to its end."""


def _stalled(_number: int, _frame: FrameType | None) -> None:
    raise Stalled(f"no end after {STALLED} s")


def run(way: str, seed: int) -> str:
    """One case. Returns what went wrong, or nothing."""
    signal.signal(signal.SIGALRM, _stalled)
    signal.alarm(STALLED)
    try:
        WAYS[way][0](seed)
    except Exception:
        return traceback.format_exc()
    finally:
        signal.alarm(0)
    return ""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--seconds", type=float, default=60, help="how long (default 60)")
    parser.add_argument("--seed", type=int, default=1, help="where the cases begin: another seed, other cases")
    parser.add_argument("--way", choices=WAYS, help="one way in only (default: all)")
    parser.add_argument("--case", type=int, metavar="SEED", help="one case only, of --way, as a failure names it")
    asked = parser.parse_args()
    logging.disable(logging.WARNING)  # Streamlit's, of pages that are run without a server
    warnings.simplefilter("error")
    warnings.simplefilter("ignore", OutsideWarning)
    warnings.filterwarnings("ignore", message="Implicitly cleaning up")  # what AppTest leaves to the end
    if asked.case is not None:
        if asked.way is None:
            parser.error("--case needs its --way")
        wrong = run(asked.way, asked.case)
        print(wrong or "nothing wrong")
        return int(bool(wrong))
    counts: Counter[str] = Counter()
    failed: Counter[str] = Counter()
    next_seed = dict.fromkeys(WAYS, asked.seed * 1_000_000)
    end = time.monotonic() + asked.seconds
    while time.monotonic() < end:
        for way in [asked.way] if asked.way else WAYS:
            for _ in range(WAYS[way][1]):
                seed, next_seed[way] = next_seed[way], next_seed[way] + 1
                wrong = run(way, seed)
                counts[way] += 1
                if wrong:
                    failed[way] += 1
                    print(f"FAILED  python -m tests.fuzz --way {way} --case {seed}\n{wrong[-3_000:]}", flush=True)
    for way, count in counts.items():
        print(f"{way:<10}{count:>9,} cases {failed[way]:>5} failed")
    print(f"largest memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f} MB")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
