"""python usage.py REPORT COMMAND ...: run a command and write as JSON to REPORT its exit status, the seconds of wall
clock and of CPU, and the most memory that it took at once.

A process of its own with nothing but the standard library: on Linux a child's peak counts from what its parent has in
memory, and that of the benchmarks is larger than some commands'.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time


def main(report: str, command: list[str]) -> None:
    start = time.perf_counter()
    process = subprocess.Popen(command)
    _, status, used = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    found = {
        "status": process.returncode,
        "wall": wall,
        "cpu": used.ru_utime + used.ru_stime,
        "peak": used.ru_maxrss * (1 if sys.platform == "darwin" else 1024),  # bytes
    }
    with open(report, "w", encoding="utf-8") as file:
        json.dump(found, file)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
