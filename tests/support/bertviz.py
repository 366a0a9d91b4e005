"""The numbers and labels that BertViz puts into its page."""

from __future__ import annotations

import json
import warnings
from dataclasses import dataclass

import numpy as np

from benchmarks.peer import html
from transformer.tracing.trace import Trace

NAMES = {"encoder_self": "Encoder", "decoder_self": "Decoder", "cross": "Cross"}  # BertViz's menu
SENTENCE = "The old man next door sold his red car yesterday, didn't he?"


@dataclass(frozen=True)
class Shown:
    """weights: [layer, head, query, key], float64; left, right: labels of queries and keys, as BertViz draws them."""

    weights: np.ndarray
    left: list[str]
    right: list[str]


def bertviz(trace: Trace) -> dict[str, Shown]:
    """What the page of BertViz's `model_view` says, read out of its script, by kind of attention."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # BertViz leaves its script to be closed by the interpreter
        page = html(trace)
    params, _ = json.JSONDecoder().raw_decode(page, page.index("const params = ") + len("const params = "))
    found = {part["name"]: part for part in params["attention"]}
    return {
        kind: Shown(np.array(found[name]["attn"]), found[name]["left_text"], found[name]["right_text"])
        for kind, name in NAMES.items()
    }


def as_read(labels: list[str]) -> list[str]:
    """BertViz writes a blank for the piece mark; we leave it away, and draw an open box where nothing else is left."""
    return [label.strip() or "␣" for label in labels]
