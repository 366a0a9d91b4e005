"""Rows of tables of positions, by plain loops and by the formula of section 3.5."""

import itertools
import math

import pytest
import torch

from transformer.analysis.positions import neighbour_cosines, row_norms
from transformer.model.positions import sinusoidal


def learned(length: int = 11, d_model: int = 6) -> torch.Tensor:
    return torch.randn(length, d_model, generator=torch.Generator().manual_seed(3))


def test_rows_of_any_table() -> None:
    table = learned()
    rows = table.tolist()
    assert row_norms(table).tolist() == pytest.approx([math.hypot(*row) for row in rows])
    expected = [
        sum(a * b for a, b in zip(one, two, strict=True)) / math.hypot(*one) / math.hypot(*two)
        for one, two in itertools.pairwise(rows)
    ]
    assert neighbour_cosines(table).tolist() == pytest.approx(expected)
    steady = neighbour_cosines(sinusoidal(40, 64))
    rates = [10000 ** (-2 * pair / 64) for pair in range(32)]
    assert (steady - 2 / 64 * sum(map(math.cos, rates))).abs().max() < 1e-6


def test_no_positions_have_no_direction() -> None:
    assert row_norms(torch.zeros(3, 4)).tolist() == [0, 0, 0]
    assert neighbour_cosines(torch.zeros(3, 4)).isnan().all()
