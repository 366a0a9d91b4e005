"""The learning rate over time (section 5.3)."""


def learning_rate(step: int, peak: float, warmup: int, steps: int, cooldown: int = 0, ramp: bool = True) -> float:
    """Equation 3, and a linear decay to zero over the last `cooldown` of `steps` steps.

    Equation 3 is d_model^-0.5 * min(step^-0.5, step * warmup^-1.5); its peak, at step = warmup, is
    d_model^-0.5 * warmup^-0.5 (`paper_peak`). Written with the peak it is peak * min(step / warmup, sqrt(warmup /
    step)). step counts from 1. cooldown=0 is the paper's schedule. ramp=False: no warm-up, the rate stays at its peak
    from the first step to step warmup.
    """
    rate = peak * min(step / warmup if ramp else 1.0, (warmup / step) ** 0.5)
    if cooldown:
        rate *= min(1.0, max(0, steps - step + 1) / cooldown)
    return rate


def paper_peak(d_model: int, warmup: int) -> float:
    """The largest rate of equation 3: d_model^-0.5 * warmup^-0.5."""
    return (d_model * warmup) ** -0.5
