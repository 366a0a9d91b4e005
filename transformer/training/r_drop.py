"""Regularised dropout (R-Drop, Liang et al. 2021, equations 1 to 3): two passes of one batch that should agree."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor

from transformer.training.loss import label_smoothed_loss


def r_drop_loss(logits: Tensor, target: Tensor, smoothing: float, alpha: float) -> tuple[Tensor, Tensor]:
    """The mean smoothed loss of two passes, and how far their distributions are apart.

    (CE_1 + CE_2) / 2 + alpha / 4 * (KL(P_1 || P_2) + KL(P_2 || P_1)): half of the paper's equation 3, so that with
    alpha 0 the gradient is as large as that of one pass.

    logits: [2, token, vocab], of the same tokens under different dropout; target: [token], ids; smoothing: epsilon_ls
    of each cross-entropy. Returns (loss, plain negative log-likelihood, mean of both passes), in nats, summed over
    tokens; both carry gradients.
    """
    first, second = logits.log_softmax(-1)
    apart = F.kl_div(first, second, reduction="sum", log_target=True)
    apart = apart + F.kl_div(second, first, reduction="sum", log_target=True)
    smoothed = sum(label_smoothed_loss(each, target, smoothing) for each in logits) / 2
    surprise = (F.nll_loss(first, target, reduction="sum") + F.nll_loss(second, target, reduction="sum")) / 2
    return smoothed + alpha / 4 * apart, surprise
