"""Section 5.3: the learning rate, and what a small model does with other warm-ups."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import streamlit as st

from pages.components import figure
from pages.components.sentences import controls_and_picture, paragraph, point
from pages.components.training_log import training_log
from pages.frame.frame import PageFrame
from transformer.figures.recipe import rates, warmup_losses
from transformer.inference.pretrained import Pretrained
from transformer.texts import _
from transformer.training.schedule import learning_rate, paper_peak

OPTIONS = ("width", "warmup", "factor")
BASE, BIG = 512, 1024  # d_model of the paper's models
WARMUP = 4000  # section 5.3
POINTS = 200  # of a curve
RECORDED = Path(__file__).with_name("recorded.json")


@cache
def recorded() -> Mapping[str, Any]:
    """The small trainings of benchmarks/training_recipe.py."""
    return dict(json.loads(RECORDED.read_text(encoding="utf-8")))


def line(width: int, warmup: int, steps: int, factor: float = 1.0) -> tuple[list[float], list[float]]:
    """Steps and rates of equation 3, times a factor."""
    peak = factor * paper_peak(width, warmup)
    at = sorted({max(1, round(steps * i / POINTS)) for i in range(1, POINTS + 1)} | {min(warmup, steps)})
    return [float(step) for step in at], [learning_rate(step, peak, warmup, steps) for step in at]


def logged(model: Pretrained) -> tuple[list[float], list[float]] | None:
    """Steps and rates of the open model's training; None without a log that can be read."""
    try:
        found = [(float(row["step"]), float(row["learning_rate"])) for row in training_log(model) or ()]
    except (ValueError, KeyError, TypeError):
        return None
    return ([step for step, _rate in found], [rate for _step, rate in found]) if found else None


def draw(frame: PageFrame) -> None:
    model, options = frame.model, frame.options
    own = logged(model)
    head = st.container()
    controls, picture = controls_and_picture()
    first, second, third = controls.columns(3)
    with first:
        width = options.number("width", "d_model", 16, 4096, BASE)
    with second:
        warmup = options.number("warmup", _("Warm-up steps"), 1, 40_000, WARMUP)
    with third:
        help_ = _("1: the rate of equation 3.")
        factor = options.fraction("factor", _("Peak, times the paper's"), 0.1, 10.0, 1.0, 0.1, "%.1f", help=help_)
    steps = max(5 * warmup, 5 * WARMUP)
    lines = {
        _("yours: d_model {width}, warm-up {warmup}").format(width=width, warmup=f"{warmup:,}"): line(
            width, warmup, steps, factor
        ),
        _("the paper's base: 512, 4,000"): line(BASE, WARMUP, steps),
        _("the paper's big: 1,024, 4,000"): line(BIG, WARMUP, steps),
    }
    peak = factor * paper_peak(width, warmup)
    with head:
        text = _(
            "The rate rises for {warmup} steps to {peak}, then falls as 1 / √step: at {double} steps it is 71 % of "
            "that."
        )
        point(text.format(warmup=f"{warmup:,}", peak=f"{peak:.2g}", double=f"{2 * warmup:,}"))
    left, right = picture.columns(2)
    with left:
        drawn = figure.built(rates, lines, own, _("recorded: {model}").format(model=model.name))
        figure.draw(drawn, "recipe-rate", "learning-rate", first=True, about=f"{width}-{warmup}")
        if own is not None:
            paragraph(
                _(
                    "Points: the rate that the open model was trained with. Where it falls to 0 in a straight line, a "
                    "run comes to its end (a cool-down, which the paper does not have); where it rises again, "
                    "another run went on."
                ),
                quiet=True,
            )
    with right:
        runs = recorded()
        curves = {int(steps): run["loss"] for steps, run in runs["warmup"].items()}
        at = next(iter(runs["warmup"].values()))["step"]
        figure.draw(figure.built(warmup_losses, at, curves, runs["peak"]), "recipe-warmup", "warm-up")
        paragraph(_warmups(curves), quiet=True)


def _warmups(curves: Mapping[int, list[list[float]]]) -> str:
    """What the recorded runs show, in their numbers."""
    ends = {warmup: sum(run[-1] for run in runs) / len(runs) for warmup, runs in curves.items()}
    best = min(ends, key=ends.__getitem__)
    text = _(
        "Recorded: a small model that learns to write letters backwards in 1,000 steps, three runs each, at three "
        "times its usual rate, where warm-up matters most. Mean loss at the end: {ends}. The best warm-up here is "
        "{best} steps. At the usual rate no warm-up does no harm: Results, Tables 2 and 3."
    )
    listed = "; ".join(
        _("{loss} with a warm-up of {steps}").format(loss=f"{loss:.3f}", steps=warmup) for warmup, loss in ends.items()
    )
    return text.format(ends=listed, best=best)
