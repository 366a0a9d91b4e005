"""Whether the future leaks: which predictions move when a later token is exchanged, and whether peeking helps."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from transformer.interventions.edits import edits_of
from transformer.model.tap import EditingTap
from transformer.model.transformer import Transformer
from transformer.tracing.trace import Trace

LITTLE = 1.05  # a twentieth more or less surprised per token is a change a person would not notice


def moved(before: Trace, after: Trace) -> Tensor:
    """How far each position's prediction went: max over the vocabulary of |difference of logits|.

    before, after: traces of one target, `fed` something else in one of them. Under the causal mask everything before
    the exchanged token is exactly 0: row q of the decoder is a function of target_in[: q + 1] alone.

    Returns [target]. Raises ValueError if the traces have not as many tokens.
    """
    if before.logits.shape != after.logits.shape:
        raise ValueError(f"logits {list(before.logits.shape)} and {list(after.logits.shape)} cannot be compared")
    return (before.logits - after.logits).abs().amax(-1)


@torch.inference_mode()
def step_by_step(trace: Trace, model: Transformer) -> float:
    """Perplexity of the target where each token is predicted with nothing fed after it, as in decoding: a pass a step,
    under the trace's switches. Of a model without the causal mask this is not what one pass over all of it gives."""
    source, fed = (torch.tensor([ids], device=model.device) for ids in (trace.source_ids, trace.target_in_ids))
    tap = EditingTap(edits_of(trace.interventions, model.config))
    memory, total = model.encode(source, tap), 0.0
    for step, token in enumerate(trace.target_out_ids):
        hidden = model.decode(fed[:, : step + 1], memory, source, tap)[0, -1]
        total -= float(model.project(hidden).log_softmax(-1)[token])
    return math.exp(total / len(trace.target_out_ids))


def peeking(with_mask: float, without: float) -> str:
    """What seeing the future does to a target: "helps", "confuses" or "little", by two perplexities of it.

    Little is a change by less than a factor of LITTLE either way. Raises ValueError for what is no perplexity.
    """
    if not (with_mask >= 1 - 1e-6 and without >= 1 - 1e-6):  # a comparison with NaN is False
        raise ValueError(f"perplexities {with_mask} and {without} arrived; they are 1 or more")
    if without * LITTLE <= with_mask:
        return "helps"
    return "confuses" if with_mask * LITTLE <= without else "little"
