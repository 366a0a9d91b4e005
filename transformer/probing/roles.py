"""What the heads of a model do over a probe set."""

from collections.abc import Sequence

from transformer.analysis.heads import Seen, Splitter, WordList, read_word_list, words_of
from transformer.analysis.tokens import BOX, is_special
from transformer.cancellation import Progress
from transformer.files import read_text
from transformer.inference.pretrained import Pretrained, readable
from transformer.probing.probes import GOLD, PROBES, direction, task_of
from transformer.tracing.trace import KINDS
from transformer.training.data import Pair
from transformer.training.tasks import TASKS

LARGEST_WORDS = 50_000_000  # bytes
KEEP = tuple(f"{kind}.{field}" for kind in KINDS for field in ("weights", "mask"))


def sentences_of(model: Pretrained, pairs: Sequence[Pair], progress: Progress = lambda done, total: True) -> list[Seen]:
    """What the statistics of heads need of every pair, from batches: as `seen(model.trace(..))`, many times faster.

    Each symbol of a toy task is a word. progress: called with (pairs done, all); False stops (Stopped). Raises
    InputError with the number of the pair.
    """
    found = []
    for pair, kept in zip(pairs, model.trace_all(pairs, KEEP, progress=progress), strict=True):
        words = words_of_pair(model, pair, (kept.source_ids, kept.target_in_ids, kept.target_out_ids))
        weights, masks = ({kind: kept[f"{kind}.{field}"] for kind in KINDS} for field in ("weights", "mask"))
        found.append(Seen(weights, masks, *words))
    return found


Words = list[str | None]


def words_of_pair(
    model: Pretrained, pair: Pair, ids: tuple[Sequence[int], Sequence[int], Sequence[int]] | None = None
) -> tuple[Words, Words, Words]:
    """The word of every token of the source, and of those that the decoder is fed and predicts. ids: of these tokens,
    where they are known. Raises InputError."""
    if ids is None:
        source, target = model.encode(pair[0]), model.encode(pair[1], "target")
        ids = source, [model.config.start_id, *target[:-1]], target
    words, reader, writer = splitter(model), model.tokenizer_of("source"), model.tokenizer
    sources, targets = (
        readable([*one.surfaces(text), "</s>"]) for one, text in zip((reader, writer), pair, strict=True)
    )
    start = readable(writer.pieces(ids[1][:1]))
    return (
        words(reader.pieces(ids[0]), sources),
        words(writer.pieces(ids[1]), (*start, *targets[:-1])),
        words(writer.pieces(ids[2]), targets),
    )


def splitter(model: Pretrained) -> Splitter:
    """Gives the word of every token: each symbol of a toy task is a word."""
    return _symbols if task_of(model) else words_of


def _symbols(tokens: Sequence[str], labels: Sequence[str]) -> list[str | None]:
    return [None if special else label.casefold() for label, special in zip(labels, is_special(tokens), strict=True)]


def word_list(model: Pretrained, pairs: Sequence[Pair]) -> WordList | None:
    """Which words translate each other in the probe set of a model: a list of ours for the languages that have gold
    links, the digits of both forms of a number, each symbol with itself for a toy task that only moves symbols; else
    None."""
    if (of := direction(model.languages)) in GOLD:
        return read_word_list(read_text(PROBES / f"{of}.words.tsv", LARGEST_WORDS))
    task = task_of(model)
    if task and TASKS[task].words:
        return TASKS[task].words
    if task and all(sorted(source) == sorted(target) for source, target in pairs):
        symbols = {symbol for source, _ in pairs for symbol in source.casefold().replace(" ", BOX)}
        return {symbol: frozenset({symbol}) for symbol in symbols}
    return None
