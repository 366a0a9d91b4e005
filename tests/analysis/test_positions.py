"""Encodings of positions: against the paper's formula, plain loops, and the identities of rotations."""

from __future__ import annotations

import itertools
import math

import pytest
import torch

from transformer.analysis.positions import (
    LONGEST,
    SHORTEST,
    by_offset,
    dot_products,
    frequencies,
    neighbour_cosines,
    offset_product,
    row_norms,
    shift_error,
    shift_map,
    shifted,
    wavelengths,
)
from transformer.model.positions import sinusoidal

SIZES = (2, 6, 64, 512)
ROUNDING = 2.0**-24  # half a step of float32 below 1


def encoding(p: int, dimension: int, d_model: int) -> float:
    """Section 3.5, letter by letter, in Python's own 64-bit arithmetic."""
    angle = p / 10000 ** (2 * (dimension // 2) / d_model)
    return math.cos(angle) if dimension % 2 else math.sin(angle)


def learned(length: int = 11, d_model: int = 6) -> torch.Tensor:
    return torch.randn(length, d_model, generator=torch.Generator().manual_seed(3))


@pytest.mark.parametrize("d_model", SIZES)
def test_wavelengths_run_from_two_pi_towards_its_ten_thousandfold(d_model: int) -> None:
    found = wavelengths(d_model)
    assert found.shape == (d_model // 2,) and found.dtype == torch.float64
    assert found[0].item() == SHORTEST == 2 * math.pi and found[-1].item() < LONGEST
    assert found[-1].item() == pytest.approx(2 * math.pi * 10000 ** ((d_model - 2) / d_model), rel=1e-14)
    ratio = found[1:] / found[:-1]  # geometric
    assert torch.allclose(ratio, torch.full_like(ratio, 10000 ** (2 / d_model)), rtol=1e-12)
    assert (found.diff() > 0).all()
    # After a whole wavelength a sine begins again.
    assert ((found * frequencies(d_model)).sin().abs() < 1e-12).all()


@pytest.mark.parametrize("d_model", [-2, 0, 1, 7])
def test_an_odd_d_model_is_refused(d_model: int) -> None:
    for function in (frequencies, wavelengths):
        with pytest.raises(ValueError, match=f"d_model is {d_model}"):
            function(d_model)


@pytest.mark.parametrize("d_model", SIZES)
def test_sinusoidal_products_depend_on_the_offset_only(d_model: int) -> None:
    found = by_offset(dot_products(sinusoidal(200, d_model)))
    assert found.offsets.tolist() == list(range(-199, 200))
    assert found.largest_spread < 2 * d_model * ROUNDING
    assert (found.mean - offset_product(found.offsets, d_model)).abs().max() < d_model * ROUNDING
    assert torch.allclose(found.mean, found.mean.flip(0), atol=1e-12)  # an even function
    one = sum(math.cos(1 / 10000 ** (2 * i / d_model)) for i in range(d_model // 2))
    assert found.mean[200].item() == pytest.approx(one, abs=d_model * ROUNDING)


def test_learned_products_do_not() -> None:
    products = dot_products(learned())
    found = by_offset(products)
    assert found.largest_spread > 1
    for offset, mean, spread in zip(found.offsets.tolist(), found.mean, found.spread, strict=True):
        pairs = [products[p, q].item() for p in range(11) for q in range(11) if p - q == offset]
        assert mean.item() == pytest.approx(sum(pairs) / len(pairs)) and len(pairs) == 11 - abs(offset)
        assert spread.item() == pytest.approx(max(pairs) - min(pairs))
    assert found.spread[0] == found.spread[-1] == 0  # one pair each


def test_one_position_has_one_product() -> None:
    found = by_offset(dot_products(sinusoidal(1, 8)))
    assert (found.offsets.tolist(), found.mean.tolist(), found.largest_spread) == ([0], [4.0], 0.0)


@pytest.mark.parametrize("shape", [(2, 3), (0, 0), (4,)])
def test_products_must_be_square(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="square"):
        by_offset(torch.zeros(shape))


@pytest.mark.parametrize("d_model", SIZES)
def test_the_maps_are_a_group_of_rotations(d_model: int) -> None:
    unit = torch.eye(d_model, dtype=torch.float64)
    assert torch.equal(shift_map(0, d_model), unit)
    for a, b in ((1, 1), (3, 14), (-7, 100), (511, -511)):
        assert torch.allclose(shift_map(a, d_model) @ shift_map(b, d_model), shift_map(a + b, d_model), atol=1e-12)
    for k in (1, 17, 400):
        found = shift_map(k, d_model)
        assert torch.equal(shift_map(-k, d_model), found.T)
        assert torch.allclose(found @ found.T, unit, atol=1e-14)
        assert found.count_nonzero() <= 2 * d_model
        assert torch.equal(found[0::2, 0::2], found[1::2, 1::2])


@pytest.mark.parametrize(
    ("d_model", "k"), [(2, 0), (2, 511), (6, 1), (6, -64), (64, 100), (64, -1), (512, 5), (512, 511)]
)
def test_the_map_shifts_every_position(d_model: int, k: int) -> None:
    table = sinusoidal(512, d_model)
    assert shift_error(table, k) < 1e-5  # what the page promises
    assert shift_error(table, k) < 4 * ROUNDING  # and what it is: rounding of the table, twice
    there, mapped = shifted(table, k)
    start = max(0, -k)
    assert there.shape == mapped.shape == (512 - abs(k), d_model)
    for row in {0, (511 - abs(k)) // 2, 511 - abs(k)}:
        for dimension in {0, 1, d_model - 1}:
            expected = encoding(start + row + k, dimension, d_model)
            assert there[row, dimension].item() == pytest.approx(expected, abs=2 * ROUNDING)
            assert mapped[row, dimension].item() == pytest.approx(expected, abs=4 * ROUNDING)


def test_a_learned_table_is_not_shifted_by_it() -> None:
    assert shift_error(learned(), 1) > 0.5


@pytest.mark.parametrize("k", [11, -11, 4000])
def test_positions_must_lie_so_far_apart(k: int) -> None:
    with pytest.raises(ValueError, match=f"k is {k}; with 11 positions"):
        shift_error(learned(), k)


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
    assert (steady - 2 / 64 * frequencies(64).cos().sum()).abs().max() < 1e-6


def test_no_positions_have_no_direction() -> None:
    assert row_norms(torch.zeros(3, 4)).tolist() == [0, 0, 0]
    assert neighbour_cosines(torch.zeros(3, 4)).isnan().all()
