"""A random recurrent model."""

from typing import Any

import torch

from transformer.rnn import RecurrentConfig, RecurrentModel

M, N, ALIGN, VOCAB = 7, 5, 11, 41


def model(seed: int = 1, **changes: Any) -> RecurrentModel:
    """A random model in eval mode, its biases off 0, its axes all different."""
    sizes = {"vocab_size": VOCAB, "d_embedding": M, "d_state": N, "d_align": ALIGN, **changes}
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        found = RecurrentModel(RecurrentConfig(**sizes))
        with torch.no_grad():
            for parameter in found.parameters():
                parameter += 0.3 * torch.randn_like(parameter)
    return found.requires_grad_(False).eval()
