"""Attribution: what an output token rests on, source against prefix, and patching."""

from pages.attribution import compare, patching, prefix, token
from pages.frame.frame import Content, Part
from transformer.texts import N_

PARTS = {
    "token": Part(N_("One output token"), token.draw, token.OPTIONS),
    "source": Part(N_("Source or prefix"), prefix.draw, prefix.OPTIONS),
    "patching": Part(N_("Patching"), patching.draw, patching.OPTIONS),
    "compare": Part(N_("Compare"), compare.draw, compare.OPTIONS),
}
CONTENT = Content(table=PARTS, waits=True)
