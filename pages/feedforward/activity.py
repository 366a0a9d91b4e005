"""How many neurons of the feed-forward sub-layers are active in the sentence, and helpers for all parts of the page."""

from typing import Any

import streamlit as st
import torch
from torch import Tensor

from pages.components.descriptions import stack_name
from pages.components.live_picture import chosen, sent
from pages.components.pieces import stack_labels
from pages.frame.frame import PageFrame
from pages.frame.options import Options
from pages.runtime.shared import shared
from transformer.analysis.activations import ACTIVE, SHAPES, active_counts, histogram, spread, thresholds
from transformer.interventions.sets import layers_of
from transformer.model.config import ModelConfig
from transformer.model.tap import STACKS
from transformer.texts import _
from transformer.tracing.trace import FeedForwardTrace, Trace
from transformer.view.bundle import script, style

KEY = "feedforward_active"
PANEL_FEW = "few"  # "Why so few?"
_picture = st.components.v2.component("headscope.feedforward", js=script("feedforward"), css=style("feedforward"))
Column = st.delta_generator.DeltaGenerator


def percent(share: float) -> str:
    """A share as text; only 0 is "0%" and only 1 is "100%"."""
    if share in (0, 1):
        text = f"{100 * share:.0f}"
    elif share < 5e-5:
        text = "<\N{NO-BREAK SPACE}0.01"
    elif share > 0.9995:
        text = ">\N{NO-BREAK SPACE}99.9"
    else:
        text = f"{100 * share:.2f}" if share < 0.001 else f"{100 * share:.1f}"
    return f"{text}%"


def sides(trace: Trace) -> dict[str, FeedForwardTrace]:
    return {"encoder": trace.encoder_ff, "decoder": trace.decoder_ff}


def choose_layer(
    options: Options, trace: Trace, left: Column, right: Column, stack: str = STACKS[0], last: bool = False
) -> tuple[str, int]:
    """Stack and layer, drawn into two columns; the layer counts from 0. stack, last: the default stack, and whether the
    default is its last layer."""
    stack = str(options.at(left).segment("stack", _("Stack"), STACKS, stack, stack_name))
    layers = list(range(1, sides(trace)[stack].activation.shape[0] + 1))
    return stack, int(options.at(right).choose("layer", _("Layer"), layers, layers[-1 if last else 0])) - 1


def _stack(side: FeedForwardTrace, tokens: tuple[str, ...]) -> dict[str, Any]:
    """The counts of a stack; the browser makes the same in frontend/src/feedforward/from_trace.js."""
    steps = thresholds()
    layers = range(side.activation.shape[0])
    spreads = torch.stack([spread(side.activation, step) for step in steps], 1)  # [layer, threshold, tokens]
    return {
        "tokens": tokens,
        "neurons": side.activation.shape[-1],
        "active": active_counts(side.activation, steps).tolist(),
        "spread": spreads.tolist(),
        "histogram": [_histogram(side.pre_activation[layer], side.activation[layer]) for layer in layers],
    }


def _histogram(before: Tensor, after: Tensor) -> dict[str, Any] | None:
    if not (before.isfinite().all() and after.isfinite().all()):
        return None
    found = histogram(before, after)
    return {
        "width": float(found.edges[1] - found.edges[0]),
        "first": round(found.edges[0] / (found.edges[1] - found.edges[0])),
        "before": found.before.tolist(),
        "after": found.after.tolist(),
        "zero": found.zero,
        "negative": int((before < 0).sum()),
    }


@shared()
def numbers(trace: Trace, config: ModelConfig) -> dict[str, Any]:
    """What the picture draws, counted once for all viewers."""
    stacks = {name: _stack(side, stack_labels(trace, name)) for name, side in sides(trace).items()}
    form = {
        "activation": SHAPES.get(config.activation, config.activation),
        "gated": config.gated, "bare": not config.biases,
    }  # fmt: skip
    return {"source": trace.source_text, "target": trace.target_text, **form, **stacks}


def _merge_browser(frame: PageFrame) -> None:
    """Store what a person chose in the picture since the last run."""
    told, options = chosen(KEY, frame), frame.options
    for name, fits in (("stack", STACKS.__contains__), ("layer", _is_number), ("threshold", _is_number)):
        if fits(told.get(name)):
            options.report(name, told[name])
    if told.get("panel") in ("", PANEL_FEW):
        options.fold(PANEL_FEW, bool(told["panel"]))


def _is_number(value: object) -> bool:
    return type(value) is int and 0 <= value < 10**6


def draw(frame: PageFrame, trace: Trace | None) -> None:
    """The map of active neurons with its threshold, and the numbers of one layer."""
    _merge_browser(frame)
    options, config = frame.options, frame.model.config
    steps = [round(100 * step) for step in thresholds()]  # links give it in hundredths
    stack = str(options.choice("stack", STACKS, STACKS[0]))
    state = {
        "stack": stack,
        "layer": options.value("layer", 1, layers_of(config, f"{stack}_self"), 1),
        "threshold": options.nearest(
            "threshold", steps, round(100 * ACTIVE[SHAPES.get(config.activation, config.activation)])
        ),
        "panel": PANEL_FEW if options.is_open(PANEL_FEW) else "",
    }
    counted = None if trace is None else numbers(trace, config)
    _picture(key=KEY, data=sent(frame, "feedforward", state, counted), on_state_change=lambda: None)
