"""Texts as Streamlit can show them."""

import re

# What starts markup in Streamlit's Markdown: emphasis, code, links and images, HTML and entities, formulas, its own
# directives (:red[...], :material/...:, :smile:), addresses; lists and headings at the start of a line. Nothing else,
# because a screen reader reads the label as it is written here, with its escapes.
_MARKDOWN = re.compile(
    r"[\\`*_\[\]<>&|~$:^@]|(?<=material)/|^[#+=-]|(?<=^www)\.|(?<=\Wwww)\.|(?<=^\d)[.)]|(?<=^\d\d)[.)]"
)
# What Streamlit replaces after parsing Markdown, where no escape helps: arrows and dashes, and its own logo.
_REPLACED = re.compile(r"(?<=[-<>=~])(?=[-<>=])|(?<=:)(?=streamlit:)")


def readable_text(text: str) -> str:
    """The text as it can be sent: an unpaired surrogate, as in file names and JSON, becomes a question mark."""
    return text.encode("utf-8", "replace").decode()


def plain_markdown(text: str) -> str:
    """Text that Streamlit's Markdown shows letter by letter, for labels: everything that could start markup is escaped,
    and lines are joined."""
    parted = _REPLACED.sub("\u2060", " ".join(text.split()))  # a word joiner has no width
    return _MARKDOWN.sub(lambda sign: "\\" + sign[0], parted)
