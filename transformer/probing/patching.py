"""Activation patching: run sentence A with parts of sentence B, and see how far the output moves towards B's."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch

from transformer.cancellation import Progress, tell
from transformer.inference.pretrained import Pretrained
from transformer.interventions.edits import joined
from transformer.interventions.sets import SUB_LAYERS, layers_of
from transformer.model.tap import KINDS, STACKS, EditingTap, scope
from transformer.tracing.finite import check_numbers
from transformer.tracing.patch import PatchError, Place, check_same_model, patch
from transformer.tracing.rerun import check_unedited, decoder_rows, outputs_from
from transformer.tracing.trace import Trace

AT_ONCE = 64  # passes in one batch


@dataclass(frozen=True)
class Recovery:
    """How far the log-probability of one token at one step moves from the first trace's to the other's: 0 not at all, 1
    the whole way, for every place alone. first, other: ln p in each; values: as many as places."""

    first: float
    other: float
    values: tuple[float, ...]


@torch.inference_mode()
def recovery(
    model: Pretrained,
    trace: Trace,
    other: Trace,
    places: Sequence[Place],
    step: int,
    token: int,
    progress: Progress = lambda done, total: True,
    other_step: int | None = None,
) -> Recovery:
    """Patch each place alone, those of one layer in one batch, which begins with that layer.

    step: row of the decoder, from 0; token: id whose ln p is watched there, usually the other's output. other_step: the
    row of the other trace, where it is another one. Places of chosen tokens need no pairs of equal length.
    progress: called with (places done, all) after each batch; False stops (Stopped).
    Denoising: `trace` is the broken sentence, `other` the good one; noising: the other way round.
    Raises PatchError, also if ln p is the same in both; EditedError; NotFiniteError.
    """
    check_unedited(trace)
    check_same_model(trace, other, places)
    steps = (step, step if other_step is None else other_step)
    for one, at in zip((trace, other), steps, strict=True):
        if not 0 <= at < len(one.target_in_ids) or not 0 <= token < one.logits.shape[-1]:
            raise PatchError(
                "there is no token {token} at step {step} to watch; there are {steps} steps and {tokens:,} tokens, "
                "from 0",
                token=token, step=at, steps=len(one.target_in_ids), tokens=one.logits.shape[-1],
            )  # fmt: skip
    check_numbers(trace.logits, other.logits)
    network = model.model
    logits = [one.logits[at].double() for one, at in zip((trace, other), steps, strict=True)]
    ends = [float(row.log_softmax(-1)[token]) for row in logits]
    if abs(ends[1] - ends[0]) < 1e-6:
        raise PatchError("the token is as probable in both sentences, so there is nothing to recover; choose another")
    switches = model.edits(trace.interventions)
    rows = decoder_rows(trace, step)
    found = [ends[0]] * len(places)
    layers: dict[tuple[str, int], list[int]] = {}
    for index, place in enumerate(places):
        stack, number, _ = place.sub_layer.split(".")
        if stack == "encoder" or place.token is None or place.token < rows:  # later rows change nothing
            layers.setdefault((stack, int(number)), []).append(index)
    done, total = 0, sum(map(len, layers.values()))
    for (stack, layer), indices in layers.items():
        for some in (indices[start : start + AT_ONCE] for start in range(0, len(indices), AT_ONCE)):
            named: dict[str, list[int]] = {}
            for row, index in enumerate(some):
                named.setdefault(places[index].name, []).append(row)
            edits = {name: patch([places[some[row]] for row in batch], batch, other) for name, batch in named.items()}
            tap = EditingTap(joined(switches, edits))
            outputs = outputs_from(network, trace, stack, layer, len(some), rows, tap)[:, step]
            for index, one in zip(some, network.project(outputs).double().log_softmax(-1)[:, token], strict=True):
                found[index] = float(one)
            done += len(some)
            tell(progress, done, total)
    return Recovery(ends[0], ends[1], tuple((one - ends[0]) / (ends[1] - ends[0]) for one in found))


def head_places(model: Pretrained) -> dict[str, list[Place]]:
    """Kind of attention -> every head of it, layer by layer."""
    config = model.config
    return {
        kind: [
            Place("head_outputs", scope(kind, layer).rstrip("."), head)
            for layer in range(layers_of(config, kind))
            for head in range(config.heads)
        ]
        for kind in KINDS
    }


def layer_places(model: Pretrained) -> dict[str, list[Place]]:
    """Kind of attention -> all heads of every layer together."""
    return {
        kind: [Place("head_outputs", scope(kind, layer).rstrip(".")) for layer in range(layers_of(model.config, kind))]
        for kind in KINDS
    }


def sub_layer_places(model: Pretrained, trace: Trace) -> dict[str, list[Place]]:
    """ "encoder" or "decoder" -> what every sub-layer adds to the residual stream at every token, in their order."""
    return _at_tokens(model, trace, "update", SUB_LAYERS)


def stream_places(model: Pretrained, trace: Trace) -> dict[str, list[Place]]:
    """ "encoder" or "decoder" -> the residual stream after every layer at every token, layer by layer."""
    return _at_tokens(model, trace, "leaves", dict.fromkeys(STACKS, ("ff",)))


def _at_tokens(
    model: Pretrained, trace: Trace, name: str, parts: Mapping[str, Sequence[str]]
) -> dict[str, list[Place]]:
    """A tensor of these parts of every layer at every token, by stack."""
    tokens = dict(zip(STACKS, (len(trace.source_ids), len(trace.target_in_ids)), strict=True))
    return {
        stack: [
            Place(name, f"{stack}.{layer}.{part}", token=token)
            for layer in range(layers_of(model.config, stack))
            for part in parts[stack]
            for token in range(tokens[stack])
        ]
        for stack in STACKS
    }
