"""A recording of a training, made up."""

import numpy as np

from tests.support.build import tiny_pretrained
from transformer.tracing.trace import KINDS
from transformer.training.recording import Recording

PAIRS = (("ka lo", "nu re"), ("mi", "ta vu"))


def made_recording(steps: tuple[int, ...] = (0, 3, 20), pairs: tuple[tuple[str, str], ...] = PAIRS) -> Recording:
    """A recording of the tiny model, with weights drawn anew for every state."""
    rng = np.random.default_rng(3)
    traces = [tiny_pretrained().trace(*pair) for pair in pairs]
    weights = {}
    for kind in KINDS:
        shapes = [(len(steps), *trace.attention(kind).weights.shape) for trace in traces]
        weights[kind] = tuple(rng.integers(0, 256, shape, dtype=np.uint8) for shape in shapes)
    texts = tuple(tuple(f"state {step} of {source}" for source, _ in pairs) for step in steps)
    return Recording(steps, pairs, weights, texts, tuple({"loss": 9.0 - n, "bleu": 2.0 * n} for n in range(len(steps))))
