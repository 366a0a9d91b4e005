"""What every head is worth: the loss and BLEU without it, the gradient's estimate, and pruning."""

import math
import statistics
from collections.abc import Sequence
from typing import Any

import streamlit as st

from pages.components import figure, headgrid, task
from pages.components.one_head import head_label, head_of, kind_names
from pages.components.probing import pairs_of
from pages.components.sentences import paragraph, point
from pages.components.stored import stored
from pages.components.translation import table
from pages.frame.frame import PageFrame
from pages.frame.messages import capital, message
from pages.frame.state import CHECKPOINT
from pages.runtime import session_models
from pages.runtime.shared import SharedCache, identity, shared
from transformer.checkpoints.folder import IMPORTANCE
from transformer.figures import importance as figures
from transformer.inference.pretrained import Pretrained
from transformer.interventions.sets import layers_of
from transformer.probing.importance import Effect, Survey, from_json, name_of, survey
from transformer.texts import _
from transformer.tracing.trace import KINDS

OPTIONS = ("worth", "head", "left")
WORTH = ("loss", "mean", "score", "mean_score", "gradient")
SCORES = ("score", "mean_score")
LITTLE = 0.01  # nats per token: a head that changes the loss less is worth little
SENTENCES = 100
PAGES = ("heads", "attribution", "anatomy", "decoding", "embeddings", "positions", "feedforward", "lab", "model")
COMPARE = ("anatomy", "lab")  # the pages that show switches
JOBS: SharedCache[Survey] = SharedCache("importance of heads")


@shared()
def shipped(model: Pretrained) -> Survey | None:
    """What was measured before the model was published; None if there is nothing for this model."""
    return from_json(stored(model, IMPORTANCE), model.config)


def worth_names(score: str) -> dict[str, str]:
    return {
        "loss": _("Loss, head at 0"),
        "mean": _("Loss, head at its mean"),
        "score": _("{score}, head at 0", score=capital(score)),
        "mean_score": _("{score}, head at its mean", score=capital(score)),
        "gradient": _("Gradient's estimate"),
    }


def _score_name(found: Survey) -> str:
    return _("BLEU") if found.metric == "bleu" else _("exact matches")


def draw(frame: PageFrame) -> None:
    model = frame.model
    head = st.container()
    found = shipped(model)
    if found is None:
        pairs = pairs_of(model)[:SENTENCES]
        if not pairs:
            sentence = _(
                "There is no probe set from {source} to {target}. The command importance measures any sentence pairs: "
                "python -m transformer importance --data FILE."
            )
            message(sentence.format(source=model.languages[0], target=model.languages[1]), "note")
            return
        found = task.result(
            JOBS,
            (model.name, identity(model)),
            _("Measure every head on {count} sentences", count=len(pairs)),
            lambda progress: survey(model, pairs, progress=progress),
        )
        if found is None:
            point(_("What is each head worth? Take it out, and measure how much worse the translation gets."), head)
            return
    point(_says(found), head)
    worth = frame.options.labelled("worth", _("Show"), worth_names(_score_name(found)))
    chosen = _chosen(frame, found)
    _grid(frame, found, worth, chosen)
    left, right = st.columns(2, gap="medium")
    with left:
        _curves(found)
        _prune(frame, found)
    with right:
        _head(frame, found, chosen)
        _estimate(found)
    _parts(found)


def _says(found: Survey) -> str:
    small = sum(effect.loss < LITTLE for effect in found.heads.values())
    best = found.order[-1]
    kind, layer, head = best.split(".")
    sentence = _(
        "Remove one head: for {small} of {heads} heads the loss rises by less than {little} nats per token. The one "
        "that matters most is {kind}, layer {layer}, head {head}: {loss}."
    )
    text = sentence.format(
        small=small, heads=len(found.heads), little=LITTLE, kind=kind_names()[kind].lower(), layer=layer, head=head,
        loss=_signed(found.heads[best].loss, 3),
    )  # fmt: skip
    (least,) = found.curves["least"] or (None,)
    if least is not None:
        more = (
            _("The {count} least important heads can go before BLEU falls by a tenth.")
            if found.metric == "bleu"
            else _("The {count} least important heads can go before exact matches fall by a tenth.")
        )
        text += " " + more.format(count=len(found.heads) - least.breaks())
    return text


def _signed(value: float, digits: int) -> str:
    """With its sign; "0" for what rounds to it."""
    return f"{value:+.{digits}f}".replace("-", "−") if round(value, digits) else "0"


def _chosen(frame: PageFrame, found: Survey) -> str:
    return str(frame.options.choice("head", list(found.heads), found.order[-1]))


def _value(found: Survey, worth: str, name: str) -> float:
    if worth == "gradient":
        return found.gradient[name]
    effect = (found.means if worth in ("mean", "mean_score") else found.heads)[name]
    return (effect.score or 0.0) if worth in SCORES else effect.loss


def _grid(frame: PageFrame, found: Survey, worth: str, chosen: str) -> None:
    config, digits = frame.model.config, 1 if worth in SCORES else 2
    sign = -1 if worth in SCORES else 1  # a lower score counts as worth
    largest = max((sign * _value(found, worth, name) for name in found.heads), default=0.0)
    panels = []
    kinds = [kind for kind in KINDS if layers_of(config, kind)]
    for kind in kinds:
        cells = []
        for layer in range(layers_of(config, kind)):
            row: list[dict[str, Any]] = []
            for head in range(config.heads):
                name = name_of((kind, layer, head))
                value = _value(found, worth, name)
                level = max(0.0, sign * value / largest) if largest > 0 else 0.0
                text = f"{value:.{digits}f}" if worth == "gradient" else _signed(value, digits)
                row.append({"text": text, "tone": kind, "level": math.sqrt(level), "says": _lines(found, name)})
            cells.append(row)
        panels.append(headgrid.panel_of_heads(kind, kind_names()[kind], cells, config.heads))
    chosen_kind, chosen_layer, chosen_head = head_of(chosen)
    titles = [f"{what} at {way}" for way in ("0", "mean") for what in ("loss", found.metric, "low", "high")]
    rows: list[list[Any]] = [["head", *titles, "gradient"]]
    for name, zero in found.heads.items():
        mean = found.means[name]
        rows.append([name, zero.loss, zero.score, zero.low, zero.high, mean.loss, mean.score, mean.low, mean.high,
                     found.gradient[name]])  # fmt: skip
    headgrid.draw(
        "importance_grid",
        _("What every head is worth: layers down, heads across"),
        panels,
        ["importance", frame.model.name, worth],
        [
            _("What the heads of {model} are worth", model=frame.model.name),
            worth_names(_score_name(found))[worth],
        ],
        rows,
        chosen=(kinds.index(chosen_kind), chosen_layer, chosen_head),
        on_pick=lambda picked: frame.options.report("head", f"{kinds[picked[0]]}.{picked[1] + 1}.{picked[2] + 1}"),
    )
    meanings = {
        "loss": _("Change of the loss, in nats per token, with the head's output at 0 (teacher forcing)."),
        "mean": _(
            "The same with the head's output at its mean over all tokens: only what it says about these is lost."
        ),
        "score": _("Change of BLEU of the greedy translations with the head's output at 0.")
        if found.metric == "bleu"
        else _("Change of the share of exact matches, in percentage points, with the head's output at 0."),
        "mean_score": _("Change of BLEU of the greedy translations with the head's output at its mean over all tokens.")
        if found.metric == "bleu"
        else _(
            "Change of the share of exact matches, in percentage points, with the head's output at its mean over all "
            "tokens."
        ),
        "gradient": _("Michel et al. (2019): |output · gradient of the loss|, each layer divided by its norm."),
    }
    count = _("Measured on {count} sentence pairs; the whole model: loss {loss}, {name} {score}.")
    paragraph(
        meanings[worth],
        count.format(
            count=found.sentences, loss=f"{found.loss:.3f}", name=_score_name(found), score=f"{found.score:.1f}"
        ),
        quiet=True,
    )


def _score(effect: Effect) -> str:
    if effect.score is None or effect.low is None or effect.high is None:
        return "–"
    text = _("{score} (95%: {low} to {high})")
    return text.format(score=_signed(effect.score, 1), low=_signed(effect.low, 1), high=_signed(effect.high, 1))


def _lines(found: Survey, name: str) -> list[str]:
    estimate = _("gradient's estimate {value}")
    ways = (
        (_("head at 0: loss {loss}, {name} {score}"), found.heads[name]),
        (_("head at its mean: loss {loss}, {name} {score}"), found.means[name]),
    )
    return [
        head_label(name),
        *(
            text.format(loss=_signed(effect.loss, 4), name=_score_name(found), score=_score(effect))
            for text, effect in ways
        ),
        estimate.format(value=f"{found.gradient[name]:.3f}"),
    ]


def _open_without(frame: PageFrame, heads: Sequence[str], sentence: str, key: str) -> None:
    """Links to the model without these heads on the other pages, and to the pages that compare it with the whole
    one."""
    pruned = session_models.name_without(frame.state.checkpoint, heads)
    compared = _("Compare with the whole model:")
    for text, part, names, params in (
        (sentence, "", PAGES, {CHECKPOINT: pruned}),
        (compared, "-compared", COMPARE, {"zero": ",".join(heads)}),
    ):
        paragraph(text, quiet=True)
        with st.container(horizontal=True, gap="small", key=f"{key}{part}"):
            for page, link in frame.links.items():
                if page.name in names:
                    st.page_link(link, label=page.title, query_params=params)


def _head(frame: PageFrame, found: Survey, name: str) -> None:
    first, *lines = _lines(found, name)
    st.html(f'<h2 class="hs-tr-title">{first}</h2>')
    for line in lines:
        paragraph(line[:1].upper() + line[1:] + ".")
    _open_without(frame, [name], _("Open the model without this head:"), "hs-without-head")


def _curves(found: Survey) -> None:
    if not found.curves["least"]:
        return
    least, most = found.curves["least"][0], found.curves["most"][0]
    figure.draw(
        figure.built(
            figures.pruning_curves,
            found.metric,
            least.left,
            least.score,
            most.score,
            [curve.score for curve in found.curves["random"]],
            least.breaks(),
        ),
        "pruning",
        "pruning",
    )
    sentence = (
        _(
            "It breaks below {left} heads: with so many, BLEU is still at least nine tenths of that of all {heads}; "
            "removed in random order, {random} must stay (the median of {draws} draws)."
        )
        if found.metric == "bleu"
        else _(
            "It breaks below {left} heads: with so many, exact matches are still at least nine tenths of those of all "
            "{heads}; removed in random order, {random} must stay (the median of {draws} draws)."
        )
    )
    at_random = [curve.breaks() for curve in found.curves["random"]]
    paragraph(
        sentence.format(
            left=least.breaks(), heads=least.left[0], random=f"{statistics.median(at_random):g}", draws=len(at_random)
        )
    )
    same = _(
        "The order of the heads comes from the same {count} sentence pairs as the scores, so on other sentences more "
        "heads may have to stay."
    )
    paragraph(same.format(count=found.sentences), quiet=True)


def _prune(frame: PageFrame, found: Survey) -> None:
    """The model without its least important heads, on the other pages."""
    default = len(found.heads) - (found.curves["least"][0].breaks() if found.curves["least"] else 0)
    label = _("Heads to remove, least important first")
    count = frame.options.number("left", label, 1, len(found.heads), max(1, default))
    sentence = _("Open the model without these {count} heads:", count=count)
    _open_without(frame, found.order[:count], sentence, "hs-without-heads")


def _estimate(found: Survey) -> None:
    names = list(found.heads)
    places = [(kind, int(layer), int(head)) for kind, layer, head in (name.split(".") for name in names)]
    figure.draw(
        figure.built(
            figures.predicted,
            places,
            [round(found.gradient[name], 5) for name in names],
            [round(found.heads[name].loss, 5) for name in names],
        ),
        "gradient",
        "gradient",
    )
    rho = found.agreement()
    if math.isnan(rho):
        paragraph(_("No rank correlation: the estimate or the measured change is the same for all heads."))
        return
    sentence = _("Rank correlation of the estimate with the measured change: {rho} (1: the same order, 0: none).")
    paragraph(sentence.format(rho=f"{rho:.2f}"))


def _parts(found: Survey) -> None:
    st.html(f'<h2 class="hs-tr-title">{_("Whole sub-layers and layers")}</h2>')
    rows = [
        (name, _signed(effect.loss, 3), _score(effect))
        for name, effect in sorted(found.parts.items(), key=lambda item: -item[1].loss)
    ]
    st.html(table((_("without"), _("loss"), _score_name(found)), rows, "hs-roles-shares"))
