"""Measures one layer of each type for n tokens on this machine: median seconds per pass, batch 1, inference.

The time is what a user waits for: operations, the overhead of PyTorch and Python, and memory traffic. The number of
threads is not changed. Time and memory are limited: see `measure`.
"""

import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from transformer.cancellation import Stopped
from transformer.cost.complexity import Sizes
from transformer.cost.layer_types import layer

KINDS = ("attention", "fused", "recurrent", "convolution", "restricted")
LINEAR = ("recurrent", "convolution", "restricted")  # operations grow with n, not with n^2
LENGTHS = tuple(2**power for power in range(3, 12))  # tokens: 8 to 2,048
ROUNDS = 3  # over all points
LEAST, MOST = 2, 20  # passes of one point in one round
ENOUGH = 0.06  # seconds of passes after which a point in one round ends
SLOWEST = 0.5  # seconds of one pass; a kind that would take longer ends at that n
BUDGET = 25.0  # seconds of the whole measurement
MEMORY = 640 * 2**20  # bytes of one pass, and of all weights together
FLOAT = 4  # bytes


@dataclass(frozen=True)
class Timing:
    """Seconds of one pass of a layer over n tokens: the fastest, the median and the upper quartile of `passes` passes.

    unmeasured: "" or why nothing was measured: "slow", one pass would take longer than SLOWEST; "memory", it would need
    more than MEMORY; "budget", the time of the measurement was over.
    """

    kind: str
    n: int
    median: float = 0.0
    fastest: float = 0.0
    high: float = 0.0
    passes: int = 0
    unmeasured: str = ""


def weight_bytes(kind: str, sizes: Sizes) -> int:
    """Bytes of a layer's matrices."""
    d, queries = sizes.d, sizes.heads * sizes.head_width
    numbers = {"recurrent": 6 * d * d, "convolution": sizes.kernel * d * d}.get(kind, 2 * d * queries + 2 * d * d)
    return FLOAT * numbers


def pass_bytes(kind: str, sizes: Sizes) -> int:
    """Largest number of bytes that one pass stores, without the layer's matrices; for attention that includes the
    scores, the scaled scores and the weights."""
    n, d = sizes.n, sizes.d
    rows = FLOAT * n * max(d, sizes.heads * sizes.head_width)
    if kind == "attention":
        return 5 * rows + 3 * FLOAT * sizes.heads * n * n
    if kind == "restricted":
        return 8 * rows + 4 * FLOAT * sizes.heads * n * sizes.seen
    return {"fused": 6, "recurrent": 8, "convolution": 4 + sizes.kernel}[kind] * rows


def fits(sizes: Sizes, kinds: Sequence[str] = KINDS) -> bool:
    """Whether the matrices of all layers together fit into MEMORY."""
    return sum(weight_bytes(kind, sizes) for kind in kinds) <= MEMORY


def layers(sizes: Sizes, kinds: Sequence[str] = KINDS) -> dict[str, nn.Module]:
    """A layer of each kind, with random weights."""
    return {kind: layer(kind, sizes) for kind in kinds}


def measure(
    made: Mapping[str, Callable[[Tensor], Tensor]],
    sizes: Sizes,
    lengths: Sequence[int] = LENGTHS,
    wanted: Callable[[], bool] = lambda: True,
    clock: Callable[[], float] = time.perf_counter,
) -> Iterator[Timing]:
    """A `Timing` for each length and kind, in ROUNDS rounds; a Timing covers the passes of all rounds so far.

    made: kind -> layer, [1, n, d_model] in; wanted: called before every pass, raises Stopped when it returns False.
    Because of the rounds, a short disturbance of the machine does not hit all passes of one point. In each round a
    point gets one pass to warm up, then LEAST to MOST passes, until they took ENOUGH seconds. A kind ends at the length
    where a pass would take longer than SLOWEST (estimated from the previous length) or more than MEMORY. The whole
    measurement ends after BUDGET seconds.
    """
    began = clock()
    taken: dict[tuple[str, int], list[float]] = {}
    left: dict[str, Timing] = {}  # kind -> the first point that was not measured
    for _round in range(ROUNDS):
        before: int | None = None
        for n in lengths:
            x = torch.randn(1, n, sizes.d, generator=torch.Generator().manual_seed(n))
            for kind, layer_of_kind in made.items():
                seconds = taken.get((kind, n), [])
                late = clock() - began > BUDGET
                if not seconds and kind not in left:
                    reason = _reason(kind, replace(sizes, n=n), before, taken.get((kind, before or 0)), late)
                    if reason:
                        left[kind] = Timing(kind, n, unmeasured=reason)
                if kind in left and n >= left[kind].n:
                    yield replace(left[kind], n=n)
                    continue
                if not late:
                    seconds = taken[kind, n] = [*seconds, *_passes(layer_of_kind, x, wanted, clock)]
                _low, median, high = statistics.quantiles(seconds, n=4, method="inclusive")
                yield Timing(kind, n, median, min(seconds), high, len(seconds))
            before = n


def _reason(kind: str, here: Sizes, before: int | None, seconds: Sequence[float] | None, late: bool) -> str:
    """Why a point is not measured; "" if it is. before: the previous length; seconds: its passes. The fastest pass
    counts, because a busy machine slows the others down."""
    if late:
        return "budget"
    if pass_bytes(kind, here) > MEMORY:
        return "memory"
    if before is None or not seconds:
        return ""
    power = 1 if kind in LINEAR else 2
    return "slow" if min(seconds) * (here.n / before) ** power > SLOWEST else ""


def _passes(
    forward: Callable[[Tensor], Tensor], x: Tensor, wanted: Callable[[], bool], clock: Callable[[], float]
) -> list[float]:
    """Seconds of passes, without the first one."""
    taken: list[float] = []
    with torch.inference_mode():
        while len(taken) <= LEAST or (len(taken) <= MOST and sum(taken[1:]) < ENOUGH):
            if not wanted():
                raise Stopped
            start = clock()
            forward(x)
            taken.append(clock() - start)
    return taken[1:]
