"""Scores of a checkpoint on sentence pairs: sacreBLEU, chrF and perplexity, with or without switches."""

import dataclasses
import math
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F

from transformer.analysis.sums import added
from transformer.inference.pretrained import InputError, Pretrained
from transformer.interventions.sets import NONE, Interventions
from transformer.text.batching import bucket, make_batch
from transformer.text.bleu_tokenizers import USUAL, tokenizer_for
from transformer.text.tokenizer import composed, equal
from transformer.training.data import DataError, Pair, group_references
from transformer.training.preparation import Preparation


@dataclass(frozen=True)
class Evaluation:
    """Scores of one checkpoint on one test set.

    sentences: distinct sources; references: pairs. BLEU and chrF (0 to 100) use all references of a source.
    exact: share of sources whose translation equals a reference, letter by letter.
    tokenized_bleu: of the prepared text, divided at blanks, as in published tables; None without a preparation. With
    one, bleu and chrf score the restored text, lower-cased on both sides.
    perplexity: exp of the mean negative log-likelihood per target token, with </s>, over target_tokens tokens of all
    references. untranslated: sources that are blank or too long, scored as empty; unmeasured: pairs left out of the
    perplexity for the same reason. seconds: of translating. decomposed: references in decomposed Unicode (NFD), which
    are scored as NFC, as the translations are; sacreBLEU alone counts such letters as different. four_grams: groups of
    four tokens in the translations; without one BLEU is 0.
    """

    sentences: int
    references: int
    bleu: float
    bleu_signature: str
    chrf: float
    chrf_signature: str
    exact: float
    perplexity: float
    target_tokens: int
    beams: int
    length_penalty: float | None
    untranslated: int
    unmeasured: int
    seconds: float
    tokenized_bleu: float | None = None
    tokenized_bleu_signature: str | None = None
    decomposed: int = 0
    four_grams: int = 0
    subsets: Mapping[str, Mapping[str, float]] = dataclasses.field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)


def fits(model: Pretrained, text: str, side: str, interventions: Interventions = NONE) -> bool:
    """Whether the text is neither blank nor too long for the model; a source together with its padding."""
    try:
        ids = model.encode(text, side)
        if side == "source":
            model.pad(ids, interventions)
    except InputError:
        return False
    return True


@torch.inference_mode()
def surprise(
    model: Pretrained,
    pairs: Sequence[Pair],
    batch_tokens: int = 2000,
    interventions: Interventions = NONE,
) -> tuple[float, int, int]:
    """The summed negative log-likelihood of the targets in nats, the number of target tokens with </s>, and the number
    of pairs that fit the model.

    With switches, only pairs of equal lengths share a batch, because a switch could make padding visible.
    Raises InterventionError.
    """
    fitting = [
        pair for pair in pairs if fits(model, pair[0], "source", interventions) and fits(model, pair[1], "target")
    ]
    if not fitting:
        return 0.0, 0, 0
    encode = model.tokenizer.encode
    numbered = [(encode(source), encode(target)) for source, target in fitting]
    total, count = 0.0, 0
    network, config = model.model, model.config
    lengths = [(len(s) + 1, len(t) + 1) for s, t in numbered]
    for rows in bucket(lengths, batch_tokens, None, alike=bool(interventions)):
        batch = make_batch([numbered[i][0] for i in rows], [numbered[i][1] for i in rows], config)
        source, fed, wanted = (x.to(network.device) for x in (batch.source, batch.target_in, batch.target_out))
        hidden = model.hidden(source, fed, interventions)
        real = wanted != config.pad_id
        total += F.cross_entropy(network.project(hidden[real]).float(), wanted[real], reduction="sum").item()
        count += int(real.sum())
    return total, count, len(fitting)


def evaluate(
    model: Pretrained,
    pairs: Sequence[Pair],
    beam: int = 1,
    alpha: float | None = None,
    preparation: Preparation | None = None,
    interventions: Interventions = NONE,
    tokenize: str | None = None,
) -> Evaluation:
    """Translate every distinct source and score it against all its references.

    preparation: of the model's training text; sources are prepared in the same way. interventions: switches during
    translation and measurement. tokenize: how BLEU divides texts, of `bleu_tokenizers.TOKENIZERS`; None: as the target
    language needs. Raises DataError, InterventionError; UserError for a tokenizer that is not installed.
    """
    if not pairs:
        raise DataError("there is nothing to evaluate; give at least one sentence pair")
    groups = list(zip(*group_references(pairs), strict=True))
    return total([counts(model, groups, beam, alpha, preparation, interventions, tokenize)])


Counts = dict[str, Any]


def counts(
    model: Pretrained,
    groups: Sequence[tuple[str, Sequence[str]]],
    beam: int = 1,
    alpha: float | None = None,
    preparation: Preparation | None = None,
    interventions: Interventions = NONE,
    tokenize: str | None = None,
) -> Counts:
    """What some sources, each with its references, add to the scores of a test set (`total`), as JSON. Arguments and
    errors as in `evaluate`."""
    from transformer.text.sacrebleu import BLEU, CHRF, statistics

    penalty = model.alpha if alpha is None else alpha
    tokenize = tokenize or tokenizer_for(model.languages[1])
    metric = BLEU(tokenize, lowercase=bool(preparation))
    sources, typed = [source for source, _ in groups], [list(texts) for _, texts in groups]
    references, pairs = typed, [(source, text) for source, texts in groups for text in texts]
    if preparation:
        sources = [preparation.source(source) for source in sources]
        references = [[preparation.target(text) for text in group] for group in typed]
        pairs = preparation.pairs(pairs)
    fitting = [source if fits(model, source, "source", interventions) else "" for source in sources]
    began = time.perf_counter()
    hypotheses = [one.text for one in model.translate_all(fitting, beam, alpha, interventions=interventions)]
    seconds = time.perf_counter() - began
    nats, tokens, measured = surprise(model, pairs, interventions=interventions)
    exact = sum(any(equal(text, one) for one in group) for text, group in zip(hypotheses, references, strict=True))
    tokenized = {}
    if preparation:
        tokenized = {"tokenized": statistics(BLEU(**BY_BLANKS), hypotheses, columns(references))}
        hypotheses = [preparation.restore(text) for text in hypotheses]
    lower = bool(preparation)
    by_number = columns(typed)
    return {
        "sums": {
            "sentences": len(sources), "references": len(pairs), "exact": exact, "nats": nats, "tokens": tokens,
            "untranslated": fitting.count(""), "unmeasured": len(pairs) - measured, "seconds": seconds,
            "bleu": statistics(metric, hypotheses, by_number),
            "chrf": statistics(CHRF(lowercase=lower), hypotheses, by_number),
            "decomposed": sum(text != composed(text) for texts in typed for text in texts),
            "subsets": subsets(sources, hypotheses, typed, tokenize), **tokenized,
        },
        "most": len(by_number), "lower": lower, "tokenize": tokenize, "beams": beam, "penalty": penalty,
    }  # fmt: skip


BY_BLANKS: dict[str, Any] = {"tokenize": "none", "force": True}


def total(parts: Iterable[Counts]) -> Evaluation:
    """The scores of a test set from the `counts` of its parts, added in their order. Raises DataError if nothing could
    be measured."""
    from transformer.text.sacrebleu import BLEU, CHRF, score

    sums: Counts = {}
    most = 0
    for part in parts:
        sums, most = added(sums, part["sums"]), max(most, part["most"])
    if not sums:
        raise DataError("there is nothing to evaluate; give at least one sentence pair")
    if not sums["tokens"]:
        raise DataError(
            "none of the {count} sentence pairs has text on both sides and fits the model", count=sums["references"]
        )
    bleu, bleu_signature = score(BLEU(part["tokenize"], lowercase=part["lower"]), sums["bleu"], most)
    chrf, chrf_signature = score(CHRF(lowercase=part["lower"]), sums["chrf"], most)
    tokenized: dict[str, Any] = {}
    if "tokenized" in sums:
        names = ("tokenized_bleu", "tokenized_bleu_signature")
        tokenized = dict(zip(names, score(BLEU(**BY_BLANKS), sums["tokenized"], most), strict=True))
    return Evaluation(
        bleu=bleu,
        bleu_signature=bleu_signature,
        chrf=chrf,
        chrf_signature=chrf_signature,
        exact=sums["exact"] / sums["sentences"],
        perplexity=math.exp(sums["nats"] / sums["tokens"]),
        target_tokens=sums["tokens"],
        beams=part["beams"],
        length_penalty=part["penalty"] if part["beams"] > 1 else None,
        four_grams=sums["bleu"][-1],
        **{
            name: sums[name]
            for name in ("sentences", "references", "untranslated", "unmeasured", "seconds", "decomposed")
        },
        subsets={
            name: {
                "bleu": score(BLEU(), one["bleu"])[0],
                "sentences": one["sentences"],
                "words": one["words"] / one["sentences"],
            }
            for name in SUBSETS
            if (one := sums["subsets"].get(name))
        },
        **tokenized,
    )


SUBSETS = ("all", "one_reference", "short", "middle", "long")
SHORT, LONG = 6, 10  # words of the longest short source, and of the longest that is not long


def subsets(
    sources: Sequence[str], hypotheses: Sequence[str], references: Sequence[Sequence[str]], tokenize: str = USUAL
) -> dict[str, dict[str, Any]]:
    """The same translations, scored in parts: "all"; "one_reference", the first of each; and "short", "middle" and
    "long" sources by their words. Each part: statistics of sacreBLEU, sentences, and words of all sources."""
    from transformer.text.sacrebleu import BLEU, statistics

    metric, words = BLEU(tokenize), [len(source.split()) for source in sources]
    every = list(range(len(sources)))
    parts: list[tuple[list[int], int | None]] = [
        (every, None),
        (every, 1),
        ([i for i in every if words[i] <= SHORT], None),
        ([i for i in every if SHORT < words[i] <= LONG], None),
        ([i for i in every if words[i] > LONG], None),
    ]
    return {
        name: {
            "bleu": statistics(metric, [hypotheses[i] for i in rows], columns([references[i][:most] for i in rows])),
            "sentences": len(rows),
            "words": sum(words[i] for i in rows),
        }
        for name, (rows, most) in zip(SUBSETS, parts, strict=True)
        if rows
    }


def corpus_bleu(hypotheses: Sequence[str], references: Sequence[Sequence[str]], tokenize: str = USUAL) -> float:
    """sacreBLEU with all references of each sentence."""
    from transformer.text.sacrebleu import BLEU

    return BLEU(tokenize).corpus_score(hypotheses, columns(references)).score


def columns(references: Sequence[Sequence[str]]) -> list[list[str]]:
    """References by number, as sacreBLEU needs them; sentences with fewer references repeat their first one."""
    most = max(map(len, references))
    return [[row[i] if i < len(row) else row[0] for row in references] for i in range(most)]
