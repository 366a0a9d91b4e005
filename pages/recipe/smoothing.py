"""Section 5.4, label smoothing: the target distribution of one step, its loss and gradient; models trained with it."""

from collections.abc import Mapping, Sequence

import streamlit as st

from pages.components import figure
from pages.components.pieces import numbered, shown
from pages.components.saving import saved
from pages.components.seeds import agreement, answers, direction, ranged
from pages.components.sentences import paragraph, part_layout, point
from pages.components.translation import table
from pages.frame.frame import PageFrame
from pages.recipe.rate import recorded
from transformer.analysis.smoothing import Smoothed, smooth
from transformer.figures.recipe import calibration, smoothed_targets
from transformer.texts import _
from transformer.tracing.trace import Trace

OPTIONS = ("epsilon", "step")
SHOWN = 8  # tokens beside the right one
FEWEST = 30  # tokens of a point of the calibration curve; with fewer its height is chance


def together(bins: Sequence[Sequence[float]]) -> tuple[list[float], list[float]]:
    """The bins of all seeds as one curve: mean largest probability, and share of right tokens, where there are at least
    FEWEST tokens. bins: (mean probability, share of right tokens, number of tokens) each, in tenths."""
    tenths: dict[int, list[Sequence[float]]] = {}
    for one in bins:
        tenths.setdefault(min(9, int(10 * one[0])), []).append(one)
    said, right = [], []
    for tenth in sorted(tenths):
        count = sum(number for _said, _right, number in tenths[tenth])
        if count >= FEWEST:
            said.append(sum(one[0] * one[2] for one in tenths[tenth]) / count)
            right.append(sum(one[1] * one[2] for one in tenths[tenth]) / count)
    return said, right


def draw(frame: PageFrame, trace: Trace) -> None:
    options, model = frame.options, frame.model
    head, controls, picture = part_layout()
    first, second = controls.columns(2)
    epsilon = options.at(first).fraction(
        "epsilon", _("Label smoothing ε"), 0.0, 0.3, 0.1, 0.05, "%.6g", help=_("The paper: 0.1.")
    )
    with second:
        tokens = trace.target_out_labels
        least_certain = int(trace.probabilities.argmin())
        step = options.index("step", _("Token predicted"), numbered(tokens, ": "), least_certain)
    logits = trace.logits[step]
    right = trace.target_out_ids[step]
    found = smooth(logits, right, epsilon)
    said = logits.double().softmax(-1)
    best = [one for one in said.topk(SHOWN + 1).indices.tolist() if one != right][:SHOWN]
    ids = [right, *best]
    point(_says(found, epsilon, right, tokens[step], float(said[right])), head)
    left, other = picture.columns(2)
    with left:
        drawn = figure.built(
            smoothed_targets, list(shown(model, ids)), [float(found.targets[one]) for one in ids],
            [float(said[one]) for one in ids], epsilon, tokens[step],
        )  # fmt: skip
        figure.draw(drawn, "recipe-targets", "label-smoothing", first=True, about=f"{epsilon:g}", trace=trace)
    with other:
        runs = recorded()["smoothing"]
        curves = {}
        for name, found_runs in runs.items():
            curves[name] = together([one for run in found_runs for one in run["bins"]])
        figure.draw(figure.built(calibration, curves), "recipe-calibration", "calibration")
    head_ = ("ε", _("perplexity"), _("right tokens"), _("whole outputs right"), _("mean confidence"))
    rows = []
    for name, found_runs in runs.items():
        mean = {
            key: sum(run[key] for run in found_runs) / len(found_runs)
            for key in ("perplexity", "accuracy", "exact", "confidence")
        }
        shares = (f"{100 * mean[key]:.2f}%" for key in ("accuracy", "exact", "confidence"))
        rows.append((name, f"{mean['perplexity']:.4f}", *shares))
    paragraph(
        _("Diamonds: the gradient of the loss with respect to a logit, the model's probability minus the target."),
        quiet=True,
    )
    paragraph(_verdict(runs))
    text = _(
        "Small models that write letters backwards (recipes/table3), three runs each, {count} unseen inputs; in "
        "brackets: the range of the runs."
    )
    setting = text.format(count=f"{recorded()['inputs']:,}")
    with saved("smoothing", ["label-smoothing", "models"], [setting], _numbers(runs)):
        st.html(table(head_, rows, "hs-recipe-smoothing"))
    paragraph(setting, quiet=True)


def _numbers(runs: Mapping[str, Sequence[Mapping[str, float]]]) -> list[list[object]]:
    """Those of every run, as a table. runs: as in recorded.json."""
    keys = ("perplexity", "accuracy", "exact", "confidence")
    rows = [
        [float(name), seed, *(run[key] for key in keys)]
        for name, found in runs.items()
        for seed, run in zip(recorded()["seeds"], found, strict=True)
    ]
    return [["epsilon", "seed", *keys], *rows]


def _says(found: Smoothed, epsilon: float, right: int, token: str, said: float) -> str:
    """What is wanted of one step, and how far the model is from it. said: its probability of the right token."""
    if epsilon:
        text = _(
            "With ε = {epsilon} the target for “{token}” is {wanted}, not 1, so that the model does not become too "
            "sure. It says {said}: the loss is {loss} nats; the smallest possible is {least}."
        )
    else:
        text = _(
            "With ε = 0, without label smoothing, the target for “{token}” is 1 and that of every other token 0. The "
            "model says {said}: the loss is {loss} nats; the smallest possible is 0."
        )
    wanted, digits = float(found.targets[right]), 3
    while epsilon and float(f"{wanted:.{digits}f}") == 1 and digits < 12:  # a small ε from a link
        digits += 1
    return text.format(
        epsilon=f"{epsilon:g}", wanted=f"{wanted:.{digits}f}", token=token, said=f"{said:.3f}",
        loss=f"{found.loss:.{digits}f}", least=f"{found.least:.{digits}f}",
    )  # fmt: skip


def _verdict(runs: Mapping[str, Sequence[Mapping[str, float]]]) -> str:
    """Whether the models recorded with the first two ε do what the paper says: "hurts perplexity", "improves accuracy
    and BLEU". runs: ε -> what each seed has."""
    (first, without), (second, smoothed) = list(runs.items())[:2]

    def compared(key: str, scale: float, decimals: int, unit: str) -> tuple[str, str]:
        """The change of a number, and whether it grows, as all three do in the paper."""
        before, after = ([scale * run[key] for run in found] for found in (without, smoothed))
        change = f"{ranged(before, decimals, unit)} → {ranged(after, decimals, unit)}"
        return change, answers()[agreement(direction(after, before), 1)]

    perplexity, hurts = compared("perplexity", 1, 3, "")
    accuracy, better = compared("accuracy", 100, 2, "%")
    exact, more = compared("exact", 100, 2, "%")
    text = _(
        "The paper: label smoothing “hurts perplexity”, but “improves accuracy and BLEU”. As in the paper, with ε = "
        "{second} instead of {first}? Perplexity {perplexity}: {hurts}. Right tokens {accuracy}: {better}. BLEU is not "
        "measured, as these models write letters; whole outputs that are right stand for it, {exact}: {more}."
    )
    return text.format(
        first=f"{float(first):g}", second=f"{float(second):g}", perplexity=perplexity, hurts=hurts, accuracy=accuracy,
        better=better, exact=exact, more=more,
    )  # fmt: skip
