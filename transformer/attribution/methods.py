"""The methods by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from transformer.attribution import gradients, vectors
from transformer.attribution.contributions import Contributions
from transformer.attribution.leaving_out import leave_one_out
from transformer.attribution.zeroing import value_zeroing
from transformer.inference.pretrained import Pretrained
from transformer.texts import N_, UserError, any_of
from transformer.tracing.finite import check_numbers
from transformer.tracing.trace import Trace


@dataclass(frozen=True)
class Method:
    """name, for people; source: authors and year; compute: the function. by_step: it takes `steps`, the rows to
    compute, because each is a backward pass of its own."""

    name: str
    source: str
    compute: Callable[..., Contributions]
    by_step: bool = False


METHODS: Mapping[str, Method] = {
    "attention": Method(N_("attention, mean of all heads"), "Vaswani et al. 2017", vectors.mean_attention),
    "rollout": Method(N_("attention rollout"), "Abnar and Zuidema 2020", vectors.rollout),
    "norm": Method(
        N_("vector norms"), "Kobayashi et al. 2021", partial(vectors.by_vectors, measure=vectors.norm_measure)
    ),
    "alti": Method("ALTI+", "Ferrando et al. 2022", partial(vectors.by_vectors, measure=vectors.alti_measure)),
    "zeroing": Method(N_("value zeroing"), "Mohebbi et al. 2023", value_zeroing),
    "gradient": Method(N_("gradient × input"), "Shrikumar et al. 2017", gradients.gradient_x_input, True),
    "integrated": Method(N_("integrated gradients"), "Sundararajan et al. 2017", gradients.integrated_gradients, True),
    "chefer": Method(N_("gradient-weighted attention"), "Chefer et al. 2021", gradients.chefer, True),
    "leave-one-out": Method(N_("leave one out"), "Li et al. 2016", leave_one_out),
}


def attribute(model: Pretrained, trace: Trace, method: str, steps: Sequence[int] | None = None) -> Contributions:
    """What each token contributed to each output token of a trace. steps: the output tokens that are wanted, all by
    default; gradient methods leave the rows of the others NaN. Raises UserError, a ValueError, for another name, and
    NotFiniteError for NaN."""
    if method not in METHODS:
        raise UserError("unknown method {name!r}; choose {names}", name=method, names=any_of(METHODS, method))
    check_numbers(trace.logits)
    found = METHODS[method]
    return found.compute(model, trace, steps) if found.by_step else found.compute(model, trace)
