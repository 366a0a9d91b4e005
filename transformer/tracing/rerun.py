"""What runs the pass of a trace again, or a part of it, knows its switches, but not the functions that edited it."""

from collections.abc import Sequence

import torch
from torch import Tensor

from transformer.checks import expect
from transformer.model.masks import causal_mask, padding_mask, real_tokens
from transformer.model.positions import RelativeBias
from transformer.model.tap import AnyTap
from transformer.model.transformer import Transformer
from transformer.texts import Text, UserError
from transformer.tracing.trace import Trace


class EditedError(UserError):
    """A trace that functions edited, where a pass without them would be measured."""


def check_unedited(trace: Trace) -> None:
    """Raises EditedError if a function edited the trace (`edits=`, `patch`)."""
    if trace.edits:
        raise EditedError(
            "a function edited {tensor} in this trace, and this runs the model again without it; use a trace without "
            "edits, or a switch in place of the function",
            tensor=trace.edits[0],
        )


def check_steps(trace: Trace, steps: Sequence[int]) -> None:
    """Raises UserError for a step that the trace does not have, WrongTypeError for what is no list of steps."""
    expect(steps, (list, tuple, range), "steps", Text("a list of rows, such as [1]"))
    for step in steps:
        expect(step, int, Text("a step"), Text("a whole number"))
        if not 0 <= step < len(trace.target_in_ids):
            raise UserError("there is no step {step}; this trace has {count}, counted from 0; choose one of these",
                            step=step, count=len(trace.target_in_ids))  # fmt: skip


def decoder_rows(trace: Trace, step: int | None = None) -> int:
    """How many rows of the decoder decide about a step, or all steps: without switches, no later one in a causal
    model."""
    return step + 1 if step is not None and trace.causal and not trace.interventions else len(trace.target_in_ids)


def masks_of(network: Transformer, trace: Trace, rows: int | None = None) -> tuple[Tensor, Tensor]:
    """The masks of the source and of the decoder's first rows, as the layers take them, before switches."""
    read, fed = (torch.tensor([ids], device=network.device) for ids in (trace.source_ids, trace.target_in_ids[:rows]))
    own = real_tokens(fed, network.config.pad_id)[:, None, None, :]
    if network.config.causal:
        own = own & causal_mask(fed.shape[1], network.device)
    return padding_mask(read, network.config.pad_id), own


def bias_of(table: RelativeBias | None, tokens: int) -> Tensor | None:
    """What relative positions add to the scores of a stack, as its layers take it, before switches."""
    return None if table is None else table(tokens, tokens)


def outputs_from(
    network: Transformer, trace: Trace, stack: str, layer: int, passes: int, rows: int, tap: AnyTap
) -> Tensor:
    """The decoder's output in passes that leave the trace's way in one layer of a stack, where `tap` edits them: what
    comes before is taken from the trace. rows: of the decoder, from its first. Returns [pass, row, d_model]."""
    source_mask, own_mask = masks_of(network, trace, rows)

    def start(tensor: Tensor) -> Tensor:
        return tensor.to(network.device).expand(passes, -1, -1)

    at, memory, first = tap.at("encoder"), start(trace.encoder_output), layer
    if stack == "encoder":
        x, first = start(trace.encoder_self.enters[layer]), 0
        bias = bias_of(network.encoder_bias, x.shape[1])
        for index in range(layer, len(network.encoder)):
            x = network.encoder[index](x, source_mask, at.at(str(index)), bias)
        memory = at("output", network.encoder_norm(x))
    at, x = tap.at("decoder"), start(trace.decoder_self.enters[first, :rows])
    bias = bias_of(network.decoder_bias, x.shape[1])
    for index in range(first, len(network.decoder)):
        x = network.decoder[index](x, memory, own_mask, source_mask, at.at(str(index)), None, bias)
    return at("output", network.decoder_norm(x))
