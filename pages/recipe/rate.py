"""Section 5.3: the learning rate, and what a small model does with other warm-ups."""

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import streamlit as st

from pages.components import figure
from pages.components.sentences import paragraph, point
from pages.components.training_log import training_log
from pages.frame.frame import PageFrame
from transformer.figures.recipe import rates, warmup_ends, warmup_losses
from transformer.inference.pretrained import Pretrained
from transformer.texts import _
from transformer.training.schedule import learning_rate, paper_peak

OPTIONS = ("width", "warmup", "factor")
BASE, BIG = 512, 1024  # d_model of the paper's models
WARMUP = 4000  # section 5.3
POINTS = 200  # of a curve
RECORDED = Path(__file__).with_name("recorded.json")
Curve = tuple[list[float], list[float]]  # steps and rates


@cache
def recorded() -> Mapping[str, Any]:
    """The small trainings of benchmarks/training_recipe.py."""
    return dict(json.loads(RECORDED.read_text(encoding="utf-8")))


def _curve(rate: Callable[[int], float], steps: int, corners: Iterable[int]) -> Curve:
    """A schedule at POINTS steps and at its corners."""
    at = sorted({max(1, round(steps * i / POINTS)) for i in range(POINTS + 1)} | {min(step, steps) for step in corners})
    return [float(step) for step in at], [rate(step) for step in at]


def line(width: int, warmup: int, steps: int, factor: float = 1.0) -> Curve:
    """Equation 3, times a factor."""
    peak = factor * paper_peak(width, warmup)
    return _curve(lambda step: learning_rate(step, peak, warmup, steps), steps, [warmup])


def logged(model: Pretrained) -> Curve | None:
    """Steps and rates of the open model's training; None without a log that can be read."""
    try:
        found = [(float(row["step"]), float(row["learning_rate"])) for row in training_log(model) or ()]
    except (ValueError, KeyError, TypeError):
        return None
    if not found or not all(step > 0 and rate >= 0 and math.isfinite(step + rate) for step, rate in found):
        return None
    return [step for step, _rate in found], [rate for _step, rate in found]


def resumed(rates: Sequence[float]) -> list[int]:
    """Indices where the rate rises again after it has fallen."""
    found: list[int] = []
    falling = False
    for at in range(1, len(rates)):
        if rates[at] < rates[at - 1]:
            falling = True
        elif rates[at] > rates[at - 1] and falling:
            found.append(at)
            falling = False
    return found


def draw(frame: PageFrame) -> None:
    model, options, runs = frame.model, frame.options, recorded()
    curves = {int(steps): run["loss"] for steps, run in runs["warmup"].items()}
    last = {warmup: [run[-1] for run in found] for warmup, found in curves.items()}
    point(_says(last))
    proof, schedule = st.columns(2)
    with proof:
        figure.draw(figure.built(warmup_ends, last), "recipe-warmup-ends", "warm-up-ends", first=True)
    own = logged(model)
    with schedule:
        paragraph(_("Move a slider to draw your own learning rate. It starts as the paper's, for longer training:"))
        with st.container(key="hs-recipe-sliders"):
            first, second, third = st.columns(3)
        warmup = options.at(first).number("warmup", _("Warm-up steps"), 100, 20_000, WARMUP, slider=True, step=100)
        width = options.at(second).number("width", _("Model width"), 64, 4096, BASE, slider=True, step=64)
        factor = options.at(third).fraction(
            "factor", _("Height, times the paper's"), 0.1, 10.0, 1.0, 0.1, "%.1f", slider=True
        )
        steps = max(5 * warmup, 5 * WARMUP)
        lines = {
            _("yours"): line(width, warmup, steps, factor),
            _("the paper's base model"): line(BASE, WARMUP, steps),
            _("the paper's big model"): line(BIG, WARMUP, steps),
        }
        drawn = figure.built(rates, lines, own, _("{model}, as it was trained", model=model.name))
        figure.draw(drawn, "recipe-rate", "learning-rate", first=True, about=f"{width}-{warmup}-{factor:g}")
        paragraph(_logged(*own) if own is not None else "", quiet=True)
    at = next(iter(runs["warmup"].values()))["step"]
    figure.draw(figure.built(warmup_losses, at, curves, runs["peak"]), "recipe-warmup", "warm-up")
    paragraph(_setting(at[-1]), quiet=True)


def _ends(last: Mapping[int, Sequence[float]]) -> dict[int, float]:
    """Steps of warm-up -> mean loss at the end. last: of each run."""
    return {warmup: sum(runs) / len(runs) for warmup, runs in last.items()}


def _says(last: Mapping[int, Sequence[float]]) -> str:
    """What the best of the recorded warm-ups does. last: as of `_ends`."""
    ends = _ends(last)
    best = min(ends, key=ends.__getitem__)
    text = _(
        "Start with small steps: with a warm-up of {best} steps the mean loss ends at {loss}, without "
        "warm-up at {none}."
    )
    return text.format(best=best, loss=f"{ends[best]:.3f}", none=f"{ends[0]:.3f}")


def _logged(steps: Sequence[float], rates: Sequence[float]) -> str:
    """What the recorded rate did, beside equation 3."""
    highest = max(range(len(rates)), key=rates.__getitem__)
    sentences = [
        _("Points: the rate that the open model was trained with, {highest} at most, {last} at its last step, {step}.")
    ]
    expected = rates[highest] * (steps[highest] / steps[-1]) ** 0.5
    if rates[-1] < 0.9 * expected:
        sentences.append(
            _("By then equation 3 falls from its highest point to {expected} only: the run ends with a cool-down.")
        )
    again = [f"{steps[at]:,.0f}" for at in resumed(rates)]
    if again:
        sentences.append(_("It rises again at step {steps}, where another run continued from the weights."))
    return " ".join(sentences).format(
        highest=f"{rates[highest]:.2g}", last=f"{rates[-1]:.2g}", step=f"{steps[-1]:,.0f}", expected=f"{expected:.2g}",
        steps=", ".join(again),
    )  # fmt: skip


def _setting(steps: int) -> str:
    """What the recorded runs are."""
    text = _(
        "The runs: a small model learns to write letters backwards in {steps} steps, at three times its usual rate, "
        "where warm-up matters most. At the usual rate no warm-up does no harm: Results, Table 3."
    )
    return text.format(steps=f"{steps:,}")
