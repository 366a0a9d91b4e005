"""The logit lens: what the decoder would say if it stopped after each layer (nostalgebraist 2020).

And the last layer, where it says it: candidates of every step and the weights the projection shares (section 3.4).
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from transformer.analysis.residual import states
from transformer.model.transformer import Transformer
from transformer.tracing.trace import Trace

BLOCK = 4096  # rows of a table that are converted at once


@dataclass(frozen=True)
class Lens:
    """Places are before the first layer and after each, layers + 1 in all; `final` is the likeliest token at the last.

    field          shape                 what it is
    -------------  --------------------  ------------------------------------------------------------------
    ids            [place, target, top]  the likeliest tokens, likeliest first
    probabilities  [place, target, top]  of each
    final          [target]              ids[-1, :, 0], what the model predicts in the end
    probability    [place, target]       of `final`, at every place
    rank           [place, target]       of `final`: 1 where it is the likeliest
    echoes         [place, target]       True where the likeliest is the token that was fed
    deviation      float                 largest |logits of the last place - trace.logits|
    """

    ids: Tensor
    probabilities: Tensor
    final: Tensor
    probability: Tensor
    rank: Tensor
    echoes: Tensor
    deviation: float

    @property
    def settled(self) -> Tensor:
        """The first place from which on `final` stays the likeliest to the end: [target], whole numbers."""
        led = (self.rank == 1).flip(0).cumprod(0)  # from the last place backwards
        return len(led) - led.sum(0)


@torch.inference_mode()
def logit_lens(trace: Trace, model: Transformer, top: int = 5) -> Lens:
    """Project the residual stream at every place onto the vocabulary, as the last layer's is: through the final
    LayerNorm where there is one (norm="pre"), then with the rows of the embedding table. With residual=False there is
    no stream: what leaves each layer is projected, though no later layer adds to it.

    top: how many tokens are kept, or the whole vocabulary if it has fewer. Raises ValueError if it is below 1.
    """
    if top < 1:
        raise ValueError(f"top is {top}; at least one token is needed")
    top = min(top, model.config.output_size)
    found, final, deviation = [], None, 0.0
    # One place at a time, the last first, in the shape of the pass itself: that one is trace.logits to the last bit.
    # Of 128 tokens and 60,000 words each takes 30 MB, which is not kept.
    for x in reversed(states(trace, "decoder")):
        logits = model.project(model.decoder_norm(x[None].to(model.device)))[0].cpu()
        probabilities = logits.softmax(-1)
        best = probabilities.topk(top, dim=-1)
        if final is None:
            final, deviation = best.indices[:, 0], (logits - trace.logits).abs().max().item()
        chosen = final[:, None]
        rank = 1 + (logits > logits.gather(-1, chosen)).sum(-1)
        found.append((best.indices, best.values, probabilities.gather(-1, chosen)[:, 0], rank))
    assert final is not None
    ids, values, probability, ranks = (torch.stack(one[::-1]) for one in zip(*found, strict=True))
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
    """The likeliest tokens of a step (counted from 0) and their probabilities, likeliest first: [top] ids, [top].

    Fewer if the vocabulary has fewer. Raises ValueError for a step the trace has not.
    """
    if not 0 <= step < len(trace.logits):
        raise ValueError(f"there is no step {step}; the trace has {len(trace.logits)}, counted from 0")
    best = trace.logits[step].softmax(-1).topk(min(top, trace.logits.shape[-1]))
    return best.indices, best.values


@dataclass(frozen=True)
class Sharing:
    """Whether one table serves as input and as output (section 3.4: "we share the same weight matrix").

    entering:   [d_model], what the decoder's embedding looks up for a token, before the factor sqrt(d_model)
    leaving:    [d_model], the row its logit is made with: the gradient of the logit by the decoder's output
    difference: largest |entering - leaving|; 0 exactly if they are the same numbers
    deviation:  largest |decoder_output E^T - trace.logits|, the product in float64 (and with a bias on each logit, if
                the model has them): the rounding of the pass
    tables:     how many there are for source, target and output: 1 in the paper, 2 or 3 in models that share less
    saved:      parameters that a table each would have beyond those: 2 vocab d_model in the paper's
    """

    entering: Tensor
    leaving: Tensor
    difference: float
    deviation: float
    tables: int
    saved: int


def sharing(trace: Trace, model: Transformer, token: int) -> Sharing:
    """Compare a token's row at the input with its row at the output, both as the model uses them.

    token: an id of the vocabulary. Raises ValueError for any other.
    """
    config = model.config
    if not 0 <= token < config.output_size:
        raise ValueError(f"there is no token {token}; ids go from 0 to {config.output_size - 1}")
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
    needed = [model.table("source"), model.table("target"), model.output_table]
    kept = {one.data_ptr(): one for one in needed}.values()
    return Sharing(
        entering.cpu().clone(),  # not a view: it would keep the whole table
        leaving[0].cpu(),
        (entering - leaving[0]).abs().max().item(),
        deviation,
        len(kept),
        sum(one.numel() for one in needed) - sum(one.numel() for one in kept),
    )
