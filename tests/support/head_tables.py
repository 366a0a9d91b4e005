"""The tables of docs/heads.md, from what ships beside the bundled weights, and
from what `python -m benchmarks attribution` wrote into benchmarks/README.md."""

import json
import re
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import transformer
from benchmarks.report import Table
from transformer.analysis.alignment import READINGS, Score
from transformer.analysis.roles import NAMES
from transformer.checkpoints.folder import ALIGNMENT, HEADS, IMPORTANCE
from transformer.inference.pretrained import Pretrained
from transformer.interventions.sets import layers_of
from transformer.model.tap import KINDS
from transformer.probing import alignment, importance
from transformer.probing.alignment import MEASURES, PUBLISHED, AlignmentScores, Source
from transformer.probing.importance import Effect, Survey

ROOT = Path(__file__).resolve().parents[2]
MEASURED = ROOT / "benchmarks" / "README.md"
ATTRIBUTION = ("Agreement of the methods", "Faithfulness")  # beginnings of the titles of two of its tables
TITLES = {
    "encoder_self": "Encoder self-attention",
    "decoder_self": "Decoder self-attention",
    "cross": "Cross-attention",
}
READ_BY = {"predicted": "token predicted", "fed": "token fed in"}
FROM = {"weights": "weights", "norm": "norms"}
NO_ROLE = "–"
CHANCE = 0.025  # of a 95% interval that lies below 0 although nothing changed


def signed(value: float, digits: int) -> str:
    """With its sign, which a rounded 0 does not have."""
    text = f"{value:+.{digits}f}"
    return text if float(text) else text[1:]


def percent(value: float) -> str:
    return f"{100 * value:.1f}"


def grid(title: str, layers: int, heads: int, cell: Callable[[int, int], str], last: Sequence[str] = ()) -> Table:
    """A row for each layer, a column for each head. last: a cell for each layer, their mean."""
    table = Table(title, ("", *(f"head {head + 1}" for head in range(heads)), *(["mean"] if last else [])))
    for layer in range(layers):
        cells = [cell(layer, head) for head in range(heads)]
        table.add(f"layer {layer + 1}", *cells, *([last[layer]] if last else []))
    return table


def role_of(stored: Mapping[str, Mapping], kind: str, layer: int, head: int) -> str:  # type: ignore[type-arg]
    """As in heads.json: its role with the share of the rows that show it."""
    name = stored[kind]["role"][layer][head]
    if name is None:
        return NO_ROLE
    return f"{NAMES[name]} {100 * stored[kind]['roles'][name]['share'][layer][head]:.0f}%"


def role_tables(model: Pretrained, stored: Mapping[str, Mapping]) -> Iterator[Table]:  # type: ignore[type-arg]
    for kind in KINDS:

        def cell(layer: int, head: int, kind: str = kind) -> str:
            return role_of(stored, kind, layer, head)

        yield grid(f"{TITLES[kind]}: roles", layers_of(model.config, kind), model.config.heads, cell)


def alignment_tables(model: Pretrained, found: AlignmentScores) -> Iterator[Table]:
    table = Table(f"Alignment error rate in percent, {found.pairs} pairs", ("links from", "AER", "precision", "recall"))

    def add(name: str, one: Score) -> None:
        table.add(name, percent(one.aer), percent(one.precision), percent(one.recall))

    for measure in MEASURES:
        for reading in READINGS:
            by = f"{FROM[measure]}, {READ_BY[reading]}"
            best = found.winner(measure, reading=reading)
            assert best.layer is not None and best.head is not None
            add(f"{by}: best head, cross.{best.layer + 1}.{best.head + 1}", found.scores[best])
            add(f"{by}: mean of all heads", found.scores[Source(measure, reading)])
    add("diagonal", found.diagonal)
    add("best possible with one link for each target word", found.best)
    table.notes.append(
        f"Each best head is picked on the same {found.pairs} pairs that it is scored on, so on other pairs its error "
        f"may be larger."
    )
    published = (f"{value} by {FROM[measure]}, {READ_BY[reading]}" for measure, reading, value in PUBLISHED)
    table.notes.append(
        f"Published for plain Transformers, their best layers, on other German-English pairs (Kobayashi et al. 2020): "
        f"{'; '.join(published)}."
    )
    yield table
    layers, heads = layers_of(model.config, "cross"), model.config.heads
    for measure in MEASURES:
        for reading in READINGS:

            def cell(layer: int, head: int | None, measure: str = measure, reading: str = reading) -> str:
                return percent(found.scores[Source(measure, reading, layer, head)].aer)

            title = f"AER of every head by {FROM[measure]}, {READ_BY[reading]}"
            yield grid(title, layers, heads, cell, [cell(layer, None) for layer in range(layers)])


def effect_cells(effect: Effect) -> tuple[str, str, str]:
    """Change of the loss, change of the score, and its interval."""
    assert effect.score is not None and effect.low is not None and effect.high is not None
    return signed(effect.loss, 4), signed(effect.score, 1), f"{signed(effect.low, 1)} to {signed(effect.high, 1)}"


def below_zero(effect: Effect) -> bool:
    """Whether the interval of the score is below 0 as a whole."""
    return effect.high is not None and effect.high < 0


def prediction(found: Survey) -> str:
    """How well the gradient predicts what removing a head does, over all heads and within their layers."""
    layers: dict[str, list[str]] = {}
    for name in found.heads:
        layers.setdefault(name.rsplit(".", 1)[0], []).append(name)

    def rho(measured: Mapping[str, float]) -> str:
        within = [
            importance.rank_correlation(*({name: one[name] for name in names} for one in (found.gradient, measured)))
            for names in layers.values()
        ]
        return f"{importance.rank_correlation(found.gradient, measured):.2f} ({statistics.fmean(within):.2f})"

    loss = {name: effect.loss for name, effect in found.heads.items()}
    size = {name: abs(change) for name, change in loss.items()}
    bleu = {name: -(effect.score or 0.0) for name, effect in found.heads.items()}
    mean = {name: effect.loss for name, effect in found.means.items()}
    return (
        f"Rank correlation of the gradient's estimate, over all heads (in brackets: within a layer, mean of "
        f"{len(layers)}), with the change of the loss at 0: {rho(loss)}; with its size, whatever its sign: "
        f"{rho(size)}; with the change of the loss at the mean: {rho(mean)}; with the loss of BLEU: {rho(bleu)}."
    )


def importance_tables(found: Survey, stored: Mapping[str, Mapping]) -> Iterator[Table]:  # type: ignore[type-arg]
    heads = Table(
        "What every head is worth, the one that matters most first",
        ("head", "role", "loss, at 0", "BLEU", "95%", "loss, at its mean", "BLEU", "95%", "gradient"),
    )
    for name in reversed(found.order):
        kind, layer, head = name.rsplit(".", 2)
        role = role_of(stored, kind, int(layer) - 1, int(head) - 1)
        cells = (*effect_cells(found.heads[name]), *effect_cells(found.means[name]))
        heads.add(f"`{name}`", role, *cells, f"{found.gradient[name]:.3f}")
    counts = [sum(map(below_zero, one.values())) for one in (found.heads, found.means)]
    heads.notes.append(
        f"The whole interval of BLEU is below 0 for {counts[0]} of {len(found.heads)} heads at 0, and for {counts[1]} "
        f"at their mean; chance alone would give about {CHANCE * len(found.heads):.0f}."
    )
    heads.notes.append(prediction(found))
    yield heads
    parts = Table("Without a sub-layer, or a layer with all of its sub-layers", ("left out", "loss", "BLEU", "95%"))
    for name in sorted(found.parts, key=lambda name: -found.parts[name].loss):
        parts.add(f"`{name}`", *effect_cells(found.parts[name]))
    yield parts


def pruning_table(found: Survey) -> Table:
    (least,), (most,), drawn = (found.curves[name] for name in importance.ORDERS)
    table = Table(
        "BLEU while heads are removed",
        ("heads left", "least important first", f"{len(drawn)} random orders: mean (range)", "most important first"),
    )
    for index, left in enumerate(least.left):
        scores = [curve.score[index] for curve in drawn]
        mean = f"{statistics.fmean(scores):.1f} ({min(scores):.1f} to {max(scores):.1f})"
        table.add(left, f"{least.score[index]:.1f}", mean, f"{most.score[index]:.1f}")
    breaks = [curve.breaks() for curve in drawn]
    table.notes.append(
        f"At least 90% of the BLEU of all heads is left down to {least.breaks()} heads with the least important ones "
        f"first, {min(breaks)} to {max(breaks)} heads in random orders, and {most.breaks()} heads with the most "
        f"important ones first."
    )
    table.notes.append(
        f"The order comes from the same {found.sentences} pairs as the BLEU, so on other sentences more heads may have "
        f"to stay."
    )
    return table


def attribution_tables() -> str:
    """Agreement and faithfulness of the methods, as measured."""
    text = MEASURED.read_text(encoding="utf-8")
    measured = re.search(r"<!-- measured: attribution -->(.*?)<!-- end: attribution -->", text, re.S)
    found = re.split(r"^(?=### )", measured[1] if measured else "", flags=re.M)
    chosen = [one.strip() for title in ATTRIBUTION for one in found if one.startswith(f"### {title}")]
    if len(chosen) != len(ATTRIBUTION):
        raise ValueError(f"{MEASURED.name} lacks a table of {ATTRIBUTION}; run `python -m benchmarks attribution`")
    return "\n\n".join(chosen)


def tables(name: str = "en-de") -> str:
    """All of them as Markdown. Raises ValueError if a file beside the weights does not belong to them."""
    model = transformer.load(name)
    written = {file: (model.path / file).read_text(encoding="utf-8") for file in (HEADS, ALIGNMENT, IMPORTANCE)}
    stored = json.loads(written[HEADS])
    scores = alignment.from_json(written[ALIGNMENT], layers_of(model.config, "cross"), model.config.heads)
    survey = importance.from_json(written[IMPORTANCE], model.config)
    if scores is None or survey is None:
        raise ValueError(f"{ALIGNMENT} or {IMPORTANCE} of {name} is of another model; measure it again")
    sections = {
        f"Roles over {stored['pairs']} pairs": role_tables(model, stored),
        "Alignment": alignment_tables(model, scores),
        f"Importance over {survey.sentences} pairs: loss {survey.loss:.3f}, BLEU {survey.score:.1f}": importance_tables(
            survey, stored
        ),
        "Pruning": [pruning_table(survey)],
    }
    written_sections = [
        f"## {title}\n\n" + "\n".join(table.markdown() for table in found) for title, found in sections.items()
    ]
    return "\n".join([*written_sections, f"## Attribution\n\n{attribution_tables()}"]).strip()
