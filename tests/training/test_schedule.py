import math

import pytest

from transformer.training.schedule import learning_rate, paper_peak


@pytest.mark.parametrize(("d_model", "warmup"), [(512, 4_000), (256, 1_000), (66, 7)])
@pytest.mark.parametrize("step", [1, 2, 6, 7, 8, 999, 1_000, 1_001, 4_000, 4_001, 100_000])
def test_equation_3(d_model, warmup, step):
    wanted = d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)
    assert learning_rate(step, paper_peak(d_model, warmup), warmup, 100_000) == pytest.approx(wanted, rel=1e-12)


def test_peak_of_the_base_model():
    assert paper_peak(512, 4_000) == pytest.approx(6.98771e-4, rel=1e-6)  # 1 / sqrt(512 * 4000)


def test_the_peak_is_at_the_end_of_the_warm_up():
    rates = [learning_rate(step, 3e-3, 11, 97) for step in range(1, 98)]
    assert max(rates) == rates[10] == 3e-3
    assert rates[:11] == sorted(rates[:11]) and rates[10:] == sorted(rates[10:], reverse=True)
    assert rates[0] == pytest.approx(3e-3 / 11)
    assert rates[43] == pytest.approx(3e-3 / 2)  # four times the warm-up: half


def test_cooldown_goes_down_to_zero_in_equal_parts():
    peak, warmup, steps, cooldown = 1.0, 10, 100, 20
    plain = [learning_rate(step, peak, warmup, steps) for step in range(1, steps + 1)]
    cooled = [learning_rate(step, peak, warmup, steps, cooldown) for step in range(1, steps + 1)]
    assert cooled[:81] == plain[:81]
    shares = [c / p for c, p in zip(cooled[80:], plain[80:], strict=True)]
    assert shares == pytest.approx([(20 - i) / 20 for i in range(20)])
    assert learning_rate(steps + 1, peak, warmup, steps, cooldown) == 0
    assert all(math.isfinite(rate) and rate > 0 for rate in cooled)
