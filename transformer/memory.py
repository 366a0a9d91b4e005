"""The memory budget of the app, as people write it, and the memory that is free. Uses only the standard library."""

import re
from pathlib import Path

VARIABLE = "HEADSCOPE_MEMORY"
BUDGET = 1_200_000_000  # bytes
LEAST = 500_000_000  # the app takes 400 million before it keeps anything
_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_WRITTEN = re.compile(r"(\d{1,12}(?:\.\d{1,6})?) *([KMGT]?)(?:i?B)?", re.ASCII | re.IGNORECASE)


def read_bytes(text: str) -> int | None:
    """Bytes in a text such as "2G", "1.5 GB" or "800M"; None for any other text."""
    match = _WRITTEN.fullmatch(text.strip())
    if match is None:
        return None
    return int(float(match[1]) * _UNITS[match[2].upper()])


def free_bytes() -> int | None:
    """Memory that this process can still get: of the machine, or of its container; None where Linux does not say it."""
    try:
        about = dict(line.split(":", 1) for line in Path("/proc/meminfo").read_text().splitlines())
        free = int(about["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError, IndexError):
        return None
    try:
        container = Path("/sys/fs/cgroup")
        limit, used = (int((container / name).read_text()) for name in ("memory.max", "memory.current"))
        kept = dict(line.split() for line in (container / "memory.stat").read_text().splitlines())
        return min(free, limit - used + int(kept.get("inactive_file", 0)))
    except (OSError, ValueError):  # no container, or one without a limit: "max"
        return free
