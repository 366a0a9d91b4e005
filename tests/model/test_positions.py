import math

import pytest
import torch

from transformer.model.positions import LearnedPositions, SinusoidalPositions, sinusoidal

LENGTH, D_MODEL = 97, 26


def test_first_numbers_by_hand():
    table = sinusoidal(2, 4)  # frequencies 1 and 1/100
    assert table[0].tolist() == [0, 1, 0, 1]
    assert table[1].tolist() == pytest.approx([0.8414710, 0.5403023, 0.0099998, 0.9999500], abs=1e-7)


def test_formula_of_section_3_5_in_float64():
    table = sinusoidal(LENGTH, D_MODEL)
    assert table.shape == (LENGTH, D_MODEL) and table.dtype == torch.float32
    for position in range(LENGTH):
        for i in range(D_MODEL // 2):
            angle = position / 10000 ** (2 * i / D_MODEL)
            assert table[position, 2 * i].item() == pytest.approx(math.sin(angle), abs=1e-7)
            assert table[position, 2 * i + 1].item() == pytest.approx(math.cos(angle), abs=1e-7)


def test_far_positions_keep_their_precision():
    # In float32 the angle itself would be off by 1e-3 here.
    assert sinusoidal(16_384, 2)[16_383, 0].item() == pytest.approx(math.sin(16_383), abs=1e-7)


@pytest.mark.parametrize("offset", [1, 5, 29])
def test_an_offset_is_a_rotation(offset):
    """PE(p + k) = M_k PE(p) with one M_k for all p, the reason section 3.5 gives for sines."""
    table = sinusoidal(LENGTH, D_MODEL).double()
    rotation = torch.zeros(D_MODEL, D_MODEL, dtype=torch.float64)
    for i in range(0, D_MODEL, 2):
        angle = offset / 10000 ** (i / D_MODEL)
        cos, sin = math.cos(angle), math.sin(angle)
        rotation[i : i + 2, i : i + 2] = torch.tensor([[cos, sin], [-sin, cos]], dtype=torch.float64)
    torch.testing.assert_close(table[offset:], table[:-offset] @ rotation.T, rtol=0, atol=3e-7)


@pytest.mark.parametrize("make", [SinusoidalPositions, LearnedPositions])
def test_any_positions_in_any_order(make):
    positions = make(LENGTH, D_MODEL)
    wanted = torch.tensor([11, 3, 3, LENGTH - 1])
    assert torch.equal(positions(wanted), positions.table[[11, 3, 3, LENGTH - 1]])


def test_sines_are_no_parameters_and_are_not_saved():
    positions = SinusoidalPositions(LENGTH, D_MODEL)
    assert not list(positions.parameters()) and not positions.state_dict()


def test_learned_positions_are_parameters():
    positions = LearnedPositions(LENGTH, D_MODEL)
    assert {name: tuple(p.shape) for name, p in positions.named_parameters()} == {"table": (LENGTH, D_MODEL)}
    assert positions.table.std().item() == pytest.approx(D_MODEL**-0.5, rel=0.05)
