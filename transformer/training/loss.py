"""Label smoothing (section 5.4)."""

import torch.nn.functional as F
from torch import Tensor


def smoothed_cross_entropy(log_probs: Tensor, target: Tensor, smoothing: float) -> tuple[Tensor, Tensor]:
    """Cross-entropy against (1 - epsilon_ls) on the target plus epsilon_ls / vocab everywhere.

    log_probs: [token, vocab], natural logarithms; target: [token], ids; smoothing: epsilon_ls. Returns (loss, plain
    negative log-likelihood), in nats, summed.
    """
    surprise = -log_probs.gather(1, target[:, None]).sum()
    return (1 - smoothing) * surprise - smoothing * log_probs.mean(-1).sum(), surprise


def label_smoothed_loss(logits: Tensor, target: Tensor, smoothing: float) -> Tensor:
    """The loss of `smoothed_cross_entropy`, from logits [token, vocab]. `fused_loss` computes the same faster."""
    return smoothed_cross_entropy(F.log_softmax(logits, -1), target, smoothing)[0]
