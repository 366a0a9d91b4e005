"""Leave-one-out, and passes without any tokens one likes."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from transformer.attribution.contributions import Contributions
from transformer.inference.pretrained import Pretrained
from transformer.interventions.edits import joined
from transformer.model.tap import Edit, EditingTap
from transformer.tracing.rerun import check_unedited
from transformer.tracing.trace import Trace

AT_ONCE = 64  # passes in one batch


def _hiding(hidden: Tensor) -> Edit:
    """hidden: bool [batch, key]. A query that would see nothing keeps its keys: the first row, of <s> itself."""

    def edit(mask: Tensor) -> Tensor:
        left = mask & ~hidden.to(mask.device)[:, None, None, :]
        return torch.where(left.any(-1, keepdim=True), left, mask)

    return edit


@torch.inference_mode()
def log_probs_without(model: Pretrained, trace: Trace, hidden: Tensor) -> Tensor:
    """ln p of the trace's output tokens with tokens hidden: no query attends to them, as with the switch `Hide`.

    hidden: bool [pass, source + target], the source's tokens first, then those fed in. Returns [pass, target], float64.
    A token's own residual stream stays, so hiding what a step is fed does not remove it from that step. Raises
    EditedError.
    """
    check_unedited(trace)
    network, sources = model.model, len(trace.source_ids)
    switches = model.edits(trace.interventions)
    found = []
    for rows in hidden.split(AT_ONCE):
        read, fed = _hiding(rows[:, :sources]), _hiding(rows[:, sources:])
        edits: dict[str, Edit] = {f"encoder.{layer}.self.mask": read for layer in range(len(network.encoder))}
        for layer in range(len(network.decoder)):
            edits |= {f"decoder.{layer}.cross.mask": read, f"decoder.{layer}.self.mask": fed}
        ids = (
            torch.tensor([one] * len(rows), device=network.device) for one in (trace.source_ids, trace.target_in_ids)
        )
        logits = network(*ids, EditingTap(joined(switches, edits)))
        wanted = torch.tensor(trace.target_out_ids, device=network.device).expand(len(rows), -1)
        found.append(logits.double().log_softmax(-1).gather(-1, wanted[..., None])[..., 0].cpu())
    return torch.cat(found)


def leave_one_out(model: Pretrained, trace: Trace) -> Contributions:
    """How far ln p of each output token falls if one token is hidden from all queries."""
    sources, targets = len(trace.source_ids), len(trace.target_in_ids)
    hidden = torch.cat((torch.zeros(1, sources + targets, dtype=torch.bool), torch.eye(sources + targets).bool()))
    found = log_probs_without(model, trace, hidden)
    falls = (found[0] - found[1:]).T  # [target, source + target]
    return Contributions(falls[:, :sources], falls[:, sources:], shares=False)


def after_removing(model: Pretrained, trace: Trace, step: int, orders: Sequence[Sequence[int]]) -> list[list[float]]:
    """Probability of one output token after removing none, the first, the first two, ... of the tokens of each order,
    which are columns of `Contributions.joined`."""
    width = len(trace.source_ids) + len(trace.target_in_ids)
    hidden = []
    for order in orders:
        rows = torch.zeros(len(order) + 1, width, dtype=torch.bool)
        for count, column in enumerate(order, start=1):
            rows[count:, column] = True
        hidden.append(rows)
    found = log_probs_without(model, trace, torch.cat(hidden))[:, step].exp()
    return [one.tolist() for one in found.split([len(rows) for rows in hidden])]
