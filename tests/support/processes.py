"""What processes there are, and what one takes: from /proc, or from `ps` where there is none."""

import os
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

PATIENCE = 30.0  # seconds; what is asked for is over in a fraction of one, but the machine may be busy


@dataclass(frozen=True)
class Sample:
    """second: of the clock; memory: resident bytes; threads, files: how many; cpu: seconds since the process began."""

    second: float
    memory: int
    threads: int
    files: int
    cpu: float


def sample(process: int) -> Sample:
    """A process as it is now. Raises OSError where there is no /proc, or no such process."""
    place = Path(f"/proc/{process}")
    status = dict(line.split(":", 1) for line in (place / "status").read_text().splitlines() if ":" in line)
    if "VmRSS" not in status:
        raise ProcessLookupError(process)  # a zombie
    times = (place / "stat").read_text().rpartition(")")[2].split()
    return Sample(
        time.monotonic(), int(status["VmRSS"].split()[0]) * 1024, int(status["Threads"]), len(os.listdir(place / "fd")),
        (int(times[11]) + int(times[12])) / os.sysconf("SC_CLK_TCK"),
    )  # fmt: skip


def children(parent: int | None = None) -> dict[int, str]:
    """Process number -> state letter ("Z": a zombie) of all children of a process, this one unless named."""
    parent = os.getpid() if parent is None else parent
    found = {}
    for place in Path("/proc").glob("[0-9]*/stat"):
        try:
            words = place.read_text().rpartition(")")[2].split()
        except OSError:  # gone since it was listed
            continue
        if int(words[1]) == parent:
            found[int(place.parent.name)] = words[0]
    if not Path("/proc/self/stat").exists():
        lines = subprocess.run(["ps", "-A", "-o", "pid=,ppid=,stat="], capture_output=True, text=True).stdout
        rows = [line.split() for line in lines.splitlines()]
        found = {int(row[0]): row[2][0] for row in rows if int(row[1]) == parent and row[2]}
    return found


def there(process: int) -> bool:
    """Whether a process of that number runs; a zombie does not."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        if Path("/proc/self/stat").exists():
            return False
    said = subprocess.run(["ps", "-p", str(process), "-o", "stat="], capture_output=True, text=True).stdout.strip()
    return bool(said) and said[0] != "Z"


def gone(processes: set[int] | list[int], patience: float = PATIENCE) -> bool:
    """Whether all of them end within that time."""
    until = time.monotonic() + patience
    while any(there(one) for one in processes):
        if time.monotonic() > until:
            return False
        time.sleep(0.02)
    return True
