"""How far the encoder turns the vector of each token, as bars."""

from pages.components import figure
from pages.components.sentences import point
from pages.frame.frame import PageFrame
from transformer.analysis.turn import turned
from transformer.figures.turn import turned_bars
from transformer.texts import _
from transformer.tracing.trace import Trace


def draw(frame: PageFrame, trace: Trace) -> None:
    point(_("1: the encoder changed only the length."))
    bars = figure.built(turned_bars, trace.source_tokens, turned(trace).numpy())
    figure.draw(bars, "turned", "turned", trace=trace)
