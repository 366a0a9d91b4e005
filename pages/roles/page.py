"""Head roles: what every head does, with evidence."""

from pages.frame.frame import Content, Part
from pages.roles import alignment, importance, overview, search
from transformer.texts import N_

PARTS = {
    "roles": Part(N_("Roles"), overview.draw, overview.OPTIONS),
    "alignment": Part(N_("Alignment"), alignment.draw, alignment.OPTIONS),
    "importance": Part(N_("Importance"), importance.draw, importance.OPTIONS),
    "search": Part(N_("Search"), search.draw, search.OPTIONS),
}
CONTENT = Content(table=PARTS, sentence=False)
