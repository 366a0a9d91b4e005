"""Many models that are almost the same, over the same sentences: one pass of each for its loss, and for its greedy
translations where they are those of the first model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch

from transformer.inference.pretrained import Pretrained
from transformer.inference.search import greedy
from transformer.model.tap import FUSED
from transformer.text.batching import bucket, pad
from transformer.tracing.finite import check_numbers

Ids = tuple[int, ...]  # ending in </s>, unless cut off at the limit
BATCH = 500  # tokens of a batch in one pass: in one of all 100 probes, half of the positions are padding
DECODED = 3000  # tokens of a batch that is decoded: a step takes about as long for few rows as for many


@torch.inference_mode()
def forced(model: Pretrained, pairs: Sequence[tuple[Ids, Ids]]) -> dict[tuple[Ids, Ids], tuple[float, int]]:
    """Teacher forcing of sources and targets. Of each pair: the negative log-likelihood of the target in nats, and how
    many of its first tokens greedy search writes, too."""
    network, config = model.model, model.config
    found: dict[tuple[Ids, Ids], tuple[float, int]] = {}
    for rows in bucket([(len(source), len(target)) for source, target in pairs], BATCH, None):
        batch = [pairs[row] for row in rows]
        source = pad([source for source, _ in batch], config.pad_id).to(network.device)
        fed = pad([(config.start_id, *target[:-1]) for _, target in batch], config.pad_id).to(network.device)
        wanted = pad([target for _, target in batch], config.pad_id).to(network.device)
        real = wanted != config.pad_id
        log_probs = network.project(model.hidden(source, fed)[real]).float().log_softmax(-1)  # [token, vocab]
        nats = -log_probs.gather(1, wanted[real][:, None])[:, 0]
        log_probs[:, [config.pad_id, config.start_id]] = -torch.inf  # never written
        right = log_probs.argmax(-1) == wanted[real]
        lengths = [len(target) for _, target in batch]
        for pair, some, agree in zip(batch, nats.split(lengths), right.split(lengths), strict=True):
            found[pair] = float(some.sum()), int(agree.int().cumprod(0).sum())
    return found


@torch.inference_mode()
def outputs(model: Pretrained, begun: Mapping[Ids, Ids]) -> dict[Ids, Ids]:
    """The greedy translation of each source, which begins with these tokens. Raises NotFiniteError."""
    sources, found = list(begun), dict[Ids, Ids]()
    for rows in bucket([(len(source), len(source)) for source in sources], DECODED, None):
        batch = [sources[row] for row in rows]
        padded = pad(batch, model.config.pad_id).to(model.model.device)
        prefixes = [begun[source] for source in batch]
        written = greedy(model.model, padded, tap=FUSED, prefixes=prefixes, constraints=model.rule.constraints)
        for source, one in zip(batch, written, strict=True):
            check_numbers(torch.tensor(one.log_probs))
            found[source] = one.ids
    return found


def loss_and_outputs(
    model: Pretrained, references: Sequence[tuple[Ids, Ids]], drafts: Mapping[Ids, Ids]
) -> tuple[float, dict[Ids, Ids]]:
    """The loss of the references in nats per token, and the greedy translation of every source of the drafts.

    drafts: source -> the translation of almost the same model. One pass tells where the most probable token is another
    one; only from there on is a sentence decoded (the verification of speculative decoding, Leviathan et al. 2023, at
    temperature 0). Raises NotFiniteError.
    """
    found = forced(model, list({*references, *drafts.items()}))
    tokens = sum(len(target) for _, target in references)
    loss = sum(found[pair][0] for pair in references) / tokens
    # Without the causal mask, a token may depend on those after it; with constraints, the most probable one is not
    # always written.
    forced_alone = model.config.causal and not model.rule.constraints.before_the_limit
    right = {pair: found[pair][1] if forced_alone else 0 for pair in drafts.items()}
    again = {source: draft[: right[source, draft]] for source, draft in drafts.items()}
    changed = {source: begin for source, begin in again.items() if len(begin) < len(drafts[source])}
    return loss, {**drafts, **outputs(model, changed)}
