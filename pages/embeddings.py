"""Embeddings and the way through the layers: from the table (section 3.4) along the residual stream and back to it."""

from pages.shared import embeddings, lens, residual, sentence
from pages.shared.begin import begin
from pages.shared.compared import waiting
from pages.shared.options import Options
from pages.shared.texts import _

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
        "norms": embeddings.draw_norms,
        "neighbours": embeddings.draw_neighbours,
        "map": embeddings.draw_map,
        "residual": residual.draw,
        "lens": lens.draw_lens,
        "output": lens.draw_output,
    }[part]
    draw(begun, trace, options)
options.finish()
