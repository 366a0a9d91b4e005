"""Decoding: how a translation is searched for (section 6.1)."""

from pages.decoding import beam, given, paint, sampling, step
from pages.frame.frame import Content, Part
from transformer.texts import N_

PARTS = {
    "step": Part(N_("Step by step"), step.draw, step.OPTIONS),
    "beam": Part(N_("Beam search"), beam.draw, beam.OPTIONS),
    "sampling": Part(N_("Sampling"), sampling.draw, sampling.OPTIONS),
    "paint": Part(N_("Attention by hand"), paint.draw, paint.OPTIONS),
    "given": Part(N_("Your words, the model's words"), given.draw, given.OPTIONS),
}
CONTENT = Content(table=PARTS, waits=True, live=lambda state, part: part == "step")
