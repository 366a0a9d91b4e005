"""Attacks on the memory of a server: uploads with large files that nobody reads, and long texts that are few tokens.

`python -m tests.attack.memory` prints what each leaves, in MB.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import time
from collections.abc import Callable, Iterable

import torch

import transformer
from tests.attack.client import Attacker, run
from tests.support.build import tiny_model, tiny_tokenizer
from tests.support.processes import sample
from tests.support.server import App, running
from tests.support.viewer import ViewerError
from transformer.checkpoints.archive import zipped
from transformer.checkpoints.folder import EXAMPLES, FILES, checkpoint_files

FILE = "headscope.training_file"
SPACES = 28_000_000  # bytes of examples.json; packed they take 27,000
UPLOADS = 60
TEXTS, CHARACTERS = 375, 99_990  # texts, and characters of each
UNKNOWN = "\u0f40"  # a Tibetan letter, in no vocabulary here; a run of them is one token


def padded_zip(number: int, spaces: int = SPACES) -> bytes:
    """A good checkpoint with an examples.json of spaces; each number makes another file."""
    folder = transformer.load("reverse").path
    files = {name: (folder / name).read_bytes() for name in FILES if (folder / name).is_file()}
    return zipped({**files, EXAMPLES: b"[]" + b" " * (spaces + number)}, "reverse")


def large_zip(number: int) -> bytes:
    """A model that takes 40 MB when it is open; its weights are nearly all zero, so its zip is small."""
    tokenizer = tiny_tokenizer()
    model = tiny_model(vocab_size=len(tokenizer), d_model=512, d_ff=1024, heads=8)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
        model.embedding.weight[0, 0] = number
    return zipped(checkpoint_files(model, tokenizer, ("Invented", "Imagined")), "large")


def unknown_text(number: int, characters: int = CHARACTERS) -> str:
    """A text of unknown characters of one kind, which the tokenizer reads as one token; each number is another text."""
    return chr(ord(UNKNOWN) + number % 8) * (characters - number // 8)


async def load_zip(attacker: Attacker, data: bytes, name: str) -> None:
    await attacker.trigger(FILE, "file", {"name": name, "data": base64.b64encode(data).decode()})


async def upload(app: App, zips: Iterable[bytes], after: Callable[[int, Attacker], None] = lambda _, __: None) -> None:
    """One visitor who loads one model after another. after: called with the number of the upload."""
    async with Attacker(app.host, "training") as attacker:
        await attacker.open(checkpoint="reverse")
        for number, data in enumerate(zips, 1):
            await load_zip(attacker, data, f"model {number}.zip")
            after(number, attacker)


async def type_texts(
    app: App, texts: Iterable[str], after: Callable[[int, Attacker, int], None] = lambda _, __, ___: None
) -> None:
    """One visitor who types one text after another. after: called with the number of the text and the bytes sent
    back."""
    async with Attacker(app.host) as attacker:
        await attacker.open(checkpoint="en-de")
        for number, text in enumerate(texts, 1):
            attacker.states["source"] = {"string_value": text}
            answer = await attacker.refresh()
            after(number, attacker, answer.received)


def _measure(app: App, attack: str) -> None:
    start = time.monotonic()

    def show(what: str) -> None:
        print(f"{time.monotonic() - start:6.1f} s  {sample(app.pid).memory / 1e6:7,.0f} MB  {what}", flush=True)

    async def attacks() -> None:
        async with Attacker(app.host) as visitor:  # opens what every server has open
            await visitor.open(checkpoint="en-de")
        show("before")
        if attack == "uploads":
            each = UPLOADS // 6
            zips = (padded_zip(number) for number in range(UPLOADS))
            await upload(app, zips, lambda number, _: show(f"{number} uploads") if number % each == 0 else None)
        else:
            each, answers = TEXTS // 5, [0]

            def after(number: int, attacker: Attacker, received: int) -> None:
                answers.append(received)
                if number % each == 0:
                    show(f"{number} texts; the last answer took {received:,} bytes: {attacker.said[:80]!r}")

            await type_texts(app, map(unknown_text, range(TEXTS)), after)
            show(f"the largest answer took {max(answers):,} bytes")
        show("the visitor has left")
        for _ in range(6):
            await asyncio.sleep(30)
            show("later")

    try:
        run(attacks())
    except ViewerError as error:
        print(error)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("attack", choices=("uploads", "texts"), nargs="*", default=("uploads", "texts"))
    for chosen in parser.parse_args().attack:
        with running(transformer.load("en-de").path, "--trainings", "0") as found:
            _measure(found, chosen)
