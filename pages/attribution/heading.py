"""What the parts of the page share: the choice of an output token, and the names of the methods."""

from collections.abc import Callable
from functools import partial

from pages.components import headgrid
from pages.frame.frame import PageFrame
from pages.runtime.shared import SharedCache, identity, owner_of
from transformer.attribution import METHODS, Contributions, attribute, one_token
from transformer.inference.pretrained import Pretrained
from transformer.texts import _, translate
from transformer.tracing.trace import Trace


def method_names() -> dict[str, str]:
    return {name: translate(method.name) for name, method in METHODS.items()}


_OF_ALL_STEPS: SharedCache[Contributions] = SharedCache("contributions to all output tokens")


def of_all_steps(
    model: Pretrained, trace: Trace, method: str, progress: Callable[[int, int], bool] | None = None
) -> Contributions:
    """The contributions to all output tokens, by a method that finds them at once. progress: of a background job, which
    takes no turn of the model's queue, so that it keeps nobody waiting."""
    key, owner = (identity(model), trace.id, method), owner_of(model)
    work = partial(attribute, model, trace, method)
    if progress is None:
        return _OF_ALL_STEPS.get(key, work, True, owner)
    return _OF_ALL_STEPS.get(key, partial(work, progress=progress), owner=owner)


def choose_step(frame: PageFrame, trace: Trace) -> int:
    """The output token, from 0, chosen by pressing it; at first the one that the model was least sure of among those
    it writes."""
    steps = len(trace.target_out_ids)
    step = frame.options.value("output", 1, steps, one_token.least_sure(trace) + 1) - 1
    cells = [
        {
            "text": label,
            "note": f"{float(trace.probabilities[index]):.2f}",
            "tone": "decoder_self",
            "level": float(trace.probabilities[index]),
            "says": [
                _("Output token {step}: {token}, probability {p}").format(
                    step=index + 1, token=label, p=f"{float(trace.probabilities[index]):.3f}"
                )
            ],
        }
        for index, label in enumerate(trace.target_out_labels)
    ]
    title = _("Press another output token; the number is its probability")
    headgrid.draw(
        "attribution_step",
        title,
        [{"kind": "decoder_self", "title": title, "rows": [""], "columns": [""] * steps, "cells": [cells]}],
        [],
        [],
        [],
        chosen=(0, 0, step),
        on_pick=lambda place: frame.options.report("output", place[2] + 1),
        saves=False,
    )
    return step
