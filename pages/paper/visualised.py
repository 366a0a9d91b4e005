"""Figures 3 to 5: the paper's own sentences in the open model."""

from pages.components.sentences import paragraph
from pages.frame.frame import PageFrame
from pages.frame.state import max_tokens
from pages.paper.views import View
from pages.runtime import cache
from transformer.analysis.attention import WordLink, strongest_word_link
from transformer.inference.pretrained import InputError, Pretrained
from transformer.probing.probes import english_to_german
from transformer.texts import _

NAME = "figures3to5"  # of the item in the list
MAKING = (
    "It is in this spirit that a majority of American governments have passed new laws since 2009 making the "
    "registration or voting process more difficult."
)
LAW = "The Law will never be perfect, but its application should be just - this is what we are missing, in my opinion."
# Figure -> sentence, and the words of the link that the paper points at.
FIGURES = {
    3: (MAKING, "making", ("more", "difficult")),
    4: (LAW, "its", ("Law", "application")),
    5: (LAW, "should", ("just", "application")),
}


def draw(frame: PageFrame) -> tuple[View, ...]:
    """What this model does with each, in sentences; returns the links to its heads."""
    if not english_to_german(frame.model):
        paragraph(
            _("The paper shows heads of an encoder that reads English; choose an English model in the menu above.")
        )
        return ()
    views = []
    for number, (text, query, keys) in FIGURES.items():
        view = _link(frame.model, number, text, query, keys)
        if view is not None:
            views.append(view)
    return tuple(views)


def _link(model: Pretrained, number: int, text: str, query: str, keys: tuple[str, ...]) -> View | None:
    """Says which encoder head gives the largest weight to one of the keys; the link opens it. None if the text does not
    fit the model."""
    try:
        trace = cache.trace(model, model.name, text, "", max_tokens())
    except InputError:
        return None
    found = strongest_word_link(trace, query, keys)
    if found is None:
        return None
    says = {
        3: _("Figure 3: in the paper, heads of layer 5 of 6 connect the distant words “making” and “more difficult”."),
        4: _("Figure 4: in the paper, two heads of layer 5 connect “its” with “Law” and “application”."),
        5: _("Figure 5: in the paper, heads of layer 5 follow the structure of the sentence, each in its own way."),
    }
    here = _("Here the largest weight from “{query}” to “{key}” is {weight}, in layer {layer}, head {head}.")
    view = view_of(number, text, found)
    shown = {"layer": view.params["layer"], "head": view.params["head"], "weight": f"{found.weight:.2f}"}
    paragraph(says[number], here.format(query=query, key=found.key, **shown))
    return view


def view_of(number: int, text: str, found: WordLink) -> View:
    """The head and the cell of a word link. number: of the paper's figure; text: its sentence."""
    cell = f"{found.cell[0] + 1},{found.cell[1] + 1}"
    at = {"layer": str(found.layer + 1), "head": str(found.head + 1), "cell": cell}
    return View("heads", _("Figure {number} here", number=number), {"source": text, "kind": "encoder_self", **at})
