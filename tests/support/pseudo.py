"""A language made for tests: every text in brackets. What stands outside of all brackets was never translated."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from google.protobuf.message import Message

from tests.support.locale_template import all_texts, catalogue

CODE = "en-XA"
OPENS, CLOSES = "⟦", "⟧"
_WRAPPED = re.compile(f"{OPENS}[^{OPENS}{CLOSES}]*{CLOSES}")
_WORD = re.compile(r"[^\W\d_]{3,}")
# Data and signs of the field, which no language translates.
SIGNS = {
    "Headscope", "softmax", "Attention", "concat", "Concat", "LayerNorm", "layer", "head", "ReLU", "GELU", "relu", "gelu",
    "max", "min", "exp", "log", "sin", "cos", "model", "pos", "var", "Var", "mean", "PPL", "BLEU", "chrF", "Aa", "png",
    "svg", "csv", "npz", "html", "json", "nats", "pad", "unk", "bos", "eos", "head_i", "MultiHead", "FFN", "attention",
    "mathrm", "frac", "sqrt", "top", "left", "right", "text", "quad", "operatorname", "tiny", "reverse",
}  # fmt: skip
NOT_TEXT = {
    "id",
    "key",
    "element_id",
    "form_id",
    "page_script_hash",
    "url",
    "icon",
    "query_string",
    "css",
    "js",
    "json",
}


def write_catalogue(folder: Path) -> None:
    (folder / f"{CODE}.po").write_bytes(catalogue({text: f"{OPENS}{text}{CLOSES}" for text in all_texts()}))


def untranslated(text: str, data: Iterable[str] = ()) -> str:
    """The words of a text outside of all brackets, but those of the data."""
    before = ""
    while before != text:
        before, text = text, _WRAPPED.sub(" ", text)
    known = SIGNS | {word for piece in data for word in _WORD.findall(piece)}
    return " ".join(word for word in _WORD.findall(text) if word not in known)


class _Reader(HTMLParser):
    """The texts of HTML: what is shown, and attributes that are read out; nothing marked translate="no"."""

    VOID = ("br", "hr", "img", "input", "meta", "link", "wbr")

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.hidden: list[bool] = [False]

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        found = dict(attributes)
        hidden = self.hidden[-1] or tag in ("style", "script", "code", "math") or found.get("translate") == "no"
        if not hidden:
            self.texts += [text for name in ("aria-label", "title", "alt", "placeholder") if (text := found.get(name))]
        if tag not in self.VOID:
            self.hidden.append(hidden)

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID and len(self.hidden) > 1:
            self.hidden.pop()

    def handle_data(self, text: str) -> None:
        if not self.hidden[-1]:
            self.texts.append(text)


def html_texts(body: str) -> list[str]:
    reader = _Reader()
    reader.feed(body)
    return reader.texts


def message_texts(message: Message) -> list[str]:
    """All texts of one of Streamlit's elements."""
    found: list[str] = []
    for field, value in message.ListFields():
        if field.name in NOT_TEXT or field.name.endswith("_id"):
            continue
        values: list[Any] = (
            list(value) if isinstance(value, Iterable) and not isinstance(value, str | bytes) else [value]
        )
        for item in values:
            if isinstance(item, Message):
                found += message_texts(item)
            elif isinstance(item, str):
                found += html_texts(item) if "<" in item else [item]
    return found
