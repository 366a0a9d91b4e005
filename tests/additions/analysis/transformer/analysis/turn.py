"""How far the encoder turns the vector of each token."""

import torch.nn.functional as F
from torch import Tensor

from transformer.tracing.trace import Trace


def turned(trace: Trace) -> Tensor:
    """The cosine between the vector of a source token before the encoder and after it: [token], float64."""
    return F.cosine_similarity(trace.encoder_self.enters[0].double(), trace.encoder_output.double(), dim=-1)
