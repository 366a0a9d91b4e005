"""Runs of the Training page in words: their names, and the paper's predictions beside the results."""

import re
from dataclasses import replace
from typing import Any

import pytest

from tests.support.fake_queue import Run
from transformer.live_training.descriptions import differences_words, labels, phrase, summary, title
from transformer.live_training.experiment import Experiment
from transformer.live_training.finding_texts import rows
from transformer.live_training.findings import PREDICTIONS
from transformer.live_training.frames import Frame, Opening
from transformer.live_training.presets import PRESETS

BASE = PRESETS["reverse"]
WAITING = Run(BASE, "f" * 12, "waiting")


# -- words ----------------------------------------------------------------------------------------------------------


def test_runs_are_named_by_what_differs_from_the_first() -> None:
    experiments = [BASE, replace(BASE, causal=False), replace(BASE, seed=2, heads=1), BASE, replace(BASE, causal=False)]
    assert labels(experiments) == [
        "reverse",
        "no causal mask",
        "one head, seed 2",
        "the same again",
        "no causal mask (2)",
    ]
    wide = replace(BASE, d_k=256, scaling=False)
    assert labels([wide, replace(wide, scaling=True)]) == ["reverse, d_k 256, not scaled", "scaled"]
    assert differences_words(BASE, replace(BASE, causal=False)) == ["with the causal mask"]
    assert title(replace(BASE, task="sort", steps=7)) == "sort"
    assert summary(BASE).startswith("reverse, 26 symbols, length 10, 2 + 2 layers, 4 heads, d_model 64")
    changed = replace(BASE, causal=False, heads=1, dropout=0.1)
    assert summary(changed).endswith(
        "seed 1, 169,344 parameters, no causal mask, dropout 0.1"
    ) and "one head" in summary(changed)


@pytest.mark.parametrize("name", [field for field in BASE.to_dict() if field not in ("pairs",)])
def test_every_field_has_words(name: str) -> None:
    others = {"task": "sort", "shift": 5, "positions": "none", "norm": "none", "activation": "gelu", "d_k": 8}
    value = getattr(BASE, name)
    changed_value = others.get(
        name, not value if isinstance(value, bool) else value + 2 if isinstance(value, int) else 0.5
    )
    task = {"task": "shift"} if name == "shift" else {}
    changes = {"shortest": {"shortest": 8}, "heads": {"heads": 2}, "d_model": {"d_model": 128}}.get(
        name, {name: changed_value}
    )
    changed = replace(BASE, **task, **changes)
    text = phrase(name, changed)
    assert text and "{" not in text and text != phrase(name, replace(BASE, **task))
    assert text in differences_words(changed, replace(BASE, **task))


# -- findings -------------------------------------------------------------------------------------------------------

OPENING = Opening("ab", "ba", ("a", "b", "</s>"), ("<s>", "b", "a"), ("b", "a", "</s>"), 1, 1, (0, 400), 9, 100, ())


def made(
    experiment: Experiment, exact: float, forced: float, loss: float, number: int = 0, reason: str = "steps"
) -> Run:
    """A run whose last frame has these numbers; every weight is 85 of 255, a third."""
    weights = bytes([85] * OPENING.frame_bytes)
    frames = [
        Frame(0, 0.0, 0.0, None, 4.0, 0.0, 0.0, (), (), weights),
        Frame(200, 2.0, 0.0, 1.0, loss, forced, exact, (), (), weights),
        Frame(experiment.steps, 4.0, 0.0, 1.0, loss, forced, exact, (), (), weights),
    ]
    return Run(experiment, f"{number:012x}", "done" if reason else "training", 0, reason, "", OPENING, frames)


GOOD = made(BASE, 1.0, 1.0, 0.01)


def row(other: Run, first: Run = GOOD) -> dict[str, Any]:
    return plain(rows([first, other], labels([first.experiment, other.experiment])))


def plain(found: list[dict[str, Any]]) -> dict[str, Any]:
    """The only row, with ordinary spaces. No text of it has a placeholder left."""
    (finding,) = found
    assert not re.search(r"[{}]", finding["predicts"] + finding["happened"])
    return {**finding, "happened": finding["happened"].replace("\N{NO-BREAK SPACE}", " ")}


def test_as_the_paper_predicts() -> None:
    finding = row(made(PRESETS["no-mask"], 0.0, 1.0, 0.002, 1))
    assert finding["run"] == f"{1:012x}" and finding["title"] == "no causal mask"
    assert finding["section"] == "3.2.3" and finding["verdict"] == "as predicted"
    assert finding["predicts"].startswith("Without the mask every position sees the token it must predict")
    assert finding["happened"] == (
        "Fed the right answer, the model gets 100% of the unseen inputs right. Writing by itself: 0% (reverse: 100%)."
    )


def test_a_result_against_the_prediction_is_marked() -> None:
    finding = row(made(PRESETS["no-positions"], 0.992, 1.0, 0.05, 1))
    assert finding["verdict"] == "differs" and finding["section"] == "3.5"
    assert finding["happened"] == (
        "Writing by itself, the model gets 99.2% of the unseen inputs right (reverse: 100%). "
        "It reached 95% at step 200 (reverse: step 200). "
        "This is one run: train it with other seeds before you doubt the paper."
    )


NOTHING = "Nothing: the paper says nothing about this (8 inputs per step)."
CHANCE = "Nothing: this is the same experiment with other random numbers. Any difference is chance."
AT_ONCE = "2 things differ at once (no causal mask, no positions), so their effects cannot be told apart."


@pytest.mark.parametrize(
    ("other", "predicts", "happened"),
    [
        # Two runs decide nothing if one still trains or ended early, or if both learned the task.
        (made(PRESETS["no-mask"], 0.0, 1.0, 0.002, 1, ""), "", "The run is at step 400. Fed the right answer, the"),
        (made(PRESETS["no-mask"], 0.0, 1.0, 0.002, 1, "stopped"), "", "It ended early, at step 400. "),
        (made(replace(BASE, heads=1), 1.0, 1.0, 0.01, 1), "", "Both learn the task"),
        (made(replace(BASE, causal=False, positions="none"), 0.0, 1.0, 0.5, 1), AT_ONCE, ""),
        (made(replace(BASE, batch=8), 1.0, 1.0, 0.01, 1), NOTHING, ""),
        (made(replace(BASE, seed=2), 1.0, 1.0, 0.01, 1), CHANCE, ""),
    ],
)
def test_runs_that_decide_nothing_have_no_verdict(other: Run, predicts: str, happened: str) -> None:
    finding = row(other)
    assert finding["verdict"] == "open" and happened in finding["happened"]
    if predicts:
        assert (finding["predicts"], finding["section"]) == (predicts, "")


def test_a_result_in_between_has_no_verdict() -> None:
    finding = row(made(PRESETS["no-positions"], 0.0, 0.0, 0.5, 1), made(BASE, 0.7, 0.7, 0.1))
    assert finding["verdict"] == "open" and finding["happened"].endswith("Too little was learned to decide.")


def test_the_text_about_scaling_gives_the_initial_sharpness() -> None:
    first = made(PRESETS["wide"], 1.0, 1.0, 0.01)
    finding = row(made(PRESETS["wide-unscaled"], 0.2, 0.2, 1.0, 1), first)
    assert finding["section"] == "3.2.1" and finding["verdict"] == "as predicted"
    assert "Before the first step, the largest weight of a row was 0." in finding["happened"]


def test_every_prediction_has_its_words() -> None:
    predictions = set()
    for changes in (
        {"causal": False}, {"positions": "none"}, {"positions": "learned"}, {"scaling": False}, {"heads": 1},
        {"d_k": 4}, {"layers": 1}, {"dropout": 0.2}, {"smoothing": 0.1}, {"residual": False}, {"norm": "none"},
        {"warmup": 0},
    ):  # fmt: skip
        finding = row(made(replace(BASE, **changes), 0.0, 0.0, 1.0, 1))
        assert finding["predicts"].endswith(".") and finding["section"], changes
        predictions.add(finding["predicts"])
    # Beside these: scaling of a wide head, LayerNorm before, which is not of the paper, and a run alone.
    assert len(predictions) == 12 and len(PREDICTIONS) == 15
    before = row(made(replace(BASE, norm="pre"), 1.0, 1.0, 0.01, 1), made(BASE, 0.0, 0.0, 2.0))
    assert "Xiong et al. 2020" in before["predicts"] and (before["section"], before["verdict"]) == ("", "as predicted")


def test_a_run_alone_has_a_row() -> None:
    finding = plain(rows([GOOD], ["reverse"]))
    assert finding["predicts"].startswith("Attention alone") and finding["verdict"] == "as predicted"
    assert finding["happened"] == (
        "Writing by itself, the model gets 100% of the unseen inputs right. It reached 95% at step 200."
    )
    (finding,) = rows([made(PRESETS["no-mask"], 0.0, 1.0, 0.002)], ["reverse, no causal mask"])
    assert finding["verdict"] == "open" and finding["predicts"].startswith("To see what a part does")


def test_runs_without_a_frame_are_left_out() -> None:
    assert rows([], []) == [] and len(rows([GOOD, WAITING], ["reverse", "the same again"])) == 1
    assert rows([WAITING, GOOD], ["reverse", "the same again"]) == []
    (finding,) = rows([GOOD, WAITING, made(PRESETS["no-mask"], 0.0, 1.0, 0.002, 2)], ["a", "b", "c"])
    assert finding["title"] == "c" and finding["run"] == f"{2:012x}"
