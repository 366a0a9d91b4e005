"""Leave-one-out, and passes without any tokens one likes."""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from transformer.attribution.contributions import Contributions
from transformer.cancellation import Progress, tell
from transformer.inference.pretrained import Pretrained
from transformer.interventions.edits import joined
from transformer.model.tap import Edit, EditingTap
from transformer.tracing.rerun import check_unedited, decoder_rows
from transformer.tracing.trace import Trace

AT_ONCE = 64  # passes in one batch


def _hiding(hidden: Tensor) -> Edit:
    """hidden: bool [batch, key]. A query that would see nothing keeps its keys: the first row, of <s> itself."""

    def edit(mask: Tensor) -> Tensor:
        left = mask & ~hidden.to(mask.device)[:, None, None, :]
        return torch.where(left.any(-1, keepdim=True), left, mask)

    return edit


@torch.inference_mode()
def log_probs_without(
    model: Pretrained,
    trace: Trace,
    hidden: Tensor,
    step: int | None = None,
    progress: Progress = lambda done, total: True,
    contrast: int | None = None,
) -> Tensor:
    """ln p of the trace's output tokens with tokens hidden: no query attends to them, as with the switch `Hide`.

    hidden: bool [pass, source + target], the source's tokens first, then those fed in. step: of one output token alone.
    Returns [pass, target], or [pass, 1]; float64. Equal passes run once, and those that hide the same of the source
    share an encoder pass. A token's own residual stream stays, so hiding what a step is fed does not remove it from
    that step. contrast: id of another token, whose ln p is taken away. progress: called with (passes done, all) after
    each batch; False stops (Stopped). Raises EditedError.
    """
    check_unedited(trace)
    network, sources = model.model, len(trace.source_ids)
    switches = model.edits(trace.interventions)
    rows = decoder_rows(trace, step)
    steps = range(rows) if step is None else [step]
    wanted = torch.tensor([trace.target_out_ids[one] for one in steps], device=network.device)
    source, fed = (torch.tensor(ids, device=network.device) for ids in (trace.source_ids, trace.target_in_ids[:rows]))

    def tap(stack: str, kinds: Mapping[str, Tensor]) -> EditingTap:
        layers = range(len(getattr(network, stack)))
        hiding = {f"{stack}.{layer}.{kind}.mask": _hiding(one) for layer in layers for kind, one in kinds.items()}
        return EditingTap(joined(switches, hiding))

    different, same = hidden[:, : sources + rows].unique(dim=0, return_inverse=True)  # sorted: by the source first
    found = []
    for some in different.split(AT_ONCE):
        count = len(some)
        read, of = some[:, :sources].unique(dim=0, return_inverse=True)
        memory = network.encode(source.expand(len(read), -1), tap("encoder", {"self": read}))[of]
        masks = {"self": some[:, sources:], "cross": some[:, :sources]}
        outputs = network.decode(fed.expand(count, -1), memory, source.expand(count, -1), tap("decoder", masks))
        log_probs = network.project(outputs[:, steps]).double().log_softmax(-1)
        of_outputs = log_probs.gather(-1, wanted.expand(count, -1)[..., None])[..., 0]
        found.append((of_outputs if contrast is None else of_outputs - log_probs[..., contrast]).cpu())
        tell(progress, min(len(found) * AT_ONCE, len(different)), len(different))
    return torch.cat(found)[same]


def leave_one_out(
    model: Pretrained,
    trace: Trace,
    progress: Progress = lambda done, total: True,
    contrast: int | None = None,
) -> Contributions:
    """How far ln p of each output token falls if one token is hidden from all queries. progress, contrast: as above."""
    sources, targets = len(trace.source_ids), len(trace.target_in_ids)
    hidden = torch.cat((torch.zeros(1, sources + targets, dtype=torch.bool), torch.eye(sources + targets).bool()))
    found = log_probs_without(model, trace, hidden, progress=progress, contrast=contrast)
    falls = (found[0] - found[1:]).T  # [target, source + target]
    return Contributions(falls[:, :sources], falls[:, sources:], shares=False)


def after_removing(
    model: Pretrained,
    trace: Trace,
    step: int,
    orders: Sequence[Sequence[int]],
    progress: Progress = lambda done, total: True,
) -> list[list[float]]:
    """Probability of one output token after removing none, the first, the first two, ... of the tokens of each order,
    which are columns of `Contributions.joined`. progress: as for `log_probs_without`."""
    width = len(trace.source_ids) + len(trace.target_in_ids)
    hidden = []
    for order in orders:
        rows = torch.zeros(len(order) + 1, width, dtype=torch.bool)
        for count, column in enumerate(order, start=1):
            rows[count:, column] = True
        hidden.append(rows)
    found = log_probs_without(model, trace, torch.cat(hidden), step, progress)[:, 0].exp()
    return [one.tolist() for one in found.split([len(rows) for rows in hidden])]
