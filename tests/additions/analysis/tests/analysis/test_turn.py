"""How far the encoder turns the vector of each token."""

from functools import partial

import numpy as np
import pytest

from tests.support.build import tiny_pretrained
from transformer.analysis.turn import turned
from transformer.figures.turn import turned_bars

FIGURES = [partial(turned_bars, ("¤<b>x", "¤b"), np.array([0.5, -1.0]))]  # for tests/figures/test_every_figure.py


def test_the_cosine_of_a_token_by_hand() -> None:
    trace = tiny_pretrained().trace("ka lo mi", "re sta")
    before, after = trace.encoder_self.enters[0, 1].double(), trace.encoder_output[1].double()
    assert float(turned(trace)[1]) == pytest.approx(float(before @ after / (before.norm() * after.norm())))
