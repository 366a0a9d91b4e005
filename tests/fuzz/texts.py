"""Texts: through the tokenizer and back, into a translation, a trace, and the files made of a trace."""

from __future__ import annotations

import functools
import io
import json
import random
import unicodedata
from pathlib import Path

import numpy as np
import torch

import transformer
from tests.fuzz.common import one_sentence, text
from tests.support.build import tiny_pretrained
from transformer.inference.pretrained import InputError, Pretrained
from transformer.text.tokenizer import Tokenizer, clean
from transformer.tracing.export import npz
from transformer.view.page import html_page
from transformer.view.state import View

CHECKPOINTS = Path(__file__).resolve().parents[2] / "checkpoints"
LIMIT = 24


@functools.cache
def model(name: str) -> Pretrained:
    return tiny_pretrained() if name == "tiny" else transformer.load(CHECKPOINTS / name)


def check_tokenizer(tokenizer: Tokenizer, typed: str) -> None:
    """Whatever was typed: ids of ordinary pieces, as many surfaces, and a text again."""
    cleaned = clean(typed)
    assert not any(unicodedata.category(character) in ("Cc", "Cs") for character in cleaned)
    assert cleaned == cleaned.strip() and "  " not in cleaned
    ids = tokenizer.encode(typed)
    assert all(0 <= one < len(tokenizer) for one in ids)
    assert not {0, 2, 3} & set(ids), "markup became a special token"
    surfaces, pieces = tokenizer.surfaces(typed), tokenizer.pieces(ids)
    assert len(surfaces) == len(pieces) == len(ids), (len(surfaces), len(pieces), len(ids))
    assert all(piece == surface for piece, surface, one in zip(pieces, surfaces, ids, strict=True) if one != 1)
    tokenizer.decode(ids).encode("utf-8")
    "".join(surfaces).encode("utf-8")


def check_trace(one: Pretrained, source: str, target: str | None) -> None:
    try:
        trace = one.trace(source, target, limit=LIMIT)
    except InputError as error:
        one_sentence(str(error))
        return
    assert len(trace.source_ids) == len(trace.source_tokens) == len(trace.source_labels) <= LIMIT
    assert len(trace.target_in_ids) == len(trace.target_in) == len(trace.target_in_labels)
    assert len(trace.target_out_ids) == len(trace.target_out) == len(trace.target_out_labels) == len(trace.target_in)
    assert all(label.strip() for label in trace.source_labels + trace.target_out_labels)
    for attention in (trace.encoder_self, trace.decoder_self, trace.cross):
        assert torch.isfinite(attention.weights).all()
        assert float((attention.weights.sum(-1) - 1).abs().max()) < 1e-5


def check_files(one: Pretrained, source: str, target: str | None) -> None:
    """What is downloaded: arrays with an index, and a page in which the text is data."""
    try:
        trace = one.trace(source, target, limit=LIMIT)
    except InputError:
        return
    with np.load(io.BytesIO(npz(trace)), allow_pickle=False) as file:
        index = json.loads(bytes(file["index.json"]).decode())
    assert index["target_out"] == list(trace.target_out) and len(index["source_tokens"]) == len(trace.source_tokens)
    plain, page = html_page(one.trace("a", limit=LIMIT), View()), html_page(trace, View())
    written = page if isinstance(page, str) else page.decode("utf-8")
    harmless = plain if isinstance(plain, str) else plain.decode("utf-8")
    for word in ("<script", "</script", "<img", "<!--"):
        assert written.lower().count(word) == harmless.lower().count(word), f"{word} of the text stands in the page"


def case(seed: int) -> None:
    rng = random.Random(f"texts {seed}")
    one = model(rng.choice(("tiny", "reverse", "reverse", "en-de")))
    source = text(rng)
    check_tokenizer(one.tokenizer, source)
    if rng.random() < 0.4 and not (one.name == "en-de" and rng.random() < 0.7):  # the big one takes ten times as long
        check_trace(one, source, text(rng) if rng.random() < 0.5 else None)
    if rng.random() < 0.1 and one.name != "en-de":
        try:
            one.translate(source, limit=LIMIT, beam=rng.choice((1, 2))).text.encode("utf-8")
        except InputError as error:
            one_sentence(str(error))
    if rng.random() < 0.03:
        check_files(model("reverse"), source[:LIMIT], text(rng)[:LIMIT] or None)
