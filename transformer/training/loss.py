"""Label smoothing (section 5.4)."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor


def label_smoothed_loss(logits: Tensor, target: Tensor, smoothing: float) -> Tensor:
    """Cross-entropy against (1 - epsilon_ls) on the target plus epsilon_ls / vocab everywhere, in nats, summed.

    logits: [token, vocab]; target: [token], ids; smoothing: epsilon_ls. `fused_loss` computes the same faster.
    """
    log_probs = F.log_softmax(logits, -1)  # [token, vocab]
    of_target = log_probs.gather(1, target[:, None]).sum()
    return -(1 - smoothing) * of_target - smoothing * log_probs.mean(-1).sum()
