"""`label_smoothed_loss` over a large vocabulary, with the output projection, without keeping its logits."""

from typing import Any

import torch
from torch import Tensor

ROWS = 256  # of logits at a time: 256 x 8,000 float32 are 8 MB and stay in the processor's cache
ON_A_GPU = 32_768  # rows: few large products instead


class _SmoothedCrossEntropy(torch.autograd.Function):
    """Projection to the vocabulary, softmax, loss and gradient in one function, a few rows at a time, so that the
    [token, vocab] matrix is never in memory."""

    @staticmethod
    def forward(
        ctx: Any, hidden: Tensor, embedding: Tensor, target: Tensor, smoothing: float, dtype: torch.dtype
    ) -> tuple[Tensor, Tensor]:
        count, vocab = hidden.shape[0], embedding.shape[0]
        narrow, matrix = hidden.detach().to(dtype), embedding.detach().to(dtype)
        grad_hidden = torch.empty_like(narrow)
        grad_embedding = torch.zeros_like(embedding, dtype=torch.float32)
        loss = hidden.new_zeros((), dtype=torch.float32)
        surprise = hidden.new_zeros((), dtype=torch.float32)
        size = ROWS if hidden.device.type == "cpu" else ON_A_GPU
        for start in range(0, count, size):
            rows, wanted = narrow[start : start + size], target[start : start + size, None]
            logits = (rows @ matrix.T).float()
            total = logits.logsumexp(-1, keepdim=True)
            chosen = (total - logits.gather(1, wanted)).sum()
            surprise += chosen
            loss += (1 - smoothing) * chosen + smoothing * (total.sum() - logits.mean(-1).sum())
            grad = logits.sub_(total).exp_().sub_(smoothing / vocab)  # softmax minus the smoothed target
            grad.scatter_add_(1, wanted, grad.new_full(wanted.shape, smoothing - 1))
            grad = grad.to(dtype)
            torch.mm(grad, matrix, out=grad_hidden[start : start + size])
            grad_embedding += grad.T @ rows
        ctx.save_for_backward(grad_hidden, grad_embedding)
        ctx.mark_non_differentiable(surprise)
        return loss, surprise

    @staticmethod
    def backward(ctx: Any, grad_loss: Tensor, _: Tensor) -> tuple[Tensor, Tensor, None, None, None]:
        grad_hidden, grad_embedding = ctx.saved_tensors
        return grad_hidden.float() * grad_loss, grad_embedding * grad_loss, None, None, None


def fused_label_smoothed_loss(
    hidden: Tensor, embedding: Tensor, target: Tensor, smoothing: float, dtype: torch.dtype = torch.float32
) -> tuple[Tensor, Tensor]:
    """Summed loss of predicting `target` from `hidden` with the tied output projection; equal to
    `label_smoothed_loss(hidden @ embedding.T, target, smoothing)` up to rounding.

    hidden: [token, d_model]; embedding: [vocab, d_model]; target: [token], ids.
    smoothing: epsilon_ls; the wanted distribution is (1 - epsilon) on the target plus epsilon / vocab everywhere.
    dtype: of the matrix products; sums and softmax are float32.
    Returns (smoothed loss, plain negative log-likelihood), both in nats, summed over tokens; the first carries
    gradients.
    """
    return _SmoothedCrossEntropy.apply(hidden, embedding, target, smoothing, dtype)
