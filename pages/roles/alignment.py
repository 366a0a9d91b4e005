"""How well each head aligns words: its error rate on pairs that were aligned by hand."""

from typing import Any

import streamlit as st

from pages.components import headgrid, task
from pages.components.sentences import paragraph, point
from pages.components.stored import stored
from pages.components.translation import table
from pages.frame.frame import PageFrame
from pages.frame.messages import message
from pages.runtime import session_models
from pages.runtime.shared import SharedCache, identity, shared
from transformer.analysis.alignment import Score
from transformer.checkpoints.folder import ALIGNMENT
from transformer.inference.pretrained import Pretrained
from transformer.interventions.sets import layers_of
from transformer.probing.alignment import (
    MEASURES,
    PUBLISHED,
    AlignmentScores,
    Source,
    from_json,
    measure_alignment,
    symmetric,
)
from transformer.probing.probes import direction, gold_pairs, opposite
from transformer.texts import _

OPTIONS = ("measure", "reading", "link_head", "with")
JOBS: SharedCache[AlignmentScores] = SharedCache("alignment error rates")
SYMMETRIC: SharedCache[Score] = SharedCache("symmetric alignments")


@shared()
def shipped(model: Pretrained) -> AlignmentScores | None:
    """What was measured before the model was published; None if there is nothing for this model."""
    return from_json(stored(model, ALIGNMENT), layers_of(model.config, "cross"), model.config.heads)


def reading_names() -> dict[str, str]:
    return {"predicted": _("the token predicted"), "fed": _("the token fed in")}


def measure_names() -> dict[str, str]:
    return {"weights": _("Weights"), "norm": _("Norm of the weighted vectors")}


def draw(frame: PageFrame) -> None:
    model, options = frame.model, frame.options
    head = st.container()
    golds = gold_pairs(direction(model.languages))
    if not golds:
        sentence = _(
            "The pairs aligned by hand are for English to German and Korean to English; this model translates from "
            "{source} to {target}."
        )
        message(sentence.format(source=model.languages[0], target=model.languages[1]), "note")
        return
    found = shipped(model) or task.result(
        JOBS,
        (model.name, identity(model)),
        _("Measure on {count} pairs aligned by hand", count=len(golds)),
        lambda progress: measure_alignment(model, golds, progress=progress),
    )
    if found is None:
        point(_("Does cross-attention say which word translates which? Compare it with links made by hand."), head)
        return
    point(_says(found), head)
    first, second = st.columns(2)
    measure = options.at(first).labelled("measure", _("Measured by"), measure_names())
    label, best = _("A decoder row belongs to"), found.winner().reading
    reading = options.at(second).labelled("reading", label, reading_names(), best)
    _grid(frame, found, measure, reading)
    left, right = st.columns(2, gap="medium")
    with left:
        _bounds(frame, found)
    with right:
        _published(found)


def _percent(one: Score) -> str:
    return f"{100 * one.aer:.1f}%"


def _place(source: Source) -> str:
    if source.layer is None:
        return _("mean of all heads")
    if source.head is None:
        return _("mean of layer {layer}", layer=source.layer + 1)
    return _("layer {layer}, head {head}", layer=source.layer + 1, head=source.head + 1)


def _says(found: AlignmentScores) -> str:
    best = found.winner()
    sentence = _(
        "Read by {reading}, {place} of cross-attention links the words of {pairs} sentence pairs with an error rate of "
        "{error}. The order of the words alone reaches {diagonal}, one perfect link for each word {bound}."
    )
    return sentence.format(
        reading=reading_names()[best.reading], place=_place(best), pairs=found.pairs,
        error=_percent(found.scores[best]), diagonal=_percent(found.diagonal), bound=_percent(found.best),
    )  # fmt: skip


def _grid(frame: PageFrame, found: AlignmentScores, measure: str, reading: str) -> None:
    config = frame.model.config
    layers = layers_of(config, "cross")
    names = [f"{layer + 1}.{head + 1}" for layer in range(layers) for head in range(config.heads)]
    best = min(
        (one for one in found.scores if (one.measure, one.reading) == (measure, reading) and one.head is not None),
        key=lambda one: found.scores[one].aer,
    )
    default = f"{(best.layer or 0) + 1}.{(best.head or 0) + 1}"
    chosen = [int(part) - 1 for part in str(frame.options.choice("link_head", names, default)).split(".")]
    cells: list[list[dict[str, Any]]] = []
    for layer in range(layers):
        row = []
        for head in (*range(config.heads), None):
            source = Source(measure, reading, layer, head)
            one = found.scores[source]
            numbers = _("error rate {error}, precision {precision}, recall {recall}")
            text = numbers.format(
                error=_percent(one), precision=f"{100 * one.precision:.1f}%", recall=f"{100 * one.recall:.1f}%"
            )
            row.append(
                {"text": f"{100 * one.aer:.0f}", "tone": "cross", "level": 1 - one.aer, "says": [_place(source), text]}
            )
        cells.append(row)
    title = _("Cross-attention: alignment error rate in percent")
    rows: list[list[Any]] = [["measure", "reading", "layer", "head", "error", "precision", "recall", "links"]]
    for of, one in found.scores.items():
        place = [None if of.layer is None else of.layer + 1, None if of.head is None else of.head + 1]
        rows.append([of.measure, of.reading, *place, one.aer, one.precision, one.recall, one.links])

    def picked(place: headgrid.Cell) -> None:
        if place[2] < config.heads:
            frame.options.report("link_head", f"{place[1] + 1}.{place[2] + 1}")

    headgrid.draw(
        "alignment_grid",
        _("Alignment error rate of every head: layers down, heads across"),
        [headgrid.panel_of_heads("cross", title, cells, config.heads, _("mean"))],
        ["alignment", frame.model.name, measure, reading],
        [_("How well the heads of {model} align words", model=frame.model.name), measure_names()[measure]],
        rows,
        chosen=(0, chosen[0], chosen[1]),
        on_pick=picked,
    )
    one = found.scores[Source(measure, reading, chosen[0], chosen[1])]
    text = _(
        "Layer {layer}, head {head}: error rate {error}; {precision} of its links are right (precision), and it finds "
        "{recall} of the sure ones (recall)."
    )
    paragraph(
        text.format(
            layer=chosen[0] + 1, head=chosen[1] + 1, error=_percent(one), precision=f"{100 * one.precision:.1f}%",
            recall=f"{100 * one.recall:.1f}%",
        ),
        _("Each German word is linked to the English word with the largest value (Och and Ney 2003; 0% is perfect)."),
    )  # fmt: skip


def _bounds(frame: PageFrame, found: AlignmentScores) -> None:
    rows = [
        (_("the diagonal: order alone"), _percent(found.diagonal)),
        (_("one link a word, the best possible"), _percent(found.best)),
    ]
    for measure in MEASURES:
        for single in (True, False):
            best = found.winner(measure, single)
            name = f"{measure_names()[measure]}: {_place(best)}, {reading_names()[best.reading]}"
            rows.append((name, _percent(found.scores[best])))
    reverse = _reverse(frame, found)
    if reverse is not None:
        rows.append((_("symmetrised with {model}", model=reverse[0]), _percent(reverse[1])))
    st.html(table((_("this model"), _("error rate")), list(dict.fromkeys(rows)), "hs-roles-shares"))
    sentence = _(
        "The best heads are picked on the same {pairs} pairs that they are scored on, so on other pairs their error "
        "may be larger."
    )
    paragraph(sentence.format(pairs=found.pairs), quiet=True)


def _reverse(frame: PageFrame, found: AlignmentScores) -> tuple[str, Score] | None:
    """A model of the opposite direction, if a person chooses one, and the error of the links that both agree on."""
    none = _("no other model")
    named = {name: session_models.languages_of(name) for name in session_models.names()}
    others = [name for name, languages in named.items() if languages and opposite(frame.model.languages, languages)]
    if not others:
        sentence = _("To symmetrise, load a model of the opposite direction on the Training page; none is here.")
        paragraph(sentence, quiet=True)
        return None
    label = _("Symmetrise with a model of the opposite direction")
    name = str(frame.options.choose("with", label, ["", *others], "", lambda value: value or none))
    if not name:
        return None
    other = session_models.load(name)
    key = (identity(frame.model), identity(other))
    best, back = found.winner(single=False), Source("weights", "predicted")
    golds = gold_pairs(direction(frame.model.languages))
    score = task.result(
        SYMMETRIC,
        key,
        _("Symmetrise"),
        lambda progress: symmetric(frame.model, best, other, back, golds, progress),
    )
    return (name, score) if score is not None else None


def _published(found: AlignmentScores) -> None:
    names, readings = measure_names(), reading_names()
    rows = [(f"{names[measure]}: {readings[reading]}", f"{value:.1f}%") for measure, reading, value in PUBLISHED]
    st.html(table((_("published (other data)"), _("error rate")), rows, "hs-roles-shares"))
    paragraph(
        _(
            "The best layer of a plain Transformer on German-English text of parliament, as Kobayashi et al. (2020) "
            "report it. Those sentences are longer than these, so the numbers cannot be compared directly."
        ),
        quiet=True,
    )
