"""Greedy decoding, beside MarianMTModel.generate of Hugging Face with the same sizes, and beside CTranslate2 with the
same weights."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from benchmarks.ctranslate import translators
from benchmarks.report import Table, load
from benchmarks.sentences import typed
from benchmarks.timing import ratio, take_turns
from benchmarks.trace import threads
from transformer.inference.pretrained import Pretrained
from transformer.inference.search import greedy
from transformer.inference.speed import prepare_for_decoding
from transformer.model.tap import FUSED, OFF, AnyTap
from transformer.model.transformer import Transformer
from transformer.text.batching import pad

TARGET = {1: 2.0}
SENTENCES, WRITTEN = 200, 16
SAME_WEIGHTS = 64  # sentences


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
    return [beside_marian(model, quick), beside_ctranslate(model, quick)]


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


def beside_ctranslate(model: Pretrained, quick: bool = False, batches: Sequence[int] = (1, 32)) -> Table:
    """The same sentences with the same weights, in one thread."""
    ids = [model.encode(text) for text in typed(4 if quick else SAME_WEIGHTS)]
    theirs = dict(zip(("float32", "int8"), translators(model, "float32", "int8"), strict=True))
    table = Table(
        "Milliseconds of greedy decoding with the same weights, one thread (median / best)",
        ("batch", "Headscope", "CTranslate2 float32", "CTranslate2 int8", "equal tokens: float32, int8"),
        load(),
        notes=[f"{len(ids)} sentences, to the </s> of each side. CTranslate2 rounds the weights to int8 itself."],
    )

    def search(source: Tensor) -> list[list[int]]:
        return [list(found.ids) for found in greedy(model.model, source, tap=FUSED)]

    with threads(1):
        for size in batches:
            parts = [pad(ids[i : i + size], model.config.pad_id) for i in range(0, len(ids), size)]
            sides = {"ours": search, **theirs}
            found = {name: [row for part in parts for row in side(part)] for name, side in sides.items()}
            runs = {name: lambda side=side, parts=parts: [side(part) for part in parts] for name, side in sides.items()}
            times = take_turns(runs, 2 if quick else 5, warm=1)
            equal = (sum(map(list.__eq__, found[name], found["ours"])) for name in theirs)
            columns = (f"{statistics.median(times[name]):.0f} / {min(times[name]):.0f}" for name in sides)
            table.add(size, *columns, ", ".join(f"{count} of {len(ids)}" for count in equal))
    return table
