"""Decoding, beside CTranslate2 with the same weights."""

import statistics
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from torch import Tensor

from benchmarks.report import Table, load
from benchmarks.timing import cell, ratio, take_turns, threads
from tests.support.sentences import typed
from transformer.checkpoints.beam_rule import ALPHA
from transformer.inference.ctranslate import Translator
from transformer.inference.pretrained import FEW, Pretrained
from transformer.inference.search import EXTRA_LENGTH, Hypothesis, beam, greedy
from transformer.inference.speed import reorder, with_parameters
from transformer.text.batching import pad

SENTENCES = 64
BEAMS = 4


def measure(model: Pretrained, quick: bool = False) -> list[Table]:
    return [beside_ctranslate(model, quick), new_sentences(model, quick)]


def beside_ctranslate(model: Pretrained, quick: bool = False, batches: Sequence[int] = (1, 8, 32)) -> Table:
    """The same sentences with the same weights, in one thread."""
    ids = [model.encode(text) for text in typed(4 if quick else SENTENCES)]
    table = Table(
        "Milliseconds of decoding with the same weights, one thread (median / best)",
        ("beam", "batch", "step by step", "the app", "times as fast",
         "CTranslate2 float32", "its int8", "equal tokens"),
        load(),
        notes=[
            f"{len(ids)} sentences. The app reorders the matrices, and up to {FEW} sentences at once are drafted by "
            "CTranslate2 with 8 bits and checked by one pass of ours with 32. Equal tokens, to those step by step: of "
            "how many sentences by the app, by CTranslate2 in float32 and int8. Both beam searches have the same width "
            "and alpha, but they divide by other powers of the length and end by other rules."
        ],
    )  # fmt: skip
    with threads(1):
        app, int8, float32 = as_in_app(model), Translator(model.model), Translator(model.model, "float32")
        for beams in (1, BEAMS):
            sides = {
                "ours": partial(search, model, beams),
                "app": app.greedy if beams == 1 else partial(search, app, beams),
                "float32": partial(theirs, float32, beams),
                "int8": partial(theirs, int8, beams),
            }
            for size in batches:
                parts = [pad(ids[i : i + size], model.config.pad_id) for i in range(0, len(ids), size)]
                runs = {
                    name: lambda side=side, parts=parts: [one.ids for part in parts for one in side(part)]
                    for name, side in sides.items()
                }
                found = {name: run() for name, run in runs.items()}
                times = take_turns(runs, 2 if quick else 5)
                equal = {name: str(sum(map(tuple.__eq__, ids, found["ours"]))) for name, ids in found.items()}
                ours, *others = (cell(times[name]) for name in ("ours", "app", "float32", "int8"))
                table.add(
                    beams, size, ours, others[0], ratio(times, "ours", "app"), *others[1:],
                    ", ".join(equal[name] for name in ("app", "float32", "int8")),
                )  # fmt: skip
    return table


def as_in_app(model: Pretrained) -> Pretrained:
    """The model as the app opens it; it shares its weights."""
    app = replace(model, model=with_parameters(model.model, {}))
    reorder(app.model)
    app.prepare_draft()
    return app


def search(model: Pretrained, beams: int, source: Tensor) -> list[Hypothesis]:
    """Step by step."""
    return greedy(model.model, source) if beams == 1 else beam(model.model, source, beams, model.alpha, rule=model.rule)


def theirs(translator: Translator, beams: int, source: Tensor) -> list[Hypothesis]:
    """What CTranslate2 finds for padded sources, without probabilities."""
    config = translator.config
    rows = [[id for id in row if id != config.pad_id] for row in source.tolist()]
    limit = min(max(map(len, rows)) + EXTRA_LENGTH, config.max_positions)
    return [Hypothesis(ids, ()) for ids in translator(rows, [()] * len(rows), limit, beams, ALPHA)]


def new_sentences(model: Pretrained, quick: bool = False) -> Table:
    """What a viewer waits for, who types a sentence."""
    texts = typed(4 if quick else SENTENCES)
    table = Table(
        "Milliseconds to translate a new sentence and trace it, one thread (median / best)",
        ("step by step", "the app, from a draft that the trace checks", "times as fast"),
        load(),
        notes=[f"Means of {len(texts)} sentences, one after the other."],
    )
    with threads(1):
        sides = {"steps": model, "draft": as_in_app(model)}
        runs = {name: lambda side=side: [side.trace(text) for text in texts] for name, side in sides.items()}
        times = take_turns(runs, 2 if quick else 5)
    means = [[one / len(texts) for one in times[name]] for name in runs]
    cells = (f"{statistics.median(mean):.1f} / {min(mean):.1f}" for mean in means)
    table.add(*cells, ratio(times, "steps", "draft"))
    return table
