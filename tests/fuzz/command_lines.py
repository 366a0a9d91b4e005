"""The command line: arguments nobody should give, run in this process. Nothing is trained and no server started."""

from __future__ import annotations

import contextlib
import functools
import gzip
import io
import ipaddress
import os
import pickle
import random
import socket
import sys
import tempfile
from pathlib import Path
from typing import Any
from unittest import mock

from tests.fuzz import switches
from tests.fuzz.common import NUMBERS, PATHS, kept_folder, mutated, one_sentence, text
from tests.fuzz.folders import Bomb, base, write
from tests.fuzz.guard import watched
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
    write(folder / "good", dict(base()))
    write(folder / "bad", {**base(), "config.json": b"{"})
    write(folder / "recurrent", {**base(), "config.json": b'{"architecture": "headscope-recurrent", "format": 1}'})
    packed = gzip.compress(b"ka\tlo\n")
    files: dict[str, bytes] = {
        "train.tsv": b"ka lo\tmi\nmi nu\tka\n", "short.txt": b"ka\n", "notab.tsv": b"ka lo\n", "empty.tsv": b"",
        "latin.tsv": b"f\xfcr\tx\n", "blank.tsv": b"\t\n", "nul.tsv": b"\0\t\0\n", "words.tsv": b"cat\tKatze\n",
        "bad.gz": b"\x1f\x8b" + bytes(9), "good.tsv.gz": packed, "cut.gz": packed[:-9],
        "pickle.tsv": pickle.dumps(Bomb(folder / "mark")), "long.tsv": b"ka " * 4_000 + b"\tmi\n",
    }  # fmt: skip
    for number, recipe in enumerate(RECIPES):
        files[f"{number}.toml"] = recipe.encode()
    files["good.toml"] = RECIPES[1].encode()
    for name, data in files.items():
        (folder / name).write_bytes(data)
    (folder / "folder").mkdir()
    return folder


def _file(rng: random.Random) -> str:
    names = [path.name for path in sorted(place().iterdir())]
    there = str(place() / rng.choice(names))
    return rng.choice((there, there, rng.choice(ENDING), text(rng, 0)))


def _value(rng: random.Random, option: Any) -> str:
    """A value for an option: one that may be, a number, a file, or anything."""
    if option.choices and rng.random() < 0.7:
        return rng.choice(sorted(option.choices))
    if option.dest == "switch" and rng.random() < 0.9:
        name = rng.choice(("scaling", "causal", "zero", "hide", "positions", "neurons", "pad", "x"))
        return f"{name}={switches.value(rng, name)}"
    if option.dest == "checkpoint" and rng.random() < 0.8:
        return str(place() / rng.choice(("good", "good", "good", "bad", "recurrent", "folder", "none")))
    if option.dest == "device" or option.dest == "set":
        return rng.choice(
            ("cuda", "mps", "data.count=3", "model.heads=0", "x=y", "training.steps=[", "a.b.c=1", "data=3")
        )
    if option.metavar in ("N", "A", "X") or option.dest == "lengths":
        return rng.choice(("1", "2", "3", rng.choice(NUMBERS)))
    if option.dest in ("json", "output", "export"):  # written: `watched` lets nobody write elsewhere
        return rng.choice(("out", "out", "folder/out", ".", text(rng, 0)))
    if option.metavar in ("FILE", "FOLDER"):
        return "/dev/zero" if option.dest in ("recipe", "words") and rng.random() < 0.1 else _file(rng)
    return rng.choice((text(rng, 0), rng.choice(NUMBERS), _file(rng)))


def arguments(rng: random.Random) -> list[str]:
    """What follows `python -m transformer`: no argument of a process holds a zero byte, and bytes that are not UTF-8
    arrive as U+DC80 to U+DCFF."""
    commands = parser()._subparsers._group_actions[0].choices  # type: ignore[union-attr, attr-defined]
    name = rng.choice(sorted(commands))
    options = [one for one in commands[name]._actions if one.option_strings and one.dest != "help"]
    found = [name]
    chosen = [one for one in options if one.required and rng.random() < 0.9]
    chosen += [one for one in options if one.dest == "checkpoint" and one not in chosen]
    chosen += rng.sample(options, rng.randint(0, min(4, len(options))))
    for one in chosen:
        count = one.nargs if isinstance(one.nargs, int) else rng.randint(0, 3) if one.nargs in ("+", "?", "*") else 1
        found.append(one.option_strings[-1])
        found += [_value(rng, one) for _ in range(count)]
    if rng.random() < 0.15:
        found.insert(rng.randrange(len(found) + 1), rng.choice(("--", "-", "--x", "--help", "", text(rng, 0))))
    if rng.random() < 0.15:
        found = [mutated(rng, one) if rng.random() < 0.2 else one for one in found]
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


def case(seed: int) -> None:
    rng = random.Random(f"commands {seed}")
    given = arguments(rng)
    typed = "\n".join(text(rng, 0.01) for _ in range(rng.randint(0, 3))).encode("utf-8", "surrogatepass")
    with tempfile.TemporaryDirectory(prefix="headscope-fuzz-") as there, contextlib.chdir(there), watched(Path(there)):
        status, out, wrong = run(given, typed)
    assert status in (0, 1, 2, 130), (status, given)
    assert "Traceback" not in out + wrong, wrong[-2_000:]
    if status == 2:
        said = [line for line in wrong.splitlines() if "error: " in line]
        assert said, wrong
        sentence = wrong[wrong.index("error: ") :].strip()
        one_sentence(sentence.replace(str(place()), ""), 1_500)
    assert not (place() / "mark").exists(), "code of a file was run"
