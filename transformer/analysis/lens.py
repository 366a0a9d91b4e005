"""The logit lens: what the decoder would predict if it stopped after each layer (nostalgebraist 2020).

Also the final prediction: the candidates of each step, and the weights that the output projection shares (section 3.4).
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from transformer.analysis.residual import states
from transformer.model.transformer import Transformer
from transformer.short_repr import short_repr
from transformer.tracing.trace import Trace

BLOCK = 4096  # rows of a table to convert at once


@dataclass(frozen=True)
class Lens:
    """The predictions at layers + 1 points: before the first layer and after each layer.

    field          shape                 what it is
    -------------  --------------------  ------------------------------------------------------------------
    ids            [point, target, top]  the most probable tokens, in falling order
    probabilities  [point, target, top]  their probabilities
    final          [target]              ids[-1, :, 0], the model's final prediction
    probability    [point, target]       probability of `final` at every point
    rank           [point, target]       rank of `final`: 1 where it is the most probable
    echoes         [point, target]       True where the most probable token is the token fed in
    deviation      float                 largest |logits of the last point - trace.logits|
    """

    ids: Tensor
    probabilities: Tensor
    final: Tensor
    probability: Tensor
    rank: Tensor
    echoes: Tensor
    deviation: float

    __repr__ = short_repr

    @property
    def settled(self) -> Tensor:
        """The first point from which `final` stays the most probable to the end: [target], whole numbers."""
        led = (self.rank == 1).flip(0).cumprod(0)  # from the last point backwards
        return len(led) - led.sum(0)


@torch.inference_mode()
def logit_lens(trace: Trace, model: Transformer, top: int = 5) -> Lens:
    """Project the residual stream at every point onto the vocabulary, in the same way as after the last layer: through
    the final LayerNorm if there is one (norm="pre"), then with the rows of the embedding table. With residual=False
    there is no stream, so the output of each layer is projected, although no later layer adds to it.

    top: number of tokens to return, or fewer in a smaller vocabulary. Raises ValueError if it is below 1.
    """
    if top < 1:
        raise ValueError(f"top must be at least 1, but it is {top}")
    top = min(top, model.config.output_size)
    points, final, deviation = [], None, 0.0
    # One point at a time, the last first, in the shape of the pass, so that the last gives the bits of trace.logits.
    # For 128 tokens and 60,000 pieces the logits of a point take 30 MB; they are not kept.
    for x in reversed(states(trace, "decoder")):
        logits = model.project(model.decoder_norm(x[None].to(model.device)))[0].cpu()
        probabilities = logits.softmax(-1)
        best = probabilities.topk(top, dim=-1)
        if final is None:
            final, deviation = best.indices[:, 0], (logits - trace.logits).abs().max().item()
        chosen = final[:, None]
        rank = 1 + (logits > logits.gather(-1, chosen)).sum(-1)
        points.append((best.indices, best.values, probabilities.gather(-1, chosen)[:, 0], rank))
    assert final is not None
    ids, values, probability, ranks = (torch.stack(column[::-1]) for column in zip(*points, strict=True))
    return Lens(
        ids=ids,
        probabilities=values,
        final=final,
        probability=probability,
        rank=ranks,
        echoes=ids[..., 0] == torch.tensor(trace.target_in_ids),
        deviation=deviation,
    )


def candidates(trace: Trace, step: int, top: int = 8) -> tuple[Tensor, Tensor]:
    """The most probable tokens of a step (counted from 0) and their probabilities, in falling order: [top] ids, [top].

    Fewer in a smaller vocabulary. Raises ValueError for a step that the trace does not have.
    """
    if not 0 <= step < len(trace.logits):
        raise ValueError(f"there is no step {step}; choose 0 to {len(trace.logits) - 1}")
    best = trace.logits[step].softmax(-1).topk(min(top, trace.logits.shape[-1]))
    return best.indices, best.values


@dataclass(frozen=True)
class Sharing:
    """Whether input and output use the same table (section 3.4: "we share the same weight matrix").

    entering:   [d_model], the token's row in the decoder's embedding, before the factor sqrt(d_model)
    leaving:    [d_model], the token's row in the output projection: the gradient of its logit by the decoder's output
    difference: largest |entering - leaving|; exactly 0 if they are the same numbers
    deviation:  largest |decoder_output E^T - trace.logits|, with the product in float64 (plus the logits' bias, if the
                model has one): the rounding of the pass
    tables:     number of tables for source, target and output: 1 in the paper, 2 or 3 in models that share less
    saved:      parameters saved compared with three separate tables: 2 vocab d_model in the paper
    """

    entering: Tensor
    leaving: Tensor
    difference: float
    deviation: float
    tables: int
    saved: int

    __repr__ = short_repr


def sharing(trace: Trace, model: Transformer, token: int) -> Sharing:
    """Compare a token's row at the input with its row at the output, both as the model uses them.

    token: an id of the vocabulary; raises ValueError otherwise.
    """
    config = model.config
    if not 0 <= token < config.output_size:
        raise ValueError(f"there is no token id {token}; choose 0 to {config.output_size - 1}")
    entering = model.table("target")[token].detach()
    with torch.inference_mode(False), torch.enable_grad():
        hidden = torch.zeros(1, config.d_model, device=model.device, requires_grad=True)
        (leaving,) = torch.autograd.grad(model.project(hidden)[0, token], hidden)
    out = trace.decoder_output.double()
    # A block of the table at a time: 60,000 rows of 512 numbers would be 240 MB in float64.
    blocks = [out @ rows.double().cpu().T for rows in model.output_table.detach().split(BLOCK)]
    product = torch.cat(blocks, -1)
    if model.output_bias is not None:
        product += model.output_bias.detach().double().cpu()
    deviation = (product - trace.logits).abs().max().item()
    used = [model.table("source"), model.table("target"), model.output_table]
    distinct = {table.data_ptr(): table for table in used}.values()
    return Sharing(
        entering.cpu().clone(),  # not a view: it would keep the whole table
        leaving[0].cpu(),
        (entering - leaving[0]).abs().max().item(),
        deviation,
        len(distinct),
        sum(table.numel() for table in used) - sum(table.numel() for table in distinct),
    )
