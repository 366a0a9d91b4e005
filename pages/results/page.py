"""Results (section 6): BLEU by hand, what scores can be compared with, Table 2, and Table 3."""

from pages.frame.frame import Content, Part
from pages.results import bleu, comparable, table2, table3
from transformer.texts import N_

PARTS = {
    "bleu": Part(N_("BLEU by hand"), bleu.draw, bleu.OPTIONS),
    "subsets": Part(N_("Comparing scores"), comparable.draw),
    "table2": Part(N_("Table 2"), table2.draw),
    "tables": Part(N_("Table 3"), table3.draw),  # as links had it when it showed both
}
CONTENT = Content(table=PARTS, sentence=False)
