"""Embeddings and the way through the layers: from the table (section 3.4) along the residual stream and back to it."""

from pages.components.comparison import waiting
from pages.embeddings import inputs, lens, residual
from pages.frame import sentence
from pages.frame.frame import begin
from pages.frame.options import Options
from pages.runtime.texts import _

begun = begin(_("Embeddings"), "embeddings")
options = Options(begun, "embeddings")
sentence.fields(begun)
part = options.parts(
    {
        "norms": _("Lengths"),
        "neighbours": _("Neighbours"),
        "map": _("In two dimensions"),
        "residual": _("Residual stream"),
        "lens": _("Logit lens"),
        "output": _("Output"),
    }
)
trace = sentence.traced(begun, look=False)
if trace is not None:
    waiting(begun.state.switches)
    draw = {
        "norms": inputs.draw_norms,
        "neighbours": inputs.draw_neighbours,
        "map": inputs.draw_map,
        "residual": residual.draw,
        "lens": lens.draw_lens,
        "output": lens.draw_output,
    }[part]
    draw(begun, trace, options)
options.finish()
