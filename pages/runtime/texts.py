"""Texts as Streamlit can show them."""

from __future__ import annotations

import re
from collections.abc import Mapping

from transformer.texts import translate

# What begins markup in Streamlit's Markdown: emphasis, code, links and images, HTML and entities, formulas, its own
# directives (:red[...], :material/...:, :smile:), addresses; lists and headings where a line begins. No more than that:
# a screen reader is given the label as it is written here, escapes included.
_MARKDOWN = re.compile(
    r"[\\`*_\[\]<>&|~$:^@]|(?<=material)/|^[#+=-]|(?<=^www)\.|(?<=\Wwww)\.|(?<=^\d)[.)]|(?<=^\d\d)[.)]"
)
# What Streamlit replaces after Markdown has been read, where no escape helps: arrows and dashes, and its own logo.
_REPLACED = re.compile(r"(?<=[-<>=~])(?=[-<>=])|(?<=:)(?=streamlit:)")


def readable_text(text: str) -> str:
    """The text as it can be sent: half a character, as file names and JSON may hold, becomes a question mark."""
    return text.encode("utf-8", "replace").decode()


def plain_markdown(text: str) -> str:
    """Text that Streamlit's Markdown shows letter by letter, for labels that Streamlit reads as Markdown: every sign
    that could begin markup is escaped, lines become one line."""
    parted = _REPLACED.sub("\u2060", " ".join(text.split()))  # a word joiner, which takes no room
    return _MARKDOWN.sub(lambda sign: "\\" + sign[0], parted)


def translated(labels: Mapping[str, str]) -> dict[str, str]:
    """The labels of a figure, which its module marks with `N_`, in the language of the reader."""
    return {name: translate(text) for name, text in labels.items()}
