"""The methods by name."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from transformer.attribution import gradients, vectors
from transformer.attribution.contributions import Contributions
from transformer.attribution.leaving_out import leave_one_out
from transformer.attribution.zeroing import value_zeroing
from transformer.cancellation import Progress
from transformer.checks import expect
from transformer.inference.pretrained import Pretrained
from transformer.texts import N_, Text, UserError, any_of
from transformer.tracing.finite import check_numbers
from transformer.tracing.rerun import check_steps
from transformer.tracing.trace import Trace

# Edits before the sub-layers, and within attention, whose parts still add up (`vectors.parts`).
_STREAM_HOLDS = re.compile(
    r"^(source|target)\.|^logits$|\.(self|cross)\.(queries|keys|values|mask|scores|weights|head_outputs|update)$"
)


@dataclass(frozen=True)
class Method:
    """name, for people; source: authors and year; compute: the function. by_step: it takes `steps`, the rows to
    compute, because each is a backward pass of its own. reports: it takes `progress`. asks: it takes `contrast`,
    because it asks for the probability of a token. reads: what it needs of a trace, of "weights", "stream" (it follows
    the residual stream through the layers) or "pass" (it runs the model again)."""

    name: str
    source: str
    compute: Callable[..., Contributions]
    by_step: bool = False
    reports: bool = False
    asks: bool = False
    reads: str = "pass"


METHODS: Mapping[str, Method] = {
    "attention": Method(N_("mean attention"), "Vaswani et al. 2017", vectors.mean_attention, reads="weights"),
    "rollout": Method(N_("attention rollout"), "Abnar and Zuidema 2020", vectors.rollout, reads="stream"),
    "norm": Method(
        N_("vector norms"),
        "Kobayashi et al. 2021",
        partial(vectors.by_vectors, measure=vectors.norm_measure),
        reads="stream",
    ),
    "alti": Method(
        "ALTI+", "Ferrando et al. 2022", partial(vectors.by_vectors, measure=vectors.alti_measure), reads="stream"
    ),
    "zeroing": Method(N_("value zeroing"), "Mohebbi et al. 2023", value_zeroing, reports=True),
    "gradient": Method(
        N_("gradient × input"), "Shrikumar et al. 2017", gradients.gradient_x_input, by_step=True, asks=True
    ),
    "integrated": Method(
        N_("integrated gradients"),
        "Sundararajan et al. 2017",
        gradients.integrated_gradients,
        by_step=True,
        reports=True,
        asks=True,
    ),
    "chefer": Method(N_("gradient × attention"), "Chefer et al. 2021", gradients.chefer, by_step=True, asks=True),
    "leave-one-out": Method(N_("leave one out"), "Li et al. 2016", leave_one_out, reports=True, asks=True),
}


_EDITED = {
    "pass": N_(
        "{method} cannot attribute a trace in which a function edited {tensor}, because it runs the model again "
        "without the edit; use a switch instead, or choose {others}"
    ),
    "stream": N_(
        "{method} cannot attribute a trace in which a function edited {tensor}, because it follows the residual stream "
        "that the edit replaced; choose {others}"
    ),
}


def check_edits(trace: Trace, method: str) -> None:
    """Raises UserError if functions edited the trace (`edits=`, `patch`) where the method does not hold. Switches
    are no such edits: every method runs with them."""
    reads = METHODS[method].reads
    found = {
        "weights": [],
        "stream": [name for name in trace.edits if not _STREAM_HOLDS.search(name)],
        "pass": list(trace.edits),
    }
    if found[reads]:
        tensor = found[reads][0]
        others = [name for name, one in METHODS.items() if one.reads == "weights"]
        if _STREAM_HOLDS.search(tensor):
            others += [name for name, one in METHODS.items() if one.reads == "stream"]
        raise UserError(_EDITED[reads], method=method, tensor=tensor, others=any_of(others, method))


def attribute(
    model: Pretrained,
    trace: Trace,
    method: str,
    steps: Sequence[int] | None = None,
    progress: Progress = lambda done, total: True,
    contrast: int | None = None,
) -> Contributions:
    """What each token contributed to each output token of a trace.

    steps: the output tokens that are wanted, all by default; gradient methods leave the rows of the others NaN.
    contrast: id of another token: then what each token contributed to ln p(output token) - ln p(that one), for the
    methods that ask for a probability (Yin and Neubig 2022): why the model says this and not that. progress: called
    with (done, all) by a method that takes long; False stops (Stopped).
    Warns of integrated gradients that miss their sum (`gradients.ShortWarning`). Raises UserError, a ValueError, for
    another name, for a step that the trace lacks (`check_steps`), for a contrast that does not fit, and for a trace
    that functions edited where the method cannot see it (`check_edits`); NotFiniteError for NaN.
    """
    expect(trace, Trace, "trace", Text("a Trace, as model.trace returns it"))
    if method not in METHODS:
        raise UserError("unknown method {name!r}; choose {names}", name=method, names=any_of(METHODS, method))
    check_edits(trace, method)
    check_steps(trace, () if steps is None else steps)
    check_numbers(trace.logits)
    found = METHODS[method]
    expect(contrast, (int, type(None)), "contrast", Text("the id of a token, or None"))
    if contrast is not None and not found.asks:
        asking = [name for name, one in METHODS.items() if one.asks]
        raise UserError("{method} asks for no token's probability, so it has no contrast; choose {others}",
                        method=method, others=any_of(asking))  # fmt: skip
    if contrast is not None and not 0 <= contrast < trace.logits.shape[-1]:
        raise UserError("there is no token {contrast} to contrast; there are {count:,}, from 0",
                        contrast=contrast, count=trace.logits.shape[-1])  # fmt: skip
    takes = {"steps": found.by_step, "progress": found.reports, "contrast": found.asks}
    given = {"steps": steps, "progress": progress, "contrast": contrast}
    more = {name: given[name] for name, taken in takes.items() if taken}
    return found.compute(model, trace, **more)
