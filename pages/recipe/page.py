"""Training recipe (section 5): learning rate, dropout, label smoothing, batches, cost."""

from pages.frame.frame import Content, Part
from pages.recipe import batches, cost, dropout, rate, smoothing
from transformer.texts import N_

PARTS = {
    "rate": Part(N_("Learning rate"), rate.draw, rate.OPTIONS, alone=True),
    "dropout": Part(N_("Dropout"), dropout.draw, dropout.OPTIONS),
    "smoothing": Part(N_("Label smoothing"), smoothing.draw, smoothing.OPTIONS),
    "batches": Part(N_("Batches"), batches.draw, batches.OPTIONS, alone=True),
    "cost": Part(N_("Cost"), cost.draw, cost.OPTIONS, alone=True),
}
CONTENT = Content(table=PARTS)
