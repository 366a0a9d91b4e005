"""A model on many sentence pairs, with switches: a few sentences at a time, so that progress can be shown."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

import numpy as np
import torch

from transformer.analysis.alignment import Gold, read_gold
from transformer.analysis.translation import repetition
from transformer.cancellation import Progress, tell
from transformer.files import read_text
from transformer.inference.pretrained import Pretrained
from transformer.inference.search import greedy
from transformer.interventions.sets import NONE, Interventions
from transformer.text.bleu_tokenizers import USUAL, tokenizer_for
from transformer.text.meanings import LANGUAGES
from transformer.text.tokenizer import equal
from transformer.training.data import Pair, read_pairs
from transformer.training.evaluation import fits, surprise
from transformer.training.tasks import TASKS, task_pairs

PROBES = Path(__file__).parent / "data"
COUNT = 120
GOLD = ("en-de", "ko-en")  # directions with pairs of ours, aligned by hand, and lists of words
LARGEST = 10_000_000  # bytes
LENGTHS = (3, 14)  # symbols of a toy's inputs; the bundled toys were trained on 1 to 16
SEED = 2017
DRAWS, LEVEL = 1000, 0.95  # of the bootstrap
GROUP = 8  # sentences between two calls of `progress`: 0.1 to 1.7 s of one core with en-de


@dataclass(frozen=True)
class ProbeScores:
    """Scores of greedy translations against one reference each.

    bleu: sacreBLEU, 0 to 100; perplexity: exp of the mean negative ln p per token of the references, </s> included,
    under teacher forcing; repetition: seq-rep-4 (`analysis.translation.repetition`) of the translations' tokens, mean
    over sentences; exact: share of translations equal to the reference letter by letter; cut_off: share that had not
    ended at the limit of input length + 50. texts, references: what was scored, sentence by sentence; comparisons of
    scores ignore them.
    """

    sentences: int
    bleu: float
    perplexity: float
    repetition: float
    exact: float
    cut_off: float
    tokenize: str = USUAL
    texts: tuple[str, ...] = field(default=(), compare=False, repr=False)
    references: tuple[str, ...] = field(default=(), compare=False, repr=False)


def task_of(model: Pretrained) -> str | None:
    """The toy task of a model, from its two languages; None for any other model."""
    return next((name for name, task in TASKS.items() if task.languages == model.languages), None)


def direction(languages: tuple[str, str]) -> str:
    """Source and target language as codes, "en-de"; a language that has none stands as it is named."""
    return "-".join(LANGUAGES.get(name, name) for name in languages)


def opposite(languages: tuple[str, str], others: tuple[str, str]) -> bool:
    """Whether a model of the other languages translates back, whichever way the languages are named."""
    return direction(languages) == direction((others[1], others[0]))


def english_to_german(model: Pretrained) -> bool:
    return direction(model.languages) == "en-de"


@lru_cache(maxsize=len(GOLD))
def gold_pairs(of: str = "en-de") -> tuple[Gold, ...]:
    """The pairs of the package for a direction, aligned by hand; none for others than GOLD."""
    return tuple(read_gold(read_text(PROBES / f"{of}.alignments.tsv", LARGEST))) if of in GOLD else ()


def probe_pairs(model: Pretrained) -> list[Pair] | None:
    """The pairs to probe a model with, as far as they fit it: Headscope's own for English to German, those aligned by
    hand for Korean to English, seeded ones for a toy task. None for other languages, or if none fits."""
    task = task_of(model)
    if task:
        longest = TASKS[task].longest or LENGTHS[1]
        pairs = task_pairs(task, COUNT, (LENGTHS[0], min(LENGTHS[1], longest)), SEED)
    elif english_to_german(model):
        pairs = read_pairs(PROBES / "en-de.tsv")
    elif golds := gold_pairs(direction(model.languages)):
        pairs = [(gold.source, gold.target) for gold in golds]
    else:
        return None
    return [pair for pair in pairs if fits(model, pair[0], "source") and fits(model, pair[1], "target")] or None


def _groups(lengths: Sequence[int], size: int) -> list[list[int]]:
    """Indices in groups of one length and at most `size` members, short ones first."""
    rows: dict[int, list[int]] = {}
    for index in sorted(range(len(lengths)), key=lengths.__getitem__):
        rows.setdefault(lengths[index], []).append(index)
    return [same[start : start + size] for same in rows.values() for start in range(0, len(same), size)]


@torch.inference_mode()
def probe(
    model: Pretrained,
    pairs: Sequence[Pair],
    interventions: Interventions = NONE,
    progress: Progress = lambda done, total: True,
    group: int = GROUP,
) -> ProbeScores:
    """Translate every source greedily with the switches, and score it.

    progress: called with (sentences done, total) before the first group and after each; False stops. group: sentences
    translated together, always of one length, because padding could be seen with its mask off. The scores do not depend
    on the groups.

    Raises Stopped; ValueError for no pairs; InterventionError; InputError for a pair that does not fit the model.
    """
    from transformer.text.sacrebleu import BLEU

    if not pairs:
        raise ValueError("there is nothing to probe: no sentence pairs were given")
    end, longest, cut_off = model.config.end_id, model.output_limit(interventions), 0
    tap = model.tap(interventions)
    for _, target in pairs:
        model.encode(target, "target")
    sources = [model.pad(model.encode(source), interventions) for source, _ in pairs]
    texts = [""] * len(pairs)
    written: list[tuple[int, ...]] = [()] * len(pairs)
    surprised, tokens, done = 0.0, 0, 0
    tell(progress, 0, len(pairs))
    for rows in _groups([len(source) for source in sources], group):
        batch = torch.tensor([sources[row] for row in rows], device=model.model.device)
        found = greedy(model.model, batch, longest, tap=tap, constraints=model.rule.constraints)
        cut_off += sum(not one.complete for one in found)
        for row, ids in zip(rows, found, strict=True):
            texts[row], written[row] = model.tokenizer.decode(ids.ids), ids.ids
        nats, count, _ = surprise(model, [pairs[row] for row in rows], interventions=interventions)
        surprised, tokens, done = surprised + nats, tokens + count, done + len(rows)
        tell(progress, done, len(pairs))
    references, tokenize = [target for _, target in pairs], tokenizer_for(model.languages[1])
    return ProbeScores(
        sentences=len(pairs),
        bleu=BLEU(tokenize).corpus_score(texts, [references]).score,
        perplexity=math.exp(surprised / tokens),
        repetition=sum(repetition([token_id for token_id in ids if token_id != end]) for ids in written) / len(pairs),
        exact=sum(map(equal, texts, references)) / len(pairs),
        cut_off=cut_off / len(pairs),
        tokenize=tokenize,
        texts=tuple(texts),
        references=tuple(references),
    )


def bleu_interval(
    before: tuple[str, ...], after: tuple[str, ...], references: tuple[str, ...], tokenize: str = USUAL
) -> tuple[float, float]:
    """95% interval of the change of BLEU between two sets of translations of the same sentences: percentiles of a
    paired bootstrap over sentences (Koehn 2004), seeded."""
    scores = (_redrawn(texts, references, tokenize) for texts in (before, after))
    moved = [two - old for old, two in zip(*scores, strict=True)]
    low, high = np.quantile(moved, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


@lru_cache(64)
def _redrawn(texts: tuple[str, ...], references: tuple[str, ...], tokenize: str) -> list[float]:
    """BLEU of each draw of the bootstrap; draw i is of the same sentences for all translations."""
    from transformer.text.sacrebleu import BLEU

    metric = BLEU(tokenize)
    scores = [metric.corpus_score([text], [[reference]]) for text, reference in zip(texts, references, strict=True)]
    # Counts that can be added.
    counts = np.array([[*score.counts, *score.totals, score.sys_len, score.ref_len] for score in scores])
    count = len(references)
    times = np.random.default_rng(0).multinomial(count, [1 / count] * count, DRAWS)  # how often each sentence is drawn
    return [
        BLEU.compute_bleu(one[:4], one[4:8], one[8], one[9], metric.smooth_method).score
        for one in (times @ counts).tolist()
    ]
