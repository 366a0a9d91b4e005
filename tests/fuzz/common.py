"""Anything that can arrive, as strategies of Hypothesis, and what an answer to it must look like."""

from __future__ import annotations

import atexit
import os
import re
import shutil
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

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
VALUES = (
    None, True, False, 0, 1, 2, 3, 5, 7, 64, 66, 128, 8_192, 16_384, 65_536, 10**6, -1, 2**31, 2**53 + 1, 2**63, 2**64,
    -(2**63), 10**300, 10**4000, 0.5, -0.0, 1e-320, 3e38, 1e308, float("nan"), float("inf"), float("-inf"),
)  # fmt: skip
# Zero width, bidirectional, joining, blank, and what becomes long.
SPECIAL = (
    "\u200b\u200c\u200d\u200e\u200f\u202a\u202b\u202d\u202e\u2066\u2069\ufeff\u00ad\u2060\u180e\u2581\u034f\ufdfa\x00"
    " \t\r\n\u3000\u2028\x85\xa0"
)
BITS = st.one_of(
    st.text(st.characters(exclude_categories=()), min_size=1, max_size=12),
    st.text("abcdeghilmnorstuz ", min_size=1, max_size=20),
    st.text(SPECIAL, min_size=1, max_size=6),
    st.text(st.characters(min_codepoint=0x300, max_codepoint=0x36F), min_size=1, max_size=90).map("e".__add__),
    st.sampled_from((*MARKUP, *PATHS[:20], *NUMBERS[:-8], "👩\u200d👩\u200d👧\u200d👦")),
)
SHORT = st.lists(BITS, max_size=4).map("".join)
# Whatever a field or a link may hold; now and then very long.
TEXT = st.builds(
    lambda text, length: text if not length else (text or "x") * (length // len(text or "x")),
    SHORT,
    st.sampled_from((*(0,) * 60, 10_000, 200_000)),
)
VALUE = st.sampled_from(VALUES)
# Whatever JSON can hold, and Python's own oddities of it.
ANYTHING: st.SearchStrategy[Any] = st.recursive(
    st.one_of(VALUE, SHORT, st.sampled_from((*NUMBERS, *PATHS, "x" * 3_000))),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(SHORT, inner, max_size=3),
    max_leaves=4,
)


@st.composite
def near(draw: st.DrawFn, text: str) -> str:
    """The text with its numbers exchanged, something put in or taken out, or repeated."""
    for _ in range(draw(st.sampled_from((0, 1, 1, 1, 2, 4)))):
        kind, at = draw(st.integers(0, 4)), draw(st.integers(0, len(text)))
        if kind == 0:
            text = re.sub(r"\d+", lambda _: draw(st.sampled_from(NUMBERS)), text)
        elif kind == 1:
            text = ",".join([text] * draw(st.sampled_from((2, 3, 400, 1_200))))[:20_000]
        else:
            put = st.sampled_from(("", "", ",", "@", ".", "=", "-", text[:50], "\0")) | SHORT
            text = text[:at] + draw(put) + text[at + draw(st.sampled_from((0, 1, 1, 2, 5))) :]
    return text


def fuzz(cases: int) -> settings:
    """So many cases, the same in every run. With HEADSCOPE_FUZZ=N: N times as many, and others each time."""
    times = int(os.environ.get("HEADSCOPE_FUZZ", "0"))
    return settings(max_examples=cases * (times or 1), derandomize=not times, suppress_health_check=list(HealthCheck))


def sent(text: str) -> str:
    """As it arrives: neither an address nor a message of a browser can hold half a character. JSON can."""
    return text.encode("utf-8", "replace").decode()


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
