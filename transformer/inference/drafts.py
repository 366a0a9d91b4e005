"""Greedy search from drafts: those of an almost equal model, or of the same one with 8 bits.

One pass with teacher forcing tells how many tokens of a draft greedy search writes, too, and which one it writes after
them; only from there on is the sentence drafted or decoded again (the verification of speculative decoding, Leviathan
et al. 2023, at temperature 0). So the tokens are those of greedy search, whatever the draft.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from transformer.inference.search import Hypothesis, Prefixes, greedy, output_limits
from transformer.model.config import ModelConfig
from transformer.model.tap import FUSED
from transformer.model.transformer import Transformer
from transformer.text.batching import bucket, pad

Ids = tuple[int, ...]  # ending in </s>, unless cut off at the limit
Draft = Callable[[Sequence[Ids], Sequence[Ids], int], Sequence[Ids]]  # of sources, their beginnings, the longest limit
BATCH = 500  # tokens of a batch in one pass: in one of all 100 probes, half of the positions are padding
ROUNDS = 3  # drafts of a sentence, each from the token on where the last one was wrong
# Of tokens whose log-probabilities are nearer than this, either may come first: passes over a token, over all of them
# and over a batch round differently, by at most 5e-6 in 5,000 translations of en-de.
TIE = 1e-4


@dataclass(frozen=True)
class Checked:
    """What a pass says of a draft.

    log_probs: natural log-probability of each of its tokens. written: what greedy search writes: the tokens that agree
    and the right one after them; only the given ones where another token is as probable, up to rounding.
    """

    log_probs: tuple[float, ...]
    written: Ids


@torch.inference_mode()
def judge(
    config: ModelConfig, logits: Tensor, drafts: Sequence[Ids], given: Sequence[int] | None = None
) -> list[Checked]:
    """What the logits of a pass over these drafts say of them, those of all their tokens: [token, vocab].

    given: how many of the first tokens of each are written anyway. Without the causal mask, where a token may depend on
    those after it, no others are.
    """
    log_probs = logits.float().log_softmax(-1)
    own = log_probs.gather(1, torch.tensor([[id] for draft in drafts for id in draft], device=logits.device))[:, 0]
    log_probs[:, config.unwritten] = -torch.inf
    (best, second), (tokens, _) = (column.unbind(-1) for column in log_probs.topk(2))
    lengths = [*map(len, drafts)]
    columns = ([*map(Tensor.tolist, part.split(lengths))] for part in (own, tokens, best - second > TIE))
    found = []
    for draft, begin, probs, right, clear in zip(drafts, given or [0] * len(drafts), *columns, strict=True):
        end = begin
        while end < len(draft) and right[end] == draft[end]:
            end += 1
        written = (*draft[:end], *right[end : end + 1])
        sure = config.causal and all(clear[begin : len(written)])  # not with NaN
        found.append(Checked(tuple(probs), written if sure else draft[:begin]))
    return found


@torch.inference_mode()
def check(model: Transformer, pairs: Sequence[tuple[Ids, Ids]], given: Sequence[int] | None = None) -> list[Checked]:
    """Teacher forcing of sources and drafts. given: as in `judge`."""
    config = model.config
    found: dict[int, Checked] = {}
    for rows in bucket([(len(source), len(draft)) for source, draft in pairs], BATCH, None):
        sources, drafts = zip(*(pairs[row] for row in rows), strict=True)
        source = pad(sources, config.pad_id).to(model.device)
        fed = pad([(config.start_id, *draft) for draft in drafts], config.pad_id).to(model.device)[:, :-1]
        real = torch.arange(fed.shape[1])[None] < torch.tensor([*map(len, drafts)])[:, None]
        hidden = model.decode(fed, model.encode(source, FUSED), source, FUSED)[real.to(model.device)]
        judged = judge(config, model.project(hidden), drafts, given and [given[row] for row in rows])
        found |= dict(zip(rows, judged, strict=True))
    return [found[row] for row in range(len(pairs))]


def one_pass_will_do(model: Transformer) -> bool:
    """Whether a pass over all tokens gives what steps give: a person's module, or a hook, may look ahead or count,
    except one that says that it `only_waits`."""
    ours = ("transformer.model.", "transformer.inference.", "torch.nn.")
    modules = list(model.modules())
    hooks = [hook for one in modules for hook in (*one._forward_hooks.values(), *one._forward_pre_hooks.values())]
    known = all(not module.training and type(module).__module__.startswith(ours) for module in modules)
    return model.config.causal and known and all(hasattr(hook, "only_waits") for hook in hooks)


def greedy_from_drafts(
    model: Transformer, draft: Draft, source: Tensor, limit: int | None = None, prefixes: Prefixes | None = None
) -> list[Hypothesis]:
    """`greedy` of a model for which `one_pass_will_do`: the same tokens, and their log-probabilities up to rounding.
    Arguments as there."""
    config, limits = model.config, output_limits(model, source, limit)
    sources = [tuple(id for id in row if id != config.pad_id) for row in source.tolist()]
    first = [*map(tuple, prefixes or [()] * len(sources))]
    begun, steps = dict(enumerate(first)), dict[int, Ids]()  # of the rows to draft, and of those to decode step by step
    found: dict[int, Hypothesis] = {}
    for _ in range(ROUNDS):
        if not begun:
            break
        drafts = draft([sources[row] for row in begun], [*begun.values()], max(limits[row] for row in begun))
        pairs = [(sources[row], ids[: limits[row]]) for row, ids in zip(begun, drafts, strict=True)]
        checks = check(model, pairs, [*map(len, begun.values())])
        for row, (_, ids), checked in zip([*begun], pairs, checks, strict=True):
            before = begun.pop(row)
            ended = ids[-1] == config.end_id
            if checked.written == ids and (ended or len(ids) == limits[row]):
                found[row] = Hypothesis(ids, checked.log_probs, ended)
            elif checked.written == before:
                steps[row] = first[row]
            else:
                begun[row] = checked.written
    if steps := steps | begun:
        rows = torch.tensor([*steps], device=source.device)
        again = greedy(model, source[rows], limit, tap=FUSED, prefixes=[*steps.values()])
        found |= dict(zip(steps, again, strict=True))
    return [found[row] for row in range(len(sources))]
