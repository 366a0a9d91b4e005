"""Sentences about the table of section 4 and the measured times, checked against made-up numbers."""

import dataclasses
import math

from pages.anatomy import complexity
from pages.anatomy.complexity_texts import (
    as_built,
    busy,
    by_table,
    crossing,
    factor,
    growth,
    left_out,
    longest_path,
    medians,
    milliseconds,
    nearest,
    overhead,
    paths,
    rates,
    winners,
)
from transformer.cost.complexity import Sizes, costs, multiply_adds
from transformer.cost.layer_timing import Timing


def timed(**kinds: dict[int, float]) -> list[Timing]:
    return [
        Timing(kind, n, seconds, 0.8 * seconds, 1.1 * seconds, 7) for kind, times in kinds.items()
        for n, seconds in times.items()
    ]  # fmt: skip


SIZES = Sizes(12, 64, 4)


def test_conclusions_from_the_complexity_table() -> None:
    fewer, more = by_table(Sizes(12, 256)), by_table(Sizes(512, 256))
    assert "a recurrent layer needs 21 times as many operations" in fewer and "n = 12 tokens are fewer" in fewer
    assert "self-attention needs 2.0 times as many operations" in more and "n = 512 tokens are more" in more
    assert by_table(Sizes(256, 256)).startswith("n = d = 256: by Table 1")
    assert longest_path(Sizes(12, 256)).endswith("1 with self-attention, 12 with a recurrent layer.")
    assert "98% of what" in as_built(Sizes(12, 256, 8)) and "meet again at n = 256." in as_built(Sizes(12, 256, 8))
    meet = math.ceil((4 * 256**2 - 2 * 256 * 88) / (88 + 256))  # 2 n d 88 + 2 n d^2 + n^2 (88 + d) = 6 n d^2
    assert as_built(Sizes(12, 256, 8, d_k=11)).endswith(f"the two meet at n = {meet}.")
    assert as_built(Sizes(12, 256, 8, d_k=512)).endswith("self-attention needs more at any n.")
    layer_costs = costs(Sizes(12, 256, 8, 3, 5))
    assert "by Table 1: Self-attention (restricted); as built: Separable convolutional." in winners(layer_costs)
    assert "in 3 such layers here, but a centred kernel leaves" in paths(Sizes(12, 256))
    assert "in 1 such layers here, a centred kernel every position in 1." in paths(Sizes(2, 256))


def test_numbers_as_people_read_them() -> None:
    assert [factor(ratio) for ratio in (1.25, 9.94, 9.96, 1234)] == ["1.2", "9.9", "10", "1,234"]
    shown = [milliseconds(seconds) for seconds in (0.00008123, 0.0009999, 0.004224, 0.02246, 0.2781)]
    assert shown == ["0.081 ms", "1.00 ms", "4.22 ms", "22.5 ms", "278 ms"]
    assert complexity._decimal(4.999999999999999) == "5" and complexity._decimal(2.2618) == "2.3"


def test_conclusions_from_the_measured_times() -> None:
    points = timed(
        attention={8: 1e-4, 16: 1.1e-4, 64: 5e-4, 128: 1e-2},
        fused={128: 2e-3},
        recurrent={8: 2e-4, 64: 1e-3, 128: 3e-3},
    )
    times = medians([*points, Timing("convolution", 8, unmeasured="slow")])
    assert times["attention"][64] == 5e-4 and "convolution" not in times
    assert nearest(times, 12) == (
        "At n = 8, the measured length nearest to 12: Self-attention 0.100 ms, Recurrent 0.200 ms."
    )
    at_128 = "At n = 128: Self-attention (fused) 2.00 ms, Recurrent 3.00 ms, Self-attention 10.0 ms."
    assert nearest(times, 128) == at_128
    assert crossing(times, SIZES) == (
        "Self-attention was faster than the GRU up to n = 64 and slower from n = 128 on; in multiply-adds the two meet "
        "at 64."
    )
    at_64 = dataclasses.replace(SIZES, n=64)
    fast, slow = multiply_adds("attention", at_64) / 5e-4 / 1e9, multiply_adds("recurrent", at_64) / 1e-3 / 1e9
    assert (
        f"At n = 64 the GRU did {slow:.1f} billion multiply-adds per second and self-attention {fast:.1f}: 64 small"
        in (rates(times, SIZES))
    )
    assert growth(times, SIZES).startswith(
        "From n = 64 to 128, self-attention took 20 times as long for 2.7 times the "
    )
    assert growth(times, SIZES).endswith("took 2.00 ms instead of 10.0 ms.")
    assert overhead(times).endswith("self-attention took 1.10 times as long for twice as many tokens, 16 instead of 8.")


def test_no_conclusion_from_too_few_times() -> None:
    even = medians(timed(attention={8: 1.0, 16: 2.0}, recurrent={8: 2.0, 16: 4.0}))
    assert "at every n up to 16; in multiply-adds the two meet at 64." in crossing(even, SIZES)
    assert crossing(even, SIZES).startswith("Self-attention was faster")
    behind = medians(timed(attention={8: 1.0, 16: 2.0}, recurrent={8: 0.5, 16: 0.5}))
    assert crossing(behind, SIZES).startswith("The GRU was faster") and rates(behind, SIZES) == ""
    mixed = medians(timed(attention={8: 1.0, 16: 2.0}, recurrent={8: 0.5, 16: 9.0}))
    assert "faster than the GRU at n = 16;" in crossing(mixed, SIZES)
    assert "twice as many" not in overhead(even) and "instead of" not in growth(even, SIZES)
    alone = medians(timed(attention={8: 1.0}))
    assert crossing(alone, SIZES) == rates(alone, SIZES) == growth(alone, SIZES) == ""
    assert overhead(alone).startswith("This is time, not operations")
    left = [Timing("recurrent", 512, unmeasured="slow"), Timing("recurrent", 1024, unmeasured="slow")]
    left += [Timing("attention", 2048, unmeasured="memory"), Timing("fused", 2048, unmeasured="budget")]
    assert left_out(left) == (
        "Not measured: Recurrent from n = 512 on (one pass would take longer than 0.5 s); Self-attention from n = "
        "2,048 on (it would take too much memory); Self-attention (fused) from n = 2,048 on (the total time was used "
        "up)."
    )
    assert left_out(timed(attention={8: 1.0})) == ""


def test_a_note_says_that_the_machine_was_busy() -> None:
    calm = timed(attention={2**power: 1.0 for power in range(8)})
    loud = [dataclasses.replace(timing, fastest=0.5) for timing in calm]
    assert busy([*calm, *loud[:1], Timing("fused", 8, unmeasured="slow")]) == ""
    assert busy([*calm, *loud]).startswith("The machine was busy: at 8 of 16 points the median is more than 1.5 times")
    assert busy([*calm[:4], *loud[:1]]).startswith("The machine was busy: at 1 of 5")
