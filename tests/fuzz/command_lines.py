"""The command line: arguments nobody should give, run in this process. Nothing is trained and no server started."""

from __future__ import annotations

import contextlib
import functools
import gzip
import io
import ipaddress
import os
import pickle
import socket
import sys
import tempfile
from pathlib import Path
from typing import Any
from unittest import mock

from hypothesis import strategies as st

from tests.fuzz.common import NUMBERS, PATHS, SHORT, kept_folder, near, one_sentence
from tests.fuzz.damage import MARK, Bomb, write
from tests.fuzz.folders import base
from tests.fuzz.guard import watched
from tests.fuzz.links import switch
from transformer.__main__ import main, parser
from transformer.cli import serve
from transformer.cli.run_folder import Run

BIND = serve._bind
ENDING = tuple(path for path in PATHS if path != "/dev/zero")  # sentence pairs may come from a pipe, of any length
RECIPES = (
    '[data]\ntask = "reverse"\ncount = 40\nlengths = [1, 3]\nseed = 1\n',
    '[data]\ntrain = "train.tsv"\nvalidation = "train.tsv"\n[model]\npreset = "tiny"\n[training]\nsteps = 1\n',
    '[decoding]\nbeam = 2\n', "like = 7\n", 'like = "good.toml"\n[model]\nheads = 3\n', "[data]\ntrain = 3\n",
    '[data]\ntest = "a\\u0000b"\n', "x = " + "[" * 2_000, "x = " + "9" * 5_000, "[model]\nd_model = 1e400\n",
    "[training]\nsteps = 999999999999999999\n", "[nowhere]\nx = 1\n", "data = 7\n", "\0",
    '[data]\ntest = ["train.tsv", "short.txt"]\n',
)  # fmt: skip


@functools.cache
def place() -> Path:
    """A folder with good and bad files for the arguments to name; it goes when the process ends."""
    folder = kept_folder()
    write(folder / "good", base())
    write(folder / "bad", {**base(), "config.json": b"{"})
    write(folder / "recurrent", {**base(), "config.json": b'{"architecture": "headscope-recurrent", "format": 1}'})
    packed = gzip.compress(b"ka\tlo\n")
    files: dict[str, bytes] = {
        "train.tsv": b"ka lo\tmi\nmi nu\tka\n", "short.txt": b"ka\n", "notab.tsv": b"ka lo\n", "empty.tsv": b"",
        "latin.tsv": b"f\xfcr\tx\n", "blank.tsv": b"\t\n", "nul.tsv": b"\0\t\0\n", "words.tsv": b"cat\tKatze\n",
        "bad.gz": b"\x1f\x8b" + bytes(9), "good.tsv.gz": packed, "cut.gz": packed[:-9],
        "pickle.tsv": pickle.dumps(Bomb()), "long.tsv": b"ka " * 4_000 + b"\tmi\n",
    }  # fmt: skip
    for number, recipe in enumerate(RECIPES):
        files[f"{number}.toml"] = recipe.encode()
    files["good.toml"] = RECIPES[1].encode()
    for name, data in files.items():
        (folder / name).write_bytes(data)
    (folder / "folder").mkdir()
    return folder


@st.composite
def _value(draw: st.DrawFn, option: Any) -> str:
    """A value for an option: one that may be, a number, a file, or anything."""

    def one_of(*values: str) -> str:
        return draw(st.sampled_from(values))

    there = st.sampled_from(sorted(place().iterdir())).map(str)
    file, likely = draw(there | there | st.sampled_from(ENDING) | SHORT), draw(st.integers(0, 9))
    if option.choices and likely < 7:
        return one_of(*sorted(option.choices))
    if option.dest == "switch":
        name = one_of("scaling", "causal", "zero", "hide", "positions", "neurons", "pad", "x")
        return f"{name}={draw(switch(name))}"
    if option.dest == "checkpoint" and likely < 8:
        return str(place() / one_of("good", "good", "good", "bad", "recurrent", "folder", "none"))
    if option.dest in ("device", "set"):
        return one_of("cuda", "mps", "data.count=3", "model.heads=0", "x=y", "training.steps=[", "a.b.c=1", "data=3")
    if option.metavar in ("N", "A", "X") or option.dest == "lengths":
        return one_of("1", "2", "3", one_of(*NUMBERS))
    if option.dest in ("json", "output", "export"):  # written: `watched` lets nobody write elsewhere
        return one_of("out", "out", "folder/out", ".", file if file not in PATHS else "..")
    if option.metavar in ("FILE", "FOLDER"):
        return "/dev/zero" if option.dest in ("recipe", "words") and not likely else file
    return draw(SHORT | st.sampled_from((*NUMBERS, file)))


@st.composite
def arguments(draw: st.DrawFn) -> list[str]:
    """What follows `python -m transformer`: no argument of a process holds a zero byte, and bytes that are not UTF-8
    arrive as U+DC80 to U+DCFF."""
    commands = parser()._subparsers._group_actions[0].choices  # type: ignore[union-attr, attr-defined]
    name = draw(st.sampled_from(sorted(commands)))
    options = [one for one in commands[name]._actions if one.option_strings and one.dest != "help"]
    found = [name]
    chosen = [one for one in options if one.dest == "checkpoint" or (one.required and draw(st.integers(0, 9)))]
    for one in chosen + draw(st.lists(st.sampled_from(options), max_size=4)):
        count = one.nargs if isinstance(one.nargs, int) else draw(st.integers(0, 3)) if one.nargs else one.nargs != 0
        found += [one.option_strings[-1], *(draw(_value(one)) for _ in range(count))]
    if draw(st.integers(0, 6)) == 6:
        odd = draw(st.sampled_from(("--", "-", "--x", "--help", "")) | SHORT)
        found.insert(draw(st.integers(0, len(found))), odd)
    if draw(st.integers(0, 6)) == 6:
        at = draw(st.integers(0, len(found) - 1))
        found[at] = draw(near(found[at]))
    return [os.fsdecode(one.replace("\0", "").encode("utf-8", "surrogatepass")) for one in found]


def _bind(address: str, port: int) -> None:
    """As the command's own, but that no name server is asked."""
    with contextlib.suppress(ValueError):
        ipaddress.ip_address(address or "0.0.0.0")
        return BIND(address, port)
    address.encode("idna")
    raise socket.gaierror(socket.EAI_NONAME, "no such name")


def run(given: list[str], typed: bytes = b"") -> tuple[int, str, str]:
    """Exit status, standard output and errors of a command whose server and training do not start."""
    out, wrong = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.TextIOWrapper(io.BytesIO(), "utf-8", "backslashreplace")
    patches = (
        mock.patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(typed), "utf-8")),
        mock.patch("streamlit.App"),
        mock.patch.object(serve, "_bind", _bind),
        mock.patch.object(Run, "train", lambda *_args: False),
        mock.patch.dict("os.environ"),
        mock.patch.object(sys, "argv", ["headscope"]),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(wrong),
    )
    with contextlib.ExitStack() as stack:
        for patch in patches:
            stack.enter_context(patch)
        try:
            status = main(given)
        except SystemExit as error:
            status = error.code if isinstance(error.code, int) else 1
        out.flush()
        wrong.flush()
    return status, out.buffer.getvalue().decode("utf-8"), wrong.buffer.getvalue().decode("utf-8")  # type: ignore[attr-defined]


def check(given: list[str], typed: list[str]) -> None:
    """A command ends with a result or with one sentence, and writes only into its folder."""
    with tempfile.TemporaryDirectory(prefix="headscope-fuzz-") as there, contextlib.chdir(there), watched(Path(there)):
        status, out, wrong = run(given, "\n".join(typed).encode("utf-8", "surrogatepass"))
    assert status in (0, 1, 2, 130), (status, given)
    assert "Traceback" not in out + wrong, wrong[-2_000:]
    if status == 2:
        assert "error: " in wrong, wrong
        one_sentence(wrong[wrong.index("error: ") :].strip().replace(str(place()), ""), 1_500)
    assert not MARK.exists(), "code of a file was run"
