"""Where does a head put much weight, and where does a neuron fire: over many sentences, with counts and examples."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from typing import Any

from torch import Tensor

from transformer.analysis.heads import words_of
from transformer.cancellation import Progress, tell
from transformer.inference.pretrained import InputError, Pretrained, readable
from transformer.interventions.sets import layers_of
from transformer.model.tap import KINDS, STACKS
from transformer.text.tokenizer import composed
from transformer.texts import UserError, any_of
from transformer.tracing.batch import Kept
from transformer.training.data import Pair

MOST_LINES, LONGEST = 5_000, 1_000  # lines of a text, and characters of one
MOST_HITS = 200  # hits that are kept; the others are only counted
GROUP = 50  # pairs between two calls of `progress`
READINGS = ("predicted", "fed")


class SearchError(UserError):
    """A text or a question that cannot be searched."""


@dataclass(frozen=True)
class Hit:
    """pair: number of the pair, from 0; row: of the map or of the activations; column: the key, None for a neuron;
    value: weight or activation; words: of the row and of the column, as they are read."""

    pair: int
    row: int
    column: int | None
    value: float
    words: tuple[str, str]


@dataclass(frozen=True)
class Found:
    """hits: the largest values, falling; count: of all hits; rows: of all rows that were searched; pairs: how often
    each two words were hit together, the most frequent first."""

    hits: tuple[Hit, ...]
    count: int
    rows: int
    pairs: tuple[tuple[tuple[str, str], int], ...]


def lines_of(text: str) -> list[str]:
    """The lines of a text, without blank ones at its end; blank ones before that keep their place. Raises SearchError
    if all are blank, or more than MOST_LINES are not."""
    lines = [line.rstrip("\r") for line in text.split("\n")]
    while lines and not lines[-1].strip():
        lines.pop()
    if not lines:
        raise SearchError("the text is empty; give one sentence a line")
    count = sum(map(bool, map(str.strip, lines)))
    if count > MOST_LINES:
        raise SearchError(
            "the text has {lines:,} lines; at most {most:,} are searched, so leave out {more:,}",
            lines=count,
            most=MOST_LINES,
            more=count - MOST_LINES,
        )
    return lines


def read_lines(model: Pretrained, text: str, progress: Progress = lambda done, total: True) -> list[Pair]:
    """Lines `source` or `source<tab>target` as pairs, without blank lines; the model translates sources that have no
    target.

    progress: called with (lines done, all); False stops (Stopped). Raises SearchError with the number of the line.
    """
    lines = lines_of(text)
    pairs: list[Pair] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        source, _, target = line.partition("\t")
        if len(line) > LONGEST:
            raise SearchError("line {number} has {length:,} characters; at most {most:,} are allowed, shorten it",
                              number=number, length=len(line), most=LONGEST)  # fmt: skip
        try:
            model.encode(source)
            if target.strip():
                model.encode(target, "target")
        except InputError as error:
            raise SearchError("line {number}: {error}", number=number, error=error) from error
        pairs.append((source, target))
    for start in range(0, len(pairs), GROUP):
        group = [row for row in range(start, min(start + GROUP, len(pairs))) if not pairs[row][1].strip()]
        for row, made in zip(group, model.translate_all([pairs[row][0] for row in group]), strict=True):
            pairs[row] = (pairs[row][0], made.text)
        tell(progress, min(start + GROUP, len(pairs)), len(pairs))
    return [(source, target) for source, target in pairs if target.strip()]


@dataclass(frozen=True)
class Read:
    """A pair as a search reads it. tensors: by their names in `trace_all`; words: "source", "predicted", "fed" -> the
    word of every token."""

    tensors: Mapping[str, Tensor]
    words: Mapping[str, Sequence[str | None]]


def read(
    model: Pretrained,
    pairs: Sequence[Pair],
    names: Sequence[str],
    layer: int | None = None,
    progress: Progress = lambda done, total: True,
) -> Iterator[Read]:
    """What `search_attention` and `search_neuron` look at. names: of `trace_all`; layer: that one alone, without its
    dimension. Raises InputError, Stopped."""
    for start in range(0, len(pairs), GROUP):
        group = pairs[start : start + GROUP]
        for pair, kept in zip(group, model.trace_all(group, names), strict=True):
            found = {name: kept[name] if layer is None else kept[name][layer] for name in names}
            tensors = {name: tensor.clone() for name, tensor in found.items()}  # without padding and other layers
            yield Read(tensors, _words(model, pair, kept))
        tell(progress, start + len(group), len(pairs))


def _words(model: Pretrained, pair: Pair, kept: Kept) -> dict[str, list[str | None]]:
    reader, writer = model.tokenizer_of("source"), model.tokenizer
    source, target = (readable([*one.surfaces(text), "</s>"]) for one, text in zip((reader, writer), pair, strict=True))
    start = readable(writer.pieces(kept.target_in_ids[:1]))
    return {
        "source": words_of(reader.pieces(kept.source_ids), source),
        "predicted": words_of(writer.pieces(kept.target_out_ids), target),
        "fed": words_of(writer.pieces(kept.target_in_ids), (*start, *target[:-1])),
    }


class Collected:
    """Hits as they are found."""

    def __init__(self) -> None:
        self.hits: list[Hit] = []
        self.together: Counter[tuple[str, str]] = Counter()
        self.count = self.rows = 0

    def add(self, hit: Hit) -> None:
        self.count += 1
        self.together[hit.words] += 1
        self._keep(hit)

    def _keep(self, hit: Hit) -> None:
        self.hits.append(hit)
        if len(self.hits) > 4 * MOST_HITS:
            self._cut()

    def _cut(self) -> None:
        self.hits = sorted(self.hits, key=lambda hit: -hit.value)[:MOST_HITS]

    def found(self) -> Found:
        self._cut()
        return Found(tuple(self.hits), self.count, self.rows, tuple(self.together.most_common(20)))

    def plain(self) -> dict[str, Any]:
        """As JSON."""
        self._cut()
        together = [[*words, count] for words, count in self.together.items()]
        return {"hits": list(map(astuple, self.hits)), "together": together, "count": self.count, "rows": self.rows}

    def extend(self, plain: Mapping[str, Any], places: Sequence[int]) -> None:
        """With what `plain` gave for later pairs. places: their numbers."""
        for pair, row, column, value, (first, second) in plain["hits"]:
            self._keep(Hit(places[pair], row, column, value, (first, second)))
        for first, second, count in plain["together"]:
            self.together[first, second] += count
        self.count, self.rows = self.count + plain["count"], self.rows + plain["rows"]


def _pattern(wanted: str) -> re.Pattern[str]:
    """Of the words wanted, which commas separate; "*" stands for any letters."""
    names = [one.strip() for one in composed(wanted).casefold().split(",") if one.strip()] or [wanted.strip()]
    return re.compile("|".join(re.escape(one).replace(r"\*", ".*") for one in names))


def _is(word: str | None, pattern: re.Pattern[str]) -> bool:
    """An empty pattern is any token."""
    return not pattern.pattern or (word is not None and pattern.fullmatch(word) is not None)


def search_attention(
    model: Pretrained,
    pairs: Sequence[Pair],
    kind: str,
    layer: int,
    head: int,
    at_least: float,
    from_word: str = "",
    to_word: str = "",
    reading: str = "predicted",
    progress: Progress = lambda done, total: True,
    reads: Iterable[Read] | None = None,
    into: Collected | None = None,
) -> Found:
    """Cells of one head with at least this weight, from a word to a word; "" is any word, "walk*" any that begins
    so, "he, she" either of them; capitals are small letters.

    layer, head: from 0. reading: of READINGS, the token by which a decoder row is read; the keys of decoder
    self-attention are always tokens fed in. reads: the pairs as `read` gives them, with the kind's weights, where they
    are there already. Raises SearchError, InputError, Stopped.
    """
    if kind not in KINDS:
        raise SearchError("unknown kind {kind!r}; choose {names}", kind=kind, names=any_of(KINDS, kind))
    if reading not in READINGS:
        raise SearchError("unknown reading {kind!r}; choose {names}", kind=reading, names=any_of(READINGS, reading))
    _check_index(layer, layers_of(model.config, kind), "layer")
    _check_index(head, model.config.heads, "head")
    row_side = "source" if kind == "encoder_self" else reading
    column_side = "fed" if kind == "decoder_self" else "source"
    collected, start, end = into or Collected(), _pattern(from_word), _pattern(to_word)
    name = f"{kind}.weights"
    for number, pair in enumerate(read(model, pairs, (name,), None, progress) if reads is None else reads):
        weights = pair.tensors[name][layer, head]
        rows, columns = pair.words[row_side], pair.words[column_side]
        collected.rows += len(rows)
        for row, column in (weights >= at_least).nonzero().tolist():
            if _is(rows[row], start) and _is(columns[column], end):
                words = (rows[row] or "", columns[column] or "")
                collected.add(Hit(number, row, column, float(weights[row, column]), words))
    return collected.found()


def search_neuron(
    model: Pretrained,
    pairs: Sequence[Pair],
    stack: str,
    layer: int,
    neuron: int,
    at_least: float,
    word: str = "",
    progress: Progress = lambda done, total: True,
    reads: Iterable[Read] | None = None,
    into: Collected | None = None,
) -> Found:
    """Tokens on which one neuron's activation is at least this large; decoder rows are read by the token fed in.

    layer, neuron: from 0. reads: the pairs as `read` gives them, with the activations of that layer, where they are
    there already; into: also collects the hits. Raises SearchError, InputError, Stopped.
    """
    if stack not in STACKS:
        raise SearchError("unknown stack {kind!r}; choose {names}", kind=stack, names=any_of(STACKS, stack))
    config = model.config
    _check_index(layer, layers_of(config, stack), "layer")
    _check_index(neuron, config.d_ff, "neuron")
    side, name = ("source" if stack == "encoder" else "fed"), f"{stack}_ff.activation"
    collected, wanted = into or Collected(), _pattern(word)
    for number, pair in enumerate(read(model, pairs, (name,), layer, progress) if reads is None else reads):
        values, words = pair.tensors[name][:, neuron], pair.words[side]
        collected.rows += len(words)
        for (row,) in (values >= at_least).nonzero().tolist():
            if _is(words[row], wanted):
                collected.add(Hit(number, row, None, float(values[row]), (words[row] or "", "")))
    return collected.found()


def _check_index(value: int, most: int, what: str) -> None:
    if not 0 <= value < most:
        raise SearchError("{what} {value} does not exist; there are {most}", what=what, value=value + 1, most=most)
