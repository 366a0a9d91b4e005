"""LayerNorm and RMSNorm as one formula: gamma (v - mean) / deviation + beta, where RMSNorm has mean 0 and beta 0."""

import torch
from torch import Tensor, nn

Norm = nn.LayerNorm | nn.RMSNorm


def scales(norm: Norm) -> tuple[Tensor, Tensor]:
    """gamma and beta, [d_model] each, float64, on the CPU."""
    gamma = norm.weight.detach().double().cpu()
    return gamma, torch.zeros_like(gamma) if isinstance(norm, nn.RMSNorm) else norm.bias.detach().double().cpu()


def centre(norm: Norm, x: Tensor) -> Tensor:
    """What the norm subtracts from a row: its mean, or 0. x: [..., d_model]; returns [..., 1]."""
    mean = x.mean(-1, keepdim=True)
    return torch.zeros_like(mean) if isinstance(norm, nn.RMSNorm) else mean


def deviation(norm: Norm, x: Tensor) -> Tensor:
    """What the norm divides a row by: sqrt(variance + epsilon), for RMSNorm sqrt(mean square + epsilon); [..., 1]."""
    assert norm.eps is not None
    return ((x - centre(norm, x)).square().mean(-1, keepdim=True) + norm.eps).sqrt()
