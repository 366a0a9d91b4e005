"""Sentences computed from the table of section 4 and from the measured times."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from transformer.cost.complexity import (
    Cost,
    Sizes,
    centred_by_kernel,
    fewest,
    looking_back,
    meeting,
    multiply_adds,
    path,
)
from transformer.cost.layer_timing import SLOWEST, Timing
from transformer.texts import _, comma_list, semicolon_list

Seconds = Mapping[str, Mapping[int, float]]  # kind -> n -> median
NOISY = 1.5  # a median of more than this many times the fastest pass is noisy
BUSY = 0.2  # share of noisy points from which the machine was busy
FLAT = 1.8  # times as long for twice as many tokens: below that, overhead takes most of the time


def names() -> dict[str, str]:
    """The name of each kind."""
    return {
        "attention": _("Self-attention"),
        "fused": _("Self-attention (fused)"),
        "recurrent": _("Recurrent"),
        "convolution": _("Convolutional"),
        "separable": _("Separable convolutional"),
        "restricted": _("Self-attention (restricted)"),
    }


def factor(value: float) -> str:
    """A ratio as text: "1.3", "21", "4,096"."""
    return f"{value:.1f}" if value < 9.95 else f"{value:,.0f}"


def milliseconds(seconds: float) -> str:
    """Three figures: "0.081 ms", "4.22 ms", "278 ms"."""
    value = 1000 * seconds
    digits = 3 if value < 0.9995 else 2 if value < 9.995 else 1 if value < 99.95 else 0
    return f"{value:.{digits}f} ms"


# -- counted ----------------------------------------------------------------------------------------------------------


def by_table(sizes: Sizes) -> str:
    """What follows from Table 1 for this n and d: the first comparison of section 4."""
    n, d = sizes.n, sizes.d
    if n == d:
        sentence = _(
            "n = d = {d}: by Table 1, self-attention and a recurrent layer need equally many operations here. With "
            "fewer tokens self-attention needs fewer, with more tokens it needs more."
        )
    elif n < d:
        sentence = _(
            "By Table 1, a recurrent layer needs {times} times as many operations as self-attention here, because "
            "n = {n} tokens are fewer than the d = {d} numbers of a token's vector. Above {d} tokens self-attention "
            "needs more."
        )
    else:
        sentence = _(
            "By Table 1, self-attention needs {times} times as many operations as a recurrent layer here, because "
            "n = {n} tokens are more than the d = {d} numbers of a token's vector. Below {d} tokens it needs fewer."
        )
    return sentence.format(n=f"{n:,}", d=f"{d:,}", times=factor(max(n, d) / min(n, d)))


def longest_path(sizes: Sizes) -> str:
    """The longest path between two tokens, and what it counts."""
    sentence = _(
        "Steps from the input of the first token to the output of the last one (maximum path length): {attention} with "
        "self-attention, {recurrent} with a recurrent layer."
    )
    return sentence.format(attention=path("attention", sizes), recurrent=f"{path('recurrent', sizes):,}")


def as_built(sizes: Sizes) -> str:
    """The same comparison with every operation counted."""
    whole, mixing = multiply_adds("attention", sizes), multiply_adds("attention", sizes, mixing=True)
    meet = meeting("attention", "recurrent", sizes)
    if meet is None or meet == 1:
        sentence = _(
            "Table 1 leaves out the four projections, to Q, K and V and after the heads. They are {share} of what "
            "self-attention multiplies here. With them, and with a GRU's three gates, self-attention needs more at "
            "any n."
        )
    elif meet == sizes.d:
        sentence = _(
            "Table 1 leaves out the four projections, to Q, K and V and after the heads. They are {share} of what "
            "self-attention multiplies here. With them, and with a GRU's three gates, the two meet again at n = "
            "{meet}."
        )
    else:
        sentence = _(
            "Table 1 leaves out the four projections, to Q, K and V and after the heads. They are {share} of what "
            "self-attention multiplies here. With them, and with a GRU's three gates, the two meet at n = {meet}."
        )
    return sentence.format(share=f"{100 * (1 - mixing / whole):.0f}%", meet=f"{meet or 0:,}")


def winners(layer_costs: Sequence[Cost]) -> str:
    """The kind with the fewest operations in each column."""

    def named(column: str) -> str:
        return comma_list(names()[kind] for kind in fewest(layer_costs, column))

    sentence = _(
        "Fewest operations by Table 1: {order}; as built: {built}. Shortest path between any two positions: {path}. "
        "Only the recurrent layer takes one step per token."
    )
    return sentence.format(order=named("order"), built=named("multiply_adds"), path=named("path"))


def paths(sizes: Sizes) -> str:
    """What the search found about dilated kernels."""
    base, back, centred = sizes.kernel // 2 + 1, looking_back(sizes), centred_by_kernel(sizes)
    sentence = (
        _(
            "The paper's log_k(n) is for dilations 1, k, k², …: a kernel that looks back only reaches every earlier "
            "position in {back} such layers here, but a centred kernel leaves some pair near the ends unconnected, "
            "however many layers follow. So Headscope dilates by 1, b, b², … with b = (k + 1) / 2 = {base}."
        )
        if centred is None
        else _(
            "The paper's log_k(n) is for dilations 1, k, k², …: a kernel that looks back only reaches every earlier "
            "position in {back} such layers here, a centred kernel every position in {centred}. Headscope dilates by "
            "1, b, b², … with b = (k + 1) / 2 = {base}, which leaves no gap near the ends at any n."
        )
    )
    return sentence.format(back=back, centred=centred, base=base)


# -- measured ---------------------------------------------------------------------------------------------------------


def medians(timings: Sequence[Timing]) -> dict[str, dict[int, float]]:
    """kind -> n -> median seconds, of the timings that were measured."""
    kinds: dict[str, dict[int, float]] = {}
    for timing in timings:
        if not timing.unmeasured:
            kinds.setdefault(timing.kind, {})[timing.n] = timing.median
    return kinds


def _both(seconds: Seconds) -> tuple[Mapping[int, float], Mapping[int, float], list[int]]:
    """The times of self-attention and of the recurrent layer, and the lengths at which both were measured."""
    attention, recurrent = seconds.get("attention", {}), seconds.get("recurrent", {})
    return attention, recurrent, sorted(attention.keys() & recurrent.keys())


def nearest(seconds: Seconds, n: int) -> str:
    """The times at the measured length nearest to n, fastest first."""
    lengths = sorted({length for times in seconds.values() for length in times})
    nearest_n = min(lengths, key=lambda length: (abs(length - n), length))
    here = sorted((times[nearest_n], names()[kind]) for kind, times in seconds.items() if nearest_n in times)
    listed = comma_list(_("{name} {time}", name=name, time=milliseconds(seconds)) for seconds, name in here)
    sentence = (
        _("At n = {at}: {times}.") if nearest_n == n else _("At n = {at}, the measured length nearest to {n}: {times}.")
    )
    return sentence.format(at=f"{nearest_n:,}", n=f"{n:,}", times=listed)


def crossing(seconds: Seconds, sizes: Sizes) -> str:
    """Where self-attention is faster than the recurrent layer, and where it has fewer multiply-adds."""
    attention, recurrent, both = _both(seconds)
    meet = meeting("attention", "recurrent", sizes)
    if not both or meet is None:
        return ""
    faster = [n for n in both if attention[n] < recurrent[n]]
    if len(faster) == len(both):
        sentence = _(
            "Self-attention was faster than the GRU at every n up to {last}; in multiply-adds the two meet at {meet}."
        )
    elif not faster:
        sentence = _(
            "The GRU was faster than self-attention at every n up to {last}; in multiply-adds the two meet at {meet}."
        )
    elif faster == both[: len(faster)]:
        sentence = _(
            "Self-attention was faster than the GRU up to n = {fast} and slower from n = {slow} on; in multiply-adds "
            "the two meet at {meet}."
        )
    else:
        sentence = _("Self-attention was faster than the GRU at n = {all}; in multiply-adds the two meet at {meet}.")
    return sentence.format(
        last=f"{both[-1]:,}",
        meet=f"{meet:,}",
        all=", ".join(f"{n:,}" for n in faster),
        fast=f"{max(faster, default=0):,}",
        slow=f"{both[min(len(faster), len(both) - 1)]:,}",
    )


def rates(seconds: Seconds, sizes: Sizes) -> str:
    """Multiply-adds per second of both at the measured length nearest to d: the cost of sequential steps."""
    attention, recurrent, both = _both(seconds)
    if not both:
        return ""
    nearest_n = min(both, key=lambda n: (abs(n - sizes.d), n))
    here = replace(sizes, n=nearest_n)
    fast = multiply_adds("attention", here) / attention[nearest_n] / 1e9
    slow = multiply_adds("recurrent", here) / recurrent[nearest_n] / 1e9
    if fast <= slow:
        return ""
    sentence = _(
        "At n = {n} the GRU did {slow} billion multiply-adds per second and self-attention {fast}: {steps} small "
        "products one after another keep a processor less busy than a few large ones. That is what the column of "
        "sequential operations is about."
    )
    return sentence.format(n=f"{nearest_n:,}", slow=factor(slow), fast=factor(fast), steps=f"{nearest_n:,}")


def growth(seconds: Seconds, sizes: Sizes) -> str:
    """How the time of self-attention grew at the last doubling of n, and that of fused attention."""
    attention = seconds.get("attention", {})
    if len(attention) < 2:
        return ""
    before, last = sorted(attention)[-2:]
    counts = [multiply_adds("attention", replace(sizes, n=n)) for n in (before, last)]
    text = _(
        "From n = {before} to {last}, self-attention took {times} times as long for {counts} times the multiply-adds.",
        before=f"{before:,}",
        last=f"{last:,}",
        times=factor(attention[last] / attention[before]),
        counts=factor(counts[1] / counts[0]),
    )
    fused = seconds.get("fused", {}).get(last)
    if fused is None or fused >= attention[last]:
        return text
    sentence = _(
        "Fused attention, which computes the same without storing the n × n weights, took {fused} instead of {plain}."
    )
    return f"{text} {sentence.format(fused=milliseconds(fused), plain=milliseconds(attention[last]))}"


def overhead(seconds: Seconds) -> str:
    """What the times contain besides operations, judged by the first doubling of n."""
    text = _(
        "This is time, not operations. It includes Python's and PyTorch's overhead for each call, memory traffic, and "
        "whatever else this machine is doing."
    )
    attention = seconds.get("attention", {})
    if len(attention) < 2:
        return text
    first, second = sorted(attention)[:2]
    ratio = attention[second] / attention[first]
    if ratio >= FLAT:
        return text
    sentence = _(
        "So at the left end self-attention took {times} times as long for twice as many tokens, {second} instead of "
        "{first}."
    )
    return f"{text} {sentence.format(first=first, second=second, times=f'{ratio:.2f}')}"


def busy(timings: Sequence[Timing]) -> str:
    """A sentence if the machine was busy: then medians are far above the fastest passes."""
    measured = [timing for timing in timings if not timing.unmeasured]
    noisy = [timing for timing in measured if timing.median > NOISY * timing.fastest]
    if len(noisy) < BUSY * len(measured):
        return ""
    sentence = _(
        "The machine was busy: at {count} of {total} points the median is more than {times} times the fastest pass. "
        "The lower edges of the bands are more reliable then; or measure again."
    )
    return sentence.format(count=len(noisy), total=len(measured), times=NOISY)


def left_out(timings: Sequence[Timing]) -> str:
    """Which kinds were not measured up to the last length, and why."""
    reasons = {
        "slow": _("{name} from n = {n} on (one pass would take longer than {seconds} s)"),
        "memory": _("{name} from n = {n} on (it would take too much memory)"),
        "budget": _("{name} from n = {n} on (the total time was used up)"),
    }
    first: dict[str, Timing] = {}
    for timing in timings:
        if timing.unmeasured:
            first.setdefault(timing.kind, timing)
    if not first:
        return ""
    listed = semicolon_list(
        reasons[timing.unmeasured].format(name=names()[timing.kind], n=f"{timing.n:,}", seconds=SLOWEST)
        for timing in first.values()
    )
    return _("Not measured: {listed}.", listed=listed)
