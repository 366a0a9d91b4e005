"""Learned positions beside the formula, and what two models that differ in nothing else do beyond their training."""

from __future__ import annotations

import re
from dataclasses import dataclass

import streamlit as st
import torch

import transformer
from pages.shared import cache, figure
from pages.shared.begin import Begun, message
from pages.shared.options import Options
from pages.shared.say import say
from pages.shared.texts import _
from transformer.analysis.positions import neighbour_cosines, row_norms
from transformer.figures import learned_positions as figures
from transformer.positional import sinusoidal
from transformer.pretrained import Pretrained
from transformer.probing import task_of
from transformer.training.tasks import task_pairs

LEARNED, FORMULA = "reverse-learned", "reverse"  # bundled; one line of their recipes differs
MOST_ROWS = 128  # positions drawn of a long table
LENGTHS = range(4, 25)  # symbols of the inputs that are counted
COUNT, SEED = 100, 2017  # inputs of each length; 21 lengths and two models take 1 s of one core
WANTED = "headscope_exact_wanted"  # in the session: whether the counts are shown
_RANGE = re.compile(r"\b([0-9]{1,4}) to ([0-9]{1,4}) symbols\b")


@dataclass(frozen=True)
class Pair:
    """learned: the model whose table is looked at; formula: one of the same task with the sinusoidal encoding, or None;
    task: of both, None if they have none or there is no second model."""

    learned: Pretrained
    formula: Pretrained | None
    task: str | None


def _bundled(name: str) -> Pretrained | None:
    """A checkpoint by name; None if there is none or it cannot be opened."""
    path = cache.checkpoints().get(name)
    try:
        return None if path is None else cache.load(name, str(path))
    except transformer.CheckpointError:
        return None


def _sibling(model: Pretrained) -> Pretrained | None:
    """The bundled model of the same toy task, which is named as its task, if its positions are the formula's."""
    task = task_of(model)
    other = _bundled(task) if task else None
    return other if other is not None and other.config.positions == "sinusoidal" and task_of(other) == task else None


def pair_of(model: Pretrained) -> Pair | None:
    """What is compared while this model is loaded: itself if its positions are learned, else the bundled one."""
    learned = model if model.config.positions == "learned" else _bundled(LEARNED)
    if learned is None or learned.config.positions != "learned":
        return None
    formula = _sibling(learned)
    return Pair(learned, formula, task_of(learned) if formula is not None else None)


def trained_lengths(model: Pretrained) -> tuple[int, int] | None:
    """Fewest and most symbols of the inputs a toy was trained on, from the name of the data in its metrics.json,
    "reverse, 1 to 16 symbols, unseen": they are drawn as the training's were. None where it does not say."""
    data = model.metrics.get("data")
    for text in data if isinstance(data, list) else []:
        found = _RANGE.search(str(text))
        if found and 0 < int(found[1]) <= int(found[2]):
            return int(found[1]), int(found[2])
    return None


def trained_positions(model: Pretrained) -> tuple[int, int] | None:
    """First and last position that training has seen: the longest inputs and, behind them, </s>. None where the
    checkpoint does not say, or where all positions were."""
    lengths = trained_lengths(model)
    return None if lengths is None or lengths[1] >= model.config.max_positions - 1 else (0, lengths[1])


@st.cache_resource(max_entries=1024, show_spinner=False)
def _exact(_model: Pretrained, name: str, path: str, task: str, length: int) -> float | None:
    """Share of exact answers to COUNT seeded inputs of a length; None if they do not fit the model's positions."""
    if length + 1 > _model.config.max_positions:  # with </s>
        return None
    pairs = task_pairs(task, COUNT, (length, length), SEED)
    answers = _model.translate_all([source for source, _answer in pairs])
    return sum(found == right for found, (_source, right) in zip(answers, pairs, strict=True)) / len(pairs)


def exact(model: Pretrained, task: str, length: int) -> float | None:
    """As `_exact`, measured once for all viewers."""
    return _exact(model, model.name, str(model.path), task, length)


def texts() -> dict[str, str]:
    """Every text of the figures, translated."""
    return {
        "position": _("position p"),
        "dimension": _("dimension"),
        "value": "PE",
        "of": _("{name}<br>dimension"),
        "tables": _("Sinusoidal beside learned"),
        "tables_equation": _(
            "Left: the formula of section 3.5. Right: one learned vector a position (Table 3, row E)."
        ),
        "trained": _("trained"),
        "norms": _("Norm of every row"),
        "norms_equation": _("‖PE(<i>p</i>)‖; of the formula √(<i>d</i><sub>model</sub> / 2)"),
        "norm": _("norm"),
        "neighbours": _("Neighbouring rows"),
        "neighbours_equation": "cos(PE(<i>p</i>), PE(<i>p</i> + 1))",
        "cosine": _("cosine"),
        "exact": _("Exact answers by length of the input"),
        "exact_equation": _("share of inputs whose output is right, letter by letter"),
        "symbols": _("symbols of the input"),
        "share": _("exact, %"),
    }


def _introduction(model: Pretrained, pair: Pair) -> str:
    """Whose table this is, and why that one."""
    if model.config.positions == "learned":
        sentence = _("The positions of {name} are learned, one vector each (Table 3, row E of the paper).")
        return sentence.format(name=model.name)
    if model.config.positions == "none":
        sentence = _(
            "{name} adds no positions at all, so there is nothing of its own to show; {learned} is a bundled model "
            "whose positions are learned."
        )
    else:
        sentence = _(
            "{name} adds the encoding of the formula, which is computed and not learned; {learned} is a bundled model "
            "whose positions are learned."
        )
    return sentence.format(name=model.name, learned=pair.learned.name)


def _signed(value: float) -> str:
    """Two places, and a minus that people read as one."""
    return f"{value:.2f}".replace("-", "−")


def _says(table: torch.Tensor, trained: tuple[int, int] | None, name: str) -> str:
    """What the rows that training has seen have over the others, in numbers."""
    norms = row_norms(table)
    if trained is None:
        sentence = _("Its rows have norms from {low} to {high}; {name} does not say which positions it was trained on.")
        return sentence.format(low=f"{norms.min():.2f}", high=f"{norms.max():.2f}", name=name)
    inside, outside = norms[: trained[1] + 1], norms[trained[1] + 1 :]
    cosines = neighbour_cosines(table)
    sentence = _(
        "Inputs of up to {symbols} symbols, as its metrics.json says, and </s> take up positions 0 to {last}: there "
        "the norms run from {low} to {high}, and neighbouring rows have a mean cosine of {near}. Rows that no input "
        "reached stay as they were drawn, with variance 1 / d_model: norms from {low_out} to {high_out}, mean cosine "
        "{near_out}."
    )
    return sentence.format(
        symbols=trained[1],
        last=trained[1],
        low=f"{inside.min():.2f}",
        high=f"{inside.max():.2f}",
        near=_signed(cosines[: trained[1]].mean().item()),
        low_out=f"{outside.min():.2f}",
        high_out=f"{outside.max():.2f}",
        near_out=_signed(cosines[trained[1] + 1 :].mean().item()) if len(outside) > 1 else "–",
    )


def _tables(pair: Pair) -> None:
    """Both tables, and what their rows have in common."""
    model = pair.learned
    learned = model.model.positions.table.detach()
    formula = sinusoidal(*learned.shape)
    shown, theme, labels = min(len(learned), MOST_ROWS), figure.theme(), texts()
    trained = trained_positions(model)
    if trained is not None and trained[1] >= shown:
        trained = (0, shown - 1)
    names = (_("formula"), model.name)
    both = dict(zip(names, (formula[:shown].cpu(), learned[:shown].cpu()), strict=True))
    say(_says(learned.cpu(), trained_positions(model), model.name))
    if shown < len(learned):
        st.caption(_("The first {shown} of {total} positions are drawn.").format(shown=shown, total=len(learned)))
    first, second = (table.numpy() for table in both.values())
    figure.draw(
        figures.tables_beside(first, second, names, trained, theme, labels), "learned_tables", "positions_tables"
    )
    left, right = st.columns(2, gap="medium")
    with left:
        norms = {name: row_norms(table).numpy() for name, table in both.items()}
        figure.draw(figures.row_norms(norms, trained, theme, labels), "learned_norms", "positions_norms")
    with right:
        cosines = {name: neighbour_cosines(table).numpy() for name, table in both.items()}
        figure.draw(figures.neighbour_cosines(cosines, trained, theme, labels), "learned_cosines", "positions_cosines")


def _want(wanted: bool) -> None:
    st.session_state[WANTED] = wanted


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.0f} %"


def _results(models: tuple[Pretrained, ...], shares: dict[str, list[float | None]]) -> None:
    """The figure, and in words what happens where training ended."""
    trained = trained_lengths(models[-1])
    drawn = figures.exact_by_length(list(LENGTHS), shares, trained, figure.theme(), texts())
    figure.draw(drawn, "learned_exact", "positions_exact")
    for model in models:
        found = dict(zip(LENGTHS, shares[model.name], strict=True))
        lengths = trained_lengths(model)
        if lengths is not None and {lengths[1], lengths[1] + 1} <= found.keys():
            last = lengths[1]
            sentence = _(
                "{name}: {within} exact at {last} symbols, the longest it was trained on; {after} at {next}, {far} at "
                "{most}."
            )
            text = sentence.format(
                name=model.name,
                within=_percent(found[last]),
                last=last,
                after=_percent(found[last + 1]),
                next=last + 1,
                far=_percent(found[LENGTHS[-1]]),
                most=LENGTHS[-1],
            )
            message(text, "note")
        cut = [length for length, share in found.items() if share is None]
        if cut:
            sentence = _(
                "{name} has {positions} positions: inputs of {length} symbols and more do not fit, </s> included."
            )
            message(sentence.format(name=model.name, positions=model.config.max_positions, length=cut[0]), "note")


def _beyond(models: tuple[Pretrained, ...], task: str) -> None:
    """Exact answers by length, length by length: whatever a person clicks meanwhile ends it, and what was counted is
    kept for all."""
    if not st.session_state.get(WANTED):
        label = _("Count exact answers at {low} to {high} symbols, {count} inputs each")
        st.button(
            label.format(low=LENGTHS[0], high=LENGTHS[-1], count=COUNT),
            key="hs-exact-start",
            on_click=_want,
            args=(True,),
        )
        return
    place, button = st.empty(), st.empty()
    button.button(_("Stop"), key="hs-exact-stop", on_click=_want, args=(False,))
    shares: dict[str, list[float | None]] = {model.name: [] for model in models}
    for number, length in enumerate(LENGTHS):
        text = _("inputs of {length} symbols, up to {most}").format(length=length, most=LENGTHS[-1])
        place.progress(number / len(LENGTHS), text=text)
        for model in models:
            shares[model.name].append(exact(model, task, length))
    place.empty()
    button.empty()
    _results(models, shares)


def draw_learned(begun: Begun, options: Options) -> None:
    """The learned table of the loaded model, or of a bundled one, beside the formula; beyond the trained length."""
    pair = pair_of(begun.model)
    if pair is None:
        message(
            _("No checkpoint with learned positions was found beside this one; {name} is bundled.").format(name=LEARNED)
        )
        return
    message(_introduction(begun.model, pair), "note")
    _tables(pair)
    if pair.formula is None or pair.task is None:
        toys = tuple(one for one in map(_bundled, (FORMULA, LEARNED)) if one is not None)
        if len(toys) < 2:
            return
        models, task = toys, task_of(toys[0])
    else:
        models, task = (pair.formula, pair.learned), pair.task
    if task is None or any(task_of(one) != task for one in models):
        return
    if (models[0].name, models[1].name) == (FORMULA, LEARNED):
        sentence = _(
            "{formula} and {learned} were trained on the same data with the same settings; one line of their recipes "
            "differs, the positions. What does either do with longer inputs than it has seen?"
        )
    else:
        sentence = _(
            "{formula} was trained for the same task as {learned}, with the encoding of the formula. What does either "
            "do with longer inputs than it has seen?"
        )
    st.subheader(_("Beyond the trained length"), anchor=False)
    say(sentence.format(formula=models[0].name, learned=models[1].name))
    st.fragment(_beyond)(models, task)
