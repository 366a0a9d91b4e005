"""Head outputs of other sentences, without switches, for mean and resample ablation."""

import random
from collections.abc import Sequence

import torch
from torch import Tensor

from transformer.interventions.switch import HeadOutputs
from transformer.model.tap import KINDS
from transformer.model.transformer import Transformer

Ids = tuple[Sequence[int], Sequence[int]]  # source and target, both without </s>
KEEP = tuple(f"{kind}.head_outputs" for kind in KINDS)
BATCH_TOKENS = 1000


def mean_outputs(model: Transformer, pairs: Sequence[Ids]) -> HeadOutputs:
    """The mean output of every head over all rows of all pairs: [head, 1, d_head]. Rows are source tokens with </s>, or
    the tokens fed in; padding does not count."""
    from transformer.text.batching import bucket  # imports numpy; here it keeps `transformer.load` fast
    from transformer.tracing.batch import trace_batch

    sums, rows = dict.fromkeys(KINDS, torch.tensor(0.0)), dict.fromkeys(KINDS, 0)
    for batch in bucket([(len(source) + 1, len(target) + 1) for source, target in pairs], BATCH_TOKENS, None):
        for kept in trace_batch(model, [pairs[row] for row in batch], KEEP):
            for kind in KINDS:
                outputs = kept[f"{kind}.head_outputs"]  # [layer, head, row, d_head]
                sums[kind] = sums[kind] + outputs.double().sum(2, keepdim=True)
                rows[kind] += outputs.shape[2]
    return _by_layer({kind: (sums[kind] / rows[kind]).float() for kind in KINDS})


def sentence_outputs(model: Transformer, pair: Ids) -> HeadOutputs:
    """Every head's output for one pair: [head, row, d_head]."""
    from transformer.tracing.batch import trace_batch

    (kept,) = trace_batch(model, [pair], KEEP)
    return _by_layer({kind: kept[f"{kind}.head_outputs"] for kind in KINDS})


def _by_layer(outputs: dict[str, Tensor]) -> HeadOutputs:
    with torch.inference_mode(False):  # ordinary tensors, so that passes with gradients may use them
        whole = {kind: tensor.clone() for kind, tensor in outputs.items()}
        return {(kind, layer): tensor[layer] for kind, tensor in whole.items() for layer in range(len(tensor))}


def drawn(pairs: Sequence[tuple[str, str]], seed: int) -> tuple[str, str]:
    """The pair that a seed draws, the same on every machine."""
    return pairs[random.Random(seed).randrange(len(pairs))]
