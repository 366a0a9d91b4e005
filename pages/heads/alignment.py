"""The alignment of the typed sentence: which word translates which, as one head of cross-attention links them."""

import streamlit as st

from pages.components.live_picture import for_browser
from pages.components.saving import describe_trace
from pages.components.sentences import paragraph
from pages.components.stored import stored
from pages.frame.messages import capital, message
from pages.runtime.shared import shared
from transformer.analysis.alignment import READINGS, AlignmentError, Link, best_links, word_matrix, words_of
from transformer.analysis.tokens import is_special
from transformer.checkpoints.folder import ALIGNMENT
from transformer.inference.pretrained import Pretrained
from transformer.interventions.sets import layers_of
from transformer.probing.alignment import Source, from_json, map_of
from transformer.texts import _
from transformer.tracing.trace import Trace
from transformer.view.bundle import script, style

_picture = st.components.v2.component("headscope.links", js=script("links"), css=style("links"))


@shared()
def best_source(model: Pretrained) -> Source:
    """The head with the smallest error on pairs aligned by hand, if that was measured for this checkpoint; else the
    mean of all heads, read by the token predicted."""
    found = from_json(stored(model, ALIGNMENT), layers_of(model.config, "cross"), model.config.heads)
    return found.winner() if found is not None else Source("weights", READINGS[0])


def links_of(model: Pretrained, trace: Trace, source: Source) -> frozenset[Link]:
    """(source word, target word), of the texts of a trace. Raises AlignmentError."""
    words = (words_of(trace.source_text), words_of(trace.target_text))
    if not all(words):
        return frozenset()
    written = [piece for piece in trace.target_out if not is_special([piece])[0]]  # may be cut other than the text is
    surfaces = (
        model.tokenizer_of("source").surfaces(trace.source_text),
        written if trace.own else model.tokenizer.surfaces(trace.target_text),
    )
    return best_links(word_matrix(map_of(model, trace, source), *surfaces, *words, source.reading))


def draw(model: Pretrained, trace: Trace) -> None:
    source = best_source(model)
    try:
        links = links_of(model, trace, source)
    except AlignmentError as error:
        message(capital(error) + ".")
        return
    sources, targets = words_of(trace.source_text), words_of(trace.target_text)
    if not links:
        paragraph(_("There are no words to link."))
        return
    _picture(
        key="heads_links",
        data={
            "sources": list(sources),
            "targets": list(targets),
            "links": [list(link) for link in sorted(links)],
            "stem": ["alignment", trace.checkpoint],
            "caption": [describe_trace(trace)["sentences"]],
            **for_browser("links"),
        },
    )
    reading = _("the token predicted") if source.reading == "predicted" else _("the token fed in")
    if source.layer is None or source.head is None:
        text = _("By the mean of all heads of cross-attention, a row read by {reading}.")
        paragraph(text.format(reading=reading), quiet=True)
    else:
        text = _(
            "By layer {layer}, head {head} of cross-attention, a row read by {reading}: the head that makes the fewest "
            "mistakes on sentences aligned by hand."
        )
        paragraph(text.format(layer=source.layer + 1, head=source.head + 1, reading=reading), quiet=True)
