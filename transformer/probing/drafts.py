"""Many models that are almost the same, over the same sentences: one pass of each for its loss, and for its greedy
translations where they are those of the first model."""

from collections.abc import Mapping, Sequence

import torch

from transformer.inference.drafts import Ids, check
from transformer.inference.pretrained import Pretrained
from transformer.text.batching import bucket, pad
from transformer.tracing.finite import check_numbers

DECODED = 3000  # tokens of a batch that is decoded: a step takes about as long for few rows as for many


def outputs(model: Pretrained, begun: Mapping[Ids, Ids]) -> dict[Ids, Ids]:
    """The greedy translation of each source, which begins with these tokens. Raises NotFiniteError."""
    sources, found = list(begun), dict[Ids, Ids]()
    for rows in bucket([(len(source), len(source)) for source in sources], DECODED, None):
        batch = [sources[row] for row in rows]
        padded = pad(batch, model.config.pad_id).to(model.model.device)
        prefixes = [begun[source] for source in batch]
        for source, one in zip(batch, model.greedy(padded, prefixes=prefixes), strict=True):
            check_numbers(torch.tensor(one.log_probs))
            found[source] = one.ids
    return found


def loss_and_outputs(
    model: Pretrained, references: Sequence[tuple[Ids, Ids]], drafts: Mapping[Ids, Ids]
) -> tuple[float, dict[Ids, Ids]]:
    """The loss of the references in nats per token, and the greedy translation of every source of the drafts.

    drafts: source -> the translation of almost the same model. Only what differs from it is decoded
    (`inference.drafts`). Raises NotFiniteError.
    """
    pairs = [*{*references, *drafts.items()}]
    found = dict(zip(pairs, check(model.model, pairs), strict=True))
    tokens = sum(len(target) for _, target in references)
    loss = -sum(sum(found[pair].log_probs) for pair in references) / tokens
    rule, changed = model.rule.constraints, dict[Ids, Ids]()
    for source, draft in drafts.items():
        written = found[source, draft].written
        if rule.before_the_limit:  # the most probable token is not always written
            changed[source] = ()
        elif written != draft:
            changed[source] = written if rule.last is None else written[:-1]  # at the limit another one is written
    return loss, {**drafts, **outputs(model, changed)}
