"""The pages of the app, in the order of the header. Nothing else lists them."""

from __future__ import annotations

from pages.frame.frame import Page
from transformer.texts import _


def pages() -> tuple[Page, ...]:
    return (
        Page("heads", _("Heads"), first=True, opens_models=True),
        Page("lab", _("Lab"), opens_models=True),
        Page("positions", _("Positions"), opens_models=True),
        Page("embeddings", _("Embeddings")),
        Page("feedforward", _("Feed-forward"), opens_models=True),
        Page("anatomy", _("Anatomy"), opens_models=True),
        Page("training", _("Training")),
        Page("model", _("Model")),
    )
