"""How well cross-attention aligns words, on pairs aligned by hand: every head, by weights and by vector norms, in both
readings of a row."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from transformer.analysis.alignment import (
    READINGS,
    AlignmentError,
    Gold,
    Link,
    Score,
    best_links,
    best_possible,
    diagonal_links,
    score,
    symmetrised,
    word_matrix,
    words_of,
)
from transformer.attribution.vectors import transformed
from transformer.cancellation import Progress, tell
from transformer.inference.pretrained import InputError, Pretrained
from transformer.text.batching import bucket
from transformer.texts import UserError, any_of
from transformer.tracing.batch import trace_batch
from transformer.tracing.finite import check_numbers
from transformer.tracing.trace import Trace
from transformer.training.evaluation import fits

MEASURES = ("weights", "norm")
# Plain Transformers on the German-English gold links of Vilar et al. (2006), in percent: Kobayashi et al. (2020).
PUBLISHED = (("weights", "predicted", 47.7), ("weights", "fed", 29.8), ("norm", "fed", 25.0))  # best layers


@dataclass(frozen=True)
class Source:
    """What links are read from. measure: "weights", or "norm", ||alpha f(x)|| (Kobayashi et al. 2020); reading: see
    `analysis.alignment.READINGS`; layer, head: indices from 0, None: the mean over all (of weights), or the norm of the
    sum over heads, averaged over layers."""

    measure: str
    reading: str
    layer: int | None = None
    head: int | None = None

    def __post_init__(self) -> None:
        """Raises UserError for another measure or reading."""
        for name, value, known in (("measure", self.measure, MEASURES), ("reading", self.reading, READINGS)):
            if value not in known:
                raise UserError("unknown {name} {value!r}; choose {names}", name=name, value=value,
                                names=any_of(known, value))  # fmt: skip


BATCH = 1000  # padded tokens a side of a batch
BACK = Source("weights", "predicted")  # of the model of the opposite direction, as on the page Head roles


def norms(model: Pretrained, trace: Trace, layer: int) -> tuple[Tensor, Tensor]:
    """||alpha f(x)|| of every head of a cross-attention, [head, query, key], and of their sum, [query, key]."""
    weights, vectors = trace.cross.weights[layer].double(), transformed(model.model, trace, "cross", layer)
    together = torch.einsum("hqk,hkd->qkd", weights, vectors).norm(dim=-1)
    return weights * vectors.norm(dim=-1)[:, None], together


def maps(model: Pretrained, trace: Trace, measure: str) -> dict[tuple[int | None, int | None], Tensor]:
    """(layer, head) -> [query, key] of the cross-attention; None for a mean over heads, or over everything."""
    found: dict[tuple[int | None, int | None], Tensor] = {}
    wholes = []
    for layer, weights in enumerate(trace.cross.weights.double()):
        of_heads, whole = (weights, weights.mean(0)) if measure == "weights" else norms(model, trace, layer)
        found |= {(layer, head): one for head, one in enumerate(of_heads)}
        found[layer, None] = whole
        wholes.append(whole)
    found[None, None] = torch.stack(wholes).mean(0)
    return found


def map_of(model: Pretrained, trace: Trace, source: Source) -> Tensor:
    """The one map, [query, key]. Raises ValueError for a layer or head that the model lacks."""
    if source.measure == "weights":
        return _weights_of(trace.cross.weights, source)
    _check(source, trace.cross.layers, trace.cross.heads)
    return maps(model, trace, source.measure)[source.layer, source.head]


def _weights_of(weights: Tensor, source: Source) -> Tensor:
    """The map of [layer, head, query, key]."""
    _check(source, *weights.shape[:2])
    if source.layer is None:
        return torch.stack([one.mean(0) for one in weights.double()]).mean(0)
    of_heads = weights[source.layer].double()
    return of_heads.mean(0) if source.head is None else of_heads[source.head]


def _check(source: Source, layers: int, heads: int) -> None:
    for name, value, count in (("layer", source.layer, layers), ("head", source.head, heads)):
        if value is not None and not 0 <= value < count:
            raise ValueError(
                f"cross-attention has no {name} {value}; there are {count}, counted from 0, or None for all"
            )


def matrices(model: Pretrained, trace: Trace, gold: Gold, measure: str) -> Iterator[tuple[Source, Tensor]]:
    """Every map of a trace of a pair, between its words, [target word, source word]."""
    found = maps(model, trace, measure)
    stacked = torch.stack(list(found.values()))
    surfaces = (model.tokenizer_of("source").surfaces(gold.source), model.tokenizer.surfaces(gold.target))
    for reading in READINGS:
        words = word_matrix(stacked, *surfaces, gold.source_words, gold.target_words, reading)
        for (layer, head), matrix in zip(found, words, strict=True):
            yield Source(measure, reading, layer, head), matrix


@dataclass(frozen=True)
class AlignmentScores:
    """scores: of every map; diagonal, best: bounds, see `analysis.alignment`; pairs: how many fitted the model."""

    scores: dict[Source, Score]
    diagonal: Score
    best: Score
    pairs: int

    def winner(self, measure: str = "weights", single: bool = True, reading: str | None = None) -> Source:
        """The map with the smallest error. single: of single heads only; reading: None: of both."""
        choices = [
            one
            for one in self.scores
            if one.measure == measure and (one.head is not None or not single) and reading in (None, one.reading)
        ]
        return min(choices, key=lambda one: self.scores[one].aer)


def measure_alignment(
    model: Pretrained,
    golds: Sequence[Gold],
    measures: Sequence[str] = MEASURES,
    progress: Progress = lambda done, total: True,
) -> AlignmentScores:
    """Trace every pair with its given target, and score the links of every map.

    progress: called with (pairs done, all) after each; False stops (Stopped). Pairs that are too long for the model are
    left out. Raises AlignmentError, with the line of a pair; NotFiniteError.
    """
    fitting = [gold for gold in golds if fits(model, gold.source, "source") and fits(model, gold.target, "target")]
    links: dict[Source, list[tuple[frozenset[Link], Gold]]] = {}
    if not any(gold.sure for gold in fitting):
        raise AlignmentError(
            "none of the {count} pairs has a sure link and fits the model; a score needs pairs with sure links i-j",
            count=len(golds),
        )
    for done, gold in enumerate(fitting, start=1):
        trace = model.trace(gold.source, gold.target)
        check_numbers(trace.cross.weights)
        try:
            for measure in measures:
                for source, matrix in matrices(model, trace, gold, measure):
                    links.setdefault(source, []).append((best_links(matrix), gold))
        except AlignmentError as error:
            raise AlignmentError("line {number}: {error}", number=gold.line, error=error) from error
        tell(progress, done, len(fitting))
    diagonal = [(diagonal_links(len(gold.source_words), len(gold.target_words)), gold) for gold in fitting]
    scores = {source: score(found) for source, found in links.items()}
    return AlignmentScores(scores, score(diagonal), best_possible(fitting), len(fitting))


def symmetric(
    model: Pretrained,
    source: Source,
    reverse: Pretrained,
    back: Source,
    golds: Sequence[Gold],
    progress: Progress = lambda done, total: True,
) -> Score:
    """The score of links that two models of opposite directions agree on, grown by `analysis.alignment.symmetrised`.

    progress: called with (pairs done, all) after each; False stops (Stopped). Pairs that are too long for one model are
    left out. Raises AlignmentError, also if none is left or the models agree on no link; InputError; NotFiniteError.
    """
    fitting = [
        gold
        for gold in golds
        if all(fits(one, text, side) for one, texts in ((model, (gold.source, gold.target)),
                                                        (reverse, (gold.target, gold.source)))
               for text, side in zip(texts, ("source", "target"), strict=True))
    ]  # fmt: skip
    if not any(gold.sure for gold in fitting):
        raise AlignmentError(
            "none of the {count} pairs has a sure link and fits both models; choose another model, or pairs with sure "
            "links i-j",
            count=len(golds),
        )
    links: list[frozenset[Link]] = []
    for one in both_ways(model, [(gold.source, gold.target) for gold in fitting], source, reverse, back):
        links.append(one)
        tell(progress, len(links), len(fitting))
    if not any(links):
        raise AlignmentError("the two models agree on no link, so there is nothing to score; choose another model")
    return score(zip(links, fitting, strict=True))


def to_json(found: AlignmentScores) -> str:
    """As text that `from_json` reads, numbers with five digits."""

    def row(one: Score) -> list[float]:
        return [*(float(f"{value:.5g}") for value in (one.aer, one.precision, one.recall)), one.links]

    rows = [[of.measure, of.reading, of.layer, of.head, *row(one)] for of, one in found.scores.items()]
    bounds = {"diagonal": row(found.diagonal), "best": row(found.best), "pairs": found.pairs}
    return json.dumps({"scores": rows, **bounds})


def from_json(text: str, layers: int, heads: int) -> AlignmentScores | None:
    """Scores of a model with so many layers of cross-attention and heads; None if the text holds none."""
    try:
        data = json.loads(text)
        scores = {Source(*row[:4]): Score(*row[4:]) for row in data["scores"]}
        found = AlignmentScores(scores, Score(*data["diagonal"]), Score(*data["best"]), int(data["pairs"]))
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    wanted = {
        Source(measure, reading, layer, head)
        for measure in MEASURES
        for reading in READINGS
        for layer in range(layers)
        for head in (*range(heads), None)
    } | {Source(measure, reading) for measure in MEASURES for reading in READINGS}
    return found if set(scores) == wanted else None


def both_ways(
    model: Pretrained, pairs: Iterable[tuple[str, str]], source: Source, reverse: Pretrained, back: Source
) -> Iterator[frozenset[Link]]:
    """The links that two models of opposite directions agree on, grown by `analysis.alignment.symmetrised`. source,
    back: what the links of each are read from. Raises InputError, AlignmentError, NotFiniteError."""
    for text, target in pairs:
        (forward,) = align(model, [(text, target)], source)
        (backward,) = align(reverse, [(target, text)], back)
        yield _both(forward, backward)


def _both(forward: frozenset[Link], backward: frozenset[Link]) -> frozenset[Link]:
    return symmetrised(forward, frozenset((i, j) for j, i in backward))


def align(model: Pretrained, pairs: Iterable[tuple[str, str]], source: Source) -> Iterator[frozenset[Link]]:
    """The links of sentence pairs, read from one map. Raises InputError, AlignmentError, NotFiniteError."""
    for pair in pairs:
        (links,) = aligned(model, [pair], source)
        if isinstance(links, UserError):
            raise links
        yield links


def aligned(
    model: Pretrained,
    pairs: Sequence[tuple[str, str]],
    source: Source,
    reverse: Pretrained | None = None,
) -> list[frozenset[Link] | UserError]:
    """Of every pair the links as in `align`, or in `both_ways` if there is a reverse model; or what is wrong with it,
    an InputError or AlignmentError. Weights come from padded batches. Raises NotFiniteError."""
    if reverse is not None:
        backward = aligned(reverse, [(target, text) for text, target in pairs], BACK)
        return [
            one if isinstance(one, UserError) else other if isinstance(other, UserError) else _both(one, other)
            for one, other in zip(aligned(model, pairs, source), backward, strict=True)
        ]
    words = [(words_of(text), words_of(target)) for text, target in pairs]
    found: list[frozenset[Link] | UserError] = [frozenset()] * len(pairs)
    numbered: dict[int, tuple[list[int], list[int]]] = {}
    for row, (text, target) in enumerate(pairs):
        try:
            if all(words[row]):
                numbered[row] = (model.encode(text)[:-1], model.encode(target, "target")[:-1])
        except InputError as error:
            found[row] = error
    for row, one in _maps_of(model, pairs, numbered, source):
        text, target = pairs[row]
        surfaces = (model.tokenizer_of("source").surfaces(text), model.tokenizer.surfaces(target))
        check_numbers(one)
        try:
            found[row] = best_links(word_matrix(one, *surfaces, *words[row], source.reading))
        except AlignmentError as error:
            found[row] = error
    return found


def _maps_of(
    model: Pretrained,
    pairs: Sequence[tuple[str, str]],
    numbered: Mapping[int, tuple[Sequence[int], Sequence[int]]],
    source: Source,
) -> Iterator[tuple[int, Tensor]]:
    """Every row with its map, [query, key]. numbered: row -> ids."""
    if source.measure != "weights":  # norms need more than weights
        yield from ((row, map_of(model, model.trace(*pairs[row]), source)) for row in numbered)
        return
    rows = list(numbered)
    lengths = [(len(read) + 1, len(written) + 1) for read, written in numbered.values()]
    for batch in bucket(lengths, BATCH, None):
        traced = trace_batch(model.model, [numbered[rows[index]] for index in batch], ["cross.weights"])
        for index, kept in zip(batch, traced, strict=True):
            yield rows[index], _weights_of(kept["cross.weights"], source)
