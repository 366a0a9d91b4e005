"""What the ways in share: hostile texts, numbers, paths and JSON, damaged files, and what an answer must look like."""

import atexit
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st

from tests.support.strategies import SENTENCES
from tests.support.strategies import TEXTS as SHORT_TEXTS

TIMES = int(os.environ.get("HEADSCOPE_FUZZ", "1"))  # how many times as many cases as before a release
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
SPECIAL = (  # zero width, bidirectional, joining, and what becomes long
    "\u200b\u200c\u200d\u200e\u200f\u202a\u202b\u202d\u202e\u2066\u2069\ufeff\u00ad\u2060\u180e\u2581\u034f\ufdfa\x00"
)
SIZES = (0, 1, 2, 3, 7, 64, 66, 8_192, 65_536, 10**6, -1, 2**31, 2**63, 2**64, 10**300, 10**4000, 0.5, -0.0, 1e-320,
         1e308, float("nan"), float("inf"), True, False, None, "", [], {})  # fmt: skip

TEXTS = st.builds(
    str.join,
    st.sampled_from(("", " ")),
    st.lists(
        st.one_of(
            SHORT_TEXTS,
            SENTENCES,
            st.sampled_from(MARKUP),
            st.sampled_from((*NUMBERS, *PATHS)),
            st.text(st.sampled_from(SPECIAL), min_size=1, max_size=6),
            st.builds(str.__add__, st.sampled_from("aeoAÜ語😀"), st.text(st.characters(min_codepoint=0x300,
                      max_codepoint=0x36F), max_size=90)),
        ),
        max_size=5,
    ),
)  # fmt: skip
LONG_TEXTS = st.builds(
    lambda text, length: (text or "x") * (length // max(1, len(text)) + 1),
    TEXTS,
    st.sampled_from((10_000, 100_000, 200_000)),
)
TYPED = st.one_of(*[TEXTS] * 30, LONG_TEXTS)  # what a field or a link may hold, in rare cases very long
JSON = st.recursive(
    st.sampled_from(SIZES) | st.integers() | st.floats() | st.sampled_from((*NUMBERS, *PATHS, "x" * 3_000)) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS.map(lambda text: text[:20]), inner, max_size=3),
    max_leaves=5,
)  # whatever JSON can hold, and Python's own oddities of it


def examples(count: int) -> settings:
    """So many cases, the same in every run of the same code: a changed constant of any module changes them too
    (findings/hypothesis-derandomize-constants.sh). HEADSCOPE_FUZZ multiplies them, and above 1 they differ in every
    run. Only where it is set, a case that fails is reduced to a small one, which takes minutes."""
    phases = (Phase.explicit, Phase.generate, *([Phase.shrink] if "HEADSCOPE_FUZZ" in os.environ else []))
    slow = (HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example)
    return settings(max_examples=count * TIMES, derandomize=TIMES == 1, phases=phases, suppress_health_check=slow)


@st.composite
def mutated(draw: st.DrawFn, value: str) -> str:
    """The text with something taken out, put in, doubled or exchanged."""
    for _ in range(draw(st.sampled_from((1, 1, 1, 2, 4)))):
        start, width = draw(st.integers(0, len(value))), draw(st.sampled_from((0, 1, 1, 2, 5)))
        new = draw(TEXTS | st.sampled_from(("", "", ",", "@", ".", "=", "-", value[:50], "\0", *NUMBERS)))
        value = value[:start] + new + value[start + width :]
    return value


def flipped(data: bytes, changes: Sequence[tuple[int, int]]) -> bytes:
    """The data with other bytes at some positions."""
    changed = bytearray(data)
    for position, byte in changes:
        changed[position] = byte
    return bytes(changed)


def flips(data: bytes, low: int = 0) -> st.SearchStrategy[bytes]:
    """Some bytes of the data exchanged, from the position `low` on."""
    if low >= len(data):
        return st.just(data)
    change = st.tuples(st.integers(low, len(data) - 1), st.integers(0, 255))
    return st.lists(change, min_size=1, max_size=50).map(lambda changes: flipped(data, changes))


# As functions: Hypothesis prints the values of a strategy when a case fails, and a file is too long for that.
REWRITES: tuple[Callable[[bytes], bytes], ...] = (
    lambda data: data * 2, lambda data: data + b"x", lambda data: data[4:], lambda data: b"x" * 99 + data,
    lambda data: b"\xef\xbb\xbf" + data, lambda _: b"", lambda _: b"\0", lambda _: b"PK",
    lambda _: b"PK\3\4" + bytes(99), lambda _: b"PK\5\6" + bytes(18), lambda _: "x".encode("utf-16"),
    lambda _: b"<!DOCTYPE html>" * 9, lambda _: b"[" * 500 + b"]" * 500, lambda _: b"[" * 990, lambda _: b"[" * 100_000,
)  # fmt: skip


def damaged_bytes(data: bytes) -> st.SearchStrategy[bytes]:
    """Any file: cut off, flipped, doubled, empty, of another kind."""
    return st.one_of(
        st.integers(0, len(data)).map(lambda end: data[:end]),
        flips(data),
        *[st.sampled_from(REWRITES).map(lambda rewrite: rewrite(data))] * 2,
        st.binary(min_size=7, max_size=400),
    )


@st.composite
def damaged_json(draw: st.DrawFn, data: bytes, names: Sequence[str] = ("x",), values: Sequence[Any] = ()) -> bytes:
    """A JSON file with values exchanged, swapped, added, left out or named twice. names, values: likely ones for it."""
    root: list[Any] = [json.loads(data)]
    new = st.sampled_from((*SIZES, *values)) | JSON
    for _ in range(draw(st.sampled_from((0, 1, 1, 1, 2, 3)))):
        holder: Any = root
        key: Any = 0
        while isinstance(holder[key], dict | list) and holder[key] and draw(st.integers(0, 4)):
            holder = holder[key]
            keys = st.sampled_from(list(holder) if isinstance(holder, dict) else range(len(holder)))
            key, other = draw(keys), draw(keys)
        act = draw(st.sampled_from(("exchange", "exchange", "exchange", "add", "swap", "remove")))
        if act == "exchange" or holder is root:
            holder[key] = draw(new)
        elif act == "swap":
            holder[key], holder[other] = holder[other], holder[key]
        elif act == "remove":
            del holder[key]
        elif isinstance(holder, dict):
            holder[draw(st.sampled_from(names) | TEXTS)] = draw(new)
        else:
            holder.extend([holder[key]] * draw(st.sampled_from((1, 70, 300))))
    written = json.dumps(root[0])
    kind = draw(st.integers(0, 19))
    if kind <= 2 and isinstance(root[0], dict) and root[0]:
        name = draw(st.sampled_from(list(root[0])))
        written = f"{{{json.dumps(name)}: {json.dumps(root[0][name])}, {written[1:]}"
    return ("[" * 3_000 + written if kind == 3 else written).encode()


def one_sentence(message: str, most: int = LONGEST_SENTENCE) -> None:
    """Raises AssertionError unless a person could be shown this."""
    assert message.strip(), "an empty message"
    assert "Traceback" not in message and 'File "' not in message, message[:2_000]
    assert len(message) <= most, f"{len(message)} characters: {message[:500]}"
    assert "\n" not in message and "\r" not in message, message[:500]


def kept_folder() -> Path:
    """A new folder that goes when the process ends."""
    folder = tempfile.mkdtemp(prefix="headscope-fuzz-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)
