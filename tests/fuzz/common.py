"""What the ways share: random texts, and what an answer must look like."""

from __future__ import annotations

import atexit
import random
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

LONGEST_SENTENCE = 700  # characters of one message; a path in it comes on top

MARKUP = (
    "<script>alert(1)</script>", "</script><script>alert(1)</script>", "<img src=x onerror=alert(1)>", "</s>", "<s>",
    "<pad>", "<unk>", "&lt;b&gt;", "<!--", "]]>", "javascript:alert(1)", "$\\frac{a}{b}$", "**bold**", "![x](//a.b/c)",
    "[x](javascript:alert(1))", "{{7*7}}", "${7*7}", "%s%n", "'; DROP TABLE x; --", "{asked!r}", "{0.__class__}",
    ":material/home:", ":red[x]", "\\x00", "\\ud800", "%00", "%2e%2e%2f",
)  # fmt: skip
PATHS = (
    "..", "../..", "../reverse", "en-de/../../etc", "/etc/passwd", "/", "//", "./reverse", "reverse/", "reverse/.",
    "reverse\0", "\0", "%2e%2e/reverse", "..%2f..%2fetc", "%252e%252e%252f", "..\\..\\windows", "C:\\windows", "C:",
    "\\\\server\\share", "CON", "NUL", "reverse::$DATA", "file:///etc/passwd", "~", "~root", "$HOME", "reverse ",
    " reverse", "REVERSE", "ｒeverse", "reverse\n", "．．／", "\u2215etc\u2215passwd", "", "x" * 5_000, "/proc/self",
    "/dev/zero", "sort/../reverse", "checkpoints/reverse", "*", "[a-z]*", "transformer/rnn/checkpoints",
)  # fmt: skip
NUMBERS = (
    "0", "1", "-1", "2", "3", "8", "16", "64", "100", "999999", "-0", "+1", "01", "1.5", "1e3", "1e400", "nan", "inf",
    "-inf", "٣", "１", "²", "0x10", "1_0", " 1", "1 ", "", "9" * 30, "9" * 5_000, "1,1", "true", "None", "all", "½",
)  # fmt: skip
BLOCKS = (
    (0x20, 0x7F), (0x20, 0x7F), (0xA0, 0x250), (0x300, 0x370), (0x370, 0x530), (0x590, 0x700), (0x900, 0xE80),
    (0x1100, 0x1200), (0x2000, 0x2070), (0x2070, 0x2400), (0x3000, 0x3200), (0x4E00, 0x9FFF), (0xAC00, 0xD7A4),
    (0xD800, 0xE000), (0xE000, 0xE100), (0xF900, 0x10000), (0x1D400, 0x1D800), (0x1F000, 0x1FB00), (0xE0000, 0xE0080),
    (0, 0x20), (0x7F, 0xA0), (0x10FFF0, 0x110000), (0, 0x110000),
)  # fmt: skip
SPECIAL = (  # zero width, bidirectional, joining, and what becomes long
    "\u200b\u200c\u200d\u200e\u200f\u202a\u202b\u202d\u202e\u2066\u2069\ufeff\u00ad\u2060\u180e\u2581\u034f\ufdfa\x00"
)


def _part(rng: random.Random) -> str:
    kind = rng.randrange(10)
    if kind < 3:
        low, high = rng.choice(BLOCKS)
        return "".join(chr(rng.randrange(low, high)) for _ in range(rng.randint(1, 12)))
    if kind == 3:
        return rng.choice(MARKUP)
    if kind == 4:
        return rng.choice("aeoAÜ語😀") + "".join(chr(rng.randrange(0x300, 0x370)) for _ in range(rng.randint(1, 90)))
    if kind == 5:
        return "".join(rng.choices(SPECIAL, k=rng.randint(1, 6)))
    if kind == 6:
        return rng.choice((" ", "  ", "\t", "\r\n", "\u3000", "\u2028", "\x85", "\xa0"))
    if kind == 7:
        return rng.choice(NUMBERS[:-8] + PATHS[:20])
    if kind == 8:
        return "👩\u200d👩\u200d👧\u200d👦" * rng.randint(1, 3)
    return " ".join("".join(rng.choices("abcdeghilmnorstuz", k=rng.randint(1, 9))) for _ in range(rng.randint(1, 6)))


def text(rng: random.Random, huge: float = 0.02) -> str:
    """Any text a field or a link may hold. huge: how often it is 10,000 to 200,000 characters long."""
    made = rng.choice(("", " ")).join(_part(rng) for _ in range(rng.choice((0, 1, 1, 2, 3, 6))))
    if rng.random() < huge:
        made = (made or "x") * (rng.choice((10_000, 100_000, 200_000)) // max(1, len(made)) + 1)
    return made


def mutated(rng: random.Random, value: str) -> str:
    """The text with something taken out, put in, doubled or exchanged."""
    for _ in range(rng.choice((0, 1, 1, 1, 2, 4))):
        at, width = rng.randint(0, len(value)), rng.choice((0, 1, 1, 2, 5))
        put = rng.choice(("", "", text(rng, 0), rng.choice(NUMBERS), ",", "@", ".", "=", "-", value[:50], "\0"))
        value = value[:at] + put + value[at + width :]
    return value


def anything(rng: random.Random, depth: int = 3) -> Any:
    """Any value that JSON can hold, and Python's own oddities of it."""
    kind = rng.randrange(9 if depth else 7)
    if kind == 0:
        return rng.choice((None, True, False))
    if kind == 1:
        return rng.choice((0, -1, 1, 2, 7, 2**31, 2**53 + 1, 2**63, 2**64, -(2**63), 10**300, 10**4000))
    if kind == 2:
        return rng.choice((0.5, -0.0, 1e-320, 1e308, float("nan"), float("inf"), float("-inf")))
    if kind < 7:
        return rng.choice((text(rng, 0), rng.choice(NUMBERS), rng.choice(PATHS), "x" * 3_000))
    if kind == 7:
        return [anything(rng, depth - 1) for _ in range(rng.randint(0, 3))]
    return {text(rng, 0)[:20]: anything(rng, depth - 1) for _ in range(rng.randint(0, 3))}


def one_sentence(message: str, room: int = LONGEST_SENTENCE) -> None:
    """Raises AssertionError unless a person could be shown this."""
    assert message.strip(), "an empty message"
    assert "Traceback" not in message and 'File "' not in message, message[:2_000]
    assert len(message) <= room, f"{len(message)} characters: {message[:500]}"
    assert "\n" not in message and "\r" not in message, message[:500]


def kept_folder() -> Path:
    """A new folder that goes when the process ends."""
    folder = tempfile.mkdtemp(prefix="headscope-fuzz-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


def parts(count: int) -> list[Any]:
    """Numbers of equal parts of the cases, for `parametrize`: the first with every change, all before a release."""
    return [pytest.param(part, marks=pytest.mark.long if part else ()) for part in range(count)]


def repeat(way: str, case: Callable[[int], None], seeds: range) -> None:
    """Run the cases of some seeds. Raises AssertionError that names the first seed that failed and how to repeat it."""
    for seed in seeds:
        try:
            case(seed)
        except Exception as error:
            raise AssertionError(f"repeat with: python -m tests.fuzz --way {way} --case {seed}") from error
