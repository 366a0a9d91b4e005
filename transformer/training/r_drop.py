"""Regularised dropout (R-Drop, Liang et al. 2021, equations 1 to 3): two passes of one batch that should agree."""

from torch import Tensor

from transformer.training.loss import smoothed_cross_entropy


def r_drop_loss(logits: Tensor, target: Tensor, smoothing: float, alpha: float) -> tuple[Tensor, Tensor]:
    """The mean smoothed loss of two passes, and how far their distributions are apart.

    (CE_1 + CE_2) / 2 + alpha / 4 * (KL(P_1 || P_2) + KL(P_2 || P_1)): half of the paper's equation 3, so that with
    alpha 0 the gradient is as large as that of one pass.

    logits: [2, token, vocab], of the same tokens under different dropout; target: [token], ids; smoothing: epsilon_ls
    of each cross-entropy. Returns (loss, plain negative log-likelihood, mean of both passes), in nats, summed over
    tokens; both carry gradients.
    """
    log_probs = logits.log_softmax(-1)  # [2, token, vocab]; 1 GB for 16,000 tokens: as few passes over it as possible
    probs = log_probs.exp()
    apart = ((probs[0] - probs[1]) * (log_probs[0] - log_probs[1])).sum()  # both divergences
    passes = [smoothed_cross_entropy(each, target, smoothing) for each in log_probs]
    smoothed, surprise = (sum(values) / 2 for values in zip(*passes, strict=True))
    return smoothed + alpha / 4 * apart, surprise
