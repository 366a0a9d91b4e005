"""The pages of the app, in the order of the header. Nothing else lists them."""

from __future__ import annotations

from pages.frame.frame import Page
from transformer.texts import _


def pages() -> tuple[Page, ...]:
    """Pages of one group stand together; a page without a group has its own place in the header."""
    explore, experiment, study = _("Explore"), _("Experiment"), _("Study")
    return (
        Page("lessons", _("Lessons")),
        Page("paper", _("Paper")),
        Page("heads", _("Heads"), explore, first=True, opens_models=True),
        Page("roles", _("Head roles"), explore),
        Page("attribution", _("Attribution"), explore),
        Page("anatomy", _("Anatomy"), explore, opens_models=True),
        Page("decoding", _("Decoding"), explore),
        Page("embeddings", _("Embeddings"), explore),
        Page("positions", _("Positions"), explore, opens_models=True),
        Page("feedforward", _("Feed-forward"), explore, opens_models=True),
        Page("lab", _("Lab"), experiment, opens_models=True),
        Page("training", _("Training"), experiment),
        Page("recipe", _("Training recipe"), study),
        Page("results", _("Results"), study),
        Page("model", _("Model"), study),
    )
