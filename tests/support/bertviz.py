"""BertViz's page of all heads, and the numbers and labels in it."""

from __future__ import annotations

import json
import warnings
from dataclasses import dataclass

import numpy as np

from transformer.tracing.trace import Trace

NAMES = {"encoder_self": "Encoder", "decoder_self": "Decoder", "cross": "Cross"}  # BertViz's menu
SENTENCE = "The old man next door sold his red car yesterday, didn't he?"


@dataclass(frozen=True)
class Shown:
    """weights: [layer, head, query, key], float64; left, right: labels of queries and keys, as BertViz draws them."""

    weights: np.ndarray
    left: list[str]
    right: list[str]


def html(trace: Trace) -> str:
    """Every head of every kind of attention, as a person would ask BertViz for it."""
    from bertviz.model_view import model_view

    def layers(kind: str) -> list[object]:
        return [layer[None] for layer in trace.attention(kind).weights]  # [1, head, query, key] each

    return model_view(
        encoder_attention=layers("encoder_self"),
        decoder_attention=layers("decoder_self"),
        cross_attention=layers("cross"),
        encoder_tokens=list(trace.source_tokens),
        decoder_tokens=list(trace.target_in),
        html_action="return",
    ).data


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
