"""What the pictures of the page are sent: labels, distributions, and the attention of one step."""

import math
from collections.abc import Sequence
from typing import Any

from torch import Tensor

from pages.components.pieces import shown
from pages.frame.messages import capital
from pages.runtime import cache
from pages.runtime.shared import shared
from transformer.inference.pretrained import InputError, Pretrained
from transformer.inference.sampling import Sampling
from transformer.inference.search import output_limit
from transformer.inference.steps import Continuation, Step, continuations
from transformer.tracing.trace import Trace


@shared(queued=True)
def continued(
    model: Pretrained, source: str, prefixes: tuple[tuple[int, ...], ...], limit: int, sample: Sampling | None = None
) -> tuple[Continuation, ...]:
    """`continuations`, computed once for all viewers."""
    return tuple(continuations(model, source, prefixes, limit=limit, sample=sample))


def beginning(model: Pretrained, source: str, text: str, limit: int) -> tuple[tuple[int, ...], str]:
    """Ids of what the translation is to begin with; none, and why not, if the model cannot write it."""
    allowed = output_limit(model.model, len(model.encode(source)), model.token_limit(limit))
    try:
        return tuple(model.beginning(text, allowed)), ""
    except InputError as error:
        return (), capital(error) + "."


def labels(model: Pretrained, ids: Sequence[int]) -> list[str]:
    return list(shown(model, ids))


def line(
    model: Pretrained, found: Continuation, forced: int = 0, shared_with: int = 0, drops: bool = False
) -> dict[str, Any]:
    """One translation. forced: its first tokens that were given; shared_with: those that the translation it branches
    from has too."""
    hypothesis = found.hypothesis
    return {
        "ids": list(hypothesis.ids),
        "tokens": labels(model, hypothesis.ids),
        "probs": [round(math.exp(value), 6) for value in hypothesis.log_probs],
        "forced": forced,
        "shared": shared_with,
        "text": model.tokenizer.decode(hypothesis.ids),
        "score": hypothesis.score,
        "complete": hypothesis.complete,
        "drops": drops,
    }


def bars(model: Pretrained, step: Step, before: Sequence[int], rules: Sequence[dict[str, Any]] = ()) -> dict[str, Any]:
    """The distribution of a step. before: ids written before it; rules: what each rule of sampling leaves of it, in
    order, {name, value, p, rest}."""
    possible = model.config.output_size - len(model.config.unwritten)
    return {
        "ids": list(step.ids),
        "tokens": labels(model, step.ids),
        "p": list(step.probabilities),
        "rules": list(rules),
        "rest": step.rest,
        "others": possible - len(step.ids),
        "entropy": step.entropy,
        "most": math.log(possible),
        "before": model.tokenizer.decode(before),
    }


def attention(model: Pretrained, source: str, ids: Sequence[int], step: int, limit: int) -> dict[str, Any]:
    """The weights of every head in the step that predicts ids[step]: over the source, and over the tokens fed in."""
    trace = cache.trace_output(model, source, tuple(ids), limit)
    return {
        "cross": _heads(trace.cross.weights[:, :, step], trace.source_labels),
        "self": _heads(trace.decoder_self.weights[:, :, step, : step + 1], trace.target_in_labels[: step + 1]),
    }


def _heads(weights: Tensor, keys: Sequence[str]) -> dict[str, Any]:
    """weights: [layer, head, key]."""
    layers, heads, _ = weights.shape
    rows = [[round(value, 4) for value in row] for row in weights.flatten(0, 1).tolist()]
    return {"layers": layers, "heads": heads, "keys": list(keys), "weights": rows}


def caption(trace: Trace, *names: str) -> dict[str, Any]:
    """Name and caption of saved pictures. names: what the name adds to that of the page."""
    return {"stem": [trace.checkpoint, "decoding", *names], "caption": f"{trace.checkpoint}: {trace.source_text}"}
