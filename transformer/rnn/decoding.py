"""Greedy decoding with a recurrent model."""

import torch
from torch import Tensor

from transformer.inference.search import EXTRA_LENGTH, Hypothesis
from transformer.rnn.model import RecurrentModel


@torch.inference_mode()
def greedy(model: RecurrentModel, source: Tensor, limit: int | None = None) -> list[Hypothesis]:
    """The most probable token at every step, like `transformer.inference.search.greedy` for a Transformer.

    source: ids [batch, source] ending in </s>, padded. limit: largest number of tokens; in any case a row gets at
    most its length + 50 tokens (Vaswani et al. 2017, section 6.1) and at most the configuration's max_positions.
    """
    config = model.config
    real = source != config.pad_id
    most = min(config.max_positions, limit or config.max_positions)
    limits = (real.sum(1) + EXTRA_LENGTH).clamp(max=most)
    annotations = model.encode(source)
    keys, state = model.attention.key(annotations), model.begin(annotations)
    fed = torch.full((len(source),), config.start_id, device=source.device)
    written: list[list[int]] = [[] for _ in range(len(source))]
    scores: list[list[float]] = [[] for _ in range(len(source))]
    active = torch.arange(len(source), device=source.device)
    for length in range(1, int(limits.max()) + 1):
        step = model.step(model.embedding(fed), state, keys, annotations, real)
        log_probs = model.project(step.output).float().log_softmax(-1)
        candidates = log_probs.clone()
        candidates[:, config.pad_id] = candidates[:, config.start_id] = -torch.inf  # never targets
        fed, state = candidates.argmax(-1), step.state
        chosen = log_probs.gather(1, fed[:, None])[:, 0]
        for row, token, score in zip(active.tolist(), fed.tolist(), chosen.tolist(), strict=True):
            written[row].append(token)
            scores[row].append(score)
        going = (fed != config.end_id) & (limits[active] > length)
        if not going.any():
            break
        if not going.all():
            active, fed, state, keys, annotations, real = (
                tensor[going] for tensor in (active, fed, state, keys, annotations, real)
            )
    return [
        Hypothesis(tuple(ids), tuple(probs), ids[-1] == config.end_id)
        for ids, probs in zip(written, scores, strict=True)
    ]
