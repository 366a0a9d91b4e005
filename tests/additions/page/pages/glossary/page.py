"""Glossary: the words of the app."""

from pages.components.sentences import point
from pages.frame.frame import Content, PageFrame
from transformer.texts import _


def draw(frame: PageFrame) -> None:
    """frame has the open model, the trace of the sentence and the state of the link."""
    point(_("Words from A to Z."))


CONTENT = Content(draw, sentence=False, beyond=("",))
