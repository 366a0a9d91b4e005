"""The pages of the app, in the order of the header. Nothing else lists them."""

from pages.frame.frame import Page
from transformer.texts import _


def pages() -> tuple[Page, ...]:
    """Pages of one group stand together; a page without a group has its own place in the header."""
    explore, experiment, study = _("Explore"), _("Experiment"), _("Study")
    return (
        Page("lessons", _("Lessons"), _(
            "Four ways through the app, with questions to predict before a view opens; your own; a room in which a "
            "class follows its teacher.")),
        Page("paper", _("Paper"), _(
            "The paper's figures with the sizes of the open model, its sections and equations; each opens the view "
            "that shows it.")),
        Page("heads", _("Heads"), _(
            "The sentence, its translation, and between them the lines of one head. *Options* opens every head of "
            "every layer, and how a weight is computed."), explore, first=True, opens_models=True),
        Page("roles", _("Head roles"), _("What every head does, how well it aligns words, what it is worth."), explore),
        Page("attribution", _("Attribution"), _(
            "On which tokens one output token rests, by nine methods, with their agreement and how faithful they "
            "are."), explore),
        Page("anatomy", _("Anatomy"), _(
            "The path of the sentence through the whole model, from the model down to one multiplication."),
            explore, opens_models=True),
        Page("decoding", _("Decoding"), _(
            "The next token, step by step; beam search as a tree; sampling; attention painted by hand."), explore),
        Page("embeddings", _("Embeddings"), _(
            "Nearest neighbours, lengths of the vectors, the residual stream, LayerNorm, the logit lens."), explore),
        Page("positions", _("Positions"), _(
            "The sinusoidal encoding with sliders, learned positions, and positions removed, shuffled or shifted."),
            explore, opens_models=True),
        Page("feedforward", _("Feed-forward"), _(
            "Which neurons are active, what activates them and which words they promote."), explore, opens_models=True),
        Page("lab", _("Lab"), _(
            "Scaling, masks or heads switched off, before and after: the future leaks, the softmax saturates."),
            experiment, opens_models=True),
        Page("training", _("Training"), _(
            "A small Transformer learns, complete or without one part: recorded, or live in seconds."), experiment),
        Page("recipe", _("Training recipe"), _(
            "Section 5 of the paper: learning rate, dropout, label smoothing, batches, costs."), study),
        Page("results", _("Results"), _(
            "BLEU by hand, equal to sacreBLEU; Tables 2 and 3 of the paper as figures."), study),
        Page("model", _("Model"), _("The model card: data, scores, licence."), study),
    )  # fmt: skip
