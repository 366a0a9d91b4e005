"""A language made for tests: every text in brackets. What stands outside of all brackets was never translated."""

import json
import re
from collections.abc import Iterable
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from google.protobuf.message import Message

from tests.support.build import SYLLABLES
from tests.support.locale_template import all_texts, catalogue
from transformer.inference.pretrained import available

CODE = "en-XA"
OPENS, CLOSES = "⟦", "⟧"
_WRAPPED = re.compile(f"{OPENS}[^{OPENS}{CLOSES}]*{CLOSES}")
_WORD = re.compile(r"[^\W\d_]{3,}")
# Data and signs of the field, which no language translates.
SIGNS = {
    "Headscope", "streamlit", "Deutsch", "English", "tiny", *(word for name in available() for word in name.split("-")),
    "softmax", "Attention", "attention", "MultiHead", "head", "head_i", "concat", "Concat", "LayerNorm", "layer", "FFN",
    "Sublayer", "ReLU", "relu", "GELU", "gelu", "swish", "tanh", "exp", "log", "sin", "cos", "max", "min", "var", "Var",
    "mean", "model", "dmodel", "dff", "pos", "source", "logk", "GRU", "PPL", "BLEU", "chrF", "nats", "pad", "unk", "Aa",
    "png", "svg", "csv", "npz", "html", "json", "transformer", "please", "esaelp", "noitnetta", "noitetnat", "αij",
    "softmaxj", "batch", "query", "key", "token", "memory", "step", "ALTI",
    "newstest", "GNMT", "ConvS", "MoE", "ensemble", "Transformer", "base", "big",
}  # fmt: skip
NOT_TEXT = {
    "id", "key", "element_id", "form_id", "page_script_hash", "url", "icon", "query_string", "component_name", "json",
    "js_content", "css_content", "html_content", "language", "element_type", "default", "raw_values", "value", "page",
    "type", "spec", "config",
}  # fmt: skip
# A tiny model may write one letter again and again, also after syllables.
DATA = re.compile(f"({'|'.join(SYLLABLES)})+(.?)\\2*|(.)\\3*")
# Names in the output of a command: commands, options, {choices}, 'values', METAVARS, names.with.dots, axes and types of
# tensors, and signatures of scores.
COMMAND_NAMES = re.compile(
    r"python -m transformer \w*|^ {4}\w+|--?[\w-]+|on\|off|\{[^}]*\}|'[^']*'|\b[A-Z_]+\b|\w+[._]\w[\w.]*|"
    r"\b(?:vocab|position|post|norm|self|cross|output|logits|target|bool|int64|float32|nrefs:\S+)\b|sacreBLEU",
    re.MULTILINE,
)
FORMULA = re.compile(r"\$\$.*?\$\$|\$[^$]*\$|`[^`]*`", re.DOTALL)


@cache
def _catalogue() -> bytes:
    return catalogue({text: f"{OPENS}{text}{CLOSES}" for text in all_texts()})


def write_catalogue(folder: Path) -> None:
    (folder / f"{CODE}.po").write_bytes(_catalogue())


def untranslated(text: str) -> str:
    """The words of a text outside of all brackets, but data: names, and words of the tiny models' syllables."""
    before = ""
    while before != text:
        before, text = text, _WRAPPED.sub(" ", text)
    return " ".join(word for word in _WORD.findall(text) if word not in SIGNS and not DATA.fullmatch(word))


def untranslated_output(text: str) -> str:
    """The words outside of all brackets in the output of a command, except names."""
    before = ""
    while before != text:
        before, text = text, _WRAPPED.sub(" ", text)
    return untranslated(COMMAND_NAMES.sub(" ", text))


class _Reader(HTMLParser):
    """The texts of HTML: what is shown, and attributes that are read out; nothing marked translate="no"."""

    VOID = ("br", "hr", "img", "input", "meta", "link", "wbr")

    def __init__(self) -> None:
        super().__init__()
        self.spoken: list[str] = []
        self.shown: list[str] = []
        self.hidden: list[bool] = [False]

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        found = dict(attributes)
        hidden = self.hidden[-1] or tag in ("style", "script", "code", "math") or found.get("translate") == "no"
        if not hidden:
            self.spoken += [text for name in ("aria-label", "title", "alt", "placeholder") if (text := found.get(name))]
        if tag not in self.VOID:
            self.hidden.append(hidden)

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID and len(self.hidden) > 1:
            self.hidden.pop()

    def handle_data(self, text: str) -> None:
        if not self.hidden[-1]:
            self.shown.append(text)


def html_texts(body: str) -> list[str]:
    """Attributes one by one, and all that is shown as a whole: a text may hold markup."""
    reader = _Reader()
    reader.feed(body)
    return [*reader.spoken, "".join(reader.shown)]


def figure_texts(figure: Any) -> list[str]:
    """All texts of a plotly figure, as JSON has it: titles, labels, names, what the pointer says."""
    if isinstance(figure, list):
        return [text for item in figure for text in figure_texts(item)]
    if not isinstance(figure, dict):
        return []
    shown = ("text", "title", "name", "hovertemplate", "label", "prefix", "suffix", "ticktext", "equation")
    found = [text for key, value in figure.items() if key in shown for text in _strings(value)]
    return found + [text for key, value in figure.items() if key not in shown for text in figure_texts(value)]


def _strings(value: Any) -> list[str]:
    if isinstance(value, str):
        return ["".join(html_texts(re.sub(r"%\{[^}]*\}", " ", value)))]
    if isinstance(value, list):
        return [text for item in value for text in _strings(item)]
    return figure_texts(value)


def message_texts(message: Message) -> list[str]:
    """All texts of one of Streamlit's elements."""
    found: list[str] = []
    if message.DESCRIPTOR.name == "BidiComponent":
        data = json.loads(message.json) if message.json else {}
        return figure_texts(json.loads(data["figure"])) if "figure" in data else []
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
                found += html_texts(item) if message.DESCRIPTOR.name == "Html" else [FORMULA.sub(" ", item)]
    return found
