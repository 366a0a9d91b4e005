"""Decoding, beside MarianMTModel.generate of Hugging Face with the same sizes, and beside CTranslate2 with the same
weights."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import torch
from torch import Tensor

from benchmarks.report import Table, load
from benchmarks.sentences import typed
from benchmarks.timing import ratio, take_turns
from benchmarks.trace import threads
from transformer.checkpoints.beam_rule import ALPHA
from transformer.inference.ctranslate import Translator
from transformer.inference.drafts import greedy_from_drafts
from transformer.inference.pretrained import FEW, Pretrained
from transformer.inference.search import EXTRA_LENGTH, Hypothesis, beam, greedy
from transformer.inference.speed import prepare_for_decoding
from transformer.model.tap import OFF, AnyTap
from transformer.model.transformer import Transformer
from transformer.text.batching import pad

TARGET = {1: 2.0}
SENTENCES, WRITTEN = 200, 16
SAME_WEIGHTS = 64  # sentences
BEAMS = 4


class Endless(Transformer):
    """Never writes </s>, so that both sides write as many tokens as they are told to."""

    def project(self, hidden: Tensor, tap: AnyTap = OFF) -> Tensor:
        logits = super().project(hidden, tap)
        logits[..., self.config.end_id] = -torch.inf
        return logits


def ours(model: Pretrained) -> Endless:
    """A random model of the same sizes."""
    torch.manual_seed(1)
    endless = Endless(model.config).requires_grad_(False).eval()
    prepare_for_decoding(endless)  # as `transformer.load` does
    return endless


def peer(model: Pretrained) -> Callable[[Tensor], Tensor]:
    """generate() of a random MarianMTModel of the same sizes: greedy, with its cache, WRITTEN tokens."""
    from transformers import MarianConfig, MarianMTModel

    config = model.config
    torch.manual_seed(1)
    marian = MarianMTModel(
        MarianConfig(
            vocab_size=config.vocab_size, d_model=config.d_model, encoder_layers=config.encoder_layers,
            decoder_layers=config.decoder_layers, encoder_attention_heads=config.heads,
            decoder_attention_heads=config.heads, encoder_ffn_dim=config.d_ff, decoder_ffn_dim=config.d_ff,
            max_position_embeddings=config.max_positions, activation_function=config.activation, dropout=0.0,
            pad_token_id=config.pad_id, eos_token_id=config.end_id, decoder_start_token_id=config.start_id,
            bos_token_id=config.start_id, forced_eos_token_id=None, scale_embedding=True,
        )
    ).eval()  # fmt: skip

    @torch.inference_mode()
    def generate(source: Tensor) -> Tensor:
        return marian.generate(
            source, attention_mask=(source != config.pad_id).long(), num_beams=1, do_sample=False, use_cache=True,
            min_new_tokens=WRITTEN, max_new_tokens=WRITTEN,
        )  # fmt: skip

    return generate


def measure(model: Pretrained, quick: bool = False) -> list[Table]:
    return [beside_marian(model, quick), beside_ctranslate(model, quick), new_sentences(model, quick)]


def beside_marian(model: Pretrained, quick: bool = False, batches: Sequence[int] = (1, 32)) -> Table:
    """The same sources, in batches, through both."""
    count = 4 if quick else SENTENCES
    ids = [model.encode(text) for text in typed(count)]
    endless, generate = ours(model), peer(model)
    table = Table(
        "Speed of greedy decoding, relative to MarianMTModel.generate (median / best)",
        ("batch", "threads", "our tokens/s", "its tokens/s", "times as fast", "wanted"),
        load(),
    )
    for size in batches:
        parts = [pad(ids[i : i + size], model.config.pad_id) for i in range(0, len(ids), size)]
        for part in parts[:1]:
            assert all(len(found.ids) == WRITTEN for found in greedy(endless, part, WRITTEN))
            assert generate(part).shape[1] == WRITTEN + 1  # and its start token
        times = take_turns(
            {
                "ours": lambda parts=parts: [greedy(endless, part, WRITTEN) for part in parts],
                "theirs": lambda parts=parts: [generate(part) for part in parts],
            },
            2 if quick else 6,
            warm=1,
        )
        faster, wanted = ratio(times, "theirs", "ours"), TARGET.get(size)
        total = len(ids) * WRITTEN
        ours_speed, its_speed = (f"{total / statistics.median(times[name]) * 1e3:,.0f}" for name in ("ours", "theirs"))
        table.add(
            size, torch.get_num_threads(), ours_speed, its_speed, faster, f"{wanted} x" if wanted else "",
            good=faster.median >= wanted if wanted else None,
        )  # fmt: skip
    table.notes.append(
        f"{len(ids)} sentences, {WRITTEN} tokens written for each on both sides (</s> forbidden), random weights, the "
        "bundled model's sizes, caches of keys and values on both sides."
    )
    return table


def beside_ctranslate(model: Pretrained, quick: bool = False, batches: Sequence[int] = (1, 8, 32)) -> Table:
    """The same sentences with the same weights, in one thread."""
    ids = [model.encode(text) for text in typed(4 if quick else SAME_WEIGHTS)]
    table = Table(
        "Milliseconds of decoding with the same weights, one thread (median / best)",
        ("beam", "batch", "step by step", "from drafts", "CTranslate2 float32", "its int8", "equal tokens"),
        load(),
        notes=[
            f"{len(ids)} sentences. From drafts: CTranslate2 drafts with 8 bits, one pass of ours with 32 checks; the "
            f"package does so for up to {FEW} sentences at once. Equal tokens, to those step by step: of how many "
            "sentences from drafts, from CTranslate2 in float32 and int8. Both beam searches have the same width and "
            "alpha, but they divide by other powers of the length and end by other rules."
        ],
    )
    with threads(1):
        int8, float32 = Translator(model.model), Translator(model.model, "float32")
        for beams in (1, BEAMS):
            sides = {
                "ours": partial(search, model, beams),
                "drafted": partial(greedy_from_drafts, model.model, int8),
                "float32": partial(theirs, float32, beams),
                "int8": partial(theirs, int8, beams),
            }
            if beams > 1:
                del sides["drafted"]
            for size in batches:
                parts = [pad(ids[i : i + size], model.config.pad_id) for i in range(0, len(ids), size)]
                runs = {
                    name: lambda side=side, parts=parts: [one.ids for part in parts for one in side(part)]
                    for name, side in sides.items()
                }
                found = {name: run() for name, run in runs.items()}
                times = take_turns(runs, 2 if quick else 5, warm=1)
                cells = {name: f"{statistics.median(of):.0f} / {min(of):.0f}" for name, of in times.items()}
                equal = {name: str(sum(map(tuple.__eq__, ids, found["ours"]))) for name, ids in found.items()}
                names = ("ours", "drafted", "float32", "int8")
                table.add(
                    beams, size, *(cells.get(name, "") for name in names),
                    ", ".join(equal.get(name, "–") for name in names[1:]),
                )  # fmt: skip
    return table


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
    texts, drafting = typed(4 if quick else SAME_WEIGHTS), replace(model)
    table = Table(
        "Milliseconds to translate a new sentence and trace it, one thread (median / best)",
        ("step by step", "from a draft, which the trace checks", "times as fast"),
        load(),
        notes=[f"Means of {len(texts)} sentences, one after the other."],
    )
    with threads(1):
        drafting.prepare_draft()
        sides = {"steps": model, "draft": drafting}
        runs = {name: lambda side=side: [side.trace(text) for text in texts] for name, side in sides.items()}
        times = take_turns(runs, 2 if quick else 5, warm=1)
    means = [[one / len(texts) for one in times[name]] for name in runs]
    cells = (f"{statistics.median(mean):.1f} / {min(mean):.1f}" for mean in means)
    table.add(*cells, ratio(times, "steps", "draft"))
    return table
