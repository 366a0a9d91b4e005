"""Dropout (section 5.4) on a trained model: how far attention and predictions scatter from pass to pass."""

import copy
import dataclasses
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from transformer.inference.pretrained import Pretrained
from transformer.model.tap import KINDS, Tap, scope
from transformer.model.transformer import Transformer
from transformer.tracing.trace import Trace


@dataclass(frozen=True)
class Scatter:
    """Several passes of the tokens of a trace with dropout on.

    mean, deviation: kind of attention -> [layer, head, query, key], over the passes; the deviation is the standard
    deviation, 0 with a single pass. probabilities: [pass, target], of the trace's target tokens. plain: [target], the
    same without dropout.
    """

    mean: dict[str, Tensor]
    deviation: dict[str, Tensor]
    probabilities: Tensor
    plain: Tensor


def training_copy(model: Transformer, probability: float) -> Transformer:
    """The same parameters, not copied, in a model that drops out with this probability, as in training.

    A second model is not built: without memory of its own it would make torch import its compiler, a second of work.
    """
    copied = copy.deepcopy(model, {id(tensor): tensor for tensor in (*model.parameters(), *model.buffers())})
    copied.config = dataclasses.replace(model.config, dropout=probability)
    for module in copied.modules():
        if isinstance(module, nn.Dropout):
            module.p = probability
    return copied.train()


@torch.inference_mode()
def dropout_passes(model: Pretrained, trace: Trace, probability: float, passes: int, seed: int = 0) -> Scatter:
    """Passes of one sentence pair with dropout, in one batch. probability: P_drop; the same seed gives the same."""
    source = torch.tensor([trace.source_ids] * passes, device=model.model.device)
    fed = torch.tensor([trace.target_in_ids] * passes, device=model.model.device)
    tap = Tap()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        logits = training_copy(model.model, probability)(source, fed, tap)
    wanted = torch.tensor(trace.target_out_ids, device=logits.device).expand(passes, -1)
    probabilities = logits.double().softmax(-1).gather(-1, wanted[..., None])[..., 0]
    mean, deviation = {}, {}
    for kind in KINDS:
        weights = torch.stack(
            [tap.records[f"{scope(kind, layer)}weights"] for layer in range(trace.attention(kind).layers)]
        )  # [layer, pass, head, query, key]
        mean[kind] = weights.mean(1)
        deviation[kind] = weights.std(1) if passes > 1 else torch.zeros_like(mean[kind])
    return Scatter(mean, deviation, probabilities, trace.probabilities)
