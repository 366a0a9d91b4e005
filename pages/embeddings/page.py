"""Embeddings and the path through the layers: from the table (section 3.4) along the residual stream and back."""

from pages.embeddings import inputs, layer_norm, lens, residual
from pages.frame.frame import Content, Part
from transformer.texts import N_

PARTS = {
    "neighbours": Part(N_("Neighbours"), inputs.draw_neighbours, ("side", "token", "word", "words")),
    "norms": Part(N_("Lengths"), inputs.draw_norms),
    "map": Part(N_("In two dimensions"), inputs.draw_map, ("stack", "layer")),
    "residual": Part(N_("Residual stream"), residual.draw, ("stack", "layer", "token", "vector")),
    "layernorm": Part(N_("LayerNorm"), layer_norm.draw, ("stack", "sublayer", "token")),
    "lens": Part(N_("Logit lens"), lens.draw_lens, ("step",)),
    "output": Part(N_("Output"), lens.draw_output, ("step",)),
}
CONTENT = Content(table=PARTS, waits=True)
