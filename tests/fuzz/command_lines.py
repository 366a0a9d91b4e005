"""The command line: arguments nobody should give, run in this process. Nothing is trained and no server started."""

import contextlib
import functools
import gzip
import io
import ipaddress
import os
import pickle
import socket
import sys
from pathlib import Path
from typing import Any
from unittest import mock

from hypothesis import strategies as st

from tests.fuzz.common import NUMBERS, PATHS, TEXTS, kept_folder, mutated
from tests.fuzz.folders import Bomb, base, write
from tests.fuzz.links import switch_value
from transformer.__main__ import main, parser
from transformer.cli import serve
from transformer.cli.run_folder import Run

LISTEN = serve.listen
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
    write(folder / "good", dict(base()))
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


def _files() -> st.SearchStrategy[str]:
    there = st.sampled_from(sorted(map(str, place().iterdir())))
    return st.one_of(there, there, st.sampled_from(ENDING), TEXTS)


def _values(option: Any) -> st.SearchStrategy[str]:
    """A value for an option: one that may be, a number, a file, or anything."""
    numbers, anything = st.sampled_from(NUMBERS), st.one_of(TEXTS, st.sampled_from(NUMBERS), _files())
    if option.choices:
        good = st.sampled_from(sorted(option.choices))
        return st.one_of(good, good, anything)
    if option.dest == "switch":
        names = st.sampled_from(("scaling", "causal", "zero", "hide", "positions", "neurons", "pad", "x"))
        switch = names.flatmap(lambda name: switch_value(name).map(lambda value: f"{name}={value}"))
        return st.one_of(*[switch] * 9, anything)
    if option.dest == "checkpoint":
        names = st.sampled_from(("good", "good", "good", "good", "bad", "recurrent", "folder", "none"))
        return st.one_of(*[names.map(lambda name: str(place() / name))] * 4, _files())
    if option.dest in ("device", "set"):
        return st.sampled_from(
            ("cuda", "mps", "data.count=3", "model.heads=0", "x=y", "training.steps=[", "a.b.c=1", "data=3")
        )
    if option.metavar in ("N", "A", "X") or option.dest == "lengths":
        good = st.sampled_from("123")
        return st.one_of(good, good, good, numbers)
    if option.dest in ("json", "output", "export"):  # written: `watched` lets nobody write elsewhere
        return st.sampled_from(("out", "out", "folder/out", ".")) | TEXTS
    if option.dest == "recipe":
        recipes = st.sampled_from(sorted(map(str, place().glob("*.toml"))))
        return st.one_of(recipes, recipes, _files(), st.just("/dev/zero"))
    if option.metavar in ("FILE", "FOLDER"):
        return st.one_of(_files(), _files(), st.just("/dev/zero")) if option.dest == "words" else _files()
    return anything


@st.composite
def arguments(draw: st.DrawFn) -> list[str]:
    """What follows `python -m transformer`: no argument of a process holds a zero byte, and bytes that are not UTF-8
    arrive as U+DC80 to U+DCFF."""
    commands = parser()._subparsers._group_actions[0].choices  # type: ignore[union-attr, attr-defined]
    name = draw(st.sampled_from(sorted(commands)))
    options = [one for one in commands[name]._actions if one.option_strings and one.dest != "help"]
    chosen = [one for one in options if (one.required and draw(st.integers(0, 9))) or one.dest == "checkpoint"]
    chosen += draw(st.lists(st.sampled_from(options), max_size=4)) if options else []
    found = [name]
    for one in chosen:
        some = {"+": (0, 3), "?": (0, 1), "*": (0, 3)}
        low, high = some.get(one.nargs, (one.nargs, one.nargs) if isinstance(one.nargs, int) else (1, 1))
        found += [one.option_strings[-1], *draw(st.lists(_values(one), min_size=low, max_size=high))]
    if draw(st.integers(0, 6)) == 0:
        odd = draw(st.sampled_from(("--", "-", "--x", "--help", "")) | TEXTS)
        found.insert(draw(st.integers(0, len(found))), odd)
    if draw(st.integers(0, 6)) == 0:
        at = draw(st.integers(0, len(found) - 1))
        found[at] = draw(mutated(found[at]))
    return [os.fsdecode(one.replace("\0", "").encode("utf-8", "surrogatepass")) for one in found]


def _listen(address: str | None, port: int) -> socket.socket:
    """As the command's own, but that no name server is asked."""
    with contextlib.suppress(ValueError):
        ipaddress.ip_address(address or "0.0.0.0")
        return LISTEN(address, port)
    str(address).encode("idna")
    raise socket.gaierror(socket.EAI_NONAME, "no such name")


def run(given: list[str], typed: bytes = b"") -> tuple[int, str, str]:
    """Exit status, standard output and errors of a command whose server and training do not start."""
    out, wrong = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.TextIOWrapper(io.BytesIO(), "utf-8", "backslashreplace")
    patches = (
        mock.patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(typed), "utf-8")),
        mock.patch("pages.server.run", return_value=0),
        mock.patch.object(serve, "listen", _listen),
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
