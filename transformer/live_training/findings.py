"""The measured effect of a switch, compared with what the paper predicts."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from transformer.live_training.experiment import Experiment
from transformer.live_training.frames import Frame, Opening
from transformer.model.tap import KINDS

RunSoFar = tuple[Experiment, Opening, Sequence[Frame], bool]  # the last: whether it made all its steps

REACHED = 0.95  # share of exact outputs at which the task counts as learned for the first time
LEARNED, NOT_LEARNED = 0.9, 0.5  # at the end: learned from this share up; not learned up to this share
EQUAL = 0.05  # shares that differ by less count as equal
SLOWER = 1.2  # of two runs that learn the task, one is slower if it needs this many times the steps
WIDE = 64  # d_k of the paper's base model; section 3.2.1 speaks of "large values of d_k"
ORDERED = ("copy", "reverse", "shift")  # tasks whose answer depends on the order of the input


@dataclass(frozen=True)
class Numbers:
    """The numbers of one run so far. None: not measured, or not reached.

    loss: training, of the last frame; validation_loss, forced, exact: of the last frame that measures them
    reached: first measured step at which exact is REACHED or more; seconds: of training until then
    entropy: of an attention row, divided by ln(visible keys): 0 one key, 1 all keys equally; largest: its largest
    weight; both are means over all heads of the three kinds of attention and all rows with two or more visible keys,
    at the last frame; entropy_first, largest_first: before the first step
    """

    step: int
    loss: float | None
    validation_loss: float | None
    forced: float | None
    exact: float | None
    reached: int | None
    seconds: float | None
    entropy: float
    largest: float
    entropy_first: float
    largest_first: float


@dataclass(frozen=True)
class Finding:
    """One run compared with the first run, or a run alone.

    run: index of the run, from 1; 0 for a run alone, which is its own reference; differs: names of the fields that
    differ
    prediction: of the paper, a key of PREDICTIONS; "" if the paper predicts nothing or several fields differ; section:
    of the paper
    reference, here: the numbers of the first run and of this one; agrees: None if there is no prediction, a run is too
    short, or the run with the part did not learn its task either
    """

    run: int
    differs: tuple[str, ...]
    prediction: str
    section: str
    reference: Numbers
    here: Numbers
    agrees: bool | None


def _learned(numbers: Numbers) -> bool | None:
    if numbers.exact is None or NOT_LEARNED < numbers.exact < LEARNED:
        return None
    return numbers.exact >= LEARNED


# Two runs that differ in one field: `base` is like the paper (or has more of the part), `other` is without it (or has
# less).


def _fails(base: Numbers, other: Numbers) -> bool | None:
    """Whether the task is learned with the part and not learned without it; more than half right disagrees."""
    return _learned(other) is False if _learned(base) else None


def _order(base: Numbers, other: Numbers) -> int | None:
    """1: the base is better (more exact outputs, or as many after fewer steps); -1: worse; 0: equal."""
    if base.exact is None or other.exact is None:
        return None
    if abs(base.exact - other.exact) > EQUAL:
        return 1 if base.exact > other.exact else -1
    if base.reached is None or other.reached is None:
        return 0 if base.reached is other.reached else (1 if other.reached is None else -1)
    if max(base.reached, other.reached) <= SLOWER * max(1, min(base.reached, other.reached)):
        return 0
    return 1 if base.reached < other.reached else -1


def _better(base: Numbers, other: Numbers) -> bool | None:
    """None if both learn the task, or neither does: then it is too easy, or too hard, to tell them apart."""
    order = _order(base, other)
    if order == 1:
        return True
    alike = order == 0 or _learned(base) is _learned(other) is not None
    return None if order is None or alike else False


def _equal(base: Numbers, other: Numbers) -> bool | None:
    """Whether both have equal results at the end; the paper does not say how soon."""
    return None if base.exact is None or other.exact is None else abs(base.exact - other.exact) <= EQUAL


def _leaks(base: Numbers, other: Numbers) -> bool | None:
    """Whether, without the mask, teacher-forced tokens are right and free-running outputs are wrong."""
    if not _learned(base) or other.forced is None:
        return None
    return other.forced >= LEARNED and _learned(other) is False


def _smoothing(base: Numbers, other: Numbers) -> bool | None:
    """Section 5.4: it "hurts perplexity [...] but improves accuracy". base: the run with more smoothing."""
    if base.validation_loss is None or other.validation_loss is None or (order := _order(base, other)) is None:
        return None
    return base.validation_loss > other.validation_loss and order == 1


def _learns(_: Numbers, other: Numbers) -> bool | None:
    return _learned(other)


# Prediction of the paper -> its section, and whether the two runs agree.
PREDICTIONS: dict[str, tuple[str, Callable[[Numbers, Numbers], bool | None]]] = {
    "complete": ("1", _learns),  # "relying entirely on an attention mechanism to draw global dependencies"
    "mask": ("3.2.3", _leaks),  # "prevent leftward information flow [...] to preserve the auto-regressive property"
    "positions": ("3.5", _fails),  # "in order for the model to make use of the order of the sequence"
    "learned-positions": ("3.5, Table 3 (E)", _equal),  # "produced nearly identical results"
    "scaling": ("3.2.1", _better),  # "for large values of d_k, the dot products grow large [...] small gradients"
    "scaling-small": ("3.2.1", _equal),  # "for small values of d_k the two mechanisms perform similarly"
    "heads": ("3.2.2, Table 3 (A)", _better),  # "single-head attention is 0.9 BLEU worse than the best setting"
    "d_k": ("6.2, Table 3 (B)", _better),  # "reducing the attention key size d_k hurts model quality"
    "size": ("6.2, Table 3 (C)", _better),  # "as expected, bigger models are better"
    "dropout": ("6.2, Table 3 (D)", _better),  # "dropout is very helpful in avoiding over-fitting"
    "smoothing": ("5.4", _smoothing),
    "residual": ("3.1", _better),  # cites He et al. 2016: deep networks are hard to train without them
    "pre-norm": ("", _better),  # not the paper, but Xiong et al. 2020: with LayerNorm before, deep models train easily
    "warmup": ("5.3", _better),  # it raises the rate over 4,000 steps, and does not say why
    "norm": ("3.1", _better),  # cites Ba et al. 2016: training takes less time with LayerNorm
}


def prediction(reference: Experiment, other: Experiment) -> tuple[str, bool]:
    """The key of the prediction for two experiments, "" for none; and whether the first is the `base`.

    The seeds may differ, too.
    """
    differs = [name for name in reference.differences(other) if name != "seed"]
    if len(differs) != 1:
        return "", True
    name = differs[0]
    first, second = getattr(reference, name), getattr(other, name)
    if name in ("causal", "scaling", "residual"):
        key = {"causal": "mask"}.get(name, name)
        if name == "scaling" and (reference.d_k or reference.d_model // reference.heads) < WIDE:
            key = "scaling-small"
        return key, bool(first)
    if name == "positions":
        if "none" in (first, second):
            return ("positions" if reference.task in ORDERED else ""), second == "none"
        return "learned-positions", first == "sinusoidal"
    if name == "norm":
        return ("norm", second == "none") if "none" in (first, second) else ("pre-norm", first == "pre")
    if name == "warmup":
        return ("warmup" if 0 in (first, second) else ""), second == 0
    if name == "heads":
        return ("heads" if 1 in (first, second) else ""), second == 1
    if name == "d_k":
        width = reference.d_model // reference.heads
        return "d_k", (first or width) > (second or width)
    if name in ("layers", "d_model", "d_ff"):
        return "size", first > second
    if name in ("dropout", "smoothing"):
        return (name if 0 in (first, second) else ""), first > second
    return "", True


def findings(runs: Sequence[RunSoFar]) -> tuple[Finding, ...]:
    """Every other run compared with the first, or a run alone; leaves out runs without a frame."""
    if not runs or not runs[0][2]:
        return ()
    reference, opening, frames, ended = runs[0]
    first = numbers(opening, frames)
    if len(runs) == 1:
        return (_finding(0, (), "complete" if complete(reference) else "", True, first, first, ended),)
    return tuple(
        _finding(
            index, reference.differences(other), *prediction(reference, other), first, numbers(opening, frames),
            ended and its_end,
        )
        for index, (other, opening, frames, its_end) in enumerate(runs[1:], 1) if frames
    )  # fmt: skip


def _finding(
    run: int, differs: tuple[str, ...], key: str, forward: bool, reference: Numbers, here: Numbers, ended: bool
) -> Finding:
    """forward: as in `judged`; ended: whether both made all their steps."""
    section = PREDICTIONS[key][0] if key else ""
    agrees = judged(key, forward, reference, here) if ended else None
    return Finding(run, differs, key, section, reference, here, agrees)


def complete(experiment: Experiment) -> bool:
    """Whether it has every part of the paper's model, on a task that anybody can check."""
    parts = experiment.scaling and experiment.causal and experiment.residual and experiment.norm == "post"
    return parts and experiment.positions != "none" and experiment.warmup > 0 and experiment.task != "own"


def judged(key: str, forward: bool, reference: Numbers, here: Numbers) -> bool | None:
    """Whether two runs agree with a `prediction`; None if there is none, or the result is undecided."""
    if not key:
        return None
    return PREDICTIONS[key][1](*((reference, here) if forward else (here, reference)))


def numbers(opening: Opening, frames: Sequence[Frame]) -> Numbers:
    """The numbers of a run. Raises ValueError without frames, or if the weights do not fit the opening."""
    if not frames:
        raise ValueError("a run needs at least one frame, that of step 0")
    measured = [frame for frame in frames if frame.exact is not None]
    last = measured[-1] if measured else None
    reached = next((frame for frame in measured if (frame.exact or 0.0) >= REACHED), None)
    entropy, largest = sharpness(opening, frames[-1])
    entropy_first, largest_first = sharpness(opening, frames[0])
    return Numbers(
        step=frames[-1].step,
        loss=frames[-1].loss,
        validation_loss=last.validation_loss if last else None,
        forced=last.forced if last else None,
        exact=last.exact if last else None,
        reached=reached.step if reached else None,
        seconds=reached.seconds if reached else None,
        entropy=entropy,
        largest=largest,
        entropy_first=entropy_first,
        largest_first=largest_first,
    )


def sharpness(opening: Opening, frame: Frame) -> tuple[float, float]:
    """Means over rows: entropy divided by ln(visible keys), and the largest weight; from 8-bit weights."""
    entropies, largest = [], []
    attention = frame.attention(opening)
    for kind in KINDS:
        weights = attention[kind].astype(np.float64)
        total = weights.sum(-1, keepdims=True)
        shares = np.divide(weights, total, out=np.zeros_like(weights), where=total > 0)
        queries, keys = shares.shape[-2:]
        # With a causal mask row q sees q + 1 keys, without one all keys; the upper triangle shows which it is.
        hidden = kind == "decoder_self" and not np.triu(weights.max((0, 1)), 1).any()
        visible = np.arange(1, queries + 1) if hidden else np.full(queries, keys)
        logs = np.log(shares, out=np.zeros_like(shares), where=shares > 0)
        entropy = -(shares * logs).sum(-1)  # [layer, head, query]
        counted = visible > 1
        entropies.append((entropy[..., counted] / np.log(visible[counted])).ravel())
        largest.append(shares.max(-1)[..., counted].ravel())
    if not sum(map(len, entropies)):
        return math.nan, math.nan
    return float(np.concatenate(entropies).mean()), float(np.concatenate(largest).mean())
