"""Learned positions beside the formula, and how two models that differ only in this handle inputs longer than in
training."""

import re
from dataclasses import dataclass

import streamlit as st
import torch
from streamlit.delta_generator import DeltaGenerator

import transformer
from pages.components import figure, task
from pages.components.sentences import decimals, paragraph, point
from pages.frame.frame import PageFrame
from pages.frame.messages import message
from pages.frame.options import Options
from pages.runtime import cache
from pages.runtime.shared import SharedCache, identity, shared
from transformer.analysis.positions import neighbour_cosines, row_norms
from transformer.cancellation import Stopped
from transformer.figures import learned_positions as figures
from transformer.inference.pretrained import Pretrained
from transformer.model.positions import sinusoidal
from transformer.probing.probes import task_of
from transformer.texts import N_, _, translate
from transformer.tracing.finite import NotFiniteError
from transformer.training.tasks import task_pairs

LEARNED, FORMULA = "reverse-learned", "reverse"  # bundled; their recipes differ in one line
MOST_ROWS = 128  # most positions drawn of a table
LENGTHS = range(4, 25)  # lengths of the counted inputs, in symbols
COUNT, SEED = 100, 2017  # inputs of each length; 21 lengths and two models take 1 s of one core
JOBS: SharedCache[dict[str, list[float | None]]] = SharedCache("exact answers by length")
# Section 3.5 of the paper, about the sinusoidal version.
QUOTE = N_("may allow the model to extrapolate to sequence lengths longer than the ones encountered during training")
ALIKE = 0.3  # rows with this cosine are called similar; random rows of 64 numbers have 0 ± 0.125
_RANGE = re.compile(r"\b([0-9]{1,4}) to ([0-9]{1,4}) symbols\b")


@dataclass(frozen=True)
class Pair:
    """learned: the model whose table is shown; formula: a model of the same task with the sinusoidal encoding, or None;
    task: of both, None if there is no task or no second model."""

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
    """The bundled model of the same toy task, if its positions are those of the formula."""
    task = task_of(model)
    sibling = _bundled(task) if task else None
    return (
        sibling
        if sibling is not None and sibling.config.positions == "sinusoidal" and task_of(sibling) == task
        else None
    )


def pair_of(model: Pretrained) -> Pair | None:
    """The models to compare for a loaded model: itself if its positions are learned, else the bundled one."""
    learned = model if model.config.positions == "learned" else _bundled(LEARNED)
    if learned is None or learned.config.positions != "learned":
        return None
    formula = _sibling(learned)
    return Pair(learned, formula, task_of(learned) if formula is not None else None)


def _ranges(model: Pretrained) -> list[str]:
    """The names of a checkpoint's data that say how many symbols its inputs have."""
    data = model.metrics.get("data")
    texts = map(str, data) if isinstance(data, list) else ()
    matches = ((text, _RANGE.search(text)) for text in texts)
    return [text for text, match in matches if match and 0 < int(match[1]) <= int(match[2])]


def trained_lengths(model: Pretrained) -> tuple[int, int] | None:
    """Fewest and most symbols of a toy's training inputs, from the name of the data in its metrics.json, "reverse, 1 to
    16 symbols, unseen": validation data is drawn like the training data. None if it does not say."""
    for text in _ranges(model):
        low, high = _RANGE.findall(text)[0]
        return int(low), int(high)
    return None


def trained_positions(model: Pretrained) -> tuple[int, int] | None:
    """First and last position seen in training: those of the longest inputs, and </s> after them. None if the
    checkpoint does not say, or if all positions were seen."""
    lengths = trained_lengths(model)
    return None if lengths is None or lengths[1] >= model.config.max_positions - 1 else (0, lengths[1])


@shared(queued=True)
def exact(model: Pretrained, task: str, length: int) -> float | None:
    """Share of exact answers for COUNT seeded inputs of a length; None if they do not fit the model's positions, or if
    the model computes NaN."""
    if length + 1 > model.config.max_positions:  # </s> takes one position
        return None
    pairs = task_pairs(task, COUNT, (length, length), SEED)
    try:
        answers = model.translate_all([source for source, _answer in pairs])
    except NotFiniteError:
        return None
    return sum(answer.text == right for answer, (_source, right) in zip(answers, pairs, strict=True)) / len(pairs)


def _introduction(model: Pretrained, pair: Pair) -> str:
    """Whose table this is, and why it is shown."""
    if model.config.positions == "learned":
        return _("The positions of {name} are learned, one vector each (Table 3, row E of the paper).", name=model.name)
    if model.config.positions == "none":
        sentence = _(
            "{name} adds no positions, so it has no position vectors to show. {learned} is a bundled model with "
            "learned positions."
        )
    elif model.config.positions == "relative":
        sentence = _(
            "{name} adds no vectors to its embeddings but a number for the distance to each score. {learned} is a "
            "bundled model with learned positions."
        )
    else:
        sentence = _(
            "{name} adds the encoding of the formula, which is computed and not learned. {learned} is a bundled model "
            "with learned positions."
        )
    return sentence.format(name=model.name, learned=pair.learned.name)


def _row_statistics(table: torch.Tensor, trained: tuple[int, int] | None, name: str) -> str:
    """How the rows seen in training differ from the others, in numbers."""
    norms, cosines = row_norms(table), neighbour_cosines(table)
    if trained is None:
        sentence = _("Its rows have norms from {low} to {high}. {name} does not say which positions it was trained on.")
        return sentence.format(low=f"{norms.min():.2f}", high=f"{norms.max():.2f}", name=name)
    last = trained[1]
    near = cosines[:last].mean().item()
    if near >= ALIKE:
        sentence = _(
            "{name} saw at most {last} symbols and </s>, so only positions 0 to {last} were trained. Above the dashed "
            "line neighbouring rows are similar (mean cosine {near}); below it they are still the random numbers they "
            "started as (mean cosine {far})."
        )
    else:
        sentence = _(
            "{name} saw at most {last} symbols and </s>, so only positions 0 to {last} were trained. Above the dashed "
            "line neighbouring rows have a mean cosine of {near}; below it they are still the random numbers they "
            "started as (mean cosine {far})."
        )
    far = decimals(cosines[last + 1 :].mean().item(), 2) if len(cosines) > last + 1 else "–"
    return sentence.format(name=name, last=last, near=decimals(near, 2), far=far)


def _sources(table: torch.Tensor, model: Pretrained, trained: tuple[int, int]) -> str:
    """Where the numbers of `_row_statistics` come from."""
    norms, last = row_norms(table), trained[1]
    inside, outside = norms[: last + 1], norms[last + 1 :]
    return _(
        "{name}'s metrics.json names its data: “{data}”. Its longest input has {last} symbols, at positions 0 to "
        "{before}; </s> stands at {last}. All rows started as random numbers with variance 1 / d_model, which is a "
        "norm of about 1. Norms of the trained rows now: {low} to {high}. Norms of the other rows, which no gradient "
        "reached: {low_out} to {high_out}.",
        name=model.name,
        data=_ranges(model)[0],
        last=last,
        before=last - 1,
        low=f"{inside.min():.2f}",
        high=f"{inside.max():.2f}",
        low_out=f"{outside.min():.2f}",
        high_out=f"{outside.max():.2f}",
    )


def _tables(options: Options, pair: Pair, beside: bool) -> tuple[DeltaGenerator, DeltaGenerator]:
    """Both tables, and what their rows have in common. beside: whether exact answers are counted.

    Returns the containers for their figure, beside the tables, and for its sentences.
    """
    model = pair.learned
    learned = model.model.positions.table.detach()
    formula = sinusoidal(*learned.shape)
    shown = min(len(learned), MOST_ROWS)
    trained = trained_positions(model)
    if trained is not None and trained[1] >= shown:
        trained = (0, shown - 1)
    names = (_("formula"), model.name)
    both = dict(zip(names, (formula[:shown].cpu(), learned[:shown].cpu()), strict=True))
    first, second = (table.numpy() for table in both.values())
    left, right = st.columns((1.7, 1), gap="medium") if beside else (st.container(), st.container())
    with left:
        drawn = figure.built(figures.tables_beside, first, second, names, trained)
        figure.draw(drawn, "learned_tables", "positions_tables", first=True)
    exact_place, sentences = right.container(), st.container()
    known_length = trained_positions(model)
    paragraph(_row_statistics(learned.cpu(), known_length, model.name))
    if shown < len(learned):
        paragraph(_("The first {shown} of {total} positions are drawn.", shown=shown, total=len(learned)), quiet=True)
    left, right = st.columns(2, gap="medium")
    with left:
        norms = {name: row_norms(table).numpy() for name, table in both.items()}
        figure.draw(figure.built(figures.row_norms, norms, trained), "learned_norms", "positions_norms")
    with right:
        cosines = {name: neighbour_cosines(table).numpy() for name, table in both.items()}
        figure.draw(
            figure.built(figures.neighbour_cosines, cosines, trained),
            "learned_cosines",
            "positions_cosines",
        )
    if known_length is not None:
        with options.panel("trained", _("How do we know which rows were trained?")):
            paragraph(_sources(learned.cpu(), model, known_length), quiet=True)
    return exact_place, sentences


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.0f}%"


def _conclusion(models: tuple[Pretrained, ...], shares: dict[str, list[float | None]], last: int) -> str:
    """What section 3.5 expects, and how far each model got beyond the longest training input."""
    names = [model.name for model in models]
    right = [[length for length, share in zip(LENGTHS, shares[name], strict=True) if share] for name in names]
    reach = [max(lengths, default=0) for lengths in right]
    if max(reach) <= last:
        sentence = _(
            "Section 3.5 says sinusoids “{quote}”. Here, trained on at most {last} symbols, neither {formula} nor "
            "{learned} got a single longer input right."
        )
    elif reach[1] <= last:
        sentence = _(
            "Section 3.5 says sinusoids “{quote}”. Here, trained on at most {last} symbols, {formula} got inputs of "
            "up to {reach} symbols right ({share} of those with {next}), and {learned} none beyond {last}."
        )
    else:
        sentence = _(
            "Section 3.5 says sinusoids “{quote}”. Here, trained on at most {last} symbols, {formula} got inputs of "
            "up to {reach} symbols right ({share} of those with {next}), and {learned} of up to {other} "
            "({other_share} of those with {next})."
        )
    at_next = [_percent(shares[name][LENGTHS.index(last + 1)]) for name in names]
    return sentence.format(
        quote=translate(QUOTE),
        last=last,
        next=last + 1,
        formula=names[0],
        learned=names[1],
        share=at_next[0],
        other_share=at_next[1],
        reach=reach[0],
        other=reach[1],
    )


def _results(
    models: tuple[Pretrained, ...], shares: dict[str, list[float | None]], place: DeltaGenerator, below: DeltaGenerator
) -> None:
    """The figure, and a sentence about the lengths around the end of training."""
    trained = trained_lengths(models[-1])
    drawn = figure.built(figures.exact_by_length, list(LENGTHS), shares, trained)
    with place:
        figure.draw(drawn, "learned_exact", "positions_exact", first=True)
    sentences = []
    for model in models:
        exact_shares = dict(zip(LENGTHS, shares[model.name], strict=True))
        lengths = trained_lengths(model)
        if lengths is not None and {lengths[1], lengths[1] + 1} <= exact_shares.keys():
            last = lengths[1]
            text = _(
                "{name}: {within} exact at {last} symbols, the longest it was trained on; {after} at {next}, {far} at "
                "{most}.",
                name=model.name,
                within=_percent(exact_shares[last]),
                last=last,
                after=_percent(exact_shares[last + 1]),
                next=last + 1,
                far=_percent(exact_shares[LENGTHS[-1]]),
                most=LENGTHS[-1],
            )
            sentences.append(text)
        cut = [length for length, share in exact_shares.items() if share is None]
        if cut:
            sentence = _(
                "{name} has {positions} positions, </s> included: inputs of {length} symbols or more do not fit."
            )
            sentences.append(sentence.format(name=model.name, positions=model.config.max_positions, length=cut[0]))
    if trained is not None and trained[1] + 1 in LENGTHS and trained_lengths(models[0]) == trained:
        with below:
            paragraph(_conclusion(models, shares, trained[1]))
    with below:
        paragraph(*sentences, quiet=True)


def _exact_by_length(models: tuple[Pretrained, ...], name: str) -> dict[str, list[float | None]] | None:
    """Model -> share of exact answers of every length. name: of the task; None while a background job counts."""

    def work(progress: task.Progress) -> dict[str, list[float | None]]:
        shares: dict[str, list[float | None]] = {model.name: [] for model in models}
        for index, length in enumerate(LENGTHS):
            if not progress(index, len(LENGTHS)):
                raise Stopped
            for model in models:
                shares[model.name].append(exact(model, name, length))
        return shares

    label = _("Count exact answers up to {most} symbols", most=LENGTHS[-1])
    tokens = 2 * len(models) * COUNT * sum(LENGTHS)  # of inputs and answers
    return task.sized_result(JOBS, (*map(identity, models), name), label, work, models[-1], tokens)


def _point(models: tuple[Pretrained, ...], task: str) -> str:
    """What learned positions cannot do, in numbers; "" if the checkpoint does not say how long its training inputs
    were."""
    learned = models[-1]
    trained = trained_positions(learned)
    if trained is None or not {trained[1], trained[1] + 1} <= set(LENGTHS):
        return ""
    last = trained[1]
    sentence = _(
        "Learned positions are known only as far as training went: the model {name} saw at most {last} symbols, and "
        "the rows below the dashed line are still random. It gets {within} of the inputs with {last} symbols right "
        "and {after} of those with {next}."
    )
    within, after = (_percent(exact(learned, task, length)) for length in (last, last + 1))
    return sentence.format(name=learned.name, last=last, next=last + 1, within=within, after=after)


def _counted(pair: Pair) -> tuple[tuple[Pretrained, ...], str] | None:
    """The models whose exact answers are counted, and their task; the bundled ones if the loaded model has no task."""
    if pair.formula is not None and pair.task is not None:
        return (pair.formula, pair.learned), pair.task
    toys = tuple(toy for toy in map(_bundled, (FORMULA, LEARNED)) if toy is not None)
    task = task_of(toys[0]) if len(toys) == 2 else None
    return (toys, task) if task is not None and all(task_of(toy) == task for toy in toys) else None


def draw(frame: PageFrame) -> None:
    """The learned table of the loaded model, or of a bundled one, beside the formula; exact answers beyond the trained
    length."""
    pair = pair_of(frame.model)
    if pair is None:
        message(_("No checkpoint with learned positions was found to compare with; {name} is bundled.", name=LEARNED))
        return
    counted = _counted(pair)
    about = _point(*counted) if counted is not None and counted[0][-1] is pair.learned else ""
    if about:
        point(about)
    place, sentences = _tables(frame.options, pair, counted is not None)
    message(_introduction(frame.model, pair), "note")
    if counted is None:
        return
    models, name = counted
    with sentences:
        results = st.container()
        if (models[0].name, models[1].name) == (FORMULA, LEARNED):
            sentence = _(
                "{formula} and {learned} were trained on the same data with the same settings; their recipes differ in "
                "one line, the positions."
            )
        else:
            sentence = _("{formula} was trained for the same task as {learned}, with the encoding of the formula.")
        paragraph(sentence.format(formula=models[0].name, learned=models[1].name), quiet=True)

    def later() -> None:
        with place:
            shares = _exact_by_length(models, name)
        if shares is not None:
            _results(models, shares, place, results)

    frame.draw_last(later)
