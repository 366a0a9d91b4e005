"""A Trace as one block of bytes for the browser: a JSON header and typed arrays.

    bytes 0-3    "HSP1"
    bytes 4-7    length of the header in bytes, little-endian
    header       JSON in UTF-8, padded with spaces to a multiple of 8
    data         arrays at multiples of 8, C order, little-endian; the header says where

The pictures get the weights of all heads in 8 bits (round(255 w)). The exact float32 numbers follow for one head at a
time, when the browser asks for them; a page without a server gets those of all heads.
"""

import json
import struct
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Literal

import torch
from torch import Tensor

from transformer.analysis.attention import check, summarise
from transformer.analysis.tokens import is_special, word_labels, word_numbers
from transformer.interventions.sets import Unmask
from transformer.text.meanings import load_meanings
from transformer.texts import reader_language
from transformer.tracing.trace import KINDS, Trace
from transformer.view.languages import browser_texts
from transformer.view.shared_texts import say
from transformer.view.state import View

MAGIC = b"HSP1"
ROWS = {"encoder_self": "source", "decoder_self": "target", "cross": "target"}
COLUMNS = {"encoder_self": "source", "decoder_self": "target_in", "cross": "source"}


class Writer:
    """Collects arrays and gives each a reference for the header."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self.size = 0

    def add(self, tensor: Tensor) -> dict[str, Any]:
        data = tensor.contiguous().numpy().tobytes()
        reference = {
            "dtype": str(tensor.dtype).removeprefix("torch."), "shape": list(tensor.shape), "offset": self.size
        }  # fmt: skip
        data += b"\0" * (-len(data) % 8)
        self.parts.append(data)
        self.size += len(data)
        return reference

    def finish(self, header: Mapping[str, Any]) -> bytes:
        text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
        text += b" " * (-len(text) % 8)
        return b"".join([MAGIC, struct.pack("<I", len(text)), text, *self.parts])


def _exact(writer: Writer, trace: Trace, kind: str, layer: int, head: int) -> dict[str, Any]:
    attention = trace.attention(kind)
    names = ("weights", "queries", "keys", "values", *(() if attention.bias is None else ("bias",)))
    arrays = {name: writer.add(getattr(attention, name)[layer, head]) for name in names}
    about = {"scale": float(attention.scale[layer, head]), "rule": int(attention.rule[layer, head])}
    return {"kind": kind, "layer": layer, "head": head, **about, **arrays}


def _masks(writer: Writer, mask: Tensor) -> dict[str, Any]:
    """The distinct masks, [mask, query, key] with 1 = hidden, and the mask of each head; None if no cell is hidden."""
    if bool(mask.all()):
        return {"masks": None}
    layers, heads, queries, keys = mask.shape
    flat = mask.reshape(layers * heads, -1)
    if bool((flat == flat[0]).all()):  # the usual case; sorting takes ten times as long
        distinct, numbers = flat[:1], torch.zeros(layers * heads, dtype=torch.long)
    else:
        distinct, numbers = flat.unique(dim=0, return_inverse=True)
    return {
        "masks": writer.add((~distinct).byte().reshape(-1, queries, keys)),
        "mask_of": numbers.reshape(layers, heads).tolist(),
    }


def uncausal_wording() -> dict[str, str]:
    """Texts of the views, by key, for a model that was trained without the causal mask: its attention is not called
    masked, and the probability of a token is not the one with which it was generated."""
    return {
        "kind_decoder_self": say("no_mask"),
        "chip": say("chip_uncausal"),
    }


def wording(trace: Trace) -> dict[str, str]:
    """Texts of the views that differ for this trace, by key."""
    if trace.causal:
        opened = [
            switch for switch in trace.interventions.switches if isinstance(switch, Unmask) and switch.mask == "causal"
        ]
        if not opened:
            return {}
        mask = trace.decoder_self.mask
        everywhere = bool((mask == mask[..., -1:, :]).all())  # each row sees what the last one sees
        return {"kind_decoder_self": say("mask_off" if everywhere else "mask_partly_off")}
    return uncausal_wording()


def meanings(trace: Trace, words: Mapping[str, Sequence[str]]) -> dict[str, list[str | None] | None] | None:
    """The meaning of every word of each side for this reader; None for a side in a language that the reader knows or
    the list lacks, and None if that is so of all sides. words: side -> its words."""
    sides = {
        side: (trace.languages[0], trace.source_text) if side == "source" else (trace.languages[1], trace.target_text)
        for side in words
    }
    reader, found = reader_language().code, load_meanings()
    told = {side: found.of(language, words[side], text, reader) for side, (language, text) in sides.items()}
    return told if any(one is not None for one in told.values()) else None


def has_meanings(language: str) -> bool:
    """Whether the list of meanings tells this reader what words of a language mean."""
    return load_meanings().of(language, (), "", reader_language().code) is not None


def token_meanings(trace: Trace, side: Literal["source", "target_in", "target_out"]) -> tuple[tuple[str, str], ...]:
    """The label of every token of a side, and the meaning of the word that it begins ("" where there is none)."""
    labels = getattr(trace, f"{side}_labels")
    numbers = word_numbers(trace.source_tokens if side == "source" else getattr(trace, side), labels)
    told = (meanings(trace, {side: word_labels(labels, numbers)}) or {}).get(side) or []
    begins = [index == 0 or numbers[index - 1] != number for index, number in enumerate(numbers)]
    return tuple(
        (label, (told[number] or "") if told and first else "")
        for label, number, first in zip(labels, numbers, begins, strict=True)
    )


def full_pack(
    trace: Trace,
    view: View,
    exact: bool = False,
    revision: int = 0,
    more: Mapping[str, Any] | None = None,
    entry: str = "explorer",
) -> bytes:
    """Everything that the picture of a trace needs.

    exact: include the exact numbers of every head (for pages without a server). revision: the browser sends it back
    with every state, so that Python recognises old states. more: further entries of the header; entry: of the
    frontend, whose texts are included.
    """
    writer = Writer()
    tokens = {"source": trace.source_tokens, "target_in": trace.target_in, "target_out": trace.target_out}
    labels = {
        "source": trace.source_labels, "target_in": trace.target_in_labels, "target_out": trace.target_out_labels
    }  # fmt: skip
    words = {side: word_numbers(tokens[side], labels[side]) for side in tokens}
    spelt = {side: word_labels(labels[side], words[side]) for side in tokens}
    kinds = {}
    for kind in KINDS:
        attention = trace.attention(kind)
        kinds[kind] = {
            "layers": attention.layers,
            "rows": ROWS[kind],
            "columns": COLUMNS[kind],
            **_masks(writer, attention.mask),
            "zero": attention.zero.tolist(),
            "replaced": attention.replaced.tolist(),
            "picture": writer.add((attention.weights * 255).round().byte()),
            "checks": asdict(check(attention)),
        }
    entries = []
    if exact:
        for kind in KINDS:
            for layer in range(trace.attention(kind).layers):
                entries += [_exact(writer, trace, kind, layer, head) for head in range(trace.cross.heads)]
    header = {
        "format": 1,
        "id": trace.id,
        "checkpoint": trace.checkpoint,
        "languages": trace.languages,
        "sentences": {"source": trace.source_text, "target": trace.target_text},
        "tokens": tokens,
        "labels": labels,
        "special": {side: is_special(tokens[side]) for side in tokens},
        "words": words,
        "word_labels": spelt,
        "meanings": meanings(trace, spelt) if entry == "explorer" else None,
        "probabilities": [round(value, 6) for value in trace.probabilities.tolist()],
        "own": trace.own,
        "heads": trace.cross.heads,
        "d_head": trace.cross.values.shape[-1],
        "kinds": kinds,
        "exact": entries,
        "state": {**view.to_browser(), "revision": revision},
        "causal": trace.causal,
        "biased": trace.encoder_self.bias is not None,
        "wording": wording(trace),
        "texts": browser_texts(entry),
        **(more or {}),
    }
    return writer.finish(header)


def light_pack(checkpoint: str, view: View, revision: int, more: Mapping[str, Any], entry: str = "explorer") -> bytes:
    """What `full_pack` says beside the numbers, for a browser that computes these itself."""
    state = {**view.to_browser(), "revision": revision}
    header = {"format": 1, "checkpoint": checkpoint, "state": state, "texts": browser_texts(entry), **more}
    return Writer().finish(header)


def feed_pack(trace: Trace, view: View) -> bytes:
    """The exact numbers of the selected head or cell, for a picture that is already drawn.

    One head (of each kind, if all three are shown) with Q, K and V; or the mean or maximum that the view shows.
    """
    writer = Writer()
    entries: list[dict[str, Any]] = []
    for kind in KINDS if view.kind == "all" else (view.kind,):
        attention = trace.attention(kind)
        layer = None if view.layer is None else min(view.layer, attention.layers - 1)
        if layer is None or view.head is None:
            matrix = summarise(attention.weights, layer, view.head, view.summary)
            place = {"layer": "all" if layer is None else layer, "head": "all" if view.head is None else view.head}
            entries.append({"kind": kind, **place, "summary": view.summary, "weights": writer.add(matrix)})
        else:
            entries.append(_exact(writer, trace, kind, layer, view.head))
    return writer.finish({"format": 1, "id": trace.id, "exact": entries})
