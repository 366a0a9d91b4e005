"""Label smoothing (section 5.4) for one prediction: the target distribution, the loss and its gradient."""

import math
from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True)
class Smoothed:
    """targets: wanted probabilities [vocab], 1 - epsilon + epsilon / vocab for the right token and epsilon / vocab for
    every other. loss: cross-entropy against them, in nats. least: the smallest that any prediction can reach. gradient:
    of the loss with respect to the logits, [vocab]: the predicted minus the wanted probabilities."""

    targets: Tensor
    loss: float
    least: float
    gradient: Tensor


def smooth(logits: Tensor, right: int, epsilon: float) -> Smoothed:
    """logits: [vocab], of one step; right: id of the right token; epsilon: epsilon_ls, 0 to 1."""
    log_probs = logits.double().log_softmax(-1)
    vocab = log_probs.shape[-1]
    targets = log_probs.new_full((vocab,), epsilon / vocab)
    targets[right] += 1 - epsilon
    loss = -(targets * log_probs).nan_to_num(0).sum().item()
    wanted = ((1, targets[right].item()), (vocab - 1, epsilon / vocab))
    least = sum(count * p * -math.log(p) for count, p in wanted if 0 < p < 1)
    return Smoothed(targets, loss, least, log_probs.exp() - targets)
