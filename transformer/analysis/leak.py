"""Whether the future leaks: which predictions change when a later token is replaced, and whether peeking helps."""

import math

import torch
from torch import Tensor

from transformer.interventions.edits import edits_of
from transformer.interventions.switch import Reference, no_reference
from transformer.model.tap import EditingTap
from transformer.model.transformer import Transformer
from transformer.tracing.trace import Trace

LITTLE = 1.05  # a reader would not notice a change of a twentieth in the perplexity per token


def moved(before: Trace, after: Trace) -> Tensor:
    """How much the prediction of each position changed: max over the vocabulary of |difference of logits|.

    before, after: traces of one target; one of them was fed another token at a position. With the causal mask, all rows
    before that position are exactly 0: row q of the decoder depends only on target_in[: q + 1].

    Returns [target]. Raises ValueError if the traces have different numbers of tokens.
    """
    if before.logits.shape != after.logits.shape:
        raise ValueError(
            f"logits of shape {list(before.logits.shape)} and {list(after.logits.shape)} cannot be compared"
        )
    return (before.logits - after.logits).abs().amax(-1)


@torch.inference_mode()
def step_by_step(trace: Trace, model: Transformer, reference: Reference = no_reference) -> float:
    """Perplexity of the target if each token is predicted from the tokens before it only, as in decoding: one pass per
    step, with the trace's switches. Without the causal mask, one pass over the whole target gives another value.
    reference: head outputs of other sentences, for the switches that need them."""
    source, fed = (torch.tensor([ids], device=model.device) for ids in (trace.source_ids, trace.target_in_ids))
    tap = EditingTap(edits_of(trace.interventions, model.config, reference))
    memory, total = model.encode(source, tap), 0.0
    for step, token in enumerate(trace.target_out_ids):
        hidden = model.decode(fed[:, : step + 1], memory, source, tap)[0, -1]
        total -= float(model.project(hidden).log_softmax(-1)[token])
    return math.exp(total / len(trace.target_out_ids))


def peeking(with_mask: float, without: float) -> str:
    """The effect of seeing the future on a target, from its two perplexities: "helps", "confuses" or "little".

    "little" is a change by less than a factor of LITTLE. Raises ValueError for an invalid perplexity.
    """
    if not (with_mask >= 1 - 1e-6 and without >= 1 - 1e-6):  # a comparison with NaN is False
        raise ValueError(f"perplexities are at least 1, but these are {with_mask} and {without}")
    if without * LITTLE <= with_mask:
        return "helps"
    return "confuses" if with_mask * LITTLE <= without else "little"
