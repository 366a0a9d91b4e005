"""Attacks on the memory of a server: uploads with large files that nobody reads, and long texts that are few tokens."""

import base64
from collections.abc import Callable, Iterable

import torch

import transformer
from tests.attack.client import Attacker
from tests.support.build import tiny_model, tiny_tokenizer
from tests.support.server import App
from transformer.checkpoints.archive import zipped
from transformer.checkpoints.folder import EXAMPLES, FILES, checkpoint_files

FILE = "headscope.training_file"
SPACES = 28_000_000  # bytes of examples.json; packed they take 27,000
CHARACTERS = 99_990  # of a text
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


async def upload(app: App, zips: Iterable[bytes], after: Callable[[Attacker], None] = lambda _: None) -> None:
    """One visitor who loads one model after another. after: called after each."""
    async with Attacker(app.host, "training") as attacker:
        await attacker.open(checkpoint="reverse")
        for number, data in enumerate(zips, 1):
            await load_zip(attacker, data, f"model {number}.zip")
            after(attacker)


async def type_texts(app: App, texts: Iterable[str], after: Callable[[Attacker, int], None]) -> None:
    """One visitor who types one text after another. after: called after each with the bytes sent back."""
    async with Attacker(app.host) as attacker:
        await attacker.open(checkpoint="en-de")
        for text in texts:
            answer = await attacker.set("source", string_value=text)
            after(attacker, answer.received)
