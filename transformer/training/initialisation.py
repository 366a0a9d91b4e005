"""Initial weights other than the model's own."""

import torch

from transformer.model.transformer import Transformer


def shrink_branches(model: Transformer, gain: float) -> None:
    """Multiply the initial W^V, W^O and feed-forward matrices by gain, so that what a sub-layer adds begins small.

    DeepNet's beta (Wang et al. 2022, section 4). With post-norm and gain 1 the encoder's output says little of its
    tokens at first, and cross-attention stays flat for more than a thousand steps; see docs/training.md.
    """
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.dim() == 2 and any(part in name for part in (".value.", ".output.", "feed_forward.")):
                parameter.mul_(gain)
